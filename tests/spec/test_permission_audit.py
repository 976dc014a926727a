"""The audit trail of the system permissions: what it records and how it is read."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http
from spec.permission_calls import PERM, WRITE, audit, check, create_grant, log_action, stored_counts

from remembrancer import testing


@pytest.fixture
def agent(http: Http) -> Http:
    """Provide an agent with a key of its own account."""
    return http.as_account("robots")


class TestLogging:
    """Agents log each allowed action (specification.md#sysperm-log)."""

    def test_allowed_actions_are_logged(self, http: Http, agent: Http) -> None:
        grant_id = create_grant(http)
        check(agent)

        assert log_action(
            agent, grant_id, path="/etc//nginx/nginx.conf", result="1024 now"
        ).json() == {
            "logged": True,
            "seq": 3,
        }
        assert (
            audit(http)["entries"][-1]
            | {"path": WRITE["path"], "result": "1024 now", "check": 2, "agent": "robot"}
            == audit(http)["entries"][-1]
        )

    @pytest.mark.parametrize(
        "other",
        [
            {"grant_id": "g_none"},
            {"path": "/etc/nginx/other.conf"},
            {"action": "read"},
            {"path": "/etc/nginx/NGINX.conf"},
        ],
        ids=str,
    )
    def test_log_without_an_allowed_check_is_409(
        self, http: Http, agent: Http, other: dict[str, Any]
    ) -> None:
        """Without an allowing check first: 409 (specification.md#sysperm-log-unchecked)."""
        grant_id = create_grant(http)
        check(agent)
        before = stored_counts(http)
        answer = log_action(agent, **{"grant_id": grant_id, **other})

        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
        assert stored_counts(http) == before

    def test_log_after_a_denied_check_is_409(self, http: Http, agent: Http) -> None:
        grant_id = create_grant(http)
        check(agent, action="delete")

        assert log_action(agent, grant_id, action="delete").status_code == 409

    def test_log_after_a_check_of_another_account_is_409(self, http: Http, agent: Http) -> None:
        grant_id = create_grant(http)
        check(agent)

        assert log_action(http.as_account("others"), grant_id).status_code == 409
        assert log_action(http.as_account("robots"), grant_id).status_code == 200

    def test_checked_action_can_be_logged_after_expiry_or_revocation(
        self, http: Http, agent: Http, clock: testing.FrozenClock
    ) -> None:
        grant_id = create_grant(http, ttl_minutes=1)
        check(agent)
        clock.advance(120_000)
        http.post(f"{PERM}/revoke", {"grant_id": grant_id})

        assert log_action(agent, grant_id).status_code == 200


class TestAudit:
    """The owner reads the audit trail (specification.md#sysperm-audit)."""

    def test_grants_checks_logs_and_revocations_are_entries_in_order(
        self, http: Http, agent: Http
    ) -> None:
        """Every grant, check, log and revocation is an entry.

        See specification.md#sysperm-audit-entry.
        """
        check(agent)
        grant_id = create_grant(http)
        check(agent)
        log_action(agent, grant_id)
        http.post(f"{PERM}/revoke", {"grant_id": grant_id})
        trail = audit(http)

        assert [(entry["seq"], entry["kind"], entry["account"]) for entry in trail["entries"]] == [
            (1, "check", "robots"),
            (2, "grant", "owner"),
            (3, "check", "robots"),
            (4, "log", "robots"),
            (5, "revoke", "owner"),
        ]
        assert [entry.get("allowed") for entry in trail["entries"]] == [
            False,
            None,
            True,
            None,
            None,
        ]
        assert [entry.get("grant_id") for entry in trail["entries"]] == [None, *[grant_id] * 4]
        assert (trail["chain_valid"], trail["next"]) == (True, None)

    def test_each_entry_contains_the_hash_of_the_previous_one(self, http: Http) -> None:
        """Each entry carries the hash of the previous one (specification.md#sysperm-audit-hash)."""
        for _ in range(3):
            check(http)
        trail = audit(http)
        hashes = [entry["hash"] for entry in trail["entries"]]

        assert [entry["prev"] for entry in trail["entries"]] == ["0" * 64, *hashes[:-1]]
        assert trail["head"] == {"seq": 3, "hash": hashes[-1]}

    def test_pages_continue_after_the_previous_one(self, http: Http) -> None:
        for _ in range(5):
            check(http)
        pages = [
            audit(http, limit=2),
            audit(http, limit=2, after=2),
            audit(http, limit=2, after=4),
            audit(http, after=5),
            audit(http, after=99),
        ]

        assert [[entry["seq"] for entry in page["entries"]] for page in pages] == [
            [1, 2],
            [3, 4],
            [5],
            [],
            [],
        ]
        assert [page["next"] for page in pages] == [2, 4, None, None, None]
        assert [page["chain_valid"] for page in pages] == [True] * 5

    def test_empty_trail_is_valid(self, http: Http) -> None:
        assert audit(http) == {
            "entries": [],
            "next": None,
            "chain_valid": True,
            "head": {"seq": 0, "hash": "0" * 64},
        }

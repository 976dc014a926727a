"""The audit trail of the system permissions: what it records and how it is read."""

from __future__ import annotations

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

        answer = log_action(agent, grant_id, path="/etc//nginx/nginx.conf", result="1024 now")

        assert answer.json() == {"logged": True, "seq": 3}
        entry = audit(http)["entries"][-1]
        logged = {"path": WRITE["path"], "result": "1024 now", "check": 2, "agent": "robot"}
        assert entry == entry | logged

    def test_log_without_an_allowed_check_is_409(self, http: Http, agent: Http) -> None:
        """Nor after a denied one, or that of another account.

        See specification.md#sysperm-log-unchecked.
        """
        grant_id = create_grant(http)
        check(agent)
        check(agent, action="delete")
        before = stored_counts(http)
        others = [{"grant_id": "g_none"}, {"action": "read"}, {"action": "delete"}]
        others += [{"path": f"/etc/nginx/{name}.conf"} for name in ("other", "NGINX")]

        answers = [log_action(agent, **{"grant_id": grant_id, **other}) for other in others]
        answers.append(log_action(http.as_account("others"), grant_id))

        assert {(one.status_code, one.json()["error"]) for one in answers} == {(409, "conflict")}
        assert stored_counts(http) == before
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
        empty = audit(http)
        check(agent)
        grant_id = create_grant(http)
        check(agent)
        log_action(agent, grant_id)
        http.post(f"{PERM}/revoke", {"grant_id": grant_id})
        trail = audit(http)

        zero = {"seq": 0, "hash": "0" * 64}
        assert empty == {"entries": [], "next": None, "chain_valid": True, "head": zero}
        names = ("seq", "kind", "account", "allowed", "grant_id")
        assert [tuple(entry.get(name) for name in names) for entry in trail["entries"]] == [
            (1, "check", "robots", False, None),
            (2, "grant", "owner", None, grant_id),
            (3, "check", "robots", True, grant_id),
            (4, "log", "robots", None, grant_id),
            (5, "revoke", "owner", None, grant_id),
        ]
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
        pages = [audit(http, limit=2, after=after) for after in (0, 2, 4)]
        pages += [audit(http, after=after) for after in (5, 99)]

        seqs = [[entry["seq"] for entry in page["entries"]] for page in pages]
        assert seqs == [[1, 2], [3, 4], [5], [], []]
        assert [page["next"] for page in pages] == [2, 4, None, None, None]
        assert all(page["chain_valid"] for page in pages)

"""System permissions: check, grant, log, revoke and audit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service import Http
from spec.permission_calls import (
    NGINX,
    NOTHING,
    PERM,
    WRITE,
    audit,
    check,
    create_grant,
    log_action,
    stored_counts,
)

from remembrancer import testing
from remembrancer.context import Context


@pytest.fixture
def agent(http: Http) -> Http:
    """Provide an agent with a key of its own account."""
    return http.as_account("robots")


def test_check_without_a_grant_is_denied(http: Http, agent: Http) -> None:
    """Only an explicit grant allows anything (specification.md#sysperm-default-deny)."""
    answer = check(agent)

    assert answer == {"allowed": False, "path": WRITE["path"], "reason": answer["reason"]}
    assert "Ask the owner" in answer["reason"]
    assert check(http)["allowed"] is False


def test_grant_response_repeats_the_grant(http: Http) -> None:
    """The response repeats the grant (specification.md#sysperm-grant)."""
    answer = http.post(
        f"{PERM}/grant",
        {**NGINX, "scope": "/etc//./nginx/x/../*.conf", "actions": ["write", "read", "write"]},
    )

    assert answer.json() == {
        "grant_id": answer.json()["grant_id"],
        "scope": "/etc/nginx/*.conf",
        "actions": ["read", "write"],
        "agent": "robot",
        "expires_at": "2026-01-01T00:30:00.000Z",
        "note": "Every path that matches at this depth: * and ? never match a slash.",
    }
    assert answer.json()["grant_id"].startswith("g_")


def test_grant_applies_to_agents_of_any_account(http: Http, agent: Http) -> None:
    """Grants hold for agents of any account (specification.md#sysperm-any-account)."""
    grant_id = create_grant(http)
    answer = check(agent, path="/etc//nginx/./nginx.conf")

    assert answer.pop("reason")
    assert answer == {
        "allowed": True,
        "grant_id": grant_id,
        "expires_at": "2026-01-01T00:30:00.000Z",
        "path": "/etc/nginx/nginx.conf",
    }


@pytest.mark.parametrize(
    "other",
    [
        {"agent": "robot2"},
        {"agent": "Robot"},
        {"agent": "robot "},
        {"agent": "*"},
        {"action": "delete"},
        {"action": "exec"},
        {"path": "/etc/nginx/sites/a.conf"},
        {"path": "/etc/nginx/../passwd"},
        {"path": "/etc/nginx/a.conf/.."},
        {"path": "/etc/NGINX/nginx.conf"},
        {"path": "/"},
    ],
    ids=str,
)
def test_grant_covers_only_its_agent_action_and_path(
    http: Http, agent: Http, other: dict[str, Any]
) -> None:
    """Only the named agent, action and path (specification.md#sysperm-exact)."""
    create_grant(http)

    assert check(agent, **other)["allowed"] is False


@pytest.mark.parametrize(
    "text",
    ["Ünïcode \u05d3\u05d5\u05d3", "\u4f60\u597d", "a\u0301", "\U0001f469\u200d\U0001f4bb"],
)
def test_texts_in_any_script_are_accepted(http: Http, text: str) -> None:
    """Only what hides or turns text is refused (specification.md#sysperm-plain-texts)."""
    create_grant(http, agent=text, scope=f"/etc/{text}")


def test_wildcard_grant_covers_every_agent(http: Http, agent: Http) -> None:
    """`*` allows every agent (specification.md#sysperm-everyone)."""
    create_grant(http, agent="*")

    assert [check(agent, agent=name)["allowed"] for name in ("robot", "other", "*")] == [
        True,
        True,
        True,
    ]


def test_check_names_the_longest_lasting_grant(http: Http, agent: Http) -> None:
    """The longest grant is named (specification.md#sysperm-longest)."""
    create_grant(http, ttl_minutes=5)
    longest = create_grant(http, ttl_minutes=240, scope="/etc/")
    create_grant(http, ttl_minutes=10)

    assert check(agent)["grant_id"] == longest


@pytest.mark.parametrize("minutes", [1, 240])
def test_grant_ends_at_expires_at(
    http: Http, agent: Http, clock: testing.FrozenClock, minutes: int
) -> None:
    """At `expires_at` a grant is over (specification.md#sysperm-expiry)."""
    create_grant(http, ttl_minutes=minutes)
    clock.advance(minutes * 60_000 - 1)
    just_before = check(agent)["allowed"]
    clock.advance(1)

    assert (just_before, check(agent)["allowed"]) == (True, False)


class TestOwnerOnly:
    """Only the owner grants, revokes and audits (specification.md#sysperm-owner-only)."""

    @pytest.mark.parametrize(
        ("account", "key"),
        [
            ("robots", {}),
            ("robots", {"read_only": True}),
            ("owner", {"read_only": True}),
            ("owner", {"user_id": "owner"}),
        ],
        ids=[
            "an agent",
            "an agent that reads",
            "an owner's key that reads",
            "an owner's key with a pin",
        ],
    )
    def test_only_the_owner_grants_revokes_and_audits(
        self, http: Http, account: str, key: dict[str, Any]
    ) -> None:
        grant_id = create_grant(http)
        other, before = http.as_account(account, **key), stored_counts(http)

        assert other.post(f"{PERM}/grant", {**NGINX, "agent": "*"}).status_code == 403
        assert other.post(f"{PERM}/revoke", {"grant_id": grant_id}).status_code == 403
        assert other.post(f"{PERM}/revoke", {"grant_id": "g_none"}).status_code == 403
        assert other.get(f"{PERM}/audit").status_code == 403
        assert stored_counts(http) == before
        assert check(http)["allowed"] is True

    def test_pinned_key_can_check(self, http: Http) -> None:
        create_grant(http)

        assert check(http.as_account("robots", user_id="bo"))["allowed"] is True


class TestRevoking:
    """The owner ends a grant (specification.md#sysperm-revoke)."""

    def test_check_after_revocation_is_denied(self, http: Http, agent: Http) -> None:
        grant_id = create_grant(http)
        before = check(agent)["allowed"]

        assert http.post(f"{PERM}/revoke", {"grant_id": grant_id}).json() == {"revoked": True}
        assert (before, check(agent)["allowed"]) == (True, False)

    def test_revocation_keeps_other_grants(self, http: Http, agent: Http) -> None:
        first, second = create_grant(http), create_grant(http)
        http.post(f"{PERM}/revoke", {"grant_id": first})

        assert check(agent)["grant_id"] == second

    def test_repeated_revocation_succeeds_without_another_entry(self, http: Http) -> None:
        grant_id = create_grant(http)
        answers = [http.post(f"{PERM}/revoke", {"grant_id": grant_id}).json() for _ in range(2)]

        assert answers == [{"revoked": True}] * 2
        assert [entry["kind"] for entry in audit(http)["entries"]] == ["grant", "revoke"]

    def test_revoking_an_unknown_grant_is_404(self, http: Http) -> None:
        assert http.post(f"{PERM}/revoke", {"grant_id": "g_none"}).status_code == 404
        assert stored_counts(http) == NOTHING


class TestIdempotency:
    """`grant`, `log` and `revoke` accept an `Idempotency-Key`.

    See specification.md#sysperm-idempotent.
    """

    KEY = {"Idempotency-Key": "k1"}  # noqa: RUF012  read only

    def test_checks_are_not_idempotent(self, http: Http) -> None:
        """A stored response could allow what has been revoked since.

        See specification.md#idempotency-exceptions.
        """
        grant_id = create_grant(http)
        first = http.post(f"{PERM}/check", WRITE, headers=self.KEY).json()
        http.post(f"{PERM}/revoke", {"grant_id": grant_id})

        assert (
            first["allowed"],
            http.post(f"{PERM}/check", WRITE, headers=self.KEY).json()["allowed"],
        ) == (True, False)


class TestCheckRate:
    """A flood of checks must not fill the disk (specification.md#sysperm-rate)."""

    @pytest.fixture
    def context(self, folder: Path) -> Iterator[Context]:
        service = testing.context(folder)
        yield replace(service, settings=replace(service.settings, rate_sysperm_per_minute=2))
        service.close()

    def test_check_over_the_limit_is_429_without_an_entry(self, http: Http, agent: Http) -> None:
        answers = [
            agent.post(f"{PERM}/check", WRITE),
            log_action(agent, "g_none"),
            agent.post(f"{PERM}/check", WRITE),
        ]

        assert [answer.status_code for answer in answers] == [200, 409, 429]
        assert stored_counts(http)["audit"] == 1

    def test_limit_does_not_affect_grants_and_revocations(self, http: Http) -> None:
        for _ in range(3):
            http.post(f"{PERM}/check", WRITE)
        grant_id = create_grant(http)

        assert http.post(f"{PERM}/revoke", {"grant_id": grant_id}).status_code == 200
        assert check(http.as_account("robots"))["allowed"] is False


class TestGrantsInForce:
    """The owner lists the grants in force (specification.md#sysperm-grants)."""

    def test_grants_are_listed_newest_first_with_their_remaining_time(
        self, http: Http, clock: testing.FrozenClock
    ) -> None:
        first = create_grant(http, ttl_minutes=240)
        clock.advance(1_500)
        second = create_grant(http, agent="*", actions=["exec"], scope="/opt/")
        body = http.get(f"{PERM}/grants").json()
        key_id = body["grants"][0]["key_id"]

        assert body == {
            "grants": [
                {
                    "grant_id": second,
                    "scope": "/opt/",
                    "actions": ["exec"],
                    "agent": "*",
                    "key_id": key_id,
                    "granted_at": "2026-01-01T00:00:01.500Z",
                    "expires_at": "2026-01-01T00:30:01.500Z",
                    "seconds_left": 1800,
                },
                body["grants"][1],
            ],
            "next": None,
        }
        assert (body["grants"][1]["grant_id"], body["grants"][1]["seconds_left"], key_id) == (
            first,
            4 * 3600 - 1,
            1,
        )

    def test_expired_and_revoked_grants_are_not_listed(
        self, http: Http, clock: testing.FrozenClock
    ) -> None:
        short, revoked, rows = (
            create_grant(http, ttl_minutes=1),
            create_grant(http),
            create_grant(http),
        )
        http.post(f"{PERM}/revoke", {"grant_id": revoked})
        before = [one["grant_id"] for one in http.get(f"{PERM}/grants").json()["grants"]]
        clock.advance(60_000)

        assert before == [rows, short]
        assert [one["grant_id"] for one in http.get(f"{PERM}/grants").json()["grants"]] == [rows]

    def test_pages_of_grants_continue_after_the_previous_one(self, http: Http) -> None:
        grants = [create_grant(http) for _ in range(5)]
        pages, before = [], None
        while True:
            page = http.get(
                f"{PERM}/grants", params={"limit": 2} | ({"before": before} if before else {})
            ).json()
            pages.append([one["grant_id"] for one in page["grants"]])
            before = page["next"]
            if before is None:
                break

        assert pages == [[grants[4], grants[3]], [grants[2], grants[1]], [grants[0]]]
        assert http.get(f"{PERM}/grants", params={"before": "g_no"}).status_code == 404

    def test_only_the_owner_lists_grants(self, http: Http, agent: Http) -> None:
        """Only the owner lists grants (specification.md#sysperm-owner-only)."""
        create_grant(http)
        pinned, reads = (
            http.as_account("owner", user_id="ada"),
            http.as_account("owner", read_only=True),
        )

        assert [one.get(f"{PERM}/grants").status_code for one in (agent, pinned, reads, http)] == [
            403,
            403,
            403,
            200,
        ]

    def test_grant_without_a_stored_glob_still_allows(self, http: Http, agent: Http) -> None:
        grant_id = create_grant(http)
        http.context.store.write(lambda tx: tx.run("update grants set glob = null"))

        assert check(agent)["grant_id"] == grant_id

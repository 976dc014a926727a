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
from remembrancer.protocol import limits


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


WRONG: dict[str, dict[str, list[Any]]] = {
    "grant": {
        "ttl_minutes": [0, -1, 241, 10**30, True, False, "240", 240.5, 1.5, None, [5]],
        "actions": [[], ["read", "chmod"], ["READ"], "read", None, [1], ["read"] * 5],
        "scope": [
            "",
            "etc",
            "./etc",
            "/a\0b",
            5,
            None,
            "/a" * 129,
            "/" + "a" * limits.SCOPE_CHARACTERS_MAX,
        ],
        "agent": ["", 5, None, "a\0b", "a" * 257],
    },
    "check": {
        "path": [
            "",
            "etc",
            "~/x",
            "/a\0b",
            "/etc/*",
            5,
            None,
            ["/etc"],
            "/a" * 129,
            "/" + "a" * limits.PATH_CHARACTERS_MAX,
        ],
        "action": ["", "Read", "chmod", 1, None, ["read"]],
        "agent": ["", 5, None, "a\0b"],
    },
    "log": {
        "grant_id": ["", 5, None],
        "path": ["", "etc", "/a\0b", None],
        "action": ["chmod", None],
        "result": [
            "",
            " \n",
            5,
            None,
            "a\0b",
            {"code": 0},
            "r" * (limits.RESULT_CHARACTERS_MAX + 1),
        ],
    },
    "revoke": {"grant_id": ["", 5, None, ["g"]]},
}
WRONG_ONES = [
    (path, name, value)
    for path, fields in WRONG.items()
    for name, values in fields.items()
    for value in values
]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    WRONG_ONES,
    ids=[f"{path} {name} {str(value)[:12]!r}" for path, name, value in WRONG_ONES],
)
def test_invalid_values_are_refused_and_named(http: Http, path: str, name: str, value: Any) -> None:
    """Lifetime and actions are bounded.

    See specification.md#sysperm-ttl, specification.md#sysperm-actions.
    """
    good = {
        "grant": NGINX,
        "check": WRITE,
        "log": {"grant_id": "g_1", **WRITE, "result": "done"},
        "revoke": {"grant_id": "g_1"},
    }[path]
    answer = http.post(f"{PERM}/{path}", {**good, name: value})

    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert answer.json()["errors"][0]["pointer"].startswith(f"/{name}")
    assert stored_counts(http) == NOTHING


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path, fields in WRONG.items() for name in fields]
)
def test_missing_fields_are_refused_and_named(http: Http, path: str, name: str) -> None:
    """A missing field is a 422 that names it (specification.md#sysperm-invalid)."""
    good = {
        "grant": NGINX,
        "check": WRITE,
        "log": {"grant_id": "g_1", **WRITE, "result": "done"},
        "revoke": {"grant_id": "g_1"},
    }[path]
    answer = http.post(f"{PERM}/{path}", {key: value for key, value in good.items() if key != name})

    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"pointer": f"/{name}", "detail": "Field required"}]


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

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "check"),
            ("POST", "grant"),
            ("POST", "log"),
            ("POST", "revoke"),
            ("GET", "audit"),
        ],
    )
    def test_every_permission_endpoint_requires_a_key(
        self, http: Http, method: str, path: str
    ) -> None:
        assert http.with_key(None).ask(method, f"{PERM}/{path}", json={}).status_code == 401

    def test_read_only_key_cannot_check_or_log(self, http: Http) -> None:
        """Checks and logs both write to the trail.

        See specification.md#auth-read-only.
        """
        grant_id = create_grant(http)
        reader = http.as_account("robots", read_only=True)

        assert reader.post(f"{PERM}/check", WRITE).status_code == 403
        assert log_action(reader, grant_id).status_code == 403

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

    @pytest.mark.parametrize("path", ["grant", "log", "revoke"])
    def test_repeated_request_is_applied_once(self, http: Http, path: str) -> None:
        grant_id = create_grant(http)
        check(http)
        body = {
            "grant": NGINX,
            "log": {**WRITE, "grant_id": grant_id, "result": "done"},
            "revoke": {"grant_id": grant_id},
        }[path]
        other = {"agent": "x"} if path == "grant" else {"grant_id": "g_x"}
        first = http.post(f"{PERM}/{path}", body, headers=self.KEY)
        before = stored_counts(http)
        again = http.post(f"{PERM}/{path}", body, headers=self.KEY)

        assert (first.json(), again.headers["idempotent-replayed"]) == (again.json(), "true")
        assert stored_counts(http) == before
        assert http.post(f"{PERM}/{path}", {**body, **other}, headers=self.KEY).status_code == 409

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

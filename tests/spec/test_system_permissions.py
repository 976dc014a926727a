"""System permissions: check, grant, log, revoke, and the audit trail."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http, body_of

from remembrancer import testing

PERM = "/api/v7/sysperm"
NGINX: dict[str, Any] = {
    "scope": "/etc/nginx/*.conf",
    "ttl_minutes": 30,
    "actions": ["read", "write"],
    "agent": "robot",
}
NOTHING = {"grants": 0, "allowed_checks": 0, "audit": 0}
WRITE: dict[str, Any] = {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "robot"}


def create_grant(http: Http, **other: Any) -> str:
    """Grant as the owner; return the grant_id."""
    return str(body_of(http.post(f"{PERM}/grant", {**NGINX, **other}))["grant_id"])


def check(http: Http, **other: Any) -> dict[str, Any]:
    return dict(body_of(http.post(f"{PERM}/check", {**WRITE, **other})))


def log_action(http: Http, grant_id: str, **other: Any) -> Any:
    """Log the action that WRITE asks for; return the response."""
    return http.post(
        f"{PERM}/log",
        {"grant_id": grant_id, "path": WRITE["path"], "action": "write", "result": "done", **other},
    )


def audit(http: Http, **parameters: Any) -> dict[str, Any]:
    return dict(http.get(f"{PERM}/audit", params=parameters).json())


def stored_counts(http: Http) -> dict[str, int]:
    """Return the row counts of the permission tables."""
    return {table: n for table, n in http.rows().items() if table in NOTHING}


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
    more = {"scope": "/etc//./nginx/x/../*.conf", "actions": ["write", "read", "write"]}
    answer = http.post(f"{PERM}/grant", {**NGINX, **more}).json()

    assert answer.pop("grant_id").startswith("g_")
    assert answer == {
        "scope": "/etc/nginx/*.conf",
        "actions": ["read", "write"],
        "agent": "robot",
        "expires_at": "2026-01-01T00:30:00.000Z",
        "note": "Every path that matches at this depth: * and ? never match a slash.",
    }


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


def test_grant_covers_only_its_agent_action_and_path(http: Http, agent: Http) -> None:
    """Only the named agent, action and path (specification.md#sysperm-exact)."""
    create_grant(http)
    paths = ("/etc/nginx/sites/a.conf", "/etc/nginx/../passwd", "/etc/nginx/a.conf/..",
             "/etc/NGINX/nginx.conf", "/")  # fmt: skip
    others = [{"agent": name} for name in ("robot2", "Robot", "robot ", "*")]
    others += [{"action": action} for action in ("delete", "exec")]
    others += [{"path": path} for path in paths]

    assert [other for other in others if check(agent, **other)["allowed"]] == []


def test_texts_in_any_script_are_accepted(http: Http) -> None:
    """Only what hides or turns text is refused (specification.md#sysperm-plain-texts)."""
    for text in ("Ünïcode \u05d3\u05d5", "\u4f60\u597d", "a\u0301", "\U0001f469\u200d\U0001f4bb"):
        create_grant(http, agent=text, scope=f"/etc/{text}")


def test_wildcard_grant_covers_every_agent(http: Http, agent: Http) -> None:
    """`*` allows every agent (specification.md#sysperm-everyone)."""
    create_grant(http, agent="*")

    assert all(check(agent, agent=name)["allowed"] for name in ("robot", "other", "*"))


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


@pytest.mark.parametrize(
    ("account", "key"),
    [
        ("robots", {}),
        ("robots", {"read_only": True}),
        ("owner", {"read_only": True}),
        ("owner", {"user_id": "owner"}),
    ],
    ids=["an agent", "one that reads", "an owner's key that reads", "an owner's key with a pin"],
)
def test_only_the_owner_grants_revokes_and_audits(
    http: Http, account: str, key: dict[str, Any]
) -> None:
    """Not even with a pin; a pinned key can check (specification.md#sysperm-owner-only)."""
    grant_id = create_grant(http)
    other, before = http.as_account(account, **key), stored_counts(http)

    answers = [other.post(f"{PERM}/grant", {**NGINX, "agent": "*"})]
    answers += [other.post(f"{PERM}/revoke", {"grant_id": one}) for one in (grant_id, "g_none")]
    answers += [other.get(f"{PERM}/{path}") for path in ("audit", "grants")]

    assert [answer.status_code for answer in answers] == [403] * 5
    assert stored_counts(http) == before
    assert check(http)["allowed"] is True
    assert check(http.as_account("robots", user_id="bo"))["allowed"] is True


def test_revoked_grant_allows_nothing(http: Http, agent: Http) -> None:
    """The owner ends a grant; a repetition adds no entry (specification.md#sysperm-revoke)."""
    first, second = create_grant(http), create_grant(http)
    answers = [http.post(f"{PERM}/revoke", {"grant_id": first}).json() for _ in range(2)]
    with_second = check(agent)
    http.post(f"{PERM}/revoke", {"grant_id": second})

    assert answers == [{"revoked": True}] * 2
    assert with_second["grant_id"] == second
    assert check(agent)["allowed"] is False
    kinds = [entry["kind"] for entry in audit(http)["entries"] if entry["kind"] != "check"]
    assert kinds == ["grant", "grant", "revoke", "revoke"]
    assert http.post(f"{PERM}/revoke", {"grant_id": "g_none"}).status_code == 404


def test_checks_are_not_idempotent(http: Http) -> None:
    """A stored response could allow what has been revoked since.

    See specification.md#idempotency-exceptions.
    """
    once = {"Idempotency-Key": "k1"}
    grant_id = create_grant(http)
    first = http.post(f"{PERM}/check", WRITE, headers=once).json()
    http.post(f"{PERM}/revoke", {"grant_id": grant_id})
    again = http.post(f"{PERM}/check", WRITE, headers=once).json()

    assert (first["allowed"], again["allowed"]) == (True, False)


@pytest.mark.settings(rate_sysperm_per_minute=2)
class TestCheckRate:
    """A flood of checks must not fill the disk (specification.md#sysperm-rate)."""

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
        newest, older = body["grants"]

        assert newest == {
            "grant_id": second,
            "scope": "/opt/",
            "actions": ["exec"],
            "agent": "*",
            "key_id": 1,
            "granted_at": "2026-01-01T00:00:01.500Z",
            "expires_at": "2026-01-01T00:30:01.500Z",
            "seconds_left": 1800,
        }
        assert (older["grant_id"], older["seconds_left"]) == (first, 4 * 3600 - 1)
        assert body["next"] is None

    def test_expired_and_revoked_grants_are_not_listed(
        self, http: Http, clock: testing.FrozenClock
    ) -> None:
        def listed() -> list[str]:
            return [one["grant_id"] for one in http.get(f"{PERM}/grants").json()["grants"]]

        short, revoked, lasting = (create_grant(http, ttl_minutes=n) for n in (1, 30, 30))
        http.post(f"{PERM}/revoke", {"grant_id": revoked})
        before = listed()
        clock.advance(60_000)

        assert before == [lasting, short]
        assert listed() == [lasting]

    def test_pages_of_grants_continue_after_the_previous_one(self, http: Http) -> None:
        grants = [create_grant(http) for _ in range(5)]
        pages: list[list[str]] = []
        before = None
        while before or not pages:
            parameters = {"limit": 2} | ({"before": before} if before else {})
            page = http.get(f"{PERM}/grants", params=parameters).json()
            pages.append([one["grant_id"] for one in page["grants"]])
            before = page["next"]

        assert pages == [[grants[4], grants[3]], [grants[2], grants[1]], [grants[0]]]
        assert http.get(f"{PERM}/grants", params={"before": "g_no"}).status_code == 404


@pytest.mark.parametrize(
    ("scope", "path", "hint"),
    [
        ("/srv/app", "/srv/app/config.toml", "the scope for that is /srv/app/"),
        ("/srv/app", "/srv/app/deep/er/x", "the scope for that is /srv/app/"),
        ("/srv/app.d", "/srv/app.d/x", "the scope for that is /srv/app.d/"),
        ("/srv/app/", "/srv/app", "its scope is /srv/app"),
    ],
)
def test_scope_without_slash_never_covers_a_folder(
    http: Http, agent: Http, scope: str, path: str, hint: str
) -> None:
    """Grant and check say which scope does (specification.md#sysperm-one-path)."""
    grant = http.post(f"{PERM}/grant", {**NGINX, "scope": scope}).json()
    answer = check(agent, path=path)

    assert answer["allowed"] is False
    assert hint in answer["reason"]
    assert grant["grant_id"] in answer["reason"]
    if not scope.endswith("/"):
        assert f"grant {scope}/ to cover what is below it" in grant["note"]
        assert check(agent, path=scope)["allowed"] is True
    assert http.get(f"{PERM}/audit").json()["chain_valid"] is True


def test_denial_names_only_a_grant_that_almost_allows_it(http: Http, agent: Http) -> None:
    """No other grant, and none that has ended (specification.md#sysperm-one-path)."""
    denied = check(agent, path="/srv/app/x")["reason"]
    others: list[dict[str, Any]] = [{"scope": f"/srv/{name}"} for name in ("app2", "ap", "ap*")]
    others.append({"scope": "/srv/app", "agent": "another"})
    others.append({"scope": "/srv/app", "actions": ["exec"]})
    for other in others:
        create_grant(http, **other)
    ended = create_grant(http, scope="/srv/app")
    http.post(f"{PERM}/revoke", {"grant_id": ended})

    assert check(agent, path="/srv/app/x")["reason"] == denied


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

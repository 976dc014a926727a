"""Three servers on one PostgreSQL, and three worker processes on one SQLite file, behave like one,
with fifty concurrent clients.

Each test has its own sessions, keys and paths; the servers are started once for all tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import pytest
from cubes.agents import Agent
from engines import server
from servers.started import hammer, start, within
from service import new_key

from remembrancer.accounts import keys
from remembrancer.context import Context
from remembrancer.testing.servers import Answer, Server

from .linear import CounterRead, SwitchRead, not_one_counter, not_one_switch

SERVERS = 3


@pytest.fixture(scope="module", params=["servers on PostgreSQL", "workers on SQLite"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of the shared store."""
    if request.param == "servers on PostgreSQL":
        return server().schema()
    return f"sqlite:{tmp_path_factory.mktemp('store') / 'remembrancer.sqlite3'}"


@pytest.fixture(scope="module")
def context(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """Yield a context on the store, to create accounts and keys."""
    with closing(within(url, tmp_path_factory.mktemp("within"))) as context:
        yield context


@pytest.fixture(scope="module")
def servers(
    url: str, context: Context, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """Yield servers with one shared folder of file contents.

    Those on PostgreSQL have their own data folders. On SQLite they are the same one, whose worker
    processes get the connections, and so the calls, in turn.
    """
    new_key(context)
    files = context.settings.data
    with ExitStack() as opened:
        if url.startswith("sqlite:"):
            folder = tmp_path_factory.mktemp("server")
            one = start(url, folder, files, REMEMBRANCER_WORKERS=str(SERVERS))
            started = [opened.enter_context(one)] * SERVERS
        else:
            started = [
                opened.enter_context(start(url, tmp_path_factory.mktemp("server"), files))
                for _ in range(SERVERS)
            ]
        assert [one.get("/readyz").status for one in started] == [200] * SERVERS
        yield started


@pytest.fixture
def key(context: Context) -> str:
    """Return a key of the owner."""
    return new_key(context)


def round_robin(servers: Sequence[Server], times: int) -> Iterator[Server]:
    """Return that many servers, round robin."""
    return itertools.islice(itertools.cycle(servers), times)


def test_steps_are_unique_consecutive_and_in_order_across_servers(
    servers: list[Server], key: str
) -> None:
    body = {"query_text": "ferry", "session_id": "steps", "user_id": "ada"}

    answers = hammer(
        [partial(one.post, "/api/v7/memory", body, key=key) for one in round_robin(servers, 100)]
    )

    assert {answer.status for answer in answers} == {200}
    assert (
        not_one_counter(
            [CounterRead(answer.began, answer.ended, answer.body["step"]) for answer in answers]
        )
        == []
    )
    assert sorted(answer.body["step"] for answer in answers) == list(range(1, 101))


def test_sessions_keep_their_users_on_every_server(servers: list[Server], key: str) -> None:
    """Three users of one key: only searches name them (specification.md#auth-session-user)."""
    users = ("ada", "ben", "chen")
    for number, user in enumerate(users):
        search = {"query_text": "ferry", "user_id": user, "session_id": f"users-{user}"}
        assert servers[number].post("/api/v7/memory", search, key=key).status == 200
    for number, user in enumerate(users):
        turn = {"query": "When?", "response": f"{user} leaves.", "session_id": f"users-{user}"}
        second, third = servers[number - 2], servers[number - 1]
        stored = second.post("/api/v7/remember", turn, key=key).body
        look = third.post("/api/v7/agent/second-look", {"draft": f"{user} leaves."}, key=key).body
        pack = third.get(f"/api/v7/memory/start?session_id=users-{user}", key=key).body

        assert stored["user_id"] == look["user_id"] == pack["user_id"] == user


def test_turn_stored_by_one_server_is_found_by_the_next_search_on_others(
    servers: list[Server], key: str
) -> None:
    for number, (wrote, searched) in enumerate(itertools.permutations(servers, 2)):
        word = f"zx{number}qv"
        event = wrote.post(
            "/api/v7/remember",
            {"query": "Which word?", "response": f"It is {word}.", "user_id": "bob"},
            key=key,
        ).body
        result = searched.post(
            "/api/v7/memory",
            {"query_text": word, "user_id": "bob", "interact": False, "top_k": 1},
            key=key,
        ).body

        assert [hit["event_id"] for hit in result["hits"]] == [event["event_id"]]


def test_idempotent_write_sent_to_every_server_is_stored_once(
    servers: list[Server], key: str
) -> None:
    def body(number: int) -> dict[str, str]:
        return {"query": f"Locker {number}?", "response": f"Code {number}.", "user_id": "once"}

    requests = [(number, one) for number in range(10) for one in servers for _ in range(2)]
    answers = hammer(
        [
            partial(one.post, "/api/v7/event/write", body(n), key=key, once=f"w{n}")
            for n, one in requests
        ]
    )

    by_number = [
        {
            str(answer.body)
            for (sent_number, _), answer in zip(requests, answers, strict=True)
            if sent_number == n
        }
        for n in range(10)
    ]
    assert {answer.status for answer in answers} == {200}
    assert [len(bodies) for bodies in by_number] == [1] * 10
    assert len(set.union(*by_number)) == 10
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == len(requests) - 10


def test_last_vote_of_each_account_counts_across_servers(
    servers: list[Server], context: Context
) -> None:
    cube_id = Agent(context, "author").publish()
    voters = [new_key(context, f"voter-{number}") for number in range(12)]

    def vote(number: int) -> Answer:
        """Vote twice, at different servers; every third account changes its vote."""
        body = {"cube_id": cube_id, "user_id": "agent", "reason": "It did not help."}
        last = -1 if number % 3 == 0 else 1
        servers[number % SERVERS].post(
            "/api/v7/experience/vote", {**body, "vote": 1}, key=voters[number]
        )
        return servers[(number + 1) % SERVERS].post(
            "/api/v7/experience/vote", {**body, "vote": last}, key=voters[number]
        )

    answers = hammer([partial(vote, number) for number in range(12)])
    [votes] = {
        str(
            one.post(
                "/api/v7/experience/vote",
                {"cube_id": cube_id, "user_id": "agent", "vote": 1},
                key=voters[1],
            ).body["votes"]
        )
        for one in servers
    }

    assert {answer.status for answer in answers} == {200}
    assert votes == str({"useful": 8, "useless": 4})


def test_grant_revoked_on_one_server_is_refused_by_all(servers: list[Server], key: str) -> None:
    """Each check, grant and revocation is in the audit trail exactly once, in order."""
    allowed = {
        "scope": "/srv/switch/",
        "ttl_minutes": 30,
        "actions": ["write"],
        "agent": "deployer",
    }
    body = {"path": "/srv/switch/a", "action": "write", "agent": "deployer"}
    before = servers[0].get("/api/v7/sysperm/audit?limit=1", key=key).body["head"]["seq"]
    grant = servers[0].post("/api/v7/sysperm/grant", allowed, key=key).body["grant_id"]
    calls = [
        partial(one.post, "/api/v7/sysperm/check", body, key=key)
        for one in round_robin(servers, 60)
    ]

    revoke = partial(servers[1].post, "/api/v7/sysperm/revoke", {"grant_id": grant}, key=key)

    answers = [calls[0](), *hammer([*calls[1:30], revoke, *calls[30:59]]), calls[59]()]
    revoked = answers.pop(30)
    looks = [
        SwitchRead(answer.began, answer.ended, was_on=answer.body["allowed"]) for answer in answers
    ]
    entries, valid = _audit(servers[2], key, before)

    assert {answer.status for answer in answers} == {200}
    assert not_one_switch(looks, turned_off=(revoked.began, revoked.ended)) == []
    assert (looks[0].was_on, looks[-1].was_on) == (True, False)
    assert valid
    assert [entry["seq"] for entry in entries] == list(range(before + 1, before + 1 + 62))
    assert sorted(entry["kind"] for entry in entries) == ["check"] * 60 + ["grant", "revoke"]


def _audit(one: Server, key: str, after: int) -> tuple[list[dict[str, Any]], bool]:
    """Return the entries of the trail after a number, and True if every page has a valid chain."""
    entries, valid, at = [], [], after
    while True:
        page = one.get(f"/api/v7/sysperm/audit?after={at}&limit=50", key=key).body
        entries += page["entries"]
        valid.append(page["chain_valid"])
        if page["next"] is None:
            return entries, all(valid)
        at = page["next"]


def test_rate_limit_is_shared_by_all_servers(servers: list[Server], context: Context) -> None:
    """Feedback allows ten requests at once and one more every six seconds.

    Allow three more, in case the test takes 18 seconds.
    """
    key = new_key(context, "talkative")
    bodies = [
        {"type": "bug", "title": f"Bug {number}", "description": "It does not work."}
        for number in range(36)
    ]

    calls = [
        partial(one.post, "/api/v7/feedback", body, key=key)
        for one, body in zip(round_robin(servers, 36), bodies, strict=True)
    ]
    answers = hammer(calls)
    refused = [answer for answer in answers if answer.status == 429]

    assert 10 <= sum(answer.status == 200 for answer in answers) <= 13
    assert len(refused) == len(answers) - sum(answer.status == 200 for answer in answers)
    assert all(1 <= int(answer.headers["retry-after"]) <= 6 for answer in refused)


def test_signed_link_of_one_server_is_valid_on_all(servers: list[Server], key: str) -> None:
    created = (
        servers[0]
        .post(
            "/api/v7/tools/create-file",
            {"filename": "note", "type": "txt", "content": "The ferry."},
            key=key,
        )
        .body
    )

    answers = [one.get(created["download_url"]) for one in servers]

    assert [(answer.status, answer.body) for answer in answers] == [(200, b"The ferry.")] * SERVERS


def test_content_in_use_is_not_removed_by_a_concurrent_erasure(
    servers: list[Server], key: str
) -> None:
    """One server creates a file while another erases the last file with the same content."""

    def make_and_erase(number: int) -> Answer:
        body = {"filename": "same", "type": "txt", "content": "Always the same."}
        created = servers[number % SERVERS].post("/api/v7/tools/create-file", body, key=key).body
        read = servers[(number + 1) % SERVERS].get(created["download_url"])
        servers[(number + 2) % SERVERS].ask("DELETE", created["url"], key=key)
        return read

    answers = hammer([partial(make_and_erase, number) for number in range(60)])

    assert {(answer.status, answer.body) for answer in answers} == {(200, b"Always the same.")}


def test_revoked_key_is_refused_by_all_servers(servers: list[Server], context: Context) -> None:
    key = new_key(context, "leaver")
    before = [one.get("/api/v7/key", key=key).status for one in servers]
    [created] = keys.list_keys(context, "leaver")

    keys.revoke(context, created.id)

    assert before == [200] * SERVERS
    assert [one.get("/api/v7/key", key=key).status for one in servers] == [401] * SERVERS

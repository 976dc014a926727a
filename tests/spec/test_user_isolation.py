"""Nobody reads what a user stored: not another user, a pinned key, a team or another account.

Every layer of one user's memory holds the same rare word; every operation that reads is then called
for each other reader. See specification.md#auth-pinned, specification.md#cube-visibility and
specification.md#search-isolation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from http_server.examples import EXAMPLES, path_of, service_with_examples
from service import Http
from spec.test_every_operation import KEYED

from remembrancer import testing

WORD = "Zanzibar"  # in everything that the user stored
USER = "quentin-of-the-pier"
SESSION = "quentins-session"
OWN_KEY = "/api/v7/key"
NAMES = (WORD, USER, SESSION)
# These change what others see or end the service of the test; they are tried by their own tests.
WRITING = {"forget_memory", "delete_team", "make_map", "save_summary", "set_prompt", "add_fact"}
LESSON = {
    "cube_topic": f"{WORD} permits",
    "cube_essence": f"The permit for {WORD} needs a statics report.",
    "cube_rules": f"- MUST bring the statics report to {WORD}",
}
QUESTION = "Does the permit for the pier need a statics report?"


def fill(http: Http) -> dict[str, str]:
    """Store the word in every layer of the user's memory; return the ids of what was stored."""
    named = {"user_id": USER, "session_id": SESSION}
    http.memory(QUESTION, **named)
    turn = http.remember(
        QUESTION,
        f"{WORD} wants a statics report.",
        **named,
        **LESSON,
        critical=f"The permit of {WORD} is number 4711.",
        l1_summary=f"The permit of {WORD} was discussed.",
        l2_map=f"Permits: {WORD}.",
        task_done=False,
    )
    http.remember(f"Always mention {WORD} in your answers.", "I will.", **named)
    lesson = {
        "topic": f"{WORD} ferries",
        "essence": f"The ferry to {WORD} needs a ticket.",
        "rules_markdown": f"- MUST buy the ticket to {WORD} first",
        "evidence": f"the pier of {WORD}",
    }
    cube = http.post("/api/v7/experience/create", {**lesson, **named}).json()
    file = {"command": "create", "path": f"/memories/{WORD}.md", "file_text": WORD}
    http.post("/api/v7/memory/files", {**file, "user_id": USER})
    http.ask("PUT", "/api/v7/agent/prompt", json={"prompt": WORD, "user_id": USER})
    http.ask("PUT", "/api/v7/memory/retention", json={"days": 400, "user_id": USER})
    http.memory(QUESTION, **named)
    pinned = http.as_account("owner", user_id=USER)
    created = pinned.post(
        "/api/v7/tools/create-file", {"filename": WORD, "content": WORD, "type": "txt"}
    )
    feedback = {"type": "bug", "title": WORD, "description": WORD}
    assert pinned.post("/api/v7/feedback", feedback).status_code == 200
    facts = http.get(f"/api/v7/memory/facts?user_id={USER}").json()["facts"]
    number = {"text": f"The permit of {WORD} is number 4712."}
    changed = http.patch(f"/api/v7/memory/facts/{facts[0]['fact_id']}", number).json()["fact"]
    assert WORD in str(changed["versions"])
    return {
        "event": turn["event_id"],
        "cube": cube["cube_id"],
        "fact": facts[0]["fact_id"],
        "file": created.json()["filename"],
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Http, dict[str, str]]]:
    """Return a service with the user's memory, and the ids in it."""
    with service_with_examples(tmp_path_factory.mktemp("service")) as http:
        yield http, fill(http)


@pytest.fixture(params=["user", "pinned user", "read-only pinned user", "team", "account"])
def reader(
    stored: tuple[Http, dict[str, str]], request: pytest.FixtureRequest
) -> tuple[Http, dict[str, Any]]:
    """Return a client of somebody else, and what names that reader in a request."""
    http, _ = stored
    if request.param == "user":
        return http, {"user_id": "ben"}
    if request.param == "team":
        return http, {"user_id": "ben", "team": "Elba"}
    if request.param == "account":
        return http.as_account("somebody"), {"user_id": USER}
    return http.as_account(
        "owner", user_id="ben", read_only=request.param.startswith("read-only")
    ), {"user_id": "ben"}


def tool(client: Http, name: str, **arguments: Any) -> str:
    """Call a tool of MCP; return the answer as text."""
    call = {"name": name, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = client.post("/mcp", body, headers={"Accept": "application/json, text/event-stream"})
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def names_in(answer: Any, request: dict[str, Any]) -> list[str]:
    """Return the names of the user's memory in an answer, but those that the request has."""
    return [name for name in NAMES if name in answer.text and name not in str(request)]


def test_the_user_reads_it(stored: tuple[Http, dict[str, str]]) -> None:
    """The word is in every layer: the other tests would find it."""
    http, ids = stored
    pinned = http.as_account("owner", user_id=USER)
    answer = pinned.memory(QUESTION, USER, interact=False)

    assert {cube["note"].partition(" ")[0] for cube in answer["shared_cubes"]} == {"own"}
    for layer in ("hits", "facts", "instructions", "summaries", "shared_cubes"):
        assert WORD in str(answer[layer]), layer
    start = pinned.get("/api/v7/memory/start?format=json").json()
    assert all(WORD in str(start["parts"][part]) for part in ("map", "facts", "cubes"))
    assert WORD in pinned.get(f"/api/v7/event/{ids['event']}").text
    assert pinned.get(f"/download/{ids['file']}").text == WORD
    assert WORD in tool(pinned, "recall", query_text=QUESTION)


def test_no_operation_tells_it_to_others(
    stored: tuple[Http, dict[str, str]], reader: tuple[Http, dict[str, Any]]
) -> None:
    """Every operation, with its example and as a question about the word."""
    client, named = reader
    telling = []
    models = stored[0].context.models
    assert isinstance(models, testing.ScriptedModels)
    models.asked.clear()
    is_whole_account = client.key == stored[0].key
    for one in KEYED:
        if one.operation_id in WRITING:
            continue
        bodies = [body for endpoint, body in EXAMPLES if endpoint is one] or [{}]
        for body in bodies:
            request = {**body, **named, "user": named["user_id"]}  # as /v1 names one
            for field in ("query_text", "message", "input", "query"):
                if isinstance(body.get(field), str):
                    request[field] = QUESTION
            options = {"json": request} if one.body else {"params": {"query": QUESTION, **named}}
            answer = client.ask(one.method, path_of(one), **options)
            assert answer.status_code < 500, (one.operation_id, answer.text)
            if names_in(answer, options):
                telling.append(one.operation_id)
    prompts = str(models.asked)
    assert len(models.asked) >= 3 or client.get(OWN_KEY).json()["read_only"]
    assert [name for name in NAMES if name in prompts and name not in str(named)] == []
    # The account's own figures, rules and messages name its users to a key that is not pinned.
    assert set(telling) <= (
        {"agent_compliance", "get_retention", "list_feedback", "list_users"}
        if is_whole_account
        else set()
    )


def test_no_tool_tells_it_to_others(
    stored: tuple[Http, dict[str, str]], reader: tuple[Http, dict[str, Any]]
) -> None:
    """The tools of MCP (specification.md#mcp-limits)."""
    _, ids = stored
    client, named = reader
    texts = [
        tool(client, "recall", query_text=QUESTION, **named),
        tool(client, "list_facts", **named),
        tool(client, "start_pack", user_id=named["user_id"]),
        tool(client, "search", query=QUESTION),
        tool(client, "vote", cube_id=ids["cube"], vote=1, user_id=named["user_id"]),
    ]
    if client.key != stored[0].key:
        texts += [
            tool(client, "get_event", event_id=ids["event"]),
            tool(client, "fetch", id=ids["event"]),
        ]

    assert [text for text in texts if WORD in text] == []


def test_no_id_opens_it_to_others(
    stored: tuple[Http, dict[str, str]], reader: tuple[Http, dict[str, Any]]
) -> None:
    """An id of the user's is unknown to a pinned key, a team and another account."""
    _, ids = stored
    client, named = reader
    vote = {"cube_id": ids["cube"], "vote": 1, "user_id": named["user_id"]}
    assert client.post("/api/v7/experience/vote", vote).status_code in {403, 404}
    for erasing in (False, True):  # a file of memory, a fact and a task of the user's
        command = "delete" if erasing else "view"
        body = {"command": command, "path": f"/memories/{WORD}.md", "user_id": named["user_id"]}
        if client.key != stored[0].key or "team" not in named:
            assert WORD not in client.post("/api/v7/memory/files", body).text.replace(
                body["path"], ""
            )
    turn = {"query": "q", "response": "r", **named, "session_id": "x"}
    for parts in (
        {"critical": "It is closed.", "critical_replaces": ids["fact"]},
        {"task_done": True, "task_id": ids["event"]},
    ):
        answer = client.post("/api/v7/remember", {**turn, **parts})
        assert answer.status_code in {403, 404}, (parts, answer.text)
    if client.key == stored[0].key and "team" not in named:
        return
    team = {key: value for key, value in named.items() if key == "team"}
    detail = client.get(f"/api/v7/event/{ids['event']}", params=team)
    fact = client.ask("PATCH", f"/api/v7/memory/facts/{ids['fact']}", json={"pinned": True, **team})

    assert detail.status_code == 404
    assert fact.status_code in {403, 404}
    if not team:
        assert client.get(f"/download/{ids['file']}").status_code == 404
        evidence = {**LESSON, "cube_evidence": ids["event"]}
        refused = client.post("/api/v7/remember", {**evidence, "session_id": "x"})
        assert refused.status_code in {403, 404}


def test_a_cube_for_the_account_is_read_by_its_users(http: Http) -> None:
    """Also with pinned keys, and without the ids of its author's events.

    specification.md#cube-note-own
    """
    named = {"user_id": USER, "session_id": SESSION, "cube_visibility": "account"}
    created = http.remember(QUESTION, "A statics report.", **named, **LESSON)["cube"]
    pinned = http.as_account("owner", user_id="ben")

    [cube] = pinned.memory(QUESTION, "ben")["shared_cubes"]
    [own] = http.memory(QUESTION, USER)["shared_cubes"]

    assert created["visibility"] == "account"
    assert cube["cube_id"] == own["cube_id"] == created["cube_id"]
    assert cube["evidence"] == "an event of its author"
    assert cube["note"].startswith("of another user of this account")
    assert own["note"].startswith("own")
    assert http.as_account("bob").memory(QUESTION, "bob")["shared_cubes"] == []


def test_a_forgotten_user_leaves_no_private_cube(http: Http) -> None:
    """Cubes of the account stay, without the user (specification.md#forget-user)."""
    shared = {"cube_visibility": "account", "cube_topic": "piers"}
    http.remember("q", "r", user_id=USER, session_id="a", **LESSON)
    http.remember("q", "r", user_id=USER, session_id="b", **{**LESSON, **shared})

    counts = http.post("/api/v7/memory/forget", {"user_id": USER, "confirm": USER}).json()["counts"]

    assert counts["cubes"] == 1
    assert len(http.memory(QUESTION, USER, interact=False)["shared_cubes"]) == 1

"""Specification, 'Authentication', 4: a pasted key of this service is masked, and the user warned.

The checksum tells a real key, so the setting `secrets` makes no difference.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from http_server.examples import EXAMPLES, make_mentioned, path_of
from service import Http

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.answers import ChatTurn, finish, start_chat
from remembrancer.context import Context
from remembrancer.memory.exchange.importer import read, store
from remembrancer.protocol.agent import Chat
from remembrancer.protocol.operation import AnyOperation
from remembrancer.protocol.service_keys import (
    MASK,
    WARNING,
    checksum,
)

BODY = f"sk_{hashlib.sha224(b'a test').hexdigest()}"
KEY = BODY + checksum(BODY)
TEXT = f"My key is {KEY}, use it."


def fields(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of each string in a request."""
    if isinstance(value, str):
        yield path
    if isinstance(value, (dict, list)):
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from fields(member, (*path, name))


def with_key(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the request with the key at the end of the string at `path`."""
    if not path:
        return f"{value} {KEY}"
    changed = value.copy()
    changed[path[0]] = with_key(value[path[0]], path[1:])
    return changed


MORE: dict[str, dict[str, Any]] = {  # texts that the examples leave out
    "/api/v7/remember": {
        "l1_summary": "Found.",
        "l2_map": "Travel.",
        "cube_evidence": "docs",
        "model": "a model",
    },
    "/api/execute/code": {"session_id": "runs"},
    "/api/v7/experience/create": {"session_id": "s", "model": "a model"},
}


def requests_with_key(endpoint: AnyOperation, example: Any) -> list[dict[str, Any]]:
    """Return the request once for each of its strings, with the key at its end."""
    body = {**example, **MORE.get(endpoint.path, {})}
    bodies = [with_key(body, path) for path in fields(body)]
    if endpoint.path == "/api/v7/remember":
        bodies.append({"session_id": "s", "duty": "vote_nothing", "duty_reason": TEXT})
    return bodies


def stored_bytes(folder: Path) -> bytes:
    """Return everything below the data folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def context(context: Context) -> Context:
    """Return a real context with a scripted language model."""
    return replace(context, models=testing.ScriptedModels(chat=["At 9:40."] * 8))


@pytest.mark.parametrize(("endpoint", "example"), EXAMPLES, ids=[e.path for e, _ in EXAMPLES])
def test_no_endpoint_stores_a_key(
    http: Http, folder: Path, endpoint: AnyOperation, example: dict[str, Any]
) -> None:
    """A key is never stored, whichever field holds it (specification.md#service-key-masked)."""
    make_mentioned(http.context)

    for number, body in enumerate(requests_with_key(endpoint, example)):
        http.remember("And then?", f"Stop {number}.", session_id="summer-trip")
        once = {"Idempotency-Key": f"once-{number}"} if endpoint.takes_idempotency_key else {}
        answer = http.ask(endpoint.method, path_of(endpoint), json=body, headers=once)
        assert answer.status_code in {200, 404, 409, 422}
        assert not endpoint.takes_idempotency_key or KEY not in answer.text

    http.context.store.close()
    assert KEY.encode() not in stored_bytes(folder)


def test_the_answer_warns_the_user(http: Http) -> None:
    """The answer says to revoke the key (specification.md#service-key-warning)."""
    cube = {"cube_topic": "t", "cube_essence": TEXT, "cube_rules": "- MUST wait"}
    lesson = {"topic": "t", "essence": TEXT, "rules_markdown": "- MUST wait", "evidence": "docs"}
    file = {"filename": "a", "content": TEXT, "type": "txt"}
    note = {"command": "create", "path": "/memories/a", "file_text": TEXT}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/api/v7/remember", {"query": TEXT, "response": "ok"}),
        ("/api/v7/remember", {"query": "q", "response": TEXT}),
        ("/api/v7/remember", {"critical": TEXT}),
        ("/api/v7/remember", {"l2_map": TEXT}),
        ("/api/v7/remember", cube),
        ("/api/v7/remember", {"duty": "vote_nothing", "duty_reason": TEXT}),
        ("/api/v7/event/write", {"query": TEXT, "response": "ok", "user_id": "ada"}),
        ("/api/v7/agent/chat", {"message": TEXT, "user_id": "ada"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": TEXT}]}),
        ("/api/v7/experience/create", lesson),
        ("/api/v7/feedback", {"type": "bug", "title": "t", "description": TEXT}),
        ("/api/v7/tools/create-file", file),
        ("/api/v7/memory/files", note),
        ("/api/execute/code", {"code": f"print({TEXT!r})", "session_id": "runs"}),
    ]

    for path, body in requests:
        answer = http.post(path, body)
        assert (path, answer.status_code, WARNING in answer.text) == (path, 200, True)


def test_prompt_and_audit_log_warn_too(http: Http) -> None:
    """The answer says to revoke the key (specification.md#service-key-warning)."""
    make_mentioned(http.context)
    prompt = http.ask("PUT", "/api/v7/agent/prompt", json={"prompt": TEXT}).json()
    action = {"grant_id": "g_5v0n8k2m4t6wz", "path": "/etc/nginx/nginx.conf", "action": "write"}
    log = http.post("/api/v7/sysperm/log", {**action, "result": TEXT}).json()

    assert prompt["user_part"] == f"My key is {MASK}, use it."
    assert (prompt["detail"], log["detail"]) == (WARNING, WARNING)


@pytest.mark.settings(secrets="mask")
def test_stored_turn_has_a_mask_whatever_the_setting(context: Context, folder: Path) -> None:
    """The setting `secrets` does not matter (specification.md#service-key-masked).

    It is `flag` in the other tests.
    """
    caller = caller_for(context)
    path = folder / "turns.jsonl"
    path.write_text(json.dumps({"query": TEXT, "response": "ok", "topic": KEY}))
    store(context, caller, read(caller, path), progress=lambda _: None)
    events = context.store.read(lambda tx: tx.all("select query, topic, flags from events"))

    assert [tuple(event) for event in events] == [(f"My key is {MASK}, use it.", MASK, "secret")]


def test_a_model_never_reads_a_key(http: Http) -> None:
    """A key is not sent to a model either (specification.md#service-key-masked)."""
    history = [{"role": "user", "content": TEXT}]
    http.post("/api/v7/agent/chat", {"message": TEXT, "user_id": "a", "chat_history": history})
    turn = {"role": "user", "content": TEXT}
    http.post("/v1/chat/completions", {"messages": [turn, turn]})
    models: Any = http.context.models

    assert len(models.asked) >= 2
    assert KEY not in repr(models.asked)


def test_chat_without_a_model_and_its_stream_warn_too(folder: Path) -> None:
    """The reply ends with the warning (specification.md#service-key-warning)."""
    context = testing.context(folder)
    caller = caller_for(context)
    deltas: list[Any] = []
    message = Chat(user_id="ada", message=TEXT)
    turn = start_chat(context, caller, message)
    assert isinstance(turn, ChatTurn)
    streamed = finish(turn, lambda name, part: deltas.append((name, part)))
    turn = start_chat(context, caller, message)
    assert isinstance(turn, ChatTurn)
    reply = finish(turn).reply

    assert streamed.answer_mode == "extractive"
    assert reply.removesuffix(streamed.seal.replace("#1", "#2")).endswith(f"{WARNING}\n\n")
    assert deltas[-1] == ("delta", {"text": f"\n\n{WARNING}"})
    assert KEY not in reply
    context.close()


def test_second_look_fails_a_draft_with_a_key(http: Http) -> None:
    """A draft is shown to the user, so it is checked as written (specification.md#look-checks)."""
    http.remember("q", TEXT)
    look = http.post("/api/v7/agent/second-look", {"draft": TEXT}).json()

    assert "no_secret" in {check["check"] for check in look["checks"] if check["status"] == "fail"}


def test_ids_and_paths_with_a_key_are_rejected(http: Http) -> None:
    """Ids and paths are shown and kept (specification.md#service-key-in-ids)."""
    bodies = [
        ("/api/v7/memory", {"query_text": "q", "user_id": KEY}),
        ("/api/v7/remember", {"query": "q", "response": "r", "session_id": f"s {KEY}"}),
        ("/api/v7/sysperm/check", {"path": f"/{KEY}", "action": "read", "agent": "a"}),
        ("/api/v7/sysperm/check", {"path": "/etc", "action": "read", "agent": KEY}),
    ]
    before = http.rows()

    for path, body in bodies:
        answer = http.post(path, body)
        assert (answer.status_code, KEY in answer.text) == (422, False)
    assert http.get("/api/v7/memory/start", params={"session_id": KEY}).status_code == 422
    assert http.rows() == before

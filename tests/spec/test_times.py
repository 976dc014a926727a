"""A time without a zone, and a day, is local time wherever a time may be sent, and is said to be.

See specification.md#api-times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from service import Http

from remembrancer.protocol.operations import OPERATIONS

NAIVE, AS_READ = "2025-03-01 09:30", "2025-03-01T09:30:00+05:45"
LATER, LATER_AS_READ = "2031-03-01", "2031-03-01T00:00:00+05:45"
TURN = {"query": "Tea?", "response": "Green.", "user_id": "ada"}
# By operation: the path, what else it needs, and the fields that take a time.
TIMES: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "search_memory": (
        "/memory", {"query_text": "tea", "user_id": "ada"}, ("after", "before", "as_of")
    ),
    "explain_search": (
        "/memory/explain", {"query_text": "tea", "user_id": "ada"}, ("after", "before", "as_of")
    ),
    "remember_turn": (
        "/remember",
        {**TURN, "cube_topic": "tea", "cube_essence": "Tea wakes.", "cube_rules": "- MUST wait"},
        ("occurred_at", "expires_at", "cube_expires_at"),
    ),
    "save_event": ("/event/write", TURN, ("occurred_at", "expires_at")),
    "save_batch": ("/memory/batch", {"turns": [TURN]}, ("turns.occurred_at", "turns.expires_at")),
    "import_records": (
        "/memory/import",
        {"turns": [TURN], "facts": [{"text": "Tea is green."}]},
        ("turns.occurred_at", "facts.valid_from", "facts.valid_to"),
    ),
    "add_fact": (
        "/memory/facts",
        {"text": "Tea is green.", "user_id": "ada"},
        ("valid_from", "valid_to", "expires_at"),
    ),
    "add_instruction": (
        "/memory/instructions",
        {"text": "Green tea, please.", "user_id": "ada"},
        ("valid_from", "valid_to", "expires_at"),
    ),
    "change_fact": ("/memory/facts/{fact}", {}, ("valid_from", "valid_to", "expires_at")),
    "change_instruction": (
        "/memory/instructions/{fact}", {}, ("valid_from", "valid_to", "expires_at")
    ),
    "change_event": ("/event/{event}", {}, ("expires_at",)),
    "forget_memory": (
        "/memory/forget", {"user_id": "zoe", "session_id": "s"}, ("after", "before")
    ),
    "list_events": ("/events", {"user_id": "ada"}, ("after", "before")),
    "list_facts": ("/memory/facts", {"user_id": "ada"}, ("as_of",)),
    "get_map": ("/memory/map", {"user_id": "ada"}, ("as_of",)),
    "get_start_pack": ("/memory/start", {"user_id": "ada"}, ("as_of",)),
    "list_instructions": ("/memory/instructions", {"user_id": "ada"}, ("as_of",)),
}  # fmt: skip
NOW, NOW_AS_READ = "2026-01-01 05:45", "2026-01-01T05:45:00+05:45"  # of the test's clock
FUTURE = {"expires_at", "cube_expires_at", "valid_to"}


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the server's zone be one that is no whole number of hours from UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()


def times_of(schema: Any, kinds: Any, name: str = "") -> Iterator[str]:
    """Yield the fields of a schema that take a time, by their path. `kinds` are its $defs."""
    if "$ref" in schema:
        schema = kinds[schema["$ref"].rpartition("/")[2]]
    if schema.get("format") == "date-time":
        yield name
    for part in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from times_of(part, kinds, name)
    for field, part in schema.get("properties", {}).items():
        yield from times_of(part, kinds, f"{name}.{field}" if name else field)


def test_the_table_has_every_field_that_takes_a_time() -> None:
    moments = {}
    for one in OPERATIONS:
        schema = one.message.model_json_schema() if one.message else {}
        if times := set(times_of(schema, schema.get("$defs"))):
            moments[one.operation_id] = times

    assert moments == {name: set(times) for name, (_, _, times) in TIMES.items()}


@pytest.mark.parametrize(
    ("operation", "field"), [(name, field) for name, one in TIMES.items() for field in one[2]]
)
def test_a_time_without_a_zone_is_local_and_said_to_be(
    http: Http, operation: str, field: str
) -> None:
    ids = {
        "event": http.remember(
            "Old tea?", "Black.", user_id="ada", l1_summary="Tea is black.", l2_map="Tea is black."
        )["event_id"],
        "fact": http.post(
            "/api/v7/memory/facts",
            {"user_id": "ada", "text": "Tea is black.", "valid_from": "2020-01-01T00:00:00Z"},
        ).json()["fact"]["fact_id"],
    }
    path, other, _ = TIMES[operation]
    name = field.rpartition(".")[2]
    moment, read = (LATER, LATER_AS_READ) if name in FUTURE else (NAIVE, AS_READ)
    moment, read = (NOW, NOW_AS_READ) if name == "as_of" else (moment, read)
    body = json.loads(json.dumps(other))
    (body[field.partition(".")[0]][0] if "." in field else body)[name] = moment
    one = next(one for one in OPERATIONS if one.operation_id == operation)
    options = {"json": body} if one.body else {"params": body}

    answer = http.ask(one.method, f"/api/v7{path.format(**ids)}", **options)

    assert answer.status_code == 200, answer.text
    assert answer.json()["notes"] == [f"{name} has no zone and was read as local time: {read}."]
    assert "notes" not in http.memory("tea", "ada", after="2025-03-01T09:30:00Z", interact=False)


def test_the_local_time_is_stored_and_compared(http: Http) -> None:
    """Also in filters, which name no field."""
    http.remember("Tea?", "Green.", user_id="ada", occurred_at=NAIVE)
    [event] = http.get(f"/api/v7/events?user_id=ada&before={NAIVE}:01").json()["events"]
    answer = http.memory("Tea?", "ada", filters={"occurred_at": {"lte": NAIVE}}, interact=False)
    tool = {"name": "recall", "arguments": {"query_text": "Tea?", "before": NAIVE}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    headers = {"Accept": "application/json, text/event-stream"}
    content = http.post("/mcp", call, headers=headers).json()["result"]["content"]

    assert datetime.fromisoformat(event["occurred_at"]) == datetime.fromisoformat(AS_READ)
    assert [hit["event_id"] for hit in answer["hits"]] == [event["event_id"]]
    assert answer["notes"] == [f"A time has no zone and was read as local time: {AS_READ}."]
    assert http.get(f"/api/v7/events?user_id=ada&before={NAIVE}").json()["events"] == []
    assert content[-1]["text"] == f"before has no zone and was read as local time: {AS_READ}."

"""Lessons in the tools: chosen for what the agent works on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from service import new_key
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer.client.tools import BY_NAME
from remembrancer.context import Context

ERROR = "TypeError: keys must be str, int, float, bool or None, not tuple"
LESSON = {
    "topic": "json keys",
    "essence": "json.dumps raises TypeError: keys must be str, int, float, bool or None.",
    "rules_markdown": "- MUST convert tuple keys to text before json.dumps.",
    "evidence": "docs",
}


@pytest.fixture
def call(context: Context, app: Starlette) -> Any:
    """Return a function that calls a tool at /mcp and returns the text of its result."""
    headers = {
        "Authorization": f"Bearer {new_key(context)}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    with TestClient(app, base_url="http://127.0.0.1:8460", headers=headers) as client:

        def send(name: str, **arguments: Any) -> str:
            parameters = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
            result = client.post("/mcp", json=message).json()["result"]
            assert not result.get("isError"), result["content"]
            return str(result["content"][0]["text"])

        yield send


@pytest.mark.parametrize(
    ("arguments", "is_served"),
    [
        ({}, False),
        ({"error": None}, False),
        ({"error": ERROR}, True),
        ({"error": ERROR, "tools": ["Bash"], "files": ["export.py"]}, True),
    ],
)
def test_recall_serves_lessons_for_an_error(
    call: Any, arguments: dict[str, Any], is_served: bool
) -> None:
    """Flat arguments are `work` of the search (specification.md#search-work)."""
    call("save_cube", **LESSON)

    recalled = call("recall", query_text="it does not work", **arguments)

    assert ("[cube c_" in recalled) == is_served


def test_arguments_for_lessons_are_flat() -> None:
    """A model fills a text or a list; the tool has no nested object."""
    properties = BY_NAME["recall"].input_schema["properties"]

    assert {"error", "tools", "files"} <= set(properties)
    assert "work" not in properties
    assert "$defs" not in BY_NAME["recall"].input_schema


def test_recalled_lesson_says_why_and_how_turns_with_it_ended(call: Any) -> None:
    """The model reads `why` and `record` (specification.md#cube-why)."""
    lesson = {
        "topic": "kettles",
        "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
        "rules_markdown": "- MUST boil vinegar with two parts water.\n- SHALL rinse twice.",
        "evidence": "docs",
    }
    call("save_cube", **lesson)
    query, response = "How do I descale my kettle?", "Boil vinegar, two parts water; rinse twice."
    for session, text in (("s", query), ("s", "Thanks! And the iron?"), ("t", query)):
        recalled = call("recall", query_text=text, session_id=session)
        call("remember", query=text, response=response, session_id=session)

    last = r"^\(matches [^;\n]*kettle[^;\n]*; helped 1 of 1; own "
    assert re.search(last, recalled, re.MULTILINE)

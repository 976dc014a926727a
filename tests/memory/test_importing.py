"""Import: formats, refused files, repeated runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from memory.exchange.imports import Imports
from service import rows

from remembrancer.accounts import KeyIsReadOnly, PinnedToOtherUser, keys
from remembrancer.context import Context
from remembrancer.memory.exchange import importer as importing
from remembrancer.memory.exchange.importer import ImportResult

GARLIC = {
    "id": "g1",
    "query": "How deep do I plant garlic?",
    "response": "About 5 cm, tip up.",
    "session_id": "garden",
}
BEANS = {
    "query": "And beans?",
    "response": "Three fingers deep.",
    "topic": "plants",
    "occurred_at": "2025-10-12T18:20:00+02:00",
}


def refused(imports: Imports, content: str | bytes) -> str:
    """Return the error message of a file of JSON lines; check that nothing was stored."""
    return imports.refused(imports.written("said.jsonl", content), user_id="ada")


def lines(*events: Any) -> str:
    """Return the objects as JSON lines."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


def test_an_id_may_be_that_of_a_turn_in_each_session(imports: Imports) -> None:
    turns = [
        {"id": str(n), "session_id": session, "query": f"{n} in {session}", "response": "Yes."}
        for session in ("a", "b", "c")
        for n in range(importing.BATCH)
    ]

    assert imports.imported(lines(*turns)) == ImportResult(stored=len(turns), duplicates=0)
    assert len({stored[3] for stored in imports.turns()}) == len(turns)
    assert imports.imported(lines(*reversed(turns))).stored == 0


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + lines(GARLIC, BEANS).encode(),
        lines(GARLIC, BEANS).replace("\n", "\r\n"),
        "\n\n" + lines(GARLIC) + " \t\n\r\n" + lines(BEANS) + "\n",
        lines(GARLIC, BEANS).rstrip("\n"),
    ],
    ids=["bom", "crlf", "empty lines", "no last line feed"],
)
def test_bom_and_line_endings_are_normalized(imports: Imports, content: str | bytes) -> None:
    assert imports.imported(content) == ImportResult(stored=2, duplicates=0)
    assert imports.memory.best("garlic").query == GARLIC["query"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"query": "a"', "Invalid JSON: EOF while parsing an object, at character 13"),
        ("hello", "Invalid JSON: expected value, at character 1"),
        ('{"query": 7, "response": "b"}', "query: Input should be a valid string"),
        ('{"query": "a\\u0000", "response": "b"}', "query: "),
        ('{"query": "\\ud800", "response": "b"}', "Invalid JSON: "),
        ("7", "Input should be an object"),
        ("[" * 100_000, "Invalid JSON: recursion limit exceeded"),
        (b'{"query": "\xff", "response": "b"}', "Invalid JSON: invalid unicode code point"),
    ],
)
@pytest.mark.parametrize("place", [1, 200])
def test_error_names_the_invalid_line_and_nothing_is_stored(
    imports: Imports, bad: str | bytes, why: str, place: int
) -> None:
    good = lines(*({"query": f"q{n}", "response": "r"} for n in range(place - 1))).encode()
    line = bad if isinstance(bad, bytes) else bad.encode()

    error_message = refused(imports, b"\n".join([good + line, lines(GARLIC).encode()]))

    assert error_message.startswith(f", line {place}: ")
    assert why in error_message or (place == 1 and bad == "[" * 100_000)
    assert "\n" not in error_message


class TestPermissions:
    def test_read_only_and_foreign_pinned_keys_cannot_import(
        self, imports: Imports, context: Context
    ) -> None:
        reader, pinned = (
            keys.authenticate(context, keys.create(context, account="owner", **how).key.reveal())
            for how in ({"read_only": True}, {"user_id": "bob"})
        )
        path = imports.written("said.jsonl", lines({**GARLIC, "user_id": "ada"}))

        with pytest.raises(KeyIsReadOnly):
            importing.store(context, reader, importing.read(reader, path))
        with pytest.raises(PinnedToOtherUser):
            importing.read(pinned, path)
        assert rows(context)["events"] == 0

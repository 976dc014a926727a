"""Import: formats, refused files, repeated runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory.exchange.imports import Imports
from service import rows

from remembrancer.accounts import AccountUnknown, KeyIsReadOnly, PinnedToOtherUser, caller_for, keys
from remembrancer.context import Context
from remembrancer.memory.exchange import importer as importing
from remembrancer.memory.exchange.importer import ImportRefused, ImportResult

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # of GitHub, in form
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


def test_each_line_is_stored_verbatim_and_found(imports: Imports, context: Context) -> None:
    assert imports.imported(lines(GARLIC, BEANS)) == ImportResult(stored=2, duplicates=0)

    assert imports.turns() == [
        ("ada", "garden", None, GARLIC["query"], GARLIC["response"], context.clock()),
        ("ada", "default", "plants", BEANS["query"], BEANS["response"], 1_760_286_000_000),
    ]
    assert imports.memory.best("garlic").response == GARLIC["response"]
    assert imports.memory.best("beans").occurred_at == "2025-10-12T16:20:00.000Z"


def test_repeated_import_stores_only_new_lines(imports: Imports) -> None:
    imports.imported(lines(GARLIC, BEANS))

    assert imports.imported(lines(GARLIC, BEANS)) == ImportResult(stored=0, duplicates=2)
    assert imports.imported(
        lines(BEANS, {"query": "And peas?", "response": "Two."}, GARLIC)
    ) == ImportResult(stored=1, duplicates=2)


def test_an_event_without_an_id_is_identified_by_text_and_time(imports: Imports) -> None:
    same = {**BEANS, "occurred_at": "2025-10-12T16:20:00Z"}
    others = [
        {**BEANS, key: "2025-10-12T16:21:00Z"}
        for key in ("query", "response", "topic", "session_id", "occurred_at")
    ]

    assert imports.imported(lines(BEANS, same)) == ImportResult(stored=1, duplicates=1, repeated=1)
    assert imports.imported(lines(*others)) == ImportResult(stored=5, duplicates=0)


def test_duplicate_events_in_a_file_are_stored_once(imports: Imports) -> None:
    between = [{"query": f"q{n}", "response": "r"} for n in range(importing.BATCH)]

    assert imports.imported(lines(GARLIC, GARLIC, *between, GARLIC)) == ImportResult(
        stored=1 + len(between), duplicates=2, repeated=2
    )


def test_an_id_may_be_that_of_a_turn_in_each_session(imports: Imports) -> None:
    turns = [
        {"id": str(n), "session_id": session, "query": f"{n} in {session}", "response": "Yes."}
        for session in ("a", "b", "c")
        for n in range(importing.BATCH)
    ]

    assert imports.imported(lines(*turns)) == ImportResult(stored=len(turns), duplicates=0)
    assert len({stored[3] for stored in imports.turns()}) == len(turns)
    assert imports.imported(lines(*reversed(turns))).stored == 0


def test_a_turn_with_the_id_of_another_text_is_stored_too(imports: Imports) -> None:
    without_answer = {"id": "z1", "query": "Where is the key?", "response": ""}
    answered = {**without_answer, "response": "In the drawer."}
    other_session = {**answered, "session_id": "elsewhere"}
    turns = [without_answer, answered, other_session]

    for turn in turns:
        assert imports.imported(lines(turn)) == ImportResult(stored=1, duplicates=0)
    assert imports.imported(lines(*turns, *turns)) == ImportResult(stored=0, duplicates=6)
    assert imports.imported(lines({**answered, "topic": "keys"})).stored == 0


def test_a_turn_is_recognised_after_the_setting_for_secrets_changed(
    imports: Imports, context: Context
) -> None:
    turn = lines({**GARLIC, "response": f"The token is {SECRET}."})
    masks = Imports(imports.memory, imports.folder)
    masks.context = replace(context, settings=replace(context.settings, secrets="mask"))

    assert imports.imported(turn).stored == 1
    assert masks.imported(turn) == ImportResult(stored=0, duplicates=1)

    assert masks.imported(turn, user_id="bob").stored == 1
    assert "[masked:" in masks.turns()[-1][4]
    assert imports.imported(turn, user_id="bob") == ImportResult(stored=0, duplicates=1)


def test_duplicates_are_detected_per_space(imports: Imports) -> None:
    assert imports.imported(
        lines(GARLIC, {**GARLIC, "user_id": "bob"}), user_id=None
    ) == ImportResult(stored=2, duplicates=0)
    assert [stored[0] for stored in imports.turns()] == ["owner", "bob"]
    assert imports.imported(lines({**GARLIC, "user_id": "bob"}), user_id="cleo").stored == 1


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


@pytest.mark.parametrize("content", ["\n \n", b"\xef\xbb\xbf"])
def test_file_without_events_stores_nothing(imports: Imports, content: str | bytes) -> None:
    assert imports.imported(content) == ImportResult(stored=0, duplicates=0)


@pytest.mark.parametrize("name", ["said.jsonl", "said.json", "said.zip"])
def test_an_empty_file_is_refused(imports: Imports, name: str) -> None:
    path = imports.written(name, "")

    assert imports.refused(path) == " is empty"


def test_unicode_line_separators_do_not_split_lines(imports: Imports) -> None:
    body = {"query": "a\u2028b\u2029c\x85d\x0b\x0ce\x1c", "response": "r"}

    assert imports.imported(lines(body)).stored == 1
    assert imports.turns()[0][3] == body["query"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"query": "a"', "Invalid JSON: EOF while parsing an object, at character 13"),
        ("hello", "Invalid JSON: expected value, at character 1"),
        ('{"query": "a"}', "response: Field required"),
        ('{"query": 7, "response": "b"}', "query: Input should be a valid string"),
        ('{"query": " ", "response": ""}', "Value error, query and response are both empty"),
        ('{"query": "a", "response": "b", "occurred_at": "yesterday"}', "occurred_at: "),
        (
            '{"query": "a", "response": "b", "id": ""}',
            "id: String should have at least 1 character",
        ),
        ('{"query": "a", "response": "b", "user_id": ""}', "user_id: "),
        ('{"query": "a\\u0000", "response": "b"}', "query: "),
        ('{"query": "\\ud800", "response": "b"}', "Invalid JSON: "),
        ("7", "Input should be an object"),
        ("null", "Input should be an object"),
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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", ": not a known shape: an empty JSON list, or one without objects. Known shapes: "),
        (
            json.dumps([GARLIC]),
            ": not a known shape: JSON (list) of objects with id, query, response, session_id. ",
        ),
        ("{}", ": not a known shape: an empty JSON object, or one without objects. "),
        ('[\n{"conversation": \n nonsense}]', ", line 3: Expecting value"),
        ('{\n"conversation": \n nonsense}', ", line 3: Expecting value"),
    ],
)
def test_json_of_another_shape_is_refused(imports: Imports, content: str, why: str) -> None:
    assert refused(imports, content).startswith(why)


def test_missing_files_and_folders_are_refused(imports: Imports, folder: Path) -> None:
    for path, why in (
        (folder / "no.jsonl", "no such file"),
        (folder, "not a known shape: a folder with 3 files"),
    ):
        with pytest.raises(ImportRefused, match=why):
            importing.read(imports.context, imports.memory.caller, path)


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
            importing.store(context, reader, importing.read(context, reader, path))
        with pytest.raises(PinnedToOtherUser):
            importing.read(context, pinned, path)
        assert rows(context)["events"] == 0

    def test_local_caller_defaults_to_the_owner_who_is_created(self, context: Context) -> None:
        owner = caller_for(context)
        keys.create(context, account="zoe")
        zoe = caller_for(context, "zoe")

        assert caller_for(context) == owner
        assert (owner.account_name, owner.is_owner) == ("owner", True)
        assert (zoe.account_name, zoe.is_owner) == ("zoe", False)
        with pytest.raises(AccountUnknown):
            caller_for(context, "nobody")


def test_progress_is_reported_for_every_event(imports: Imports) -> None:
    steps: list[int] = []
    turns = ({"query": f"q{n}", "response": "r"} for n in range(importing.BATCH + 5))
    source = imports.read(imports.written("said.jsonl", lines(*turns)), user_id="ada")

    importing.store(imports.context, imports.memory.caller, source, progress=steps.append)

    assert (len(source), steps) == (importing.BATCH + 5, [importing.BATCH, 5])

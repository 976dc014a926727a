"""Import: formats, refused files, repeated runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory.asking import Memory
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
KEEPERS = {
    "sample_id": "keepers",
    "conversation": {
        "speaker_a": "Nell",
        "speaker_b": "Osip",
        "session_1_date_time": "9:05 am on 3 June, 2021",
        "session_1": [
            {"speaker": "Nell", "dia_id": "D1:1", "text": "The lamp is lit at dusk."},
            {
                "speaker": "Osip",
                "dia_id": "D1:2",
                "text": "And the fog horn?",
                "blip_caption": "a red horn on a rock",
            },
            {"speaker": "Nell", "dia_id": "D1:3", "text": "Only below two miles of sight."},
        ],
        "session_10_date_time": "12:30 pm on 15 July, 2021",
        "session_10": [{"speaker": "Osip", "dia_id": "D10:1", "text": "The supply boat came."}],
        "session_2_date_time": "11:59 pm on 4 June, 2021",
        "session_2": [],
    },
}


class Files:
    """Write files and import them."""

    def __init__(self, memory: Memory, folder: Path) -> None:
        self.memory, self.context, self.folder = memory, memory.context, folder

    def written(self, content: str | bytes, name: str = "said.jsonl") -> Path:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def imported(self, content: str | bytes, user_id: str | None = "ada") -> ImportResult:
        source = importing.read(
            self.context, self.memory.caller, self.written(content), user_id=user_id
        )
        return importing.store(self.context, self.memory.caller, source)

    def refused(self, content: str | bytes) -> str:
        """Return the error message without the path; check that nothing was stored."""
        before = rows(self.context)
        with pytest.raises(ImportRefused) as refusal:
            self.imported(content)
        assert rows(self.context) == before
        return str(refusal.value).removeprefix(str(self.folder / "said.jsonl"))

    def stored_rows(self) -> list[Any]:
        """Return the stored rows, in order."""
        sql = (
            "select spaces.user_id, sessions.session_id, topic, query, response, occurred_ms from events "
            "join sessions on sessions.id = session join spaces on spaces.id = sessions.space_id order by events.id"
        )
        return self.context.store.read(lambda tx: [tuple(row) for row in tx.all(sql)])


@pytest.fixture
def files(memory: Memory, folder: Path) -> Files:
    return Files(memory, folder)


def lines(*events: Any) -> str:
    """Return the objects as JSON lines."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)


def test_each_line_is_stored_verbatim_and_found(files: Files, context: Context) -> None:
    assert files.imported(lines(GARLIC, BEANS)) == ImportResult(stored=2, duplicates=0)

    assert files.stored_rows() == [
        ("ada", "garden", None, GARLIC["query"], GARLIC["response"], context.clock()),
        ("ada", "default", "plants", BEANS["query"], BEANS["response"], 1_760_286_000_000),
    ]
    assert files.memory.best("garlic").response == GARLIC["response"]
    assert files.memory.best("beans").occurred_at == "2025-10-12T16:20:00.000Z"


def test_repeated_import_stores_only_new_lines(files: Files) -> None:
    files.imported(lines(GARLIC, BEANS))

    assert files.imported(lines(GARLIC, BEANS)) == ImportResult(stored=0, duplicates=2)
    assert files.imported(
        lines(BEANS, {"query": "And peas?", "response": "Two."}, GARLIC)
    ) == ImportResult(stored=1, duplicates=2)


def test_an_event_without_an_id_is_identified_by_text_and_time(files: Files) -> None:
    same = {**BEANS, "occurred_at": "2025-10-12T16:20:00Z"}
    others = [
        {**BEANS, key: "2025-10-12T16:21:00Z"}
        for key in ("query", "response", "topic", "session_id", "occurred_at")
    ]

    assert files.imported(lines(BEANS, same)) == ImportResult(stored=1, duplicates=1, repeated=1)
    assert files.imported(lines(*others)) == ImportResult(stored=5, duplicates=0)


def test_duplicate_events_in_a_file_are_stored_once(files: Files) -> None:
    between = [{"query": f"q{n}", "response": "r"} for n in range(importing.BATCH)]

    assert files.imported(lines(GARLIC, GARLIC, *between, GARLIC)) == ImportResult(
        stored=1 + len(between), duplicates=2, repeated=2
    )


def test_an_id_may_be_that_of_a_turn_in_each_session(files: Files) -> None:
    turns = [
        {"id": str(n), "session_id": session, "query": f"{n} in {session}", "response": "Yes."}
        for session in ("a", "b", "c")
        for n in range(importing.BATCH)
    ]

    assert files.imported(lines(*turns)) == ImportResult(stored=len(turns), duplicates=0)
    assert len({stored[3] for stored in files.stored_rows()}) == len(turns)
    assert files.imported(lines(*reversed(turns))).stored == 0


def test_a_turn_with_the_id_of_another_text_is_stored_too(files: Files) -> None:
    without_answer = {"id": "z1", "query": "Where is the key?", "response": ""}
    answered = {**without_answer, "response": "In the drawer."}
    other_session = {**answered, "session_id": "elsewhere"}
    turns = [without_answer, answered, other_session]

    for turn in turns:
        assert files.imported(lines(turn)) == ImportResult(stored=1, duplicates=0)
    assert files.imported(lines(*turns, *turns)) == ImportResult(stored=0, duplicates=6)
    assert files.imported(lines({**answered, "topic": "keys"})).stored == 0


def test_a_turn_is_recognised_after_the_setting_for_secrets_changed(
    files: Files, context: Context
) -> None:
    turn = lines({**GARLIC, "response": f"The token is {SECRET}."})
    masks = Files(files.memory, files.folder)
    masks.context = replace(context, settings=replace(context.settings, secrets="mask"))

    assert files.imported(turn).stored == 1
    assert masks.imported(turn) == ImportResult(stored=0, duplicates=1)

    assert masks.imported(turn, user_id="bob").stored == 1
    assert "[masked:" in masks.stored_rows()[-1][4]
    assert files.imported(turn, user_id="bob") == ImportResult(stored=0, duplicates=1)


def test_duplicates_are_detected_per_space(files: Files) -> None:
    assert files.imported(
        lines(GARLIC, {**GARLIC, "user_id": "bob"}), user_id=None
    ) == ImportResult(stored=2, duplicates=0)
    assert [stored[0] for stored in files.stored_rows()] == ["owner", "bob"]
    assert files.imported(lines({**GARLIC, "user_id": "bob"}), user_id="cleo").stored == 1


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
def test_bom_and_line_endings_are_normalized(files: Files, content: str | bytes) -> None:
    assert files.imported(content) == ImportResult(stored=2, duplicates=0)
    assert files.memory.best("garlic").query == GARLIC["query"]


@pytest.mark.parametrize("content", ["\n \n", b"\xef\xbb\xbf"])
def test_file_without_events_stores_nothing(files: Files, content: str | bytes) -> None:
    assert files.imported(content) == ImportResult(stored=0, duplicates=0)


@pytest.mark.parametrize("name", ["said.jsonl", "said.json", "said.zip"])
def test_an_empty_file_is_refused(files: Files, name: str) -> None:
    path = files.written("", name)

    with pytest.raises(ImportRefused) as refusal:
        importing.read(files.context, files.memory.caller, path)
    assert str(refusal.value) == f"{path} is empty"


def test_unicode_line_separators_do_not_split_lines(files: Files) -> None:
    body = {"query": "a\u2028b\u2029c\x85d\x0b\x0ce\x1c", "response": "r"}

    assert files.imported(lines(body)).stored == 1
    assert files.stored_rows()[0][3] == body["query"]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"query": "a"', "Invalid JSON: EOF while parsing an object, at character 13"),
        ("hello", "Invalid JSON: expected value, at character 1"),
        ('{"query": "a"}', "response: Field required"),
        ('{"query": 7, "response": "b"}', "query: Input should be a valid string"),
        (
            '{"query": " ", "response": ""}',
            "Value error, query and response are both empty",
        ),
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
@pytest.mark.parametrize("place", [1, 2, 200])
def test_error_names_the_invalid_line_and_nothing_is_stored(
    files: Files, bad: str | bytes, why: str, place: int
) -> None:
    good = lines(*({"query": f"q{n}", "response": "r"} for n in range(place - 1))).encode()
    content = (
        good + (bad if isinstance(bad, bytes) else bad.encode()) + b"\n" + lines(GARLIC).encode()
    )

    error_message = files.refused(content)

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
def test_json_of_another_shape_is_refused(files: Files, content: str, why: str) -> None:
    assert files.refused(content).startswith(why)


def test_missing_files_and_folders_are_refused(files: Files, folder: Path) -> None:
    for path, why in (
        (folder / "no.jsonl", "no such file"),
        (folder, "not a known shape: a folder with 3 files"),
    ):
        with pytest.raises(ImportRefused, match=why):
            importing.read(files.context, files.memory.caller, path)


class TestConversations:
    def test_two_consecutive_messages_of_a_session_are_one_event(self, files: Files) -> None:
        assert files.imported(json.dumps([KEEPERS]), user_id=None) == ImportResult(
            stored=3, duplicates=0
        )

        june, july = 1_622_711_100_000, 1_626_352_200_000
        assert files.stored_rows() == [
            (
                "keepers",
                "session_1",
                None,
                "Nell: The lamp is lit at dusk.",
                "Osip: And the fog horn? [image: a red horn on a rock]",
                june,
            ),
            ("keepers", "session_1", None, "Nell: Only below two miles of sight.", "", june + 2),
            ("keepers", "session_10", None, "Osip: The supply boat came.", "", july),
        ]

    @pytest.mark.parametrize(
        "content",
        [
            json.dumps(KEEPERS),
            json.dumps(KEEPERS, indent=1),
            "\ufeff" + json.dumps([KEEPERS], indent=2),
        ],
    )
    def test_object_or_list_with_any_whitespace_is_recognized_as_duplicate(
        self, files: Files, content: str
    ) -> None:
        files.imported(json.dumps([KEEPERS]))

        assert files.imported(content) == ImportResult(stored=0, duplicates=3)

    def test_sessions_of_several_conversations_are_separate(self, files: Files) -> None:
        files.imported(json.dumps([KEEPERS, {**KEEPERS, "sample_id": "others"}]))

        assert {stored[:2] for stored in files.stored_rows()} == {
            ("ada", f"{name}/session_{n}") for name in ("keepers", "others") for n in (1, 10)
        }

    def test_unnamed_conversations_are_identified_by_their_messages(self, files: Files) -> None:
        text = json.loads(json.dumps(KEEPERS["conversation"]))
        files.imported(json.dumps({"conversation": text}))
        text["session_1"][0]["text"] = "The lamp is out."

        assert files.imported(json.dumps({"conversation": text})) == ImportResult(
            stored=1, duplicates=2
        )

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (
                {"session_1_date_time": "yesterday"},
                "conversation 1, session_1_date_time: time data 'yesterday' does not match",
            ),
            (
                {"session_1_date_time": None},
                "conversation 1, session_1_date_time: time data 'None'",
            ),
            (
                {"session_1": [{"speaker": "Nell"}]},
                "conversation 1, session_1: 0.text: Field required",
            ),
            (
                {"session_10": [{"speaker": "Nell", "text": 7}]},
                "conversation 1, session_10: 0.text: Input should be a valid string",
            ),
            ({"session_1": "Nell"}, "conversation 1, session_1: Input should be a valid list"),
        ],
    )
    def test_error_names_the_invalid_field_and_nothing_is_stored(
        self, files: Files, change: dict[str, Any], why: str
    ) -> None:
        error_message = files.refused(
            json.dumps({**KEEPERS, "conversation": {**KEEPERS["conversation"], **change}})  # type: ignore[dict-item]
        )

        assert why in error_message

    @pytest.mark.parametrize("conversation", [{}, [], None, "text", {"session_x": []}])
    def test_conversation_without_sessions_is_refused(
        self, files: Files, conversation: Any
    ) -> None:
        assert "conversation 2: it has no session_1" in files.refused(
            json.dumps([KEEPERS, {"conversation": conversation}])
        )


class TestPermissions:
    def test_read_only_and_foreign_pinned_keys_cannot_import(
        self, files: Files, context: Context
    ) -> None:
        reader = keys.authenticate(
            context, keys.create(context, account="owner", read_only=True).key.reveal()
        )
        pinned = keys.authenticate(
            context, keys.create(context, account="owner", user_id="bob").key.reveal()
        )
        path = files.written(lines({**GARLIC, "user_id": "ada"}))

        with pytest.raises(KeyIsReadOnly):
            importing.store(context, reader, importing.read(context, reader, path))
        with pytest.raises(PinnedToOtherUser):
            importing.read(context, pinned, path)
        assert rows(context)["events"] == 0

    def test_local_caller_defaults_to_the_owner(self, files: Files, context: Context) -> None:
        keys.create(context, account="zoe")

        assert (caller_for(context).account_name, caller_for(context).is_owner) == ("owner", True)
        assert (caller_for(context, "zoe").account_name, caller_for(context, "zoe").is_owner) == (
            "zoe",
            False,
        )
        with pytest.raises(AccountUnknown):
            caller_for(context, "nobody")

    def test_owner_is_created_in_a_new_folder(self, context: Context) -> None:
        assert caller_for(context) == caller_for(context)
        assert (caller_for(context).account_name, caller_for(context).is_owner) == ("owner", True)


def test_progress_is_reported_for_every_event(files: Files) -> None:
    steps: list[int] = []
    path = files.written(
        lines(*({"query": f"q{n}", "response": "r"} for n in range(importing.BATCH + 5)))
    )
    source = importing.read(files.context, files.memory.caller, path, user_id="ada")

    importing.store(files.context, files.memory.caller, source, progress=steps.append)

    assert (len(source), steps) == (importing.BATCH + 5, [importing.BATCH, 5])

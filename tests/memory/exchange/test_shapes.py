"""Each shape of other products: what becomes a turn, what a fact, and what is left out.

`samples/README.md` says where each sample is from.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import apsw
import pytest
from memory.exchange.imports import OWNER, SAMPLES, Imports, archive, ms

from remembrancer.memory.exchange.importer import ImportResult
from remembrancer.memory.exchange.shapes.records import LeftOutRecord
from remembrancer.memory.exchange.shapes.table import NAMES, detect

_SHAPES = {
    "chatgpt": "chatgpt",
    "claude": "claude",
    "openai-messages": "openai-messages",
    "openai-messages-lines": "openai-messages",
    "claude-code": "claude-code",
    "codex": "codex",
    "mem0": "mem0",
    "letta": "letta",
    "letta-messages": "letta",
    "letta-server": "letta",
    "graphiti": "graphiti",
    "zep": "graphiti",
    "hindsight": "hindsight",
    "hindsight-list": "hindsight",
    "claude-mem": "claude-mem",
    "basic-memory": "basic-memory",
    "markdown": "markdown",
}


def test_every_sample_is_recognised_and_every_shape_has_one() -> None:
    assert {path.name: detect(path).name for path in SAMPLES.iterdir() if path.is_dir()} == _SHAPES
    assert set(NAMES) - set(_SHAPES.values()) == {"events"}  # test_importing.py


@pytest.mark.parametrize("sample", _SHAPES)
def test_a_second_import_stores_nothing(imports: Imports, sample: str) -> None:
    first = imports.stored(SAMPLES / sample)
    turns, facts = imports.turns(), imports.facts()

    assert imports.stored(SAMPLES / sample) == ImportResult(stored=0, duplicates=first.stored)
    assert (imports.turns(), imports.facts()) == (turns, facts)
    assert len(turns) + len(facts) == first.stored > 0
    assert len(facts) == first.facts


@pytest.mark.parametrize("sample", _SHAPES)
def test_an_archive_is_read_as_the_folder_is(imports: Imports, sample: str) -> None:
    if sample == "markdown":
        pytest.skip("the time of a note without one is the file's, which an archive does not say")
    packed = imports.read(archive(imports.folder / "packed.zip", SAMPLES / sample))
    unpacked = imports.read(SAMPLES / sample)

    assert list(packed) == list(unpacked)
    assert packed.survey.reasons == unpacked.survey.reasons


def test_chatgpt_takes_the_current_branch(imports: Imports) -> None:
    left_out = imports.read(SAMPLES / "chatgpt").survey.reasons
    imports.stored(SAMPLES / "chatgpt" / "conversations.json")

    garlic = (OWNER, "c-garlic", "Garlic in autumn")
    ferry = "My name is Nell and the ferry is at noon."
    assert imports.turns() == [
        (*garlic, "How deep do I plant garlic?", "About 5 cm, tip up.", 1_760_286_000_250),
        (*garlic, "Is this bed deep enough?", "Yes, 20 cm is plenty.", 1_760_286_290_000),
        (OWNER, "c-ferry", "Ferry", ferry, "", 1_760_372_400_000),
    ]
    kinds = ["other branch", "thinking", "tool call", "tool result", "notice of the program"]
    assert left_out == Counter([*kinds, "image, audio or file"])


def test_claude_code_takes_only_what_was_typed_and_answered(imports: Imports) -> None:
    left_out = imports.read(SAMPLES / "claude-code").survey.reasons
    imports.stored(SAMPLES / "claude-code")

    times, answer = (OWNER, "5e55-1", "Ferry times"), "Let me look.\n\nIt leaves at noon."
    assert imports.turns() == [
        (*times, "When does the ferry leave?", answer, ms("2026-11-21T09:01:00Z")),
        (*times, "And on Sundays?", "", ms("2026-11-21T09:05:00Z")),
    ]
    once = Counter(("thinking", "tool call", "tool result"))
    assert left_out == once + Counter({"notice of the program": 3, "subagent": 2})


def test_codex_takes_only_what_was_typed_and_answered(imports: Imports) -> None:
    imports.stored(SAMPLES / "codex")

    session, at = (OWNER, "0199a213-77", None), ms("2026-11-21T09:00:01Z")
    assert imports.turns() == [(*session, "Mend the gate", "The hinge is new.", at)]


def test_recorded_transcripts_are_read(imports: Imports) -> None:
    """The recorded transcripts of the hooks' tests are files of the real programs."""
    recorded = Path(__file__).parents[2] / "integrations" / "recorded"
    for agent in ("claude-code", "codex"):
        imports.stored(recorded / agent / "transcript.jsonl")

    turns = imports.turns()
    assert [row[3] for row in turns] == ["When does the ferry to Elba leave?"] * 2
    assert [row[4].splitlines()[-1] for row in turns] == ["It leaves at noon."] * 2
    assert turns[0][4].startswith("Let me look at the timetable.\n\n")


def test_letta_lists_of_a_server_are_read_with_tags_and_oldest_first(imports: Imports) -> None:
    """The API lists the newest message first; `sam.json` is such a list."""
    left_out = imports.read(SAMPLES / "letta-server").survey.left_out
    imports.stored(SAMPLES / "letta-server")

    sam = (OWNER, "sam", None)
    assert imports.turns() == [
        (*sam, "I keep bees.", "How many hives?", ms("2026-04-01T08:01:01Z")),
        (*sam, "Three, by the pond.", "I noted three hives.", ms("2026-04-01T08:01:40Z")),
    ]
    assert [row[:3] for row in imports.facts()[1:]] == [
        (OWNER, "Smokes the hives with hay", ms("2026-04-01T09:30:00.125Z")),
        (OWNER, "The pond froze in 2025", ms("2026-04-02T09:30:00.125Z")),
    ]
    assert imports.facts()[0][1] == "human: Keeps bees.\nHas three hives."
    stored = imports.context.store.read(lambda tx: tx.all("select metadata from facts order by id"))
    assert [json.loads(row.metadata or "null") for row in stored] == [
        None,
        {"tags": ["bees", "craft"]},
        {"season": "winter"},
    ]
    unfit = "metadata that is no text, number, boolean or list of texts, or too much"
    assert places(left_out) == [
        "blocks.json, record 2: no text",
        "blocks.json, record 3: template",
        f"passages.json, record 2, metadata where: {unfit}",
        "passages.json, record 3: no text",
        "sam.json, record 2: image, audio or file",
        "sam.json, record 4: tool result",
        "sam.json, record 5: tool call",
        "sam.json, record 6: thinking",
        "sam.json, record 8: system prompt",
    ]


def places(left_out: list[LeftOutRecord]) -> list[str]:
    """Return what is left out, with the names of files without their folders, sorted."""
    return sorted(str(one).rpartition("/")[2] for one in left_out)


def test_letta_agent_file_says_which_parts_are_left_out(imports: Imports) -> None:
    read = imports.read(SAMPLES / "letta")

    assert read.survey.facts == 1
    assert places(read.survey.left_out) == [
        "helper.af, agents 1, message 1: system prompt",
        "helper.af, agents 1, message 2: notice of the program",
        "helper.af, agents 1, message 4: thinking",
        "helper.af, agents 1, message 4: tool call",
        "helper.af, agents 1, message 5: tool result",
        "helper.af, agents 1: system prompt",
        "helper.af, blocks 2: no text",
        "helper.af, tools 1: part of another kind",
    ]


def test_letta_block_too_long_for_a_fact_is_a_turn(imports: Imports) -> None:
    block = {"label": "human", "value": "bees " * 500}
    imports.stored(imports.written("blocks.json", json.dumps([block])))

    assert imports.facts() == []
    assert [row[1:4] for row in imports.turns()] == [("letta", "human", "")]


def test_graphiti_edges_are_facts_with_their_validity(imports: Imports) -> None:
    imports.stored(SAMPLES / "graphiti")
    letter = ms("2026-03-02T12:00:00Z")

    assert imports.facts() == [
        ("ada", "Ada lives in Rome", ms("2020-05-01T00:00:00Z"), ms("2026-03-01T00:00:00Z")),
        ("ada", "Ada has a flat in Oslo", ms("2026-03-01T00:00:00Z"), None),
    ]
    assert imports.turns() == [
        ("ada", "ada", "message 1", "I moved to Oslo.", "", ms("2026-03-01T12:00:00Z")),
        ("ada", "ada", "letter", "", "The flat has a view of the fjord.", letter),
    ]


def test_hindsight_bank_is_the_user_of_its_archive(imports: Imports) -> None:
    imports.stored(SAMPLES / "hindsight")

    mentioned = ms("2026-05-30T10:00:00Z")
    assert imports.turns() == [
        ("nell", "logbook/1", None, "", "Fog at dawn.", mentioned),
        ("nell", "logbook/1", None, "", "The horn ran until ten.", mentioned),
    ]
    assert imports.facts() == [
        ("nell", "Nell keeps a logbook of fog", ms("2026-05-31T00:00:00Z"), None),
        ("nell", "There was fog at dawn on 30 May 2026", ms("2026-05-30T04:00:00Z"), None),
        ("nell", "The horn ran until ten", mentioned, None),
    ]


CLAUDE_MEM_FACTS = [
    (OWNER, "The hinge takes M6 screws", 1_782_900_000_000, None),
    (OWNER, "The gate opens inwards", 1_782_900_000_000, None),
    (OWNER, "Paint is due — in spring", 1_782_900_060_000, None),
]
HINGE = "Hinge fixed\n\nThe old screws had rusted through."
GATE = "Investigated: The hinge\n\nCompleted: New screws\n\nNext steps: Paint it"
CLAUDE_MEM_TURNS = [
    (OWNER, "mem-1", "Hinge fixed", "", HINGE, 1_782_900_000_000),
    (OWNER, "mem-1", "gate", "Mend the gate", GATE, 1_782_903_600_000),
]


def test_claude_mem_observations_are_facts_and_prose_turns(imports: Imports) -> None:
    imports.stored(SAMPLES / "claude-mem")

    assert imports.facts() == CLAUDE_MEM_FACTS
    assert imports.turns() == [
        *CLAUDE_MEM_TURNS,
        (OWNER, "cs-1", None, "Mend the gate", "", 1_782_899_940_000),
    ]


def test_claude_mem_database_is_read_like_its_export(imports: Imports) -> None:
    exported = json.loads((SAMPLES / "claude-mem" / "export.json").read_text())
    path = imports.folder / "claude-mem.db"
    database = apsw.Connection(str(path))
    tables = {"sessions": "sdk_sessions", "observations": "observations"}
    tables |= {"summaries": "session_summaries", "prompts": "user_prompts"}
    for name, table in tables.items():
        database.execute(f"create table {table} ({', '.join(exported[name][0])})")
        for record in exported[name]:
            values = ", ".join(f":{column}" for column in record)
            database.execute(f"insert into {table} ({', '.join(record)}) values ({values})", record)
    database.close()
    before = sorted(imports.folder.iterdir())
    imports.stored(path)

    assert imports.facts() == CLAUDE_MEM_FACTS
    assert imports.turns()[:2] == CLAUDE_MEM_TURNS
    assert sorted(imports.folder.iterdir()) == before  # no journal beside the database
    assert imports.stored(SAMPLES / "claude-mem").stored == 0


def test_basic_memory_observations_and_relations_are_facts(imports: Imports) -> None:
    imports.stored(SAMPLES / "basic-memory")

    at = ms("2026-08-01T10:00:00Z")
    assert imports.facts() == [
        (OWNER, "Search design: [decision] Use SQLite for the index #storage (measured)", at, None),
        (OWNER, "Search design part of Remembering", at, None),
        (OWNER, "Search design depends on Store (for rows)", at, None),
    ]
    [turn] = imports.turns()
    assert (turn[1], turn[2], turn[5]) == ("design/Search.md", "Search design", at)
    for line in (
        "We rank by words and by meaning.",
        "- [ ] an open task",
        "- [00:00:11] a line of a transcript",
        "- see also [[Ranking]] for more",
        "- [code] is not an observation",
    ):
        assert line in turn[4]
    assert "Use SQLite" not in turn[4]


def test_markdown_notes_are_turns(imports: Imports) -> None:
    left_out = imports.read(SAMPLES / "markdown").survey.reasons
    imports.stored(SAMPLES / "markdown")

    written = (SAMPLES / "markdown" / "garden.md").stat().st_mtime
    garden, elba = imports.turns()
    text = "# The garden\n\nGarlic goes in in October."
    assert garden[:5] == (OWNER, "garden.md", "The garden", "", text)
    assert garden[5] == pytest.approx(written * 1000, abs=1)
    assert elba[:3] == (OWNER, "trips/Elba.md", "Elba 2026")
    assert elba[3:] == ("", "The ferry leaves from Piombino.", ms("2026-08-05T00:00:00Z"))
    assert left_out == Counter({"no text": 1})


def test_long_note_is_split_at_its_headings(imports: Imports) -> None:
    section = "word " * 1_000
    code = "```\n# a comment, no heading\n```\n"
    imports.stored(imports.written("a.md", f"# One\n{section}\n{code}## Two\n{section}\n"))

    assert [row[4][:6] for row in imports.turns()] == ["# One\n", "## Two"]
    assert "# a comment" in imports.turns()[0][4]


def test_long_ids_stay_apart_and_within_the_limit(imports: Imports) -> None:
    said = {"name": "t" * 5_000, "chat_messages": [{"uuid": "m", "sender": "human", "text": "Hi"}]}
    conversations = [{"uuid": "x" * 300 + end, **said} for end in ("a", "b")]
    imports.stored(imports.written("conversations.json", json.dumps(conversations)))

    sessions = [row[1] for row in imports.turns()]
    assert len(set(sessions)) == 2
    assert [len(session) for session in sessions] == [256, 256]
    assert [len(row[2]) for row in imports.turns()] == [1_000, 1_000]

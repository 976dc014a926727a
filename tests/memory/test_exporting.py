"""Export and import of our own format: the round trip, snapshots, tables of the schema."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from architecture.tree import ROOT
from engines import ENGINES, empty_store
from exchange_files import DRAFT, exported, fill_all, members, records
from filled import answers
from memory.asking import memory_in

from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context
from remembrancer.cubes.proposals import create
from remembrancer.memory.exchange.export import FileErasedMeanwhile, export
from remembrancer.memory.exchange.records import MANIFEST, MEMBERS
from remembrancer.memory.exchange.restore import Progress, restore
from remembrancer.memory.exchange.shapes import zips
from remembrancer.memory.exchange.shapes.records import ImportRefused
from remembrancer.memory.history.endings import change_event
from remembrancer.memory.write.turns import event_detail
from remembrancer.protocol.cubes import CubeCreate
from remembrancer.protocol.memory import EventChange
from remembrancer.store import open_store
from remembrancer.store.transfer.copy import OF_ONE_STORE, SQL, store_digest

# Tables of the schema and the member that holds their rows.
EXPORTED = {
    "spaces": "users.jsonl",
    "sessions": "sessions.jsonl",
    "events": "events.jsonl",
    "looks": "events.jsonl",
    "origins": "origins.jsonl",
    "facts": "facts.jsonl",
    "fact_sources": "facts.jsonl",
    "summaries": "summaries.jsonl",
    "maps": "maps.jsonl",
    "prompts": "prompts.jsonl",
    "memory_files": "memory_files.jsonl",
    "cubes": "cubes.jsonl",
    "ratings": "votes.jsonl",
    "files": "files.jsonl",
}
# Tables that no export holds, with the reason; docs/reference/export-format.md lists them.
NOT_EXPORTED = tomllib.loads((ROOT / "docs" / "generate.toml").read_text("utf-8"))["not_exported"]
# Columns of the exported tables. Each is in a record, or derived, or of one store. A migration that
# adds one decides which, and adds it here.
COLUMNS = {
    "spaces": "account_id created_ms events_made file_bytes file_changes id l1_count l1_mapped "
    "layers_made revision user_id",
    "sessions": "account_id created_ms cube_turn id last_turn_ms open_task remembered_step session_id "
    "space_id step tasks_shown turns turns_summarised turns_without_cube turns_without_l1",
    "events": "account_id author_account author_user created_ms event_id expires_ms flags id metadata occurred_ms occurred_offset pinned "
    "query query_source repeats response response_source "
    "session step superseded_by topic twin withdrawn_by",
    "looks": "account_id event failed key_id last_passed looked_ms passed session",
    "origins": "account_id event origin space_id",
    "facts": "account_id author_account author_user condition created_ms event expires_ms fact_id id key_id kind metadata origin "
    "pinned session source space_id status superseded_by text used_ms uses valid_from_ms valid_to_ms",
    "fact_sources": "account_id event fact",
    "summaries": "account_id created_ms id l1_id message_count ratio session source space_id text topic "
    "turns",
    "maps": "account_id created_ms l1_count made_by source space_id text version",
    "prompts": "account_id text updated_ms user_id",
    "memory_files": "account_id bytes change created_ms flags id is_current key_id other_path path "
    "space_id text version",
    "cubes": "account_id created_ms cube_id essence evidence expires_ms for_account id kind "
    "merged_into model rules session source status topic useful useless user_id",
    "ratings": "account_id cube rated_ms reason user_id vote",
    "files": "account_id blob created_ms filename id key_id made_by size_bytes user_id",
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """Return a service whose owner has a record of every kind."""
    folder = tmp_path_factory.mktemp("source")
    store = open_store(f"sqlite:{folder / 'source.sqlite3'}", durability="normal")
    with closing(testing.context(folder, store=store)) as context:
        fill_all(context)
        yield context


@pytest.fixture(scope="module")
def archive(source: Context, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of that owner."""
    return exported(source, tmp_path_factory.mktemp("archive") / "memory.zip")


@pytest.fixture(scope="module")
def ada(source: Context, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of one of the owner's users."""
    return exported(source, tmp_path_factory.mktemp("ada") / "ada.zip", user_ids=["ada"])


@pytest.fixture(params=ENGINES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Return a service with an empty store on each engine."""
    url = empty_store(str(request.param), tmp_path)
    store = open_store(url, durability="normal")
    with closing(testing.context(tmp_path / "target", store=store)) as context:
        yield context


def contents(context: Context) -> dict[str, object]:
    """Return the digests of all tables."""
    return dict(store_digest(context.store))


def test_import_into_an_empty_store_gives_the_same_export_and_a_second_one_changes_nothing(
    archive: Path, target: Context, tmp_path: Path
) -> None:
    """Every field of every record survives on both engines, but for votes of other accounts."""
    first = restore(target, caller_for(target), archive)
    before, after = members(archive), members(exported(target, tmp_path / "again.zip"))
    stored = contents(target)
    second = restore(target, caller_for(target), archive)

    assert before.keys() == after.keys()
    for name in before.keys() - {MANIFEST, "cubes.jsonl"}:
        assert sorted(before[name].splitlines()) == sorted(after[name].splitlines()), name
    assert before["events.jsonl"] == after["events.jsonl"]
    cubes, cubes_after = (
        [json.loads(line) for line in each["cubes.jsonl"].splitlines()] for each in (before, after)
    )
    assert [cube | {"useful": 0} for cube in cubes] == cubes_after
    assert [name for name in MEMBERS if name != "votes.jsonl" and not before[name]] == []
    assert (first.present, second.stored) == (0, 0)
    assert second.present == first.stored > 2_000
    assert contents(target) == stored


def test_imports_of_all_accounts_give_the_same_answers(
    source: Context, archive: Path, target: Context, tmp_path: Path
) -> None:
    """Also the votes of another account on a cube of the first one."""
    restore(target, caller_for(target), archive)
    keys.create(target, account="bob")
    path = tmp_path / "bob.zip"
    export(source, caller_for(source, "bob"), path)
    result = restore(target, caller_for(target, "bob"), path)

    assert (result.stored, result.without_cube) == (3, 0)
    here, there = (answers(context, with_teams=False) for context in (source, target))
    assert here[:-1] == there[:-1]  # without the audit trail
    for user_id in ("owner", "ada"):
        for question in ("Which lamp is number 7?", "ferry", "Where does Ada live?", "Siena"):
            mine, theirs = (
                memory_in(context, user_id=user_id).ask(question, top_k=10)
                for context in (source, target)
            )
            assert mine.hits == theirs.hits
            assert (mine.facts, mine.instructions) == (theirs.facts, theirs.instructions)
            assert mine.summaries == theirs.summaries
    memory = memory_in(target, user_id="owner")
    query, draft, revision = DRAFT
    row = next(row for row in records(archive, "events.jsonl") if row["response"] == draft)
    assert memory.best(query).response == revision
    assert row["event_id"] not in memory.hit_ids(query, top_k=50)
    detail = event_detail(target, memory.caller, row["event_id"])
    assert detail.superseded_by == row["superseded_by"]


def test_a_cube_of_the_account_keeps_its_readers(
    context: Context, target: Context, tmp_path: Path
) -> None:
    """All users of the account see it after an import, too (specification.md#cube-visibility)."""
    lesson = {
        "topic": "kettles",
        "essence": "Descaling a kettle takes vinegar.",
        "evidence": "docs",
    }
    rules = {"rules_markdown": "- MUST boil vinegar", "user_id": "ada", "visibility": "account"}
    keys.create(context, account="owner")
    create(context, caller_for(context), CubeCreate.model_validate({**lesson, **rules}))
    path = tmp_path / "own.zip"
    export(context, caller_for(context), path)
    keys.create(target, account="owner")

    restore(target, caller_for(target), path)

    for user_id, note in (("ada", "own"), ("ben", "of another user of this account")):
        [cube] = memory_in(target, user_id=user_id).ask("How is a kettle descaled?").shared_cubes
        assert cube.note.startswith(note)


def test_interrupted_import_is_continued(archive: Path, tmp_path: Path) -> None:
    """Each run is stopped one batch later; the last one leaves the same rows as a single run."""

    class Stopped(Exception):
        pass

    def stopping_after(batches: int) -> Progress:
        left = [batches]

        def advance(_records: int) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Stopped

        return lambda phase, _: nullcontext(advance if phase == "importing" else lambda _: None)

    with (
        closing(testing.context(tmp_path / "whole")) as whole,
        closing(testing.context(tmp_path / "stopped")) as stopped,
    ):
        restore(whole, caller_for(whole), archive)
        caller = caller_for(stopped)
        for batches in (0, 1, 5, 19, 22, 40, 44, 46):
            with pytest.raises(Stopped):
                restore(stopped, caller, archive, progress=stopping_after(batches))
        restore(stopped, caller, archive)

        assert contents(stopped) == contents(whole)


def test_export_has_one_snapshot(context: Context, tmp_path: Path) -> None:
    """A turn that is stored while an export runs is in none of its members."""
    memory = memory_in(context)
    memory.tell("Which lamp?", "The left one.", critical="The lamp is green.")
    others: list[str] = []

    def tell() -> None:
        others.append(memory.tell("And the right one?", "Red.", critical="The buoy is red."))

    def write_meanwhile(_events: int) -> None:
        if not others:
            writer = threading.Thread(target=tell)
            writer.start()
            writer.join()

    path = tmp_path / "memory.zip"
    export(context, memory.caller, path, advance=write_meanwhile)

    assert event_detail(context, memory.caller, others[0]).response == "Red."
    assert [one["query"] for one in records(path, "events.jsonl")] == ["Which lamp?"]
    assert [one["text"] for one in records(path, "facts.jsonl")] == ["The lamp is green."]


def test_only_the_selected_users_are_exported(archive: Path, ada: Path) -> None:
    rows = [row for name in MEMBERS for row in records(ada, name)]

    assert {row["user_id"] for row in rows} == {"ada"}
    assert json.loads(members(ada)[MANIFEST])["user_ids"] == ["ada"]
    facts = [row for row in records(archive, "facts.jsonl") if row["user_id"] == "ada"]
    assert facts == records(ada, "facts.jsonl")


def test_user_is_imported_under_another_name(archive: Path, ada: Path, context: Context) -> None:
    restore(context, caller_for(context), ada, user_id="lovelace")

    hit = memory_in(context, user_id="lovelace").best("window seats")
    assert hit.query.startswith("I prefer window seats.")
    with pytest.raises(ImportRefused, match="several users"):
        restore(context, caller_for(context), archive, user_id="lovelace")


def test_interrupted_export_leaves_no_file_and_keeps_the_old_one(
    context: Context, tmp_path: Path
) -> None:
    memory, path = memory_in(context), tmp_path / "memory.zip"
    memory.tell("Which lamp?", "The left one.")
    exported(context, path)
    before = path.read_bytes()

    def stop(_events: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(context, memory.caller, path, force=True, advance=stop)

    assert path.read_bytes() == before
    assert list(tmp_path.glob(".*.part")) == []


def test_missing_content_of_a_file_stops_the_export(context: Context, tmp_path: Path) -> None:
    fill_all(context)
    for blob in (context.settings.data_folder / "blobs").glob("??/*"):
        blob.unlink()

    with pytest.raises(FileErasedMeanwhile):
        exported(context, tmp_path / "memory.zip")
    assert list(tmp_path.glob("*.zip")) == []


def test_expired_text_is_neither_exported_nor_imported(
    archive: Path, tmp_path: Path, clock: testing.FrozenClock
) -> None:
    with closing(testing.context(tmp_path / "target", clock=clock)) as context:
        clock.advance(365 * 86_400_000)
        restore(context, caller_for(context), archive)
        path = exported(context, tmp_path / "later.zip")
        rows = context.store.read(lambda tx: tx.all("select text from facts"))

    assert b"4711" in members(archive)["facts.jsonl"]
    assert b"4711" not in members(path)["facts.jsonl"]
    assert [row.text for row in rows if "4711" in row.text] == []


def test_turns_keep_how_they_end_and_what_they_changed(
    context: Context, target: Context, tmp_path: Path
) -> None:
    """Links between turns, withdrawals, pins and expiry are those of the source."""
    memory = memory_in(context)
    events = [
        memory.tell("I live in Rome.", occurred_at="2024-01-01T00:00:00Z"),
        memory.tell("I moved to Berlin.", occurred_at="2024-06-01T00:00:00Z"),
        memory.tell("I ride a green bicycle to school.", session_id="later"),
        memory.tell("Please forget that I ride a green bicycle to school.", session_id="later"),
        memory.tell("The towel is blue.", expires_at="2099-01-01T00:00:00Z"),
        memory.tell("My PIN is 4711. Do not remember this."),
    ]
    change_event(context, memory.caller, events[0], EventChange(pinned=True))

    restore(target, caller_for(target), exported(context, tmp_path / "ends.zip"))

    for event_id in events:
        source_event = event_detail(context, memory.caller, event_id)
        assert event_detail(target, caller_for(target), event_id) == source_event
    question = "Rome or a green bicycle or a PIN"
    here, there = (one.ask(question).hits for one in (memory, memory_in(target)))
    assert [hit.query for hit in here] == [hit.query for hit in there]


def test_existing_records_of_a_user_stay_and_new_ones_are_added(
    archive: Path, target: Context
) -> None:
    keys.create(target, account="owner")
    memory = memory_in(target, user_id="ada")
    memory.tell("Which buoy?", "The red one.", session_id="rail", critical="I prefer window seats.")
    memory.add(session_id="rail", l1_summary="A red buoy.", l2_map="Sea: a red buoy.")
    result = restore(target, memory.caller, archive)
    turns = target.store.read(
        lambda tx: tx.one("select turns from sessions where session_id = 'rail'").turns
    )

    assert result.left == 2  # both versions of the map of ada
    assert turns == 3
    assert memory.best("buoy").response == "The red one."
    assert memory.best("window seats").session_id == "rail"
    assert [fact.text for fact in memory.ask("window seats").instructions].count(
        "I prefer window seats."
    ) == 1


def test_every_table_and_column_is_exported_or_says_why_not(target: Context) -> None:
    """A migration that adds one decides whether it is part of an export."""
    columns: dict[str, set[str]] = {}
    for row in target.store.read(lambda tx: tx.all(SQL.columns)):
        columns.setdefault(row.table, set()).add(row.column)

    assert sorted(columns.keys() - EXPORTED.keys() - NOT_EXPORTED.keys()) == []
    assert EXPORTED.keys() & NOT_EXPORTED.keys() == set()
    assert set(EXPORTED.values()) == set(MEMBERS)
    assert NOT_EXPORTED.keys() >= OF_ONE_STORE
    assert {name: " ".join(sorted(columns[name])) for name in COLUMNS} == COLUMNS
    assert COLUMNS.keys() == EXPORTED.keys()


def test_export_of_what_passes_filters_is_an_export_of_its_own(
    target: Context, tmp_path: Path
) -> None:
    """It has the turns and facts that pass, with their sessions, and names nothing else."""
    memory = memory_in(target)
    garden = {"metadata": {"project": "garden", "tags": ["a", "b"]}}
    memory.tell("Where is the axe?", "In the shed.", session_id="s1", **garden)
    memory.tell("Which colour?", "Red.", session_id="s1", critical="The axe is red.", **garden)
    memory.tell("Where is the saw?", "In the barn.", session_id="s2", metadata={"project": "house"})
    memory.add(session_id="s2", l1_summary="The saw is in the barn.", l2_map="Tools: saw.")
    path = exported(target, tmp_path / "garden.zip", filters={"project": "garden"})

    with closing(testing.context(tmp_path / "other")) as other:
        result = restore(other, caller_for(other), path)
        again = exported(other, tmp_path / "again.zip", filters={"tags": {"contains": "b"}})

    assert {name: len(records(path, name)) for name in MEMBERS if records(path, name)} == {
        "users.jsonl": 1,
        "sessions.jsonl": 1,
        "events.jsonl": 2,
        "facts.jsonl": 1,
    }
    assert result.stored == 5
    assert records(again, "events.jsonl") == records(path, "events.jsonl")
    assert records(again, "facts.jsonl") == records(path, "facts.jsonl")


def test_export_of_repeated_text_is_written_so_that_it_can_be_imported(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that compresses better than an import accepts is stored uncompressed."""
    memory = memory_in(context)
    memory.tell("Lamp?", "a " * 50_000)
    monkeypatch.setattr(zips, "RATIO_FREE_BYTES", 1_000)
    monkeypatch.setattr(zips, "ZIP_RATIO_MAX", 20)
    path = exported(context, tmp_path / "memory.zip")
    with closing(testing.context(tmp_path / "target")) as other:
        result = restore(other, caller_for(other), path)

    assert path.stat().st_size > 100_000
    assert result.stored == 3

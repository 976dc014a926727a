"""Plans of SQLite: the same whatever values are bound, and no growing table is read whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from named_queries import named_queries

from remembrancer.store import open_store
from remembrancer.store.sqlite.store import connect, open_reader, open_writer

# Tables that grow with every turn or search. `events as later` is read as `later`.
GROWING = (
    "audit|closed_duties|event_changes|event_index|event_keys|events|looks|maps|sessions|shown_events"
    "|steps|summaries"
)
INDEXES = {  # what a statement reads by which index
    "agent/compliance.sql cubes_since": "shown_cubes USING INDEX shown_cubes_step (session=? AND step=?)",
    "agent/compliance.sql looks_since": "looks USING INDEX looks_looked (looked_ms>?)",
    "agent/compliance.sql steps_since": "steps USING INDEX steps_asked (asked_ms>?)",
    "agent/second_look.sql turn_of_reply": "events USING INDEX events_reply (reply=? AND rowid>? AND rowid<?)",
    "cubes/cubes.sql newest": "SEARCH cubes USING INDEX cubes_shared",
    "cubes/cubes.sql stale": "cube_index_embedder (embedder",
    "memory/facts/facts.sql facts_whole": "SEARCH facts USING INTEGER PRIMARY KEY (rowid=?)",
    "memory/facts/facts.sql related": "SEARCH facts USING INTEGER PRIMARY KEY (rowid=?)",
    "memory/facts/facts.sql superseded_of": "SEARCH facts USING INDEX facts_successor",
    "memory/history/activity.sql week_of_steps": "steps USING INDEX steps_asked (asked_ms>?)",
    "memory/history/activity.sql turns_by_day": "events USING INDEX events_occurred (",
    "memory/links.sql related": "stated USING PRIMARY KEY (space_id=? AND key=? AND event>?)",
    "memory/memory.sql is_stale": "event_index_embedder (embedder",
    "memory/memory.sql stale": "event_index_embedder (embedder",
}
PAGES = {  # statements that also return their rows in the order of this index
    "cubes/board.sql cubes_of_evidence": "cubes USING INDEX cubes_evidence (account_id=? AND evidence=?)",
    "cubes/board.sql own_page": "cubes USING INDEX cubes_account (account_id=? AND id<?)",
    "cubes/board.sql shared_page": "cubes USING INDEX cubes_status (status=? AND id<?)",
    "memory/facts/facts.sql related": "fact_keys USING PRIMARY KEY (space_id=? AND key=? AND fact>?)",
    "memory/history/activity.sql latest_steps": "steps USING INDEX steps_asked (asked_ms>? AND asked_ms<?)",
    "memory/history/activity.sql turn_of_step": "events USING INDEX events_session (session=? AND created_ms>? AND created_ms<?)",
    "memory/history/browse.sql facts_of_event": "facts USING INDEX",
    "memory/history/browse.sql flagged_events": "events USING INDEX events_noticed (",
    "memory/history/browse.sql summaries_below": "summaries USING INDEX summaries_space (space_id=? AND id<?)",
    "memory/history/browse.sql sessions": "sessions USING INDEX sessions_latest (space_id=? AND",
    "memory/history/browse.sql turns": "events USING INDEX events_session_occurred (session=? AND",
    "memory/memory.sql first_alike": "events USING INDEX events_twin (twin=? AND id>? AND id<?)",
}
VALUES = (None, 0, 1, "", "current", b"\x00")  # partial indexes and `like` would choose by them


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store with the schema of this version."""
    file = tmp_path / "store.sqlite3"
    open_store(f"sqlite:{file}", durability="normal").close()
    return file


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement of the program for SQLite by its name."""
    for name, statement in named_queries().items():
        if not name.partition(" ")[0].endswith("postgresql.sql"):
            for part in statement.variants.get("sqlite", str(statement)).split(";\n"):
                yield name, part


def plans(connection: apsw.Connection) -> dict[tuple[str, str, object], list[str]]:
    """Return the plan of every statement with each of some values for all its parameters."""
    return {
        (name, text, value): [
            row[3]
            for row in connection.execute(
                f"explain query plan {text}",
                dict.fromkeys(re.findall(r":([a-z][a-z0-9_]*)", text), value),
            )
        ]
        for name, text in statements()
        for value in VALUES
    }


def test_the_guarantee_changes_the_plan_of_no_statement(path: Path) -> None:
    with closing(connect(str(path), apsw.SQLITE_OPEN_READWRITE)) as connection:
        with_guarantee = plans(connection)
    with closing(apsw.Connection(str(path))) as connection:
        without = plans(connection)

    assert len(with_guarantee) > 1_000
    assert {key for key, plan in with_guarantee.items() if plan != without[key]} == set()


def test_no_statement_reads_a_growing_table_whole(path: Path) -> None:
    """The time of a request does not grow with the data of others, nor with all of an account."""
    by_name: dict[str, str] = {}
    whole = set()
    with closing(open_reader(path)) as connection:
        for (name, text, value), steps in plans(connection).items():
            if value != 1:
                continue
            by_name[name] = "\n".join([by_name.get(name, ""), *steps])
            tables = {alias: table for table, alias in re.findall(r"\b(\w+) as (\w+)\b", text)}
            for step in steps:
                read = re.match(r"SCAN (\w+)|SEARCH (\w+) .*\(account_id=\?\)$", step)
                table = str(read and (read[1] or read[2]))
                if re.fullmatch(GROWING, tables.get(table, table)):
                    whole.add(name)

    assert whole == set()
    for name, index in (INDEXES | PAGES).items():
        assert index in by_name[name], (name, by_name[name])
    assert [name for name in PAGES if "TEMP B-TREE" in by_name[name]] == []


def test_every_connection_has_the_guarantee(path: Path) -> None:
    with (
        closing(open_writer(path, durability="normal")) as writer,
        closing(open_reader(path)) as reader,
    ):
        assert [one.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) for one in (writer, reader)] == [
            1,
            1,
        ]

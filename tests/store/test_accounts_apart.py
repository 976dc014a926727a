"""Two layers of account isolation: account_id in every query, and PostgreSQL's row-level security."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from engines import empty_store
from named_queries import named_queries

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.context import Caller, Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.turns import event_detail, write_event
from remembrancer.protocol.memory import EventWrite
from remembrancer.protocol.search import MemoryQuery
from remembrancer.store import Store, Transaction, open_store

KEPT_BY_ACCOUNTS = (
    "metadata_values",
    "answers", "closed_duties", "event_changes", "event_index", "event_keys", "events", "fact_keys", "fact_sources", "facts", "file_usage", "files", "looks", "maps", "memory_files", "origins",
    "layer_index", "prompts", "retention", "session_users", "sessions", "shown_cubes", "shown_events", "spaces", "steps", "summaries", "sweeps",
    "team_audit", "team_invitations", "team_members",
)  # fmt: skip
# Under no policy: see 0001_baseline.sql.
SEARCHED_BY_THE_DATABASE = ("search_spaces", "search_terms", "search_vectors", "search_words")
OF_THE_WHOLE_STORE = {  # queries across accounts, and why
    "cubes/cubes.sql erase_shown_of": "deletes other accounts' records of showing the lesson",
    "cubes/outcomes.sql ended": "upkeep; continues with the account of each row",
    "memory/recall/postgresql.sql behind": "upkeep; continues with the account of each row",
    "memory/recall/postgresql.sql orphaned": "upkeep: names of indexes",
    "memory/recall/postgresql.sql unlinked": "upkeep; continues with the account of each row",
    "memory/memory.sql space_owner": "upkeep; continues with the account of the row",
    "memory/memory.sql spaces_newest": "warm-up: loaded indexes are separate per space",
    "memory/facts/facts.sql expiring": "erasing; continues with the account of each row",
    "memory/history/endings.sql due_times": "erasing; continues with each account",
    "memory/history/endings.sql expired_events": "erasing; continues with the account of each row",
    "memory/history/endings.sql all_rules": "erasing; continues with the account of each row",
    "memory/history/endings.sql spaces_with_turns": "erasing; continues with the account of each",
    "memory/layers.sql stale_layers": "renewal; continues with the account of each row",
    "memory/memory.sql stale": "renewal; continues with the account of each row",
    "status.sql events_stale": "a count",
    "files/files.sql any_file_of_blob": "checks that no file uses a blob any more",
    "files/files.sql file_named": (
        "a signed link proves its account; a key's account is compared afterwards"
    ),
    "memory/exchange/restore.sql events_elsewhere": "identifiers alone, which an import refuses",
    "memory/exchange/restore.sql facts_elsewhere": "identifiers alone, which an import refuses",
    "memory/exchange/restore.sql files_elsewhere": "identifiers alone, which an import refuses",
    "accounts/teams.sql invitation_of": "a token proves the team; any account may accept it",
    "accounts/teams.sql use_invitation": "a token proves the team; any account may accept it",
    "files/files.sql rooms": "storage per account, for the owner",
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return empty_store("postgresql", tmp_path)


@pytest.fixture
def context(url: str, tmp_path: Path) -> Iterator[Context]:
    with closing(testing.context(tmp_path, store=open_store(url, durability="normal"))) as opened:
        yield opened


def caller(context: Context, account: str) -> Caller:
    return keys.authenticate(context, keys.create(context, account=account).key.reveal())


def remember_turn(context: Context, caller: Caller, response: str) -> str:
    turn = EventWrite(user_id="ada", session_id="s", query="Where?", response=response)
    return write_event(context, caller, turn).event_id


def tables_in(sql: str) -> set[str]:
    return {
        name
        for name in re.findall(r"\b(?:from|join|update|into)\s+([a-z_]+)\b", sql)
        if name in KEPT_BY_ACCOUNTS + SEARCHED_BY_THE_DATABASE
    }


def test_every_query_on_account_data_names_the_account() -> None:
    texts = [
        (name, sql)
        for name, statement in named_queries().items()
        for sql in (str(statement), *statement.variants.values())
        if tables_in(sql)
    ]

    assert {name for name, sql in texts if ":account_id" not in sql} <= set(OF_THE_WHOLE_STORE)
    assert set(OF_THE_WHOLE_STORE) <= {name for name, _ in texts}  # no exception is needless


def test_transactions_see_only_rows_of_their_account(context: Context) -> None:
    ada, bob = caller(context, "ada"), caller(context, "bob")
    remember_turn(context, ada, "In the harbour.")
    remember_turn(context, bob, "In the tower.")

    def responses(tx: Transaction) -> list[str]:
        without_account = "select response from events order by id"
        return [row.response for row in tx.all(without_account)]

    assert context.store.read(responses, account_id=ada.account_id) == ["In the harbour."]
    assert context.store.read(responses, account_id=bob.account_id) == ["In the tower."]
    assert context.store.read(responses) == ["In the harbour.", "In the tower."]


def test_every_table_of_account_data_has_a_policy(context: Context, url: str) -> None:
    guarded = (
        "select relname from pg_class where relnamespace = current_schema()::regnamespace "
        "and relrowsecurity and relforcerowsecurity"
    )
    with psycopg.connect(url) as other:
        guarded_tables = {name for (name,) in other.execute(guarded)}

    assert set(KEPT_BY_ACCOUNTS) | {"cubes", "feedback", "ratings"} == guarded_tables


def test_transactions_cannot_write_rows_of_other_accounts(context: Context) -> None:
    ada, bob = caller(context, "ada"), caller(context, "bob")
    remember_turn(context, bob, "In the tower.")

    changed = context.store.write(
        lambda tx: tx.run("update events set response = 'gone'"), account_id=ada.account_id
    )
    foreign = f"insert into prompts values ({bob.account_id}, 'ada', 'Obey.', 0)"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        context.store.write(lambda tx: tx.run(foreign), account_id=ada.account_id)

    assert changed == 0
    query = MemoryQuery(user_id="ada", session_id="s", query_text="tower")
    assert recall(context, bob, query).hits[0].response == "In the tower."


def test_connections_without_an_account_see_no_rows(context: Context, url: str) -> None:
    event_id = remember_turn(context, caller(context, "ada"), "In the harbour.")

    with psycopg.connect(url) as other:
        assert other.execute("select * from events").fetchall() == []
    assert event_detail(context, caller(context, "ada"), event_id).response == "In the harbour."


def test_account_setting_ends_with_the_transaction(context: Context) -> None:
    ada = caller(context, "ada")
    remember_turn(context, ada, "In the harbour.")
    count = "select count(*) as n from events"

    for account_id, events in ((ada.account_id, 1), (99, 0), (ada.account_id, 1)):
        assert context.store.read(lambda tx: tx.one(count).n, account_id=account_id) == events


def test_published_lessons_are_visible_to_all_and_private_ones_to_their_account(
    context: Context,
) -> None:
    ada, bob = caller(context, "ada"), caller(context, "bob")

    def add(store: Store, account: Caller, status: str) -> None:
        sql = """insert into cubes (id, cube_id, account_id, kind, topic, essence, rules, evidence, status, created_ms)
            select coalesce(max(id), 0) + 1, :cube_id, :account_id, 'rule', 't', 'e', 'r', 'evt', :status, 0 from cubes"""
        values = {"account_id": account.account_id, "status": status}
        store.write(lambda tx: tx.run(sql, cube_id=f"{account.account_id} {status}", **values))

    for account in (ada, bob):
        for status in ("private", "published"):
            add(context.store, account, status)
    visible = context.store.read(
        lambda tx: {row.cube_id for row in tx.all("select cube_id from cubes")},
        account_id=bob.account_id,
    )

    assert visible == {
        f"{ada.account_id} published",
        f"{bob.account_id} private",
        f"{bob.account_id} published",
    }

"""Additions to migrations that had landed on the main branch before they were complete.

A store that such a migration made lacks the addition. Every opening looks for it, as the number of
the schema says nothing about it. No migration of a release is ever changed.
"""

from __future__ import annotations

from typing import NamedTuple


class Amendment(NamedTuple):
    """An addition to migration `number`: `sql` applies it if `is_applied` gives no row."""

    number: int
    is_applied: str
    sql: str


def _present(index: str, *, of: str) -> str:
    """Return a query with a row if SQLite has the index, or lacks its table: a broken file."""
    names = "(select name from sqlite_schema)"
    return f"select 1 where '{index}' in {names} or '{of}' not in {names}"


_LINKED_TO = """
alter table spaces add column linked_to {integer};
update spaces set linked_to = 0 where events_made > 0;
create index spaces_unlinked on spaces (id) where linked_to is not null;
"""

_SQLITE = (
    Amendment(
        2,
        _present("summaries_session", of="summaries"),
        "create index summaries_session on summaries (session, id);"
        "create index facts_space on facts (space_id, id);",
    ),
    Amendment(
        13,
        _present("answers_created", of="answers"),
        "create index answers_created on answers (key_id, created_ms)",
    ),
    Amendment(
        20,
        "select 1 where not exists (select 1 from pragma_table_info('spaces'))"
        " or 'linked_to' in (select name from pragma_table_info('spaces'))",
        _LINKED_TO.format(integer="integer"),
    ),
)
_POSTGRESQL = (
    Amendment(
        20,
        "select 1 from information_schema.columns where table_schema = current_schema()"
        " and table_name = 'spaces' and column_name = 'linked_to'",
        _LINKED_TO.format(integer="bigint"),
    ),
)


def amendments(engine: str) -> tuple[Amendment, ...]:
    """Return the amendments of an engine, in order."""
    return _SQLITE if engine == "sqlite" else _POSTGRESQL

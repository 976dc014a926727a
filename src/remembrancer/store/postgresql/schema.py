"""The schema of a PostgreSQL store:

the same numbers as SQLite's, from a baseline on, one transaction a step.
"""

from __future__ import annotations

import psycopg

from ..engine import StoreTooNew, StoreUnavailable
from ..schema import migrations
from .pool import Connection, Connections, of_account

_LOCK = 0x52454D42  # "REMB": whoever migrates a database holds this number of it

_OTHERS = """
select count(*) from pg_class
where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
    and not exists (select 1 from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')
"""

# Where another store of the database has made the extension in a schema that this one does not see,
# its functions are not there.
_VECTORS_THERE = """
select to_regprocedure('hamming_distance(bit, bit)') is not null, to_regclass(format('%I.search_vectors', current_schema())) is not null,
    exists (select 1 from pg_available_extensions where name = 'vector' and installed_version is null)
"""
_VECTORS = """
create table search_vectors (
    account_id bigint not null,
    space_id bigint not null,
    number bigint not null,
    part bigint not null,
    occurred_ms bigint not null,
    signs bit varying not null,
    primary key (account_id, space_id, number, part),
    foreign key (account_id, space_id, number, part) references search_words on delete cascade
)
"""


def migrate(connections: Connections) -> None:
    """Bring the schema forward. Safe against other servers that do the same: they wait, and find it
    done.

    Raises StoreTooNew for a store of a newer program, StoreUnavailable for tables of another one
    and a database not in UTF-8.
    """
    steps = migrations("postgresql")
    known, done = steps[-1].number, False
    while not done:
        then = f"{of_account(None)}; set local statement_timeout = 0; select pg_advisory_xact_lock({_LOCK})"
        connection = connections.begin(then=then)
        try:
            version = version_of(connection)
            if version > known:
                ways = "start the newer one, or restore a backup"
                raise StoreTooNew(
                    f"{connections.address} has schema {version}, this Remembrancer knows schemas up to {known}: {ways}"
                )
            waiting = [step for step in steps if step.number > version]
            if waiting:
                if not version:
                    _make_ready(connection, connections.address)
                connection.execute(waiting[0].sql.encode())
                connection.execute("update schema_version set number = %s", [waiting[0].number])
            connection.execute("commit")
            done = len(waiting) < 2
        finally:
            connections.give_back(connection)


def is_spread(connections: Connections) -> bool:
    """Whether the store is in a database that Citus spreads (docs/guides/shards.md)."""
    connection = connections.begin()
    try:
        return (
            connection.execute("select 1 from pg_extension where extname = 'citus'").fetchone()
            is not None
        )
    finally:
        connections.give_back(connection)


def schema_at(url: str) -> int:
    """The number of the last step taken in the store at a URL; 0 = there is none.

    Raises StoreUnavailable.
    """
    connections = Connections(url, durability="normal")
    try:
        connection = connections.begin()
        try:
            return version_of(connection)
        finally:
            connections.give_back(connection)
    finally:
        connections.close()


def make_vectors(connections: Connections) -> bool:
    """Make the table of vectors where the server has the extension `vector`, which may come later
    than the store; whether it is there.
    """
    connection = connections.begin(
        then=f"{of_account(None)}; select pg_advisory_xact_lock({_LOCK})"
    )
    try:
        [(has_vector, has_table, is_available)] = connection.execute(
            _VECTORS_THERE.encode()
        ).fetchall()
        if has_table:
            return bool(has_vector)
        if not has_vector and is_available:
            connection.execute("create extension if not exists vector")
            [(has_vector, _, _)] = connection.execute(_VECTORS_THERE.encode()).fetchall()
        if has_vector:
            connection.execute(_VECTORS.encode())
            connection.execute("commit")
    except psycopg.errors.InsufficientPrivilege:
        return (
            False  # whoever runs the database can make it; until then search reads rows into memory
        )
    finally:
        connections.give_back(connection)
    return bool(has_vector)


def version_of(connection: Connection) -> int:
    """The number of the last step taken; 0 for an empty database."""
    if connection.execute(
        "select to_regclass(format('%I.schema_version', current_schema()))"
    ).fetchone() == (None,):
        return 0
    [(number,)] = connection.execute("select number from schema_version").fetchall()
    return int(number)


def _make_ready(connection: Connection, address: str) -> None:
    [(encoding,)] = connection.execute("show server_encoding").fetchall()
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"{address} keeps text as {encoding}; make a database with encoding UTF8"
        )
    [(others,)] = connection.execute(_OTHERS.encode()).fetchall()
    if others:
        raise StoreUnavailable(
            f"{address} holds tables of another program; name an empty database, or an empty schema by `search_path`"
        )
    connection.execute(
        "create table schema_version (number bigint not null); insert into schema_version values (0)"
    )

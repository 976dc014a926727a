"""The schema of a PostgreSQL store: the same numbers as SQLite's migrations."""

from __future__ import annotations

from contextlib import closing

import psycopg

from ..engine import StoreTooNew, StoreTooOld, StoreUnavailable
from ..schema import migrations
from .connection import Connection
from .dialect import BoundStatement
from .pool import Connections, of_account

_LOCKED = BoundStatement(b"select pg_advisory_xact_lock(%d)" % 0x52454D42)  # "REMB": of migrations

# A store of before 1.0.0 has a table `schema_version`.
_KIND = """
select to_regclass(format('%I.store_schema', current_schema())) is not null,
    to_regclass(format('%I.schema_version', current_schema())) is not null
"""
_FOREIGN_TABLES = """
select count(*) from pg_class
where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
    and not exists (
        select 1 from pg_depend
        where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
    )
"""

# If another store of the database created the extension in a schema that this one does not see,
# its functions are missing.
_VECTOR_SUPPORT = """
select to_regprocedure('hamming_distance(bit, bit)') is not null,
    to_regclass(format('%I.search_vectors', current_schema())) is not null,
    exists (
        select 1 from pg_available_extensions where name = 'vector' and installed_version is null
    )
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
    """Apply all missing migrations. Safe with other servers that do the same: they wait.

    Raises StoreTooNew for a store of a newer program, StoreTooOld for one of before 1.0.0,
    StoreUnavailable for tables of another program and for a database not in UTF-8.
    """
    steps = migrations("postgresql")
    newest, is_complete = steps[-1].number, False
    while not is_complete:
        unlimited = BoundStatement(b"set local statement_timeout = 0")
        setup = of_account(None), unlimited, _LOCKED
        with connections.transaction(setup, is_bounded=False) as connection:
            version = version_of(connection, connections.address)
            if version > newest:
                remedy = "start the newer version, or restore a backup"
                raise StoreTooNew(
                    f"{connections.address} has schema {version}, this Remembrancer supports up to "
                    f"{newest}: {remedy}"
                )
            pending = [step for step in steps if step.number > version]
            if pending:
                if not version:
                    _check_database(connection, connections.address)
                connection.execute(pending[0].sql.encode())
                connection.execute("update store_schema set number = %s", [pending[0].number])
            connection.execute("commit")
            is_complete = len(pending) < 2


def is_spread(connections: Connections) -> bool:
    """Return True if Citus distributes the store's database (docs/guides/several-servers.md)."""
    with connections.transaction() as connection:
        query = "select 1 from pg_extension where extname = 'citus'"
        return connection.execute(query).fetchone() is not None


def schema_at(url: str) -> int:
    """Return the schema version of the store at a URL; 0 if there is none.

    Raises StoreTooOld and StoreUnavailable.
    """
    with (
        closing(Connections(url, durability="normal")) as connections,
        connections.transaction() as connection,
    ):
        return version_of(connection, connections.address)


def create_vector_table(connections: Connections) -> bool:
    """Create the table of vectors if the server has the extension `vector`; return True if it
    exists.

    The extension may be installed after the store was created.
    """
    try:
        with connections.transaction((of_account(None), _LOCKED)) as connection:
            support = connection.execute(_VECTOR_SUPPORT.encode()).fetchall()
            [(has_vector, has_table, is_available)] = support
            if not has_vector and not has_table and is_available:
                connection.execute("create extension if not exists vector")
                [(has_vector, _, _)] = connection.execute(_VECTOR_SUPPORT.encode()).fetchall()
            if has_vector and not has_table:
                connection.execute(_VECTORS.encode())
                connection.execute("commit")
            return bool(has_vector)
    except psycopg.errors.InsufficientPrivilege:
        return False  # the database's operator can create it; until then, search runs in memory


def version_of(connection: Connection, address: str) -> int:
    """Return the schema version; 0 for an empty database. Raises StoreTooOld."""
    [(is_store, is_too_old)] = connection.execute(_KIND.encode()).fetchall()
    if is_too_old:
        raise StoreTooOld(address)
    if not is_store:
        return 0
    [(number,)] = connection.execute("select number from store_schema").fetchall()
    return int(number)


def _check_database(connection: Connection, address: str) -> None:
    [(encoding,)] = connection.execute("show server_encoding").fetchall()
    if encoding != "UTF8":
        raise StoreUnavailable(
            f"{address} stores text as {encoding}; create a database with encoding UTF8"
        )
    [(others,)] = connection.execute(_FOREIGN_TABLES.encode()).fetchall()
    if others:
        raise StoreUnavailable(
            f"{address} has tables of another program; use an empty database, or an empty schema "
            "through `search_path`"
        )
    connection.execute(
        "create table store_schema (number bigint not null); insert into store_schema values (0)"
    )

"""A connection to PostgreSQL that sends several statements in one round trip.

The driver's own pipeline mode costs more processor time than the round trips on a local socket do;
this uses libpq's (docs/contribute/postgresql.md, Round trips).
"""

from __future__ import annotations

import itertools
import select
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg.abc import Buffer, PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, Format, PipelineStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.rows import RowFactory, tuple_row

from ..engine import Row
from .dialect import BoundStatement, register_adapters, row_class

T = TypeVar("T")
PREPARED_MAX = 100  # per connection: each occupies memory of the server
_Key = tuple[bytes, tuple[int, ...]]  # a statement and the types of its values


class _Message(NamedTuple):
    """A statement as the protocol transfers it."""

    key: _Key
    values: Sequence[Buffer | None] | None
    formats: Sequence[Format] | None
    is_constant: bool


class Connection(psycopg.Connection[Any]):
    """A connection that is closed if the server does not respond in time.

    The server's own time limits do not help if it hangs itself, or the network in between does.
    """

    def __init__(self, pgconn: PGconn, row_factory: RowFactory[Any] = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        register_adapters(self)
        self.patience_s: float | None = None  # for the response to one statement
        self.has_hung = False
        self.prepares = True
        self._names: dict[_Key, bytes] = {}  # of prepared statements, the one used last at the end
        self._numbers = itertools.count(1)
        self._types: dict[bytes, tuple[int, ...]] = {}  # of the values of a statement
        self._transformer = Transformer(self)
        self._unread = 0  # groups of statements whose results are not read yet
        self._input = select.poll()
        self._input.register(pgconn.socket, select.POLLIN)

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for the response. Raises OperationalError, and then the connection is closed."""
        timeout = self.patience_s if timeout is None else timeout
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate or self.closed:  # the server responded, or is gone
                raise
            raise self._hung() from error

    def request(self, statements: Sequence[BoundStatement]) -> list[PGresult]:
        """Execute statements in one round trip; return their results.

        The server executes none after the first that fails. Raises its error, a psycopg.Error; a
        broken connection is closed.
        """
        messages = [self._message(one) for one in statements]  # first: a value may be invalid
        with _Closing(self):
            prepared = self._send(messages)
            self.settle(but=1)
            results = self._receive()
        for key, result in zip(prepared, results, strict=False):
            if key is not None and result.status != ExecStatus.COMMAND_OK:
                self._names.pop(key, None)
        if failed := _first_failed(results):
            raise psycopg.errors.error_from_result(failed, self.info.encoding)
        return [result for key, result in zip(prepared, results, strict=True) if key is None]

    def send(self, statement: BoundStatement) -> None:
        """Send a statement whose result nobody reads, not even an error."""
        with _Closing(self):
            self._send([self._message(statement)])

    def settle(self, *, but: int = 0) -> None:
        """Read the results of all groups of statements but the latest ones."""
        with _Closing(self):
            while self._unread > but:
                self._receive()

    @property
    def has_unread(self) -> bool:
        """True if results of statements have not been read."""
        return self._unread > 0

    def has_ended(self) -> bool:
        """Return True if the server has closed this connection, as far as is known without a
        request.
        """
        try:
            self.settle()
            if self._input.poll(0):  # a notice, or the end
                self.pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        return self.closed

    def rows(self, result: PGresult) -> list[Row]:
        """Return the rows of a result."""
        make_row = self._row_maker(result)
        return self._transformer.load_rows(0, result.ntuples, make_row)

    def first_row(self, result: PGresult) -> Row | None:
        """Return the first row of a result, or None."""
        if not result.ntuples:
            return None
        make_row = self._row_maker(result)
        return self._transformer.load_row(0, make_row)

    def _row_maker(self, result: PGresult) -> Callable[[Sequence[Any]], Row]:
        self._transformer.set_pgresult(result, format=Format.BINARY)
        columns = tuple(map(result.fname, range(result.nfields)))
        return row_class(columns)._make  # type: ignore[no-any-return]

    def _message(self, statement: BoundStatement) -> _Message:
        sql, values, is_constant = statement
        if not values:
            return _Message((sql, ()), None, None, is_constant)
        dumped = self._transformer.dump_sequence(values, [PyFormat.AUTO] * len(values))
        types = self._transformer.types or ()
        if 0 in types:  # a null: it has the type of an earlier value, so there is one plan
            earlier = self._types.get(sql, types)
            types = tuple(one or other for one, other in zip(types, earlier, strict=True))
        self._types[sql] = types
        return _Message((sql, types), dumped, self._transformer.formats, is_constant)

    def _send(self, messages: Sequence[_Message]) -> list[_Key | None]:
        """Send a group of statements.

        Returns for each result that follows None, or the key of a statement whose plan it is about.
        """
        if self.pgconn.pipeline_status == PipelineStatus.OFF:
            self.pgconn.enter_pipeline_mode()
        prepared: list[_Key | None] = []
        for key, values, formats, is_constant in messages:
            name = self._names.pop(key, None)
            sql, types = key
            if name is None and is_constant and self.prepares:
                name = b"r%d" % next(self._numbers)
                self.pgconn.send_prepare(name, sql, types)
                prepared.append(key)
            if name is None:
                self.pgconn.send_query_params(sql, values, types, formats, Format.BINARY)
            else:
                self._names[key] = name
                self.pgconn.send_query_prepared(name, values, formats, Format.BINARY)
            prepared.append(None)
        while len(self._names) > PREPARED_MAX:  # last: nothing may run before a `begin`
            oldest = next(iter(self._names))
            self.pgconn.send_query_params(b"deallocate " + self._names.pop(oldest), None)
            prepared.append(oldest)
        self.pgconn.pipeline_sync()
        self._unread += 1
        while self.pgconn.flush():  # read meanwhile, or both sides wait for the other
            both = select.poll()
            both.register(self.pgconn.socket, select.POLLIN | select.POLLOUT)
            self._wait_for(both)
            self.pgconn.consume_input()
        return prepared

    def _receive(self) -> list[PGresult]:
        """Read the results of one group of statements."""
        results: list[PGresult] = []
        try:
            while (result := self._next_result()).status != ExecStatus.PIPELINE_SYNC:
                results.append(result)
        except psycopg.OperationalError as error:
            if failed := _first_failed(results):  # it says why the server closed the connection
                raise psycopg.errors.error_from_result(failed, self.info.encoding) from error
            raise
        self._unread -= 1
        if not self._unread:
            self.pgconn.exit_pipeline_mode()
        return results

    def _next_result(self) -> PGresult:
        while True:
            while self.pgconn.is_busy():
                self._wait_for(self._input)
                self.pgconn.consume_input()
            result = self.pgconn.get_result()
            if result is not None:
                return result
            if self.pgconn.status == ConnStatus.BAD:
                raise psycopg.OperationalError("the connection is lost")

    def _wait_for(self, poll: select.poll) -> None:
        if not poll.poll(None if self.patience_s is None else self.patience_s * 1000):
            raise self._hung()

    def _hung(self) -> psycopg.OperationalError:
        """Close the connection; return the error to raise."""
        self.has_hung = True
        self.close()
        return psycopg.OperationalError(f"no response within {self.patience_s} s")


class _Closing:
    """Close a connection on which sending or receiving failed: what follows is unknown."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._connection.close()


def _first_failed(results: Sequence[PGresult]) -> PGresult | None:
    return next((one for one in results if one.status == ExecStatus.FATAL_ERROR), None)

"""One operation of the service: its address, messages, errors and limits, and a typed call.

`operations.py` declares each operation of the service once. HTTP binds it to an action; the OpenAPI
document, the clients and the tools read it. As an attribute of a client, an operation is a method.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import KW_ONLY, dataclass, field
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    overload,
)

from pydantic import BaseModel

from .described import field_descriptions
from .errors import Problem
from .teams import TeamQuery, TeamRole

A = TypeVar("A")
B = TypeVar("B", bound=BaseModel)
Method = TypeVar("Method")
AsyncMethod = TypeVar("AsyncMethod")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
InputT_contra = TypeVar("InputT_contra", contravariant=True)
Inputs = TypeVarTuple("Inputs")
Awaited: TypeAlias = Coroutine[Any, Any, A]
RateLimit: TypeAlias = Literal["memory", "feedback", "sandbox", "sysperm", "chat"]


class OperationCaller:
    """A client: `call` sends the request of an operation and returns its answer, or a coroutine."""

    call: Callable[..., Any]


class SynchronousCaller(OperationCaller):
    """Base class of the client whose methods return answers."""


class AsynchronousCaller(OperationCaller):
    """Base class of the client whose methods are coroutines."""


@dataclass(frozen=True, eq=False)
class Operation(Generic[Method, AsyncMethod, A, *Inputs]):
    """One operation: its methods in the two clients, its answer, and what its action takes.

    `Inputs` are the id in its path, and its body or query. `operation_id` is the name of the
    attribute that declares it.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    message: type[Any] | None = None  # the body or the query
    answer: type[A] | None = None
    _: KW_ONLY
    media_type: str | None = None  # of the response, if it is not or not always JSON
    needs_key: bool = True
    rate_limit: RateLimit = "memory"
    body_bytes_max: Literal["body_bytes_max", "file_bytes_max"] = "body_bytes_max"  # a setting
    # never of a GET, of what a reader of a team may do, or of what must not be sent again
    takes_idempotency_key: bool = True
    is_retry_safe: bool = True  # sending it again when its response was lost does no harm
    has_ranges: bool = False  # serves files and byte ranges (RFC 9110, 14)
    id_has_slashes: bool = False  # the id in its path, such as the name of a model
    is_constant: bool = False  # answers without work, so that it cannot fail
    # Least role of a member whose request names a team; None: it takes no team. The team is in the
    # body, or in the query of a request without one.
    team: TeamRole | None = None
    errors: tuple[type[Problem], ...] = ()  # in addition to those implied by the other fields
    operation_id: str = ""
    owner: type | None = None  # the class that declares it
    body: type[Any] | None = field(init=False, default=None)
    query: type[Any] | None = field(init=False, default=None)
    takes_body: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.method == "GET" or self.team == "reader" or not self.is_retry_safe:
            object.__setattr__(self, "takes_idempotency_key", False)
        object.__setattr__(self, "body" if self.takes_body else "query", self.message)

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "operation_id", name)
        object.__setattr__(self, "owner", owner)

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: SynchronousCaller, owner: type) -> Method: ...
    @overload
    def __get__(self, client: AsynchronousCaller, owner: type) -> AsyncMethod: ...
    def __get__(self, client: OperationCaller | None, owner: type) -> Any:
        if client is None:
            return self
        method = self._method(client)
        method.__name__ = method.__qualname__ = self.operation_id
        method.__doc__ = self.summary
        messages = {"body": self.body, "query": self.query, "return": self.answer}
        method.__annotations__ |= {name: kind for name, kind in messages.items() if kind}
        return method

    @property
    def summary(self) -> str:
        """The title: the first line of the string below its declaration, without the full stop."""
        return self._texts[0].removesuffix(".")

    @property
    def description(self) -> str:
        """The rest of that string."""
        return self._texts[1]

    @property
    def _texts(self) -> tuple[str, str]:
        if self.owner is None:
            return "", ""
        texts = field_descriptions(self.owner.__module__)[self.owner.__name__]
        title, _, rest = texts[self.operation_id].partition("\n")
        return title, rest

    @property
    def has_item(self) -> bool:
        """True if the path has an id."""
        return "{" in self.path

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        """Return the method of a client that calls this operation."""
        raise NotImplementedError


AnyOperation: TypeAlias = Operation[Any, Any, Any, *tuple[Any, ...]]


class PlainCall(Protocol[AnswerT_co]):
    """A method without arguments."""

    def __call__(self) -> AnswerT_co:
        """Call the operation."""


class QueryCall(Protocol[InputT_contra, AnswerT_co]):
    """A method that takes a query."""

    def __call__(self, query: InputT_contra | None = None) -> AnswerT_co:
        """Call the operation."""


class BodyCall(Protocol[InputT_contra, AnswerT_co]):
    """A method that takes a body."""

    def __call__(self, body: InputT_contra, *, idempotency_key: str | None = None) -> AnswerT_co:
        """Call the operation. Without a key, a write gets a random one."""


class ItemCall(Protocol[InputT_contra, AnswerT_co]):
    """A method that takes an id, and may take a query."""

    def __call__(
        self,
        item_id: str,
        query: InputT_contra | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> AnswerT_co:
        """Call the operation. Without a key, a write gets a random one."""


class ItemBodyCall(Protocol[InputT_contra, AnswerT_co]):
    """A method that takes an id and a body."""

    def __call__(
        self, item_id: str, body: InputT_contra, *, idempotency_key: str | None = None
    ) -> AnswerT_co:
        """Call the operation. Without a key, a write gets a random one."""


@dataclass(frozen=True, eq=False)
class PlainOperation(Operation[PlainCall[A], PlainCall[Awaited[A]], A]):
    """An operation without input."""

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        return lambda: client.call(self)


@dataclass(frozen=True, eq=False)
class QueryOperation(Operation[QueryCall[B, A], QueryCall[B, Awaited[A]], A, B]):
    """An operation with a query."""

    message: type[B]

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        return lambda query=None: client.call(self, message=query)


@dataclass(frozen=True, eq=False)
class BodyOperation(Operation[BodyCall[B, A], BodyCall[B, Awaited[A]], A, B]):
    """An operation with a body."""

    message: type[B]
    takes_body: ClassVar[bool] = True

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        def call(body: B, *, idempotency_key: str | None = None) -> Any:
            return client.call(self, message=body, idempotency_key=idempotency_key)

        return call


@dataclass(frozen=True, eq=False)
class ItemOperation(Operation[ItemCall[TeamQuery, A], ItemCall[TeamQuery, Awaited[A]], A, str]):
    """An operation on the thing whose id is in its path. A query may name a team."""

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        return _item_method(self, client)


@dataclass(frozen=True, eq=False)
class ItemQueryOperation(Operation[ItemCall[B, A], ItemCall[B, Awaited[A]], A, str, B]):
    """An operation on the thing whose id is in its path, with a query."""

    message: type[B]

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        return _item_method(self, client)


@dataclass(frozen=True, eq=False)
class ItemBodyOperation(Operation[ItemBodyCall[B, A], ItemBodyCall[B, Awaited[A]], A, str, B]):
    """An operation on the thing whose id is in its path, with a body."""

    message: type[B]
    takes_body: ClassVar[bool] = True

    def _method(self, client: OperationCaller) -> Callable[..., Any]:
        def call(item_id: str, body: B, *, idempotency_key: str | None = None) -> Any:
            return client.call(self, item_id=item_id, message=body, idempotency_key=idempotency_key)

        return call


def _item_method(operation: AnyOperation, client: OperationCaller) -> Callable[..., Any]:
    def call(
        item_id: str, query: BaseModel | None = None, *, idempotency_key: str | None = None
    ) -> Any:
        return client.call(
            operation, item_id=item_id, message=query, idempotency_key=idempotency_key
        )

    return call

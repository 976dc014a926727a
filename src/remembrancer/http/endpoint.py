"""The binding of an operation to the action that answers it, and one validated request to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, TypeVarTuple

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ..accounts.idempotency import IdempotentRequest
from ..accounts.usage import Kind
from ..context import Caller, Context
from ..protocol import limits
from ..protocol.errors import NotFound
from ..protocol.operation import AnyOperation, Operation
from ..sandbox.runner import Cancellation

if TYPE_CHECKING:
    from .dispatch import Dispatcher

A = TypeVar("A")
InputT = TypeVar("InputT")  # the body or the query; None without either
Inputs = TypeVarTuple("Inputs")


class ThreadPool(Enum):
    """Thread pools; every endpoint runs on one."""

    LOOP = "loop"  # the event loop itself: for handlers that neither wait nor compute
    SEARCH = "search"  # few threads, busy with computing
    WRITE = "write"  # many threads, mostly waiting for the disk
    LARGE = "large"  # few threads, for writes of large bodies
    FILES = "files"  # few threads, for contents of files, whose storage may not answer
    TALK = "talk"  # threads that wait for a language model
    RUN = "run"  # threads that wait for a program


@dataclass(slots=True, kw_only=True)
class Call(Generic[InputT]):
    """One request whose key, size, rate and input have been checked."""

    dispatcher: Dispatcher
    context: Context
    request: Request
    input: InputT = field(init=False)
    caller: Caller = field(init=False)  # not set where the operation needs no key
    idempotency: IdempotentRequest | None = None
    cancellation: Cancellation | None = None  # of the request's programs, if it may run any
    headers: dict[str, str] = field(default_factory=dict)  # of the response

    @property
    def item_id(self) -> str:
        """The id in the path. Raises NotFound if it cannot be one."""
        [item_id] = self.request.path_params.values()
        if len(item_id) > limits.ID_CHARACTERS_MAX or not item_id.isprintable():
            raise NotFound
        return str(item_id)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation with exactly one of `read`, `write` and `handle`, which answers it."""

    operation: AnyOperation
    pool: ThreadPool
    usage: Kind | None = None  # usage counter that a successful request increments
    read: Callable[..., Any] | None = None
    write: Callable[..., Any] | None = None
    handle: Callable[[Call[Any]], Any] | None = None


def reads(
    operation: Operation[Any, Any, A, *Inputs],
    action: Callable[[Context, Caller, *Inputs], A],
    *,
    pool: ThreadPool = ThreadPool.SEARCH,
    usage: Kind | None = None,
) -> Endpoint:
    """Bind an operation to an action that takes the id in the path, then the body or query."""
    return Endpoint(operation, pool, usage, read=action)


def writes(
    operation: Operation[Any, Any, A, *Inputs],
    action: Callable[[Context, Caller, *Inputs, IdempotentRequest | None], A],
    *,
    pool: ThreadPool = ThreadPool.WRITE,
    usage: Kind | None = None,
) -> Endpoint:
    """Bind an operation to an action that also takes the request's Idempotency-Key."""
    return Endpoint(operation, pool, usage, write=action)


def handles(
    operation: Operation[Any, Any, A, *Inputs],
    handler: Callable[[Call[Any]], A | BaseModel | Response],
    *,
    pool: ThreadPool = ThreadPool.WRITE,
    usage: Kind | None = None,
) -> Endpoint:
    """Bind an operation to a handler that needs the HTTP request itself."""
    return Endpoint(operation, pool, usage, handle=handler)

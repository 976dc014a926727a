"""The definition of an endpoint, and one validated request to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ..accounts.idempotency import IdempotentRequest
from ..accounts.usage import Kind
from ..context import Caller, Context
from ..protocol.errors import Problem
from ..protocol.teams import TeamRole
from ..sandbox.runner import Cancellation

if TYPE_CHECKING:
    from .dispatch import Dispatcher

InputT = TypeVar("InputT")  # the body model, the query model, or `str`: the id in the path
AnswerT = TypeVar("AnswerT", bound=BaseModel)
RateLimit: TypeAlias = Literal["memory", "feedback", "sandbox", "sysperm", "chat"]


class ThreadPool(Enum):
    """Thread pools; every endpoint names the one that it runs on."""

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
    caller: Caller = field(init=False)  # not set where the endpoint needs no key
    idempotency: IdempotentRequest | None = None
    cancellation: Cancellation | None = None  # of the request's programs, if it may run any
    headers: dict[str, str] = field(default_factory=dict)  # of the response


class AddressedBody(NamedTuple):
    """The input of an endpoint with an id in its path and a body."""

    id: str
    body: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[InputT, AnswerT]):
    """One endpoint. Exactly one of `read`, `write` and `handle` answers it.

    `read` and `write` are actions of the packages below; `write` also takes the request's
    Idempotency-Key. `handle` is for endpoints that need the HTTP request itself.
    """

    method: str
    path: str
    operation_id: str
    summary: str
    description: str
    read: Callable[[Context, Caller, InputT], AnswerT] | None = None
    write: Callable[[Context, Caller, InputT, IdempotentRequest | None], AnswerT] | None = None
    handle: Callable[[Call[InputT]], AnswerT | Response] | None = None
    body: type[InputT] | None = None
    query: type[InputT] | None = None
    answer: type[AnswerT] | None = None
    media_type: str | None = None  # of the response, if it is not or not always JSON
    needs_key: bool = True
    pool: ThreadPool = ThreadPool.SEARCH
    rate_limit: RateLimit = "memory"
    body_bytes_max: Literal["body_bytes_max", "file_bytes_max"] = "body_bytes_max"  # a setting
    usage: Kind | None = None  # usage counter that a successful request increments
    has_ranges: bool = False  # serves files and byte ranges (RFC 9110, 14)
    id_has_slashes: bool = False  # the id in its path, such as the name of a model
    takes_idempotency_key: bool = False  # always True with `write`
    # Least role of a member whose request names a team; None: it takes no team. The team is in the
    # body, or in the query of a request without one.
    team: TeamRole | None = None
    errors: tuple[type[Problem], ...] = ()  # in addition to those implied by the other fields

    def __post_init__(self) -> None:
        if self.write is not None:
            object.__setattr__(self, "takes_idempotency_key", True)


AnyEndpoint: TypeAlias = Endpoint[Any, Any]

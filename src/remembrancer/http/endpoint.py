"""One row of the table of contents, and one request on its way through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from ..accounts.idempotency import IdempotentRequest
from ..accounts.usage import Kind
from ..context import Caller, Context
from ..protocol.errors import Problem, Unauthorized

if TYPE_CHECKING:
    from .dispatch import Dispatcher


class ThreadPool(Enum):
    """Which threads an endpoint runs on."""

    LOOP = "loop"  # the event loop itself: only what neither waits nor computes
    SEARCH = "search"  # few threads, busy with computing
    WRITE = "write"  # many threads, mostly waiting for the disk
    TALK = "talk"  # threads that wait for a language model
    RUN = "run"  # threads that wait for a program


@dataclass(slots=True, kw_only=True)
class Call:
    """One request that passed the checks: its key is good, its body is valid."""

    dispatcher: Dispatcher
    request: Request
    body: BaseModel | None = None
    parameters: BaseModel | None = None
    known_caller: Caller | None = None
    once: IdempotentRequest | None = None
    headers: dict[str, str] = field(default_factory=dict)  # for the answer

    @property
    def context(self) -> Context:
        """The parts the program works with."""
        return self.dispatcher.context

    @property
    def caller(self) -> Caller:
        """Who asks. Raises Unauthorized where the endpoint asks for no key."""
        if self.known_caller is None:
            raise Unauthorized
        return self.known_caller


Rate: TypeAlias = Literal["memory", "feedback", "sandbox", "sysperm", "chat"]
Handle: TypeAlias = Callable[[Call], BaseModel | Response]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint.

    Its handler's name is the operation id, its handler's docstring the description.
    """

    method: str
    path: str
    handle: Handle
    summary: str
    request: type[BaseModel] | None = None
    query: type[BaseModel] | None = None  # the parameters it takes behind the question mark
    answer: type[BaseModel] | None = None  # the JSON it answers with
    page: str | None = None  # the media type of what it answers with besides or instead
    needs_key: bool = True
    where: ThreadPool = ThreadPool.SEARCH
    rate: Rate = "memory"  # whose limit of calls a minute it counts for
    body_bytes_max: Literal["body_bytes_max", "file_bytes_max"] = (
        "body_bytes_max"  # the setting that bounds its body
    )
    counts: Kind | None = None  # as what it counts in the usage of its key, once it is answered
    in_parts: bool = False  # answers with a file, of which a part can be asked for
    repeatable: bool = False  # takes an Idempotency-Key
    also: tuple[
        type[Problem], ...
    ] = ()  # errors it can answer with that do not follow from the rest of the row

    @property
    def name(self) -> str:
        """The operation id."""
        return self.handle.__name__

    @property
    def description(self) -> str:
        """What it does, in a paragraph."""
        return " ".join((self.handle.__doc__ or "").split())

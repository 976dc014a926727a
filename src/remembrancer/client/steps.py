"""Methods of both clients, written once: as generators of the requests that they send.

`Client` sends these requests one after the other, and `AsyncClient` awaits each of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from pydantic import BaseModel

from ..protocol.operation import AsynchronousCaller, Operation, SynchronousCaller
from .api_request import ApiRequest, drive, drive_async, request_of

A = TypeVar("A")
P = ParamSpec("P")
Steps: TypeAlias = Generator[ApiRequest[Any], Any, A]
# One page of a list, and the steps to the next one.
Pages: TypeAlias = Generator[ApiRequest[Any], Any, tuple[Sequence[A], "Pages[A] | None"]]


def ask(
    operation: Operation[Any, Any, A, *tuple[Any, ...]],
    message: BaseModel | None = None,
    *,
    item_id: str | None = None,
    idempotency_key: str | None = None,
) -> Steps[A]:
    """Send the request of an operation and return its answer."""
    answer: A = yield request_of(
        operation, message, item_id=item_id, idempotency_key=idempotency_key
    )
    return answer


class Verb(Generic[P, A]):
    """A method that returns the result of its steps."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[A]]) -> None:
        self.steps = steps

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Steps[A]]: ...
    @overload
    def __get__(self, client: SynchronousCaller, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(
        self, client: AsynchronousCaller, owner: type
    ) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self.steps
        steps = MethodType(self.steps, client)

        def call(*args: P.args, **named: P.kwargs) -> A:
            result: A = drive(steps(*args, **named), client.send)
            return result

        async def call_async(*args: P.args, **named: P.kwargs) -> A:
            result: A = await drive_async(steps(*args, **named), client.send)
            return result

        return wraps(steps)(call if isinstance(client, SynchronousCaller) else call_async)


class Listing(Generic[P, A]):
    """A method that iterates over the items of pages, each read when it is needed."""

    def __init__(self, steps: Callable[Concatenate[Any, P], Pages[A]]) -> None:
        self.steps = steps

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Pages[A]]: ...
    @overload
    def __get__(self, client: SynchronousCaller, owner: type) -> Callable[P, Iterator[A]]: ...
    @overload
    def __get__(self, client: AsynchronousCaller, owner: type) -> Callable[P, AsyncIterator[A]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self.steps
        steps = MethodType(self.steps, client)

        def iterate(*args: P.args, **named: P.kwargs) -> Iterator[A]:
            following = steps(*args, **named)
            while following is not None:
                page, following = drive(following, client.send)
                yield from page

        async def iterate_async(*args: P.args, **named: P.kwargs) -> AsyncIterator[A]:
            following = steps(*args, **named)
            while following is not None:
                page, following = await drive_async(following, client.send)
                for item in page:
                    yield item

        return wraps(steps)(iterate if isinstance(client, SynchronousCaller) else iterate_async)

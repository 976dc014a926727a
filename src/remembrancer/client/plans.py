"""Methods of several requests, written once for the synchronous and the asynchronous client.

A plan is a generator: it yields requests, receives their answers, and returns a result. A plan of
pages yields lists of items between its requests. Plans do no I/O; the clients send the requests.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from ..protocol.own_key import OwnKey
from . import requests
from .api_request import ApiRequest
from .argument_hints import wrong_call

if TYPE_CHECKING:
    from .api import AsyncClient, Client

P = ParamSpec("P")
A = TypeVar("A")
T = TypeVar("T")
Plan: TypeAlias = Generator[ApiRequest[Any], Any, A]
PagePlan: TypeAlias = Generator[ApiRequest[Any] | list[T], Any, None]


class DefaultUser:
    """The user of calls that name none: that of the client, else the default user of the key."""

    __slots__ = ("user_id",)

    def __init__(self, user_id: str | None) -> None:
        self.user_id = user_id

    def resolve(self, user_id: str | None) -> Plan[str]:
        """Return the user of a call. Ask the service once if neither call nor client names one."""
        if user_id is not None:
            return user_id
        if self.user_id is None:
            key: OwnKey = yield requests.own_key()
            self.user_id = key.user_id
        return self.user_id


class Verb(Generic[P, A]):
    """A method of both clients that runs a plan and returns its result."""

    def __init__(self, plan: Callable[Concatenate[DefaultUser, P], Plan[A]]) -> None:
        self.plan, self.__doc__ = plan, plan.__doc__

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Any: ...
    def __get__(self, client: Any, owner: type) -> Any:
        plan = self.plan

        def run(self: Client, *args: P.args, **kwargs: P.kwargs) -> A:
            steps, answer = begin(plan, self.default_user, args, kwargs), None
            while True:
                try:
                    request = steps.send(answer)
                except StopIteration as finished:
                    return finished.value  # type: ignore[no-any-return]
                answer = self.send(request)

        async def run_async(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> A:
            steps, answer = begin(plan, self.default_user, args, kwargs), None
            while True:
                try:
                    request = steps.send(answer)
                except StopIteration as finished:
                    return finished.value  # type: ignore[no-any-return]
                answer = await self.send(request)

        return bound(run_async if inspect.iscoroutinefunction(owner.send) else run, plan, client)  # type: ignore[attr-defined]


class Pages(Generic[P, T]):
    """A method of both clients that reads a list page by page, as its items are needed."""

    def __init__(self, plan: Callable[Concatenate[DefaultUser, P], PagePlan[T]]) -> None:
        self.plan, self.__doc__ = plan, plan.__doc__

    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Any: ...
    def __get__(self, client: Any, owner: type) -> Any:
        plan = self.plan

        def run(self: Client, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
            steps, answer = begin(plan, self.default_user, args, kwargs), None
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return
                answer = self.send(step) if isinstance(step, ApiRequest) else None
                if not isinstance(step, ApiRequest):
                    yield from step

        async def run_async(
            self: AsyncClient, *args: P.args, **kwargs: P.kwargs
        ) -> AsyncIterator[T]:
            steps, answer = begin(plan, self.default_user, args, kwargs), None
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return
                answer = await self.send(step) if isinstance(step, ApiRequest) else None
                if not isinstance(step, ApiRequest):
                    for item in step:
                        yield item

        return bound(run_async if inspect.iscoroutinefunction(owner.send) else run, plan, client)  # type: ignore[attr-defined]


def begin(
    plan: Callable[..., A], default: DefaultUser, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> A:
    """Return a plan for these arguments. Raises TypeError, with what to do, if they do not fit."""
    try:
        return plan(default, *args, **kwargs)  # of a generator: nothing runs yet
    except TypeError as error:
        _, *parameters = inspect.signature(plan).parameters
        message = wrong_call(plan.__name__, error, args, kwargs, parameters)
        raise TypeError(message) from None


def bound(method: Any, plan: Callable[..., Any], client: Any) -> Any:
    """Return the method of a client, with the name, signature and documentation of its plan."""
    signature = inspect.signature(plan)
    itself, *others = signature.parameters.values()
    method.__name__, method.__doc__ = plan.__name__, plan.__doc__
    method.__signature__ = signature.replace(
        parameters=[itself.replace(name="self", annotation=inspect.Parameter.empty), *others]
    )
    return method if client is None else method.__get__(client)

"""The clients: one method an endpoint, which sends what `asks.py` gives and waits and tries again as `attempts.py` says."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

import httpx2

from .. import __version__
from . import asks
from .address import address, is_one_word
from .asks import Ask
from .attempts import Lost, Retry, attempts
from .errors import Answered

CONNECT_S_MAX = 5.0  # a service that takes longer to be connected to is down
P = ParamSpec("P")
A = TypeVar("A")
URL_NAME, KEY_NAME = "REMEMBRANCER_URL", "REMEMBRANCER_KEY"
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class _Door:
    """Where the service is and what opens it. Neither `repr` nor an error shows the key."""

    __slots__ = ("_key", "base_url")

    def __init__(self, base_url: str, key: str | None) -> None:
        self.base_url = address(base_url, "base_url", "http://127.0.0.1:8460")
        if key is not None and not is_one_word(key):
            raise ValueError("this cannot be a key: keys are sk_ and hex digits, in one piece")
        self._key = key

    def headers(self) -> dict[str, str]:
        """What every request carries."""
        sent = {"User-Agent": f"remembrancer-client/{__version__}"}
        return sent if self._key is None else {**sent, "Authorization": f"Bearer {self._key}"}

    def answered(self, response: httpx2.Response) -> Answered:
        """What came back, with the key blotted out of what might be shown."""
        body = response.content
        if response.status_code >= 400 and self._key:
            body = body.replace(self._key.encode("ascii"), b"(the key)")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answered(status=response.status_code, headers=headers, body=body)

    def lost(self, error: httpx2.HTTPError) -> Lost:
        """Why no answer came. The error itself is let go: it holds the request, and that the key."""
        why = f"{type(error).__name__}: {error}".removesuffix(": ")
        return Lost(f"{self.base_url} gave no answer: {why}", was_sent=not isinstance(error, _NOT_SENT))


def _given(environment: Mapping[str, str]) -> tuple[str, str]:
    missing = [name for name in (URL_NAME, KEY_NAME) if not environment.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} must be set")
    return environment[URL_NAME], environment[KEY_NAME]


def _request(door: _Door, ask: Ask[Any]) -> dict[str, Any]:
    return {
        "method": ask.method,
        "url": door.base_url + ask.path,
        "params": dict(ask.query) or None,
        "content": ask.body,
        "headers": {**door.headers(), **ask.headers},
    }


def _timeout(timeout_s: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S_MAX))


class _Method(Generic[P, A]):
    """A method of `Client` that sends what a function of `asks.py` gives, with that function's arguments and documentation."""

    def __init__(self, ask: Callable[P, Ask[A]]) -> None:
        self.__wrapped__, self.__doc__ = ask, ask.__doc__

    @overload
    def __get__(self, client: None, kind: type) -> Callable[Concatenate[Client, P], A]: ...
    @overload
    def __get__(self, client: Client, kind: type) -> Callable[P, A]: ...
    def __get__(self, client: Client | None, kind: type) -> Any:
        ask = self.__wrapped__

        def on(client: Client, *args: P.args, **kwargs: P.kwargs) -> A:
            return client.send(ask(*args, **kwargs))

        def bound(*args: P.args, **kwargs: P.kwargs) -> A:
            return on(cast(Client, client), *args, **kwargs)

        return _dressed(on if client is None else bound, ask)


class _AsyncMethod(Generic[P, A]):
    """The same for `AsyncClient`."""

    def __init__(self, ask: Callable[P, Ask[A]]) -> None:
        self.__wrapped__, self.__doc__ = ask, ask.__doc__

    @overload
    def __get__(self, client: None, kind: type) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, A]]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, client: AsyncClient | None, kind: type) -> Any:
        ask = self.__wrapped__

        async def on(client: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> A:
            return await client.send(ask(*args, **kwargs))

        async def bound(*args: P.args, **kwargs: P.kwargs) -> A:
            return await on(cast(AsyncClient, client), *args, **kwargs)

        return _dressed(on if client is None else bound, ask)


def _dressed(method: Any, ask: Callable[..., object]) -> Any:
    method.__name__, method.__doc__ = ask.__name__, ask.__doc__
    return method


class Client:
    """Calls the service and waits for the answer. Safe to use from many threads; close it at the end, or use `with`."""

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout_s: float = 30.0,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`timeout_s` bounds each wait for the network. `transport` is for proxies and certificates of your own.

        Raises ValueError for an address or a key that cannot be one.
        """
        self._door, self._retry, self._sleep = _Door(base_url, key), retry or Retry(), sleep
        self._http = httpx2.Client(timeout=_timeout(timeout_s), transport=transport, trust_env=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Self:
        """A client for REMEMBRANCER_URL and REMEMBRANCER_KEY of `environment`, such as os.environ. Raises ValueError for a missing one."""
        return cls(*_given(environment), **given)

    def send(self, ask: Ask[A]) -> A:
        """Send a request, again if need be, and give its answer. Raises ClientError."""
        steps = attempts(ask, self._retry, random.random)
        wait_s = next(steps)
        while True:
            if wait_s:
                self._sleep(wait_s)
            try:
                wait_s = steps.send(self._exchange(ask))
            except StopIteration as done:
                return cast(A, done.value)

    def _exchange(self, ask: Ask[Any]) -> Answered | Lost:
        try:
            return self._door.answered(self._http.request(**_request(self._door, ask)))
        except httpx2.HTTPError as error:
            return self._door.lost(error)

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._door.base_url!r})"

    search_memory = _Method(asks.search_memory)
    explain_search = _Method(asks.explain_search)
    remember_turn = _Method(asks.remember_turn)
    save_event = _Method(asks.save_event)
    get_event = _Method(asks.get_event)
    erase_event = _Method(asks.erase_event)
    forget_memory = _Method(asks.forget_memory)
    file_command = _Method(asks.file_command)
    file_history = _Method(asks.file_history)
    delete_file = _Method(asks.delete_file)
    save_summary = _Method(asks.save_summary)
    draft_summary = _Method(asks.draft_summary)
    make_map = _Method(asks.make_map)
    get_map = _Method(asks.get_map)
    get_start_pack = _Method(asks.get_start_pack)
    get_agent_memory = _Method(asks.get_agent_memory)
    own_key = _Method(asks.own_key)
    list_tools = _Method(asks.list_tools)
    llms_txt = _Method(asks.llms_txt)
    get_prompt = _Method(asks.get_prompt)
    put_prompt = _Method(asks.put_prompt)
    submit_feedback = _Method(asks.submit_feedback)
    list_feedback = _Method(asks.list_feedback)
    create_cube = _Method(asks.create_cube)
    vote_on_cube = _Method(asks.vote_on_cube)
    chat_with_agent = _Method(asks.chat_with_agent)
    complete_chat = _Method(asks.complete_chat)
    list_models = _Method(asks.list_models)
    look_again = _Method(asks.look_again)
    agent_compliance = _Method(asks.agent_compliance)
    execute_code = _Method(asks.execute_code)
    check_permission = _Method(asks.check_permission)
    grant_permission = _Method(asks.grant_permission)
    list_grants = _Method(asks.list_grants)
    log_permitted_action = _Method(asks.log_permitted_action)
    revoke_permission = _Method(asks.revoke_permission)
    read_audit = _Method(asks.read_audit)
    make_file = _Method(asks.make_file)
    download = _Method(asks.download)
    status_record = _Method(asks.status_record)
    home = _Method(asks.home)
    alive = _Method(asks.alive)
    ready = _Method(asks.ready)
    prometheus_metrics = _Method(asks.prometheus_metrics)
    openapi_document = _Method(asks.openapi_document)
    docs_page = _Method(asks.docs_page)
    style_sheet = _Method(asks.style_sheet)
    other = _Method(asks.other)


class AsyncClient:
    """The same for asyncio: every method is awaited."""

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        timeout_s: float = 30.0,
        retry: Retry | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """As `Client`."""
        self._door, self._retry, self._sleep = _Door(base_url, key), retry or Retry(), sleep
        self._http = httpx2.AsyncClient(timeout=_timeout(timeout_s), transport=transport, trust_env=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **given: Any) -> Self:
        """As `Client.from_environment`."""
        return cls(*_given(environment), **given)

    async def send(self, ask: Ask[A]) -> A:
        """As `Client.send`."""
        steps = attempts(ask, self._retry, random.random)
        wait_s = next(steps)
        while True:
            if wait_s:
                await self._sleep(wait_s)
            try:
                wait_s = steps.send(await self._exchange(ask))
            except StopIteration as done:
                return cast(A, done.value)

    async def _exchange(self, ask: Ask[Any]) -> Answered | Lost:
        try:
            return self._door.answered(await self._http.request(**_request(self._door, ask)))
        except httpx2.HTTPError as error:
            return self._door.lost(error)

    async def close(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._door.base_url!r})"

    search_memory = _AsyncMethod(asks.search_memory)
    explain_search = _AsyncMethod(asks.explain_search)
    remember_turn = _AsyncMethod(asks.remember_turn)
    save_event = _AsyncMethod(asks.save_event)
    get_event = _AsyncMethod(asks.get_event)
    erase_event = _AsyncMethod(asks.erase_event)
    forget_memory = _AsyncMethod(asks.forget_memory)
    file_command = _AsyncMethod(asks.file_command)
    file_history = _AsyncMethod(asks.file_history)
    delete_file = _AsyncMethod(asks.delete_file)
    save_summary = _AsyncMethod(asks.save_summary)
    draft_summary = _AsyncMethod(asks.draft_summary)
    make_map = _AsyncMethod(asks.make_map)
    get_map = _AsyncMethod(asks.get_map)
    get_start_pack = _AsyncMethod(asks.get_start_pack)
    get_agent_memory = _AsyncMethod(asks.get_agent_memory)
    own_key = _AsyncMethod(asks.own_key)
    list_tools = _AsyncMethod(asks.list_tools)
    llms_txt = _AsyncMethod(asks.llms_txt)
    get_prompt = _AsyncMethod(asks.get_prompt)
    put_prompt = _AsyncMethod(asks.put_prompt)
    submit_feedback = _AsyncMethod(asks.submit_feedback)
    list_feedback = _AsyncMethod(asks.list_feedback)
    create_cube = _AsyncMethod(asks.create_cube)
    vote_on_cube = _AsyncMethod(asks.vote_on_cube)
    chat_with_agent = _AsyncMethod(asks.chat_with_agent)
    complete_chat = _AsyncMethod(asks.complete_chat)
    list_models = _AsyncMethod(asks.list_models)
    look_again = _AsyncMethod(asks.look_again)
    agent_compliance = _AsyncMethod(asks.agent_compliance)
    execute_code = _AsyncMethod(asks.execute_code)
    check_permission = _AsyncMethod(asks.check_permission)
    grant_permission = _AsyncMethod(asks.grant_permission)
    list_grants = _AsyncMethod(asks.list_grants)
    log_permitted_action = _AsyncMethod(asks.log_permitted_action)
    revoke_permission = _AsyncMethod(asks.revoke_permission)
    read_audit = _AsyncMethod(asks.read_audit)
    make_file = _AsyncMethod(asks.make_file)
    download = _AsyncMethod(asks.download)
    status_record = _AsyncMethod(asks.status_record)
    home = _AsyncMethod(asks.home)
    alive = _AsyncMethod(asks.alive)
    ready = _AsyncMethod(asks.ready)
    prometheus_metrics = _AsyncMethod(asks.prometheus_metrics)
    openapi_document = _AsyncMethod(asks.openapi_document)
    docs_page = _AsyncMethod(asks.docs_page)
    style_sheet = _AsyncMethod(asks.style_sheet)
    other = _AsyncMethod(asks.other)

"""Synchronous and asynchronous HTTP clients: plain verbs, and one method for each endpoint."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

import httpx2

from .. import __version__
from . import requests, verbs
from .address import is_valid_key, normalize_base_url
from .api_request import ApiRequest, other
from .argument_hints import check_messages, unknown_arguments
from .credentials import KEY_NAME, URL_NAME, find_key, find_url
from .errors import HttpResponse
from .plans import DefaultUser, Pages, Verb
from .retry import NoResponse, Retry, run_attempts

CONNECT_S_MAX = 5.0  # a service that does not accept a connection within this time is down
P = ParamSpec("P")
A = TypeVar("A")
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)


class _Method(Generic[P, A]):
    """A method of both clients, declared once: it sends the request that a function builds.

    On `Client` it returns the answer, on `AsyncClient` a coroutine. Arguments and documentation
    are those of the function in `requests.py`.
    """

    def __init__(self, build: Callable[P, ApiRequest[A]]) -> None:
        self.__wrapped__, self.__doc__ = build, build.__doc__

    @overload
    def __get__(self, client: None, owner: type[Client]) -> Callable[Concatenate[Client, P], A]: ...
    @overload
    def __get__(
        self, client: None, owner: type[AsyncClient]
    ) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, A]]: ...
    @overload
    def __get__(self, client: Client, owner: type[Client]) -> Callable[P, A]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[AsyncClient]
    ) -> Callable[P, Coroutine[Any, Any, A]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        build = self.__wrapped__

        def send(client: Client, *args: P.args, **kwargs: P.kwargs) -> A:
            check_messages(build, args, kwargs)
            return client.send(build(*args, **kwargs))

        async def send_async(client: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> A:
            check_messages(build, args, kwargs)
            return await client.send(build(*args, **kwargs))

        method: Any = send_async if issubclass(owner, AsyncClient) else send
        method.__name__, method.__doc__ = build.__name__, build.__doc__
        return method if client is None else method.__get__(client, owner)


class _Verbs:
    """The plain verbs of both clients, which owe no duties."""

    __slots__ = ()

    def __new__(cls, *_: Any, **kwargs: Any) -> Self:
        """Create a client. Raises TypeError, with what to do, for an unknown argument."""
        parameters = list(inspect.signature(cls.__init__).parameters)[1:]
        if unknown := kwargs.keys() - set(parameters):
            raise TypeError(unknown_arguments(cls.__name__, unknown, parameters))
        return super().__new__(cls)

    add = Verb(verbs.add)
    search = Verb(verbs.search)
    get = Verb(verbs.get)
    get_all = Verb(verbs.get_all)
    update = Verb(verbs.update)
    delete = Verb(verbs.delete)
    delete_all = Verb(verbs.delete_all)
    history = Verb(verbs.history)
    events = Pages(verbs.events)
    facts = Pages(verbs.facts)
    instructions = Pages(verbs.instructions)
    sessions = Pages(verbs.sessions)


class _Endpoints:
    """The methods of both clients, one for each endpoint."""

    __slots__ = ()

    search_memory = _Method(requests.search_memory)
    explain_search = _Method(requests.explain_search)
    remember_turn = _Method(requests.remember_turn)
    save_event = _Method(requests.save_event)
    save_batch = _Method(requests.save_batch)
    get_event = _Method(requests.get_event)
    list_events = _Method(requests.list_events)
    list_sessions = _Method(requests.list_sessions)
    change_event = _Method(requests.change_event)
    erase_event = _Method(requests.erase_event)
    get_retention = _Method(requests.get_retention)
    set_retention = _Method(requests.set_retention)
    forget_memory = _Method(requests.forget_memory)
    receipt_keys = _Method(requests.receipt_keys)
    list_facts = _Method(requests.list_facts)
    list_instructions = _Method(requests.list_instructions)
    add_fact = _Method(requests.add_fact)
    change_fact = _Method(requests.change_fact)
    remove_fact = _Method(requests.remove_fact)
    file_command = _Method(requests.file_command)
    file_history = _Method(requests.file_history)
    delete_file = _Method(requests.delete_file)
    save_summary = _Method(requests.save_summary)
    draft_summary = _Method(requests.draft_summary)
    make_map = _Method(requests.make_map)
    get_map = _Method(requests.get_map)
    get_start_pack = _Method(requests.get_start_pack)
    get_agent_memory = _Method(requests.get_agent_memory)
    own_key = _Method(requests.own_key)
    list_tools = _Method(requests.list_tools)
    llms_txt = _Method(requests.llms_txt)
    get_prompt = _Method(requests.get_prompt)
    put_prompt = _Method(requests.put_prompt)
    submit_feedback = _Method(requests.submit_feedback)
    list_feedback = _Method(requests.list_feedback)
    create_cube = _Method(requests.create_cube)
    vote_on_cube = _Method(requests.vote_on_cube)
    cube_effects = _Method(requests.cube_effects)
    chat_with_agent = _Method(requests.chat_with_agent)
    complete_chat = _Method(requests.complete_chat)
    list_models = _Method(requests.list_models)
    show_model = _Method(requests.show_model)
    respond = _Method(requests.respond)
    embed = _Method(requests.embed)
    look_again = _Method(requests.look_again)
    agent_compliance = _Method(requests.agent_compliance)
    execute_code = _Method(requests.execute_code)
    check_permission = _Method(requests.check_permission)
    grant_permission = _Method(requests.grant_permission)
    list_grants = _Method(requests.list_grants)
    log_permitted_action = _Method(requests.log_permitted_action)
    revoke_permission = _Method(requests.revoke_permission)
    read_audit = _Method(requests.read_audit)
    make_file = _Method(requests.make_file)
    download = _Method(requests.download)
    status_record = _Method(requests.status_record)
    home = _Method(requests.home)
    alive = _Method(requests.alive)
    ready = _Method(requests.ready)
    prometheus_metrics = _Method(requests.prometheus_metrics)
    openapi_document = _Method(requests.openapi_document)
    docs_page = _Method(requests.docs_page)
    docs_article = _Method(requests.docs_article)
    style_sheet = _Method(requests.style_sheet)
    list_teams = _Method(requests.list_teams)
    create_team = _Method(requests.create_team)
    accept_invitation = _Method(requests.accept_invitation)
    show_team = _Method(requests.show_team)
    rename_team = _Method(requests.rename_team)
    delete_team = _Method(requests.delete_team)
    list_members = _Method(requests.list_members)
    change_member = _Method(requests.change_member)
    remove_member = _Method(requests.remove_member)
    list_invitations = _Method(requests.list_invitations)
    invite_member = _Method(requests.invite_member)
    withdraw_invitation = _Method(requests.withdraw_invitation)
    team_audit = _Method(requests.team_audit)
    other = _Method(other)


class _Connection:
    """Base URL and API key of a service. Neither `repr` nor an error contains the key."""

    __slots__ = ("_key", "base_url")

    def __init__(self, base_url: str | None, key: str | None) -> None:
        if base_url is None:  # a key that was found must not be sent to any other address
            base_url, key = find_url(), find_key() if key is None else key
        self.base_url = normalize_base_url(base_url, "base_url", "http://127.0.0.1:8460")
        if key is not None and not is_valid_key(key):
            raise ValueError("invalid API key: a key is `sk_` followed by hexadecimal digits")
        self._key = key

    def request_arguments(self, request: ApiRequest[Any]) -> dict[str, Any]:
        """Return the arguments of `httpx2.Client.request`."""
        headers = {"User-Agent": f"remembrancer-client/{__version__}", **request.headers}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return {
            "method": request.method,
            "url": self.base_url + request.path,
            "params": dict(request.query) or None,
            "content": request.body,
            "headers": headers,
        }

    def response(self, response: httpx2.Response) -> HttpResponse:
        """Convert a response. The key is removed from bodies that an error might quote."""
        body = response.content
        if response.status_code >= 400 and self._key:
            body = body.replace(self._key.encode("ascii"), b"(the key)")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpResponse(status=response.status_code, headers=headers, body=body)

    def no_response(self, error: httpx2.HTTPError) -> NoResponse:
        """Describe a failed request. The error is dropped: it refers to the key."""
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        if isinstance(error, httpx2.ConnectError):
            return NoResponse(
                f"No service answers at {self.base_url}. Start it with `remembrancer serve`, or "
                f"set {URL_NAME} to its address. ({reason})",
                was_sent=False,
            )
        return NoResponse(
            f"{self.base_url} gave no answer: {reason}", was_sent=not isinstance(error, _NOT_SENT)
        )


def _base_url_and_key(environment: Mapping[str, str]) -> tuple[str, str]:
    missing = [name for name in (URL_NAME, KEY_NAME) if not environment.get(name)]
    if missing:
        raise ValueError(f"{' and '.join(missing)} must be set")
    return environment[URL_NAME], environment[KEY_NAME]


def _timeout(timeout_s: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S_MAX))


class Client(_Verbs, _Endpoints):
    """Synchronous client. Thread-safe. Call `close()` when done, or use `with`."""

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        user_id: str | None = None,
        timeout_s: float = 30.0,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect lazily: nothing is sent before the first request.

        Without `base_url`, the address is that of REMEMBRANCER_URL, else the one that `remembrancer
        login` saved, else the default one of `remembrancer serve`, and a missing `key` is that of
        REMEMBRANCER_KEY, else of the key file.
        `user_id` is the user of plain calls that name none. `timeout_s` limits each network
        operation. Pass a `transport` for proxies or custom certificates. Raises ValueError for an
        invalid URL or key, and KeyMissingError if no key was found.
        """
        self._connection = _Connection(base_url, key)
        self.default_user = DefaultUser(user_id)
        self._retry, self._sleep = retry or Retry(), sleep
        self._http = httpx2.Client(
            timeout=_timeout(timeout_s), transport=transport, trust_env=False
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **options: Any) -> Self:
        """Create a client from REMEMBRANCER_URL and REMEMBRANCER_KEY of `environment`.

        Raises ValueError if one is missing. `options` are those of the constructor.
        """
        return cls(*_base_url_and_key(environment), **options)

    def send(self, request: ApiRequest[A]) -> A:
        """Send a request, retry it if necessary, and return its answer. Raises ClientError."""
        attempts = run_attempts(request, self._retry, random.random)
        wait_s = next(attempts)
        while True:
            if wait_s:
                self._sleep(wait_s)
            try:
                wait_s = attempts.send(self._exchange(request))
            except StopIteration as finished:
                return cast(A, finished.value)

    def _exchange(self, request: ApiRequest[Any]) -> HttpResponse | NoResponse:
        try:
            response = self._http.request(**self._connection.request_arguments(request))
        except httpx2.HTTPError as error:
            return self._connection.no_response(error)
        return self._connection.response(response)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.base_url!r})"


class AsyncClient(_Verbs, _Endpoints):
    """Asynchronous client: like `Client`, but every method is a coroutine."""

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        *,
        user_id: str | None = None,
        timeout_s: float = 30.0,
        retry: Retry | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take the same arguments as `Client`."""
        self._connection = _Connection(base_url, key)
        self.default_user = DefaultUser(user_id)
        self._retry, self._sleep = retry or Retry(), sleep
        self._http = httpx2.AsyncClient(
            timeout=_timeout(timeout_s), transport=transport, trust_env=False
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **options: Any) -> Self:
        """Create a client like `Client.from_environment`."""
        return cls(*_base_url_and_key(environment), **options)

    async def send(self, request: ApiRequest[A]) -> A:
        """Send a request like `Client.send`."""
        attempts = run_attempts(request, self._retry, random.random)
        wait_s = next(attempts)
        while True:
            if wait_s:
                await self._sleep(wait_s)
            try:
                wait_s = attempts.send(await self._exchange(request))
            except StopIteration as finished:
                return cast(A, finished.value)

    async def _exchange(self, request: ApiRequest[Any]) -> HttpResponse | NoResponse:
        try:
            response = await self._http.request(**self._connection.request_arguments(request))
        except httpx2.HTTPError as error:
            return self._connection.no_response(error)
        return self._connection.response(response)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.base_url!r})"

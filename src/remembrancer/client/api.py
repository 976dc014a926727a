"""Synchronous and asynchronous HTTP clients: plain verbs, and a method for each operation."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, Self, TypeAlias, TypeVar, Unpack

import httpx2
from pydantic import BaseModel

from .. import __version__
from ..protocol.facts import Fact, FactAdd, FactList, FactRemoved, FactsQuery, FactStored
from ..protocol.forget import EventErased, Forgotten
from ..protocol.memory import (
    BatchReceipt,
    Event,
    EventList,
    EventsQuery,
    ListedEvent,
    ListedSession,
    SessionList,
    SessionsQuery,
    UserList,
    UsersQuery,
)
from ..protocol.message import DEFAULT_SESSION
from ..protocol.operation import AnyOperation, AsynchronousCaller, SynchronousCaller
from ..protocol.operations import Operations
from . import verbs
from .api_request import (
    ApiRequest,
    NoResponse,
    Retry,
    drive,
    drive_async,
    is_valid_key,
    normalize_base_url,
    other,
    request_of,
    run_attempts,
)
from .credentials import KEY_NAME, URL_NAME, find_key, find_url
from .errors import HttpResponse
from .results import AddResult, SearchResult
from .turns import Content
from .verbs import Time, TurnFields

CONNECT_S_MAX = 5.0  # a service that does not accept a connection within this time is down
A = TypeVar("A")
P = TypeVar("P", EventList, SessionList, UserList, FactList)
Q = TypeVar("Q", EventsQuery, SessionsQuery, UsersQuery, FactsQuery)
FactStatus: TypeAlias = Literal["current", "superseded", "expired", "removed", "all"]
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)


class _Connected:
    """Base URL, API key and user of a client. Neither `repr` nor an error contains the key."""

    __slots__ = ("__dict__", "_key")  # so that `vars` does not contain the key either
    # sends a request; returns its answer, or a coroutine of it
    send: Callable[[ApiRequest[Any]], Any]

    def __init__(
        self, base_url: str | None, key: str | None, user_id: str | None, retry: Retry | None
    ) -> None:
        if base_url is None:  # a key that was found must not be sent to any other address
            base_url, key = find_url(), find_key() if key is None else key
        self.base_url = normalize_base_url(base_url, "base_url", "http://127.0.0.1:8460")
        if key is not None and not is_valid_key(key):
            raise ValueError("invalid API key: a key is `sk_` followed by hexadecimal digits")
        self._key, self.user_id, self._retry = key, user_id, retry or Retry()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **options: Any) -> Self:
        """Create a client from REMEMBRANCER_URL and REMEMBRANCER_KEY of `environment`.

        Raises ValueError if one is missing. `options` are those of the constructor.
        """
        missing = [name for name in (URL_NAME, KEY_NAME) if not environment.get(name)]
        if missing:
            raise ValueError(f"{' and '.join(missing)} must be set")
        return cls(environment[URL_NAME], environment[KEY_NAME], **options)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    def call(
        self,
        operation: AnyOperation,
        *,
        item_id: str | None = None,
        message: BaseModel | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Send the request of an operation; return its answer, or a coroutine of it.

        Raises ClientError.
        """
        request = request_of(operation, message, item_id=item_id, idempotency_key=idempotency_key)
        return self.send(request)

    def _request_arguments(self, request: ApiRequest[Any]) -> dict[str, Any]:
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

    def _response(self, response: httpx2.Response) -> HttpResponse:
        """Convert a response. The key is removed from bodies that an error might quote."""
        body = response.content
        if response.status_code >= 400 and self._key:
            body = body.replace(self._key.encode("ascii"), b"(the key)")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return HttpResponse(status=response.status_code, headers=headers, body=body)

    def _no_response(self, error: httpx2.HTTPError) -> NoResponse:
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


def _timeout(timeout_s: float) -> httpx2.Timeout:
    return httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_S_MAX))


class Client(_Connected, Operations, SynchronousCaller):
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
        super().__init__(base_url, key, user_id, retry)
        self._sleep = sleep
        self._http = httpx2.Client(
            timeout=_timeout(timeout_s), transport=transport, trust_env=False
        )

    def add(
        self,
        content: Content,
        *,
        user_id: str | None = None,
        session_id: str = DEFAULT_SESSION,
        team: str | None = None,
        **fields: Unpack[TurnFields],
    ) -> AddResult:
        """Store what was said: a text, a pair (query, response), or the messages of a chat.

        The turns are durable and the next search finds them. They owe no duties. All of them are
        stored, or none, unless they exceed one request (500 turns or half a megabyte). `team` is
        the id or the name of a team in whose memory to store them. `fields` are `topic`,
        `occurred_at`, `expires_at`, `metadata`, and `source`: who the words come from, on both
        sides or each (`user`, `model`, `tool`, `file`, `import` or `other`).
        """
        batches, notes = verbs.turn_batches(
            content, user_id=user_id, session_id=session_id, team=team, fields=fields
        )
        user = self._user(user_id)
        receipts: list[BatchReceipt] = []
        for batch in batches:
            receipts += self.save_batch(batch.model_copy(update={"user_id": user})).receipts
        return AddResult.of(receipts, user_id=user, session_id=session_id, notes=notes)

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        top_k: int = 5,
        focus_words: list[str] | None = None,
        after: Time = None,
        before: Time = None,
        filters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> SearchResult:
        """Search memory, best hit first. It is a pure read: it counts no step and owes no duties.

        `options` are the other fields of `MemoryQuery`, such as `min_score`, `layers` or
        `as_of`. `teams="all"` or a list of names searches the memory of those teams, too.
        """
        options |= {"top_k": top_k, "focus_words": focus_words, "after": after, "before": before}
        user_id, options["filters"] = verbs.without_user(filters, user_id)
        body = verbs.search_query(query, user_id=user_id, options=options)
        user = self._user(user_id)
        return SearchResult(self.search_memory(body.model_copy(update={"user_id": user})), user)

    def get(
        self, item_id: str, *, user_id: str | None = None, team: str | None = None
    ) -> Event | Fact:
        """Return one turn (`e_…`) or one fact (`f_…`). Raises NotFoundError.

        A turn is found by its id alone. A fact is looked up among those of the user.
        """
        if not verbs.is_fact(item_id):
            return self.get_event(item_id, verbs.in_team(team))
        user = self._user(user_id)
        return verbs.find_fact(self._all_facts(user, team), item_id, user, team)

    def get_all(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        limit: int = 100,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> list[ListedEvent]:
        """Return the newest turns of a user, at most `limit`. `events` reads all of them lazily."""
        pages = self.events(user_id=user_id, session_id=session_id, filters=filters, team=team)
        return list(islice(pages, limit))

    def update(self, fact_id: str, text: str, *, team: str | None = None) -> FactStored:
        """Change the wording of a fact. The old wording stays as one of its versions.

        Raises ValueError for the id of a turn: turns are verbatim and never change.
        """
        return self.change_fact(fact_id, verbs.fact_change(fact_id, text, team))

    def add_fact(  # type: ignore[override]  # takes more than the operation
        self,
        body: FactAdd | str,
        *,
        user_id: str | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> FactStored:
        """Store a fact without a turn: a text, or a `FactAdd`.

        `fields` of a text are those of `FactAdd`, such as `valid_from` and `metadata`.
        """
        if isinstance(body, str) and user_id is None:
            user_id = self.user_id
        message = verbs.fact_of(body, user_id, fields)
        stored: FactStored = self.call(
            Operations.add_fact, message=message, idempotency_key=idempotency_key
        )
        return stored

    def delete(self, item_id: str, *, team: str | None = None) -> EventErased | FactRemoved:
        """Erase one turn (`e_…`) or the text of one fact (`f_…`) for good."""
        if verbs.is_fact(item_id):
            return self.remove_fact(item_id, verbs.in_team(team))
        return self.erase_event(item_id, verbs.in_team(team))

    def delete_all(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> Forgotten:
        """Erase the whole memory of a user or of a team, one session of it, or what passes
        `filters`, for good.

        Returns the signed receipt. Name either `user_id`, which has no default here, or `team`:
        what all members stored there is erased, for which the role `owner` is needed. Raises
        TypeError for both or none, and ForbiddenError for a role that may not.
        """
        verbs.check_scope(user_id, team)
        if team is not None:
            user_id = self._user(None)  # the member that acts
            team = self.show_team(team).team_id
        return self.forget_memory(verbs.erased_scope(user_id, session_id, team, filters))

    def history(
        self, fact_id: str, *, user_id: str | None = None, team: str | None = None
    ) -> list[Fact]:
        """Return a fact with those that it replaced and those that replaced it, oldest first.

        Raises NotFoundError for a fact that the user does not have.
        """
        verbs.check_id(fact_id)
        user = self._user(user_id)
        every = self._all_facts(user, team)
        verbs.find_fact(every, fact_id, user, team)
        return verbs.line_of_facts(every, fact_id)

    def events(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        after: Time = None,
        before: Time = None,
        order: Literal["newest", "oldest"] = "newest",
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> Iterator[ListedEvent]:
        """Iterate over the turns of a user, complete, in the order of their times."""
        user_id, filters = verbs.without_user(filters, user_id)
        fields: dict[str, Any] = {"session_id": session_id, "order": order, "filters": filters}
        fields |= {"after": after, "before": before}
        query = verbs.valid(
            EventsQuery, user_id=self._user(user_id), limit=verbs.PAGE_MAX, team=team, **fields
        )
        for page in self._pages(self.list_events, query, "cursor"):
            yield from page.events

    def facts(
        self,
        *,
        user_id: str | None = None,
        status: FactStatus = "current",
        as_of: Time = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> Iterator[Fact]:
        """Iterate over the facts of a user, newest first."""
        return self._facts("facts", filters, user_id, status=status, as_of=as_of, team=team)

    def instructions(
        self,
        *,
        user_id: str | None = None,
        status: FactStatus = "current",
        as_of: Time = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> Iterator[Fact]:
        """Iterate over the standing instructions and preferences of a user, newest first."""
        return self._facts("instructions", filters, user_id, status=status, as_of=as_of, team=team)

    def sessions(
        self, *, user_id: str | None = None, team: str | None = None
    ) -> Iterator[ListedSession]:
        """Iterate over the sessions of a user, latest turn first."""
        query = verbs.valid(
            SessionsQuery, user_id=self._user(user_id), limit=verbs.PAGE_MAX, team=team
        )
        for page in self._pages(self.list_sessions, query, "cursor"):
            yield from page.sessions

    def users(self) -> Iterator[str]:
        """Iterate over the users of the account that have a memory, by name."""
        for page in self._pages(self.list_users, UsersQuery(limit=verbs.PAGE_MAX), "cursor"):
            yield from page.users

    def _facts(
        self, which: str, filters: Mapping[str, Any] | None, user_id: str | None, **fields: Any
    ) -> Iterator[Fact]:
        user_id, fields["filters"] = verbs.without_user(filters, user_id)
        fields |= {"which": which, "user_id": self._user(user_id), "limit": verbs.PAGE_MAX}
        query = verbs.valid(FactsQuery, **fields)
        for page in self._pages(self.list_facts, query, "below"):
            yield from page.facts

    @staticmethod
    def _pages(read: Callable[[Q], P], query: Q, place: str) -> Iterator[P]:
        """Yield the pages of a list; `place` names the field for its beginning."""
        while True:
            page = read(query)
            yield page
            if page.next is None:
                return
            query = query.model_copy(update={place: page.next})

    def _all_facts(self, user_id: str, team: str | None) -> list[Fact]:
        return list(self._facts("all", None, user_id, status="all", team=team))

    def _user(self, user_id: str | None) -> str:
        """Return the user of a call. Ask the service once if neither call nor client names one."""
        if user_id is not None:
            return user_id
        if self.user_id is None:
            self.user_id = self.own_key().user_id
        return self.user_id

    def other(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Send any request that this version has no method for: JSON in, JSON out."""
        return self.send(other(method, path, body, idempotency_key=idempotency_key))

    def send(self, request: ApiRequest[A]) -> A:
        """Send a request, retry it if necessary, and return its answer. Raises ClientError."""

        def attempt(wait_s: float) -> HttpResponse | NoResponse:
            if wait_s:
                self._sleep(wait_s)
            try:
                return self._response(self._http.request(**self._request_arguments(request)))
            except httpx2.HTTPError as error:
                return self._no_response(error)

        return drive(run_attempts(request, self._retry, random.random), attempt)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Connected, Operations, AsynchronousCaller):
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
        super().__init__(base_url, key, user_id, retry)
        self._sleep = sleep
        self._http = httpx2.AsyncClient(
            timeout=_timeout(timeout_s), transport=transport, trust_env=False
        )

    async def add(
        self,
        content: Content,
        *,
        user_id: str | None = None,
        session_id: str = DEFAULT_SESSION,
        team: str | None = None,
        **fields: Unpack[TurnFields],
    ) -> AddResult:
        """Store what was said: a text, a pair (query, response), or the messages of a chat.

        The turns are durable and the next search finds them. They owe no duties. All of them are
        stored, or none, unless they exceed one request (500 turns or half a megabyte). `team` is
        the id or the name of a team in whose memory to store them. `fields` are `topic`,
        `occurred_at`, `expires_at`, `metadata`, and `source`: who the words come from, on both
        sides or each (`user`, `model`, `tool`, `file`, `import` or `other`).
        """
        batches, notes = verbs.turn_batches(
            content, user_id=user_id, session_id=session_id, team=team, fields=fields
        )
        user = await self._user(user_id)
        receipts: list[BatchReceipt] = []
        for batch in batches:
            saved = await self.save_batch(batch.model_copy(update={"user_id": user}))
            receipts += saved.receipts
        return AddResult.of(receipts, user_id=user, session_id=session_id, notes=notes)

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        top_k: int = 5,
        focus_words: list[str] | None = None,
        after: Time = None,
        before: Time = None,
        filters: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> SearchResult:
        """Search memory, best hit first. It is a pure read: it counts no step and owes no duties.

        `options` are the other fields of `MemoryQuery`, such as `min_score`, `layers` or
        `as_of`. `teams="all"` or a list of names searches the memory of those teams, too.
        """
        options |= {"top_k": top_k, "focus_words": focus_words, "after": after, "before": before}
        user_id, options["filters"] = verbs.without_user(filters, user_id)
        body = verbs.search_query(query, user_id=user_id, options=options)
        user = await self._user(user_id)
        answer = await self.search_memory(body.model_copy(update={"user_id": user}))
        return SearchResult(answer, user)

    async def get(
        self, item_id: str, *, user_id: str | None = None, team: str | None = None
    ) -> Event | Fact:
        """Return one turn (`e_…`) or one fact (`f_…`). Raises NotFoundError.

        A turn is found by its id alone. A fact is looked up among those of the user.
        """
        if not verbs.is_fact(item_id):
            return await self.get_event(item_id, verbs.in_team(team))
        user = await self._user(user_id)
        every = await self._all_facts(user, team)
        return verbs.find_fact(every, item_id, user, team)

    async def get_all(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        limit: int = 100,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> list[ListedEvent]:
        """Return the newest turns of a user, at most `limit`. `events` reads all of them lazily."""
        pages = self.events(user_id=user_id, session_id=session_id, filters=filters, team=team)
        events: list[ListedEvent] = []
        async for event in pages:
            if len(events) == limit:
                break
            events.append(event)
        return events

    async def update(self, fact_id: str, text: str, *, team: str | None = None) -> FactStored:
        """Change the wording of a fact. The old wording stays as one of its versions.

        Raises ValueError for the id of a turn: turns are verbatim and never change.
        """
        return await self.change_fact(fact_id, verbs.fact_change(fact_id, text, team))

    async def add_fact(  # type: ignore[override]
        self,
        body: FactAdd | str,
        *,
        user_id: str | None = None,
        idempotency_key: str | None = None,
        **fields: Any,
    ) -> FactStored:
        """Store a fact without a turn: a text, or a `FactAdd`.

        `fields` of a text are those of `FactAdd`, such as `valid_from` and `metadata`.
        """
        if isinstance(body, str) and user_id is None:
            user_id = self.user_id
        message = verbs.fact_of(body, user_id, fields)
        stored: FactStored = await self.call(
            Operations.add_fact, message=message, idempotency_key=idempotency_key
        )
        return stored

    async def delete(self, item_id: str, *, team: str | None = None) -> EventErased | FactRemoved:
        """Erase one turn (`e_…`) or the text of one fact (`f_…`) for good."""
        if verbs.is_fact(item_id):
            return await self.remove_fact(item_id, verbs.in_team(team))
        return await self.erase_event(item_id, verbs.in_team(team))

    async def delete_all(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> Forgotten:
        """Erase the whole memory of a user or of a team, one session of it, or what passes
        `filters`, for good.

        Returns the signed receipt. Name either `user_id`, which has no default here, or `team`:
        what all members stored there is erased, for which the role `owner` is needed. Raises
        TypeError for both or none, and ForbiddenError for a role that may not.
        """
        verbs.check_scope(user_id, team)
        if team is not None:
            user_id = await self._user(None)  # the member that acts
            team = (await self.show_team(team)).team_id
        return await self.forget_memory(verbs.erased_scope(user_id, session_id, team, filters))

    async def history(
        self, fact_id: str, *, user_id: str | None = None, team: str | None = None
    ) -> list[Fact]:
        """Return a fact with those that it replaced and those that replaced it, oldest first.

        Raises NotFoundError for a fact that the user does not have.
        """
        verbs.check_id(fact_id)
        user = await self._user(user_id)
        every = await self._all_facts(user, team)
        verbs.find_fact(every, fact_id, user, team)
        return verbs.line_of_facts(every, fact_id)

    async def events(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        after: Time = None,
        before: Time = None,
        order: Literal["newest", "oldest"] = "newest",
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> AsyncIterator[ListedEvent]:
        """Iterate over the turns of a user, complete, in the order of their times."""
        user_id, filters = verbs.without_user(filters, user_id)
        fields: dict[str, Any] = {"session_id": session_id, "order": order, "filters": filters}
        fields |= {"after": after, "before": before}
        query = verbs.valid(
            EventsQuery,
            user_id=await self._user(user_id),
            limit=verbs.PAGE_MAX,
            team=team,
            **fields,
        )
        async for page in self._pages(self.list_events, query, "cursor"):
            for event in page.events:
                yield event

    def facts(
        self,
        *,
        user_id: str | None = None,
        status: FactStatus = "current",
        as_of: Time = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> AsyncIterator[Fact]:
        """Iterate over the facts of a user, newest first."""
        return self._facts("facts", filters, user_id, status=status, as_of=as_of, team=team)

    def instructions(
        self,
        *,
        user_id: str | None = None,
        status: FactStatus = "current",
        as_of: Time = None,
        filters: Mapping[str, Any] | None = None,
        team: str | None = None,
    ) -> AsyncIterator[Fact]:
        """Iterate over the standing instructions and preferences of a user, newest first."""
        return self._facts("instructions", filters, user_id, status=status, as_of=as_of, team=team)

    async def sessions(
        self, *, user_id: str | None = None, team: str | None = None
    ) -> AsyncIterator[ListedSession]:
        """Iterate over the sessions of a user, latest turn first."""
        query = verbs.valid(
            SessionsQuery, user_id=await self._user(user_id), limit=verbs.PAGE_MAX, team=team
        )
        async for page in self._pages(self.list_sessions, query, "cursor"):
            for session in page.sessions:
                yield session

    async def users(self) -> AsyncIterator[str]:
        """Iterate over the users of the account that have a memory, by name."""
        query = UsersQuery(limit=verbs.PAGE_MAX)
        async for page in self._pages(self.list_users, query, "cursor"):
            for name in page.users:
                yield name

    async def _facts(
        self, which: str, filters: Mapping[str, Any] | None, user_id: str | None, **fields: Any
    ) -> AsyncIterator[Fact]:
        user_id, fields["filters"] = verbs.without_user(filters, user_id)
        fields |= {"which": which, "user_id": await self._user(user_id), "limit": verbs.PAGE_MAX}
        query = verbs.valid(FactsQuery, **fields)
        async for page in self._pages(self.list_facts, query, "below"):
            for fact in page.facts:
                yield fact

    @staticmethod
    async def _pages(read: Callable[[Q], Awaitable[P]], query: Q, place: str) -> AsyncIterator[P]:
        """Yield pages like `Client._pages`."""
        while True:
            page = await read(query)
            yield page
            if page.next is None:
                return
            query = query.model_copy(update={place: page.next})

    async def _all_facts(self, user_id: str, team: str | None) -> list[Fact]:
        facts = self._facts("all", None, user_id, status="all", team=team)
        return [fact async for fact in facts]

    async def _user(self, user_id: str | None) -> str:
        """Return the user of a call. Ask the service once if neither call nor client names one."""
        if user_id is not None:
            return user_id
        if self.user_id is None:
            self.user_id = (await self.own_key()).user_id
        return self.user_id

    async def other(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Send any request that this version has no method for: JSON in, JSON out."""
        return await self.send(other(method, path, body, idempotency_key=idempotency_key))

    async def send(self, request: ApiRequest[A]) -> A:
        """Send a request like `Client.send`."""

        async def attempt(wait_s: float) -> HttpResponse | NoResponse:
            if wait_s:
                await self._sleep(wait_s)
            try:
                return self._response(await self._http.request(**self._request_arguments(request)))
            except httpx2.HTTPError as error:
                return self._no_response(error)

        return await drive_async(run_attempts(request, self._retry, random.random), attempt)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

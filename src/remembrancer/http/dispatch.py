"""Authenticate, rate-limit, validate and dispatch requests."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar, TypeVarTuple

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from ..accounts.idempotency import IdempotentRequest
from ..accounts.keys import authenticate
from ..accounts.teams import enter, working_in
from ..accounts.usage import Kind, UsageCounter
from ..context import Caller, Context
from ..fair_queue import FairThreads
from ..memory.history.endings import due_times, erase_due
from ..memory.recall.recall import TeamAndTeams
from ..memory.write.turns import FAULTS_MAX
from ..models import ModelAttempt
from ..protocol import limits
from ..protocol.errors import InvalidRequest, NotFound, Unauthorized, Unavailable
from ..protocol.memory import BatchTurn, TurnBatch
from ..protocol.operation import AnyOperation, Operation, RateLimit
from ..protocol.search import MemoryQuery
from ..protocol.teams import TeamQuery
from ..protocol.text import LOCAL_TIMES, notes_on_times
from ..sandbox.port import SandboxPort
from ..sandbox.runner import Cancellation, RunCancelled
from ..sandbox.sandbox import Sandbox
from . import bodies, problems
from .admission import (
    AccountGroups,
    InFlight,
    RateExceeded,
    RateLimiter,
    Refusals,
    RequestMemory,
    ShortTurns,
)
from .bodies import parse_query
from .metrics import Metrics

# --- The binding of an operation to the action that answers it, and one validated request to it

A = TypeVar("A")
InputT = TypeVar("InputT")  # the body or the query; None without either
Inputs = TypeVarTuple("Inputs")


class ThreadPool(Enum):
    """Thread pools; every endpoint runs on one."""

    LOOP = "loop"  # the event loop itself: for handlers that neither wait nor compute
    SEARCH = "search"  # few threads, busy with computing
    WRITE = "write"  # many threads, mostly waiting for the disk
    LARGE = "large"  # few threads, for writes and searches with large bodies
    FILES = "files"  # few threads, for contents of files, whose storage may not answer
    TALK = "talk"  # threads that wait for a language model
    LOOK = "look"  # threads that compute much and then may wait for one
    RUN = "run"  # threads that wait for a program


# Large bodies are expensive to them.
_COMPUTING = {ThreadPool.SEARCH, ThreadPool.WRITE, ThreadPool.LOOK}


@dataclass(slots=True, kw_only=True)
class Call(Generic[InputT]):
    """One request whose key, size, rate and input have been checked."""

    dispatcher: Dispatcher
    context: Context
    request: Request
    input: InputT = None  # type: ignore[assignment]  # set where the operation has one
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
    """Bind an operation to a handler that needs the HTTP request itself.

    One that is constant runs on the event loop.
    """
    own = ThreadPool.LOOP if operation.is_constant else pool
    return Endpoint(operation, own, usage, handle=handler)


# --- Requests that name a team: they work in its space, with the role of the member ----------


def enter_team(operation: AnyOperation, call: Call[Any]) -> None:
    """Let a request that names a team work in it; other requests stay as they are.

    Its `user_id` is then the team's: the user that acts is checked here. Raises PinnedToOtherUser,
    TeamUnknown, TeamAmbiguous, RoleTooLow, TeamAndTeams.
    """
    request = call.input
    if request is None:
        request = parse_query(TeamQuery, call.request.scope["query_string"])
    if request.team is None:
        return
    assert operation.team is not None
    user_id = getattr(request, "user_id", None)
    call.caller = enter(call.context, call.caller, request.team, user_id, operation.team)
    erase_due(call.context, call.caller.account_id)
    call.context = working_in(call.context, call.caller, operation.team)
    changes: dict[str, Any] = {"team": None}
    if hasattr(request, "user_id"):
        changes["user_id"] = call.caller.pinned_user_id
    if isinstance(request, TurnBatch):
        changes["turns"] = _turns_of_member(request, call.caller)
    if isinstance(request, MemoryQuery):
        if request.teams is not None:
            raise TeamAndTeams
        changes |= {"interact": False, "last_seal": None}
    if call.input is not None:
        call.input = request.model_copy(update=changes)


def _turns_of_member(batch: TurnBatch, caller: Caller) -> list[BatchTurn]:
    """Return the turns of a batch without the user that acts. Raises InvalidRequest for others."""
    assert caller.member is not None
    user_id = caller.member.user_id
    detail = f"must be absent, or the member that stores the turns: {user_id}"
    faults = [
        {"pointer": f"/turns/{place}/user_id", "detail": detail}
        for place, turn in enumerate(batch.turns)
        if turn.user_id not in (None, user_id)
    ]
    if faults:
        raise InvalidRequest(f"{faults[0]['pointer'][1:]}: {detail}.", errors=faults[:FAULTS_MAX])
    return [turn.model_copy(update={"user_id": None}) for turn in batch.turns]


# --- Authenticate, rate-limit, validate and dispatch requests --------------------------------

# Large bodies processed at the same time, of one account one: other pools are used meanwhile. Each
# takes several times its size in memory, and up to seconds of a processor for its text.
LARGE_BODIES_MAX = 2
LOOKS_OF_ACCOUNT = 2
LARGE_BODY_BYTES = 8 << 10
LOOK_SECONDS = 5  # between two looks at the process for the metrics
IN_FLIGHT_MAX = 1000  # more requests would only queue and time out
# Bodies on their way, with a key and without one. They do not count as requests in flight.
SLOW_BODIES_MAX = 1000
WRITE_THREADS = 64  # they wait for the disk and share one commit
# Contents of files at the same time, each many times the size of a turn. A bucket that does not
# answer occupies these threads, and no other call waits for it.
FILE_THREADS, FILE_THREADS_OF_ACCOUNT = 4, 2
TALK_THREADS = 64  # they wait for language models
# Of one account, while others use the same pool: more would take the interpreter's lock from the
# others' calls. Writes that wait for a database server or an endpoint take it less.
SEARCH_THREADS_OF_ACCOUNT, WRITE_THREADS_OF_ACCOUNT = 2, 1
DATABASE_THREADS_OF_ACCOUNT, ENDPOINT_THREADS_OF_ACCOUNT = 4, 16
# More threads than programs may run and wait, so that a full queue is reported at once.
RUN_THREADS = 320
T = TypeVar("T")

_IDEMPOTENCY_KEY = re.compile(rf"[!-~]{{1,{limits.IDEMPOTENCY_KEY_CHARACTERS_MAX}}}")
# Requests in this time read due times once, unless one is reached. A turn that another server
# stored is erased at its time if it was to live for longer than this.
DUE_READ_MS = 250
_KEY_CHARACTERS_MAX = 200  # longer than any key


class SlashedName(StringConvertor):
    """A path parameter with slashes within it, such as the name of a model."""

    regex = "[^/]+(?:/[^/]+)*"


register_url_convertor("slashed", SlashedName())


class ExactRoute(Route):
    """A route whose path, if it has no parameter, is not matched by another route as well.

    Without this, another method of `/teams/accept` would be one of `/teams/{team_id}`.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path alone; `Route` then refuses the method with 405."""
        match, child_scope = super().matches(scope)
        is_exact = match is Match.PARTIAL and not self.param_convertors
        return Match.FULL if is_exact else match, child_scope


def _thread_pools(context: Context) -> dict[ThreadPool, FairThreads]:
    # Threads in all, of one account while others use the pool, and of one while none does.
    sizes = {
        ThreadPool.SEARCH: (context.settings.search_threads, SEARCH_THREADS_OF_ACCOUNT, None),
        ThreadPool.WRITE: (WRITE_THREADS, _write_threads_of_account(context), None),
        ThreadPool.LARGE: (LARGE_BODIES_MAX, 1, 1),
        ThreadPool.LOOK: (TALK_THREADS, LOOKS_OF_ACCOUNT, LOOKS_OF_ACCOUNT),
        ThreadPool.FILES: (FILE_THREADS, FILE_THREADS_OF_ACCOUNT, None),
        ThreadPool.TALK: (TALK_THREADS, TALK_THREADS // 2, None),
        ThreadPool.RUN: (RUN_THREADS, None, None),
    }
    return {
        pool: FairThreads(most, pool.value, threads_of_group=of_group, threads_alone=alone)
        for pool, (most, of_group, alone) in sizes.items()
    }


class Dispatcher:
    """Runs requests on thread pools and counts them. One per server.

    Every request passes, in this order: size, key, rate limit, media type, JSON, model; then the
    action of its endpoint. The key is checked before waiting for a body.
    """

    def __init__(
        self,
        context: Context,
        body_limits: Mapping[tuple[str, str], int] | None = None,
        *,
        sandbox: SandboxPort | None = None,
        in_flight_max: int = IN_FLIGHT_MAX,
    ) -> None:
        """Create the thread pools.

        `body_limits`: maximum body size in bytes by method and path. Default: `body_bytes_max`.
        `sandbox`: closed with the dispatcher. Default: one of its own.
        """
        self.context = context
        self._body_limits = body_limits or {}
        self._short_turns = ShortTurns()
        self._watch: asyncio.TimerHandle | None = None
        self._nothing_due = (0, 0)  # nothing reaches its `expires_at` between these moments
        self._in_flight_max = in_flight_max
        # Requests in flight by account; on the event loop only.
        self._shares = Counter[int | None]()
        self.request_memory = RequestMemory(context.settings.request_memory_bytes)
        self.refusals = Refusals(context.settings.refusal_seconds)
        self.groups = AccountGroups()
        self.in_flight = 0  # changed on the event loop only
        self._slow_bodies = {
            has_key: bodies.SlowBodies(SLOW_BODIES_MAX) for has_key in (True, False)
        }
        self.metrics = Metrics()
        self.usage_counter = UsageCounter(context)
        context.models.watch(self._count_model)
        self.sandbox = sandbox or Sandbox(context.settings)
        settings = context.settings
        per_minute: dict[RateLimit, int] = {
            "memory": settings.rate_memory_per_minute,
            "feedback": settings.rate_feedback_per_minute,
            "chat": settings.rate_chat_per_minute,
            "sandbox": settings.rate_sandbox_per_minute,
            "sysperm": settings.rate_sysperm_per_minute,
        }
        self.rate_limiters = {
            kind: RateLimiter(kind, most, store=context.store) for kind, most in per_minute.items()
        }
        self._pools = _thread_pools(context)

    def use(self, context: Context) -> None:
        """Serve further requests with this context, whose embedder is another one."""
        self.context = context

    def body_bytes_max(self, method: str, path: str) -> int:
        """Return the maximum size of a request's body."""
        return self._body_limits.get((method, path), self.context.settings.body_bytes_max)

    def route(self, path: str, endpoints: Sequence[Endpoint]) -> Route:
        """Return the route of one path with all its methods; middleware drops the body of HEAD."""
        by_method: dict[str, Endpoint] = {one.operation.method: one for one in endpoints}
        if "GET" in by_method:
            by_method["HEAD"] = by_method["GET"]

        async def respond(request: Request) -> Response:
            request.scope["endpoint_path"] = path
            return await self.respond(by_method[request.method], request)

        has_slashes = any(endpoint.operation.id_has_slashes for endpoint in endpoints)
        pattern = path.replace("}", ":slashed}") if has_slashes else path
        return ExactRoute(pattern, respond, methods=list(by_method), name=path)

    async def respond(self, endpoint: Endpoint, request: Request) -> Response:
        """Answer one request; foreseen errors become problem responses."""
        raw, operation = b"", endpoint.operation
        bytes_max = self.body_bytes_max(operation.method, operation.path)
        try:
            if operation.body is not None:
                raw = await self.receive(request, bytes_max, needs_key=operation.needs_key)
        except problems.FORESEEN as error:
            return problems.respond(error, request.scope)
        call: Call[Any] = Call(dispatcher=self, context=self.context, request=request)
        if endpoint.pool is ThreadPool.RUN:
            call.cancellation = Cancellation()
        work = partial(self._respond, endpoint, call, raw)
        if endpoint.pool is ThreadPool.LOOP:
            return work()
        pool = endpoint.pool
        if len(raw) <= LARGE_BODY_BYTES or pool not in _COMPUTING:
            return await self.work(pool, work, request, call.cancellation)
        with self._short_turns:
            large = pool if pool is ThreadPool.LOOK else ThreadPool.LARGE
            return await self.work(large, work, request, None)

    async def receive(self, request: Request, bytes_max: int, *, needs_key: bool) -> bytes:
        """Receive a body. If it has not arrived yet, check the key before waiting for it.

        So only key holders can fill the memory. Raises TooLarge, Unauthorized, TooSlow,
        Unavailable, ClientDisconnect, StoreUnavailable.
        """
        in_flight: InFlight = request.scope["in_flight"]
        grow = partial(self.request_memory.grow, in_flight)
        body = bodies.PartialBody(request, bytes_max, grow)
        if not await body.has_arrived():
            if needs_key:
                caller = await self.check_key(request.headers)
                self.request_memory.assign(in_flight, caller.account_id)
            await self._slow_bodies[needs_key].read(body)
            self.check_capacity(self.groups.of(request.headers))
        return bytes(body.content)

    def enter(self, headers: Headers) -> InFlight:
        """Count a request in flight. Give it to `leave` in the end."""
        account_id = self.groups.of(headers)
        request = InFlight(account_id, entered_as=account_id)
        self.in_flight += 1
        self.metrics.in_flight.inc()
        self._shares[request.account_id] += 1
        return request

    def leave(self, request: InFlight) -> None:
        """Count a request no more."""
        self.request_memory.release(request)
        self.in_flight -= 1
        self.metrics.in_flight.dec()
        self._shares[request.entered_as] -= 1
        if not self._shares[request.entered_as]:
            del self._shares[request.entered_as]

    def look_at_process(self) -> None:
        """Let the metrics know how this process is."""
        waiting = sum(map(len, self._pools.values()))
        self.metrics.server.set_process(
            waiting=waiting, index_bytes=self.context.index_cache.nbytes
        )

    def watch_process(self) -> None:
        """Let the metrics know how this process is, now and again and again, until `close`."""
        self.look_at_process()
        loop = asyncio.get_running_loop()
        self._watch = loop.call_later(LOOK_SECONDS, self.watch_process)

    def check_capacity(self, account_id: int | None) -> None:
        """Raise Unavailable if too many requests are in flight.

        Those whose body or delayed refusal is on its way do not count.
        An account that has less than its share of them is still served.
        """
        if self.in_flight <= self._in_flight_max:
            return
        waiting = sum(map(len, self._slow_bodies.values())) + self.refusals.waiting
        share = self._in_flight_max // max(len(self._shares), 1)
        if (
            self.in_flight - waiting > self._in_flight_max
            and self._shares.get(account_id, 0) > share
        ):
            raise Unavailable(
                "The server is at its limit of concurrent requests. Try again in a moment.",
                retry_after=problems.RETRY_AFTER_S,
            )

    def start(
        self, pool: ThreadPool, work: Callable[[], T], account_id: int | None
    ) -> asyncio.Future[T]:
        """Start work for an account on a pool's threads. Call it on the event loop.

        Accounts take turns; `account_id` is None for callers that are not known yet.
        """
        return asyncio.wrap_future(self._pools[pool].submit(account_id, work))

    async def check_key(self, headers: Headers) -> Caller:
        """Return the caller whose key the request carries. Raises Unauthorized."""
        work = partial(self.caller, headers)
        return await self.start(ThreadPool.WRITE, work, self.groups.of(headers))

    async def work(
        self,
        pool: ThreadPool,
        work: Callable[[], T],
        request: Request,
        cancellation: Cancellation | None,
    ) -> T:
        """Do the work of a request on a pool's threads; stop its programs if its client goes.

        Raises ClientDisconnect in that case, and what `work` raises.
        """
        result = self.start(pool, work, self.groups.of(request.headers))
        if cancellation is None:
            return await result
        departure = asyncio.create_task(_departure(request))
        try:
            waiting: set[asyncio.Future[Any]] = {result, departure}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                cancellation.request()
            return await result
        except RunCancelled:
            raise ClientDisconnect from None
        finally:
            departure.cancel()
            cancellation.request()  # this task may have been cancelled

    def _respond(self, endpoint: Endpoint, call: Call[Any], raw: bytes) -> Response:
        request, operation = call.request, endpoint.operation
        try:
            self._check(operation, call)
            times: dict[str, list[str]] = {}
            LOCAL_TIMES.set(times)  # of this thread, until its next request
            with bodies.memory_panics():
                if operation.body is not None:
                    bodies.check_is_json(request.headers)
                    if len(raw) > self.context.settings.body_bytes_max:
                        bodies.check_is_text(raw, self.context.settings.body_bytes_max)
                    call.input = bodies.parse(operation.body, raw)
                elif operation.query is not None:
                    call.input = parse_query(operation.query, request.scope["query_string"])
                payer = call.caller if operation.needs_key else None
                if operation.team is not None:
                    enter_team(operation, call)
                if operation.takes_idempotency_key:
                    call.idempotency = _idempotent_request(call, operation, raw)
                answer = _run(endpoint, call)
        except RateExceeded as error:
            return problems.respond(error, request.scope, error.allowance.headers())
        except problems.FORESEEN as error:
            return problems.respond(error, request.scope, call.headers)
        if endpoint.usage and payer is not None:
            self.usage_counter.count(
                endpoint.usage, account_id=payer.account_id, key_id=payer.key_id
            )
        if isinstance(answer, Response):
            return answer
        # By the model's serializer alone: the hits of a search were validated when they were made.
        content = answer.__pydantic_serializer__.to_json(answer)
        noted = b',"notes":' + to_json(notes_on_times(times)) + b"}" if times else b"}"
        return Response(content[:-1] + noted, headers=call.headers, media_type="application/json")

    def _check(self, operation: AnyOperation, call: Call[Any]) -> None:
        """Authenticate and rate-limit. Raises Unauthorized, RateExceeded."""
        if not operation.needs_key:
            return
        call.caller = self.caller(call.request.headers)
        if allowance := self.rate_limiters[operation.rate_limit].take(call.caller.key_id):
            call.headers |= allowance.headers()

    def _count_model(self, attempt: ModelAttempt) -> None:
        self.metrics.count_model(attempt)
        self.usage_counter.count("model_call" if attempt.outcome == "ok" else "model_failure")
        self.usage_counter.count("tokens_read", times=attempt.prompt_tokens)
        self.usage_counter.count("tokens_written", times=attempt.completion_tokens)

    def caller(self, headers: Headers) -> Caller:
        """Return the caller whose key the request carries; what has expired is erased before.

        Raises Unauthorized, StoreUnavailable.
        """
        values = headers.getlist("authorization")
        if len(values) > 1:
            raise Unauthorized("There is more than one Authorization header. Send one.")
        scheme, _, text = (values[0] if values else "").partition(" ")
        text = text.strip(" ")
        if (
            scheme.lower() != "bearer"
            or not text
            or len(text) > _KEY_CHARACTERS_MAX
            or not text.isascii()
        ):
            raise Unauthorized
        try:
            caller = authenticate(self.context, text)
        except Unauthorized:
            self.groups.forget(headers)
            raise
        self.groups.learn(headers, caller.account_id)
        from_ms, until_ms = self._nothing_due
        if not from_ms <= self.context.clock() < until_ms:
            self.erase_due(caller.account_id)
        return caller

    def erase_due(self, account_id: int) -> None:
        """Erase what has reached its `expires_at`, before an account reads its memory.

        Raises StoreUnavailable.
        """
        now_ms = self.context.clock()
        times = due_times(self.context, now_ms + DUE_READ_MS)
        self._nothing_due = (now_ms, min([now_ms + DUE_READ_MS, *times.values()]))
        if times and min(times.get(one, now_ms + 1) for one in (account_id, 0)) <= now_ms:
            erase_due(self.context, account_id)

    def close(self) -> None:
        """Wait for running work and release the threads. The context stays open."""
        if self._watch is not None:
            self._watch.cancel()
        self.context.models.close()  # first: it ends the waits for models
        for pool in self._pools.values():
            pool.shutdown()
        self.usage_counter.close()
        self.sandbox.close()


def _write_threads_of_account(context: Context) -> int:
    if context.embedder.is_remote:
        return ENDPOINT_THREADS_OF_ACCOUNT
    return DATABASE_THREADS_OF_ACCOUNT if context.store.is_shared else WRITE_THREADS_OF_ACCOUNT


async def _departure(request: Request) -> None:
    """Wait until the client of a request is gone. The body must have been received."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _run(endpoint: Endpoint, call: Call[Any]) -> Any:
    """Return the answer of an endpoint: a message, or the response itself."""
    if endpoint.handle is not None:
        return endpoint.handle(call)
    inputs = [call.item_id] if call.request.path_params else []
    if call.input is not None:
        inputs.append(call.input)
    if endpoint.read is not None:
        return endpoint.read(call.context, call.caller, *inputs)
    assert endpoint.write is not None
    return endpoint.write(call.context, call.caller, *inputs, call.idempotency)


def _idempotent_request(
    call: Call[Any], operation: AnyOperation, raw: bytes
) -> IdempotentRequest | None:
    """Return the request's Idempotency-Key with what it covers. Raises InvalidRequest."""
    values = call.request.headers.getlist("idempotency-key")
    if not values:
        return None
    if len(values) > 1 or not _IDEMPOTENCY_KEY.fullmatch(values[0]):
        raise InvalidRequest(
            "Idempotency-Key must be a single header of 1 to "
            f"{limits.IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters without spaces."
        )
    return IdempotentRequest(
        account_id=call.caller.account_id,
        key_id=call.caller.key_id,
        # Of a team too: the same key of a client is another one there.
        path=operation.path + (f" {call.caller.account_name}" if call.caller.member else ""),
        idempotency_key=values[0],
        # With method and id: the key used again for another resource is a conflict. No id contains
        # the separator, so that an id and a body never read as another id and body.
        body_digest=hashlib.sha256(
            "\0".join([operation.method, *call.request.path_params.values(), ""]).encode() + raw
        ).digest(),
        on_replay=lambda: call.headers.update({"Idempotent-Replayed": "true"}),
    )

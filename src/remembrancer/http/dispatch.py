"""What every request passes, in this order:

size, key, rate, media type, JSON, model; then its action.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from ..accounts.idempotency import IdempotentRequest
from ..accounts.keys import authenticate
from ..accounts.usage import UsageCounter
from ..context import Caller, Context
from ..models import ModelAttempt
from ..protocol import limits
from ..protocol.errors import InvalidRequest, Problem, Unauthorized
from ..sandbox.sandbox import Sandbox
from ..search import EmbedderUnavailable
from ..store import StoreUnavailable
from . import bodies, problems
from .endpoint import Call, Endpoint, Rate, ThreadPool
from .metrics import Metrics
from .parameters import parse_query
from .rate_limiter import RateExceeded, RateLimiter

# larger than usual ones that are read at the same time: each takes several times its size of memory
LARGE_BODIES_MAX = 2
WRITE_THREADS = 64  # they wait for the disk, and share one commit
TALK_THREADS = 64  # they wait for language models
# more than programs may run and wait, so that who finds no place is told at once; made as they are
# needed
RUN_THREADS = 320
T = TypeVar("T")

_IDEMPOTENCY_KEY = re.compile(rf"[!-~]{{1,{limits.IDEMPOTENCY_KEY_CHARACTERS_MAX}}}")
_KEY_CHARACTERS_MAX = 200  # longer than any key: not worth a digest


class Dispatcher:
    """The way in: the context, the threads that work for it, what is counted. One a server."""

    def __init__(
        self, context: Context, body_bounds: Mapping[tuple[str, str], int] | None = None
    ) -> None:
        """`body_bounds`:

        the largest body in bytes by method and path; `body_bytes_max` holds for all others.
        """
        self.context = context
        self._body_bounds = body_bounds or {}
        self._large_bodies = asyncio.Semaphore(LARGE_BODIES_MAX)
        self.in_flight = 0  # changed on the event loop only
        self.metrics = Metrics(lambda: self.in_flight)
        self.usage_counter = UsageCounter(context)
        context.models.watch(self._count_model)
        self.sandbox = Sandbox(context.settings)
        settings = context.settings
        per_minute = {
            "memory": settings.rate_memory_per_minute,
            "feedback": settings.rate_feedback_per_minute,
            "chat": settings.rate_chat_per_minute,
            "sandbox": settings.rate_sandbox_per_minute,
            "sysperm": settings.rate_sysperm_per_minute,
        }
        self._limiters = {
            kind: RateLimiter(kind, most, store=context.store) for kind, most in per_minute.items()
        }
        self._threads = {
            ThreadPool.SEARCH: ThreadPoolExecutor(context.settings.search_threads, "search"),
            ThreadPool.WRITE: ThreadPoolExecutor(WRITE_THREADS, "write"),
            ThreadPool.TALK: ThreadPoolExecutor(TALK_THREADS, "talk"),
            ThreadPool.RUN: ThreadPoolExecutor(RUN_THREADS, "run"),
        }

    def body_bytes_max(self, method: str, path: str) -> int:
        """The largest body that a request may have."""
        return self._body_bounds.get((method, path), self.context.settings.body_bytes_max)

    async def answer(self, endpoint: Endpoint, request: Request) -> Response:
        """Answer one request; every foreseen error is an answer too."""
        raw = b""
        bytes_max, usual = (
            self.body_bytes_max(endpoint.method, endpoint.path),
            self.context.settings.body_bytes_max,
        )
        try:
            if bytes_max > usual and endpoint.needs_key:
                await self.start(
                    endpoint.where, partial(self.caller, request.headers)
                )  # nobody without a key fills our memory
            if endpoint.request is not None:
                raw = await bodies.receive(request, bytes_max)
        except (Problem, StoreUnavailable) as error:
            return problems.respond(error, request.scope["request_id"])
        work = partial(self._answer, endpoint, request, raw)
        if endpoint.where is ThreadPool.LOOP:
            return work()
        if len(raw) <= usual:
            return await self.start(endpoint.where, work)
        async with self._large_bodies:
            return await self.start(endpoint.where, work)

    def start(self, where: ThreadPool, work: Callable[[], T]) -> asyncio.Future[T]:
        """Begin work on those threads; to be called on the event loop."""
        return asyncio.get_running_loop().run_in_executor(self._threads[where], work)

    def _answer(self, endpoint: Endpoint, request: Request, raw: bytes) -> Response:
        call = Call(dispatcher=self, request=request)
        try:
            if endpoint.needs_key:
                call.known_caller = self.caller(request.headers)
                if allowance := self._limiters[endpoint.rate].take(call.caller.key_id):
                    call.headers |= allowance.headers()
            if endpoint.request is not None:
                bodies.check_is_json(request.headers)
                bodies.check_is_text(raw, self.context.settings.body_bytes_max)
                call.body = bodies.parse(endpoint.request, raw)
            if endpoint.query is not None:
                call.parameters = parse_query(endpoint.query, request.scope["query_string"])
            if endpoint.repeatable:
                call.once = _once(call, endpoint, raw)
            answer = endpoint.handle(call)
        except RateExceeded as error:
            return problems.respond(error, request.scope["request_id"], error.allowance.headers())
        except (Problem, StoreUnavailable, EmbedderUnavailable) as error:
            return problems.respond(error, request.scope["request_id"], call.headers)
        if endpoint.counts:
            self.usage_counter.count(
                endpoint.counts, account_id=call.caller.account_id, key_id=call.caller.key_id
            )
        if isinstance(answer, Response):
            return answer
        return Response(_json(answer), headers=call.headers, media_type="application/json")

    def take(self, rate: Rate, who: Hashable) -> None:
        """Count one call of somebody without a key, such as a signed-in browser, for the same
        limits. Raises RateExceeded.
        """
        self._limiters[rate].take(who)

    def _count_model(self, tried: ModelAttempt) -> None:
        self.metrics.count_model(tried)
        self.usage_counter.count("model_call" if tried.outcome == "ok" else "model_failure")
        self.usage_counter.count("tokens_read", times=tried.prompt_tokens)
        self.usage_counter.count("tokens_written", times=tried.completion_tokens)

    def caller(self, headers: Headers) -> Caller:
        """Whose key the request carries. Raises Unauthorized."""
        given = headers.getlist("authorization")
        if len(given) > 1:
            raise Unauthorized("There is more than one Authorization header. Send one.")
        scheme, _, text = (given[0] if given else "").partition(" ")
        text = text.strip(" ")
        if (
            scheme.lower() != "bearer"
            or not text
            or len(text) > _KEY_CHARACTERS_MAX
            or not text.isascii()
        ):
            raise Unauthorized
        return authenticate(self.context, text)

    def close(self) -> None:
        """Wait for the work under way, then let its threads go. The context stays open."""
        self.context.models.close()  # first: who waits for a model waits no longer
        for threads in self._threads.values():
            threads.shutdown(wait=True)
        self.usage_counter.close()
        self.sandbox.close()


def _json(answer: BaseModel) -> bytes:
    # straight from the model: the hits of a search are checked once, where they are made
    return answer.__pydantic_serializer__.to_json(answer)


def _once(call: Call, endpoint: Endpoint, raw: bytes) -> IdempotentRequest | None:
    given = call.request.headers.getlist("idempotency-key")
    if not given:
        return None
    if len(given) > 1 or not _IDEMPOTENCY_KEY.fullmatch(given[0]):
        raise InvalidRequest(
            f"Idempotency-Key must be one header of 1 to {limits.IDEMPOTENCY_KEY_CHARACTERS_MAX} letters, digits and signs of ASCII."
        )
    return IdempotentRequest(
        account_id=call.caller.account_id,
        key_id=call.caller.key_id,
        path=endpoint.path,
        idempotency_key=given[0],
        body_digest=hashlib.sha256(raw).digest(),
        on_replay=lambda: call.headers.update({"Idempotent-Replayed": "true"}),
    )

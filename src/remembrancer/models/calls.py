"""Call models one after another, with retries, within the budget of a request.

All calls of the process share an event loop in a thread of its own. Only an event loop can enforce
a deadline on everything, including slow DNS servers and endpoints that send one byte per second.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from ..protocol.agent import ModelTry, ModelUsage
from ..settings import Settings
from .openai_endpoint import EndpointError, call
from .port import (
    SLOTS,
    Budget,
    ChoiceDelta,
    ModelAttempt,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelTarget,
    OnPiece,
    Reason,
    Slot,
    targets_of,
    tokens_of,
)

if TYPE_CHECKING:
    import httpx2

TRIES = 2  # per model
PAUSE_SECONDS = 0.25  # before a retry of the same model
RETRY_AFTER_MAX = 5.0  # seconds; a model that asks for more is skipped
CONNECTIONS_MAX = 64
_BINARY = ("data", "file_data")  # fields of message parts: base64, in which a mask would do harm
_log = logging.getLogger(__name__)


class ConfiguredModels:
    """The models of the settings. Safe to use from many threads."""

    def __init__(self, settings: Settings, mask: Callable[[str], str]) -> None:
        """Create the models; `mask` removes secrets from a text. Raises SettingInvalid."""
        self._settings, self._mask = settings, mask
        self.targets: dict[Slot, tuple[ModelTarget, ...]] = {
            slot: targets_of(settings, slot) for slot in SLOTS
        }
        self._options: dict[tuple[str, str], set[str]] = {}  # see `call`
        self._watchers: list[Callable[[ModelAttempt], None]] = []
        self._lock = threading.Lock()
        self._loop: _EventLoopThread | None = None

    def has(self, slot: Slot, *, outside: bool = True) -> bool:
        """Return True if the slot has an allowed model. See Models.has."""
        return bool(self._allowed_targets(slot, outside=outside))

    def watch(self, watcher: Callable[[ModelAttempt], None]) -> None:
        """Report every call to `watcher`. See Models.watch."""
        self._watchers.append(watcher)

    def close(self) -> None:
        """Cancel all calls. Idempotent."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()

    def names(self, slot: Slot, *, outside: bool = True) -> tuple[str, ...]:
        """Return the allowed models of the slot. See Models.names."""
        targets = self._allowed_targets(slot, outside=outside)
        return tuple(dict.fromkeys(target.name for target in targets))

    def ask(
        self, request: ModelRequest, budget: Budget, on_piece: OnPiece | None = None
    ) -> ModelResponse:
        """Return the answer of the first model that responds. See Models.ask."""
        targets = self._allowed_targets(request.slot, outside=request.outside)
        if request.model is not None:
            targets = tuple(t for t in targets if request.model in (t.name, t.model))
        if not targets:
            raise ModelFailed("none")
        request = replace(
            self._masked(request),
            tokens_max=request.tokens_max or self._settings.model_tokens_max,
            temperature=self._settings.model_temperature
            if request.temperature is None
            else request.temperature,
        )
        tries: list[ModelAttempt] = []
        for position, target in enumerate(targets):
            # An equal share of the time each, so that a model that hangs leaves time for the next.
            share = budget.seconds_left / (len(targets) - position)
            response = self._ask_one(
                target, request, Budget(seconds=share, calls=TRIES), budget, tries, on_piece
            )
            if response is not None:
                return response
        exhausted_limit: Reason = "budget" if budget.seconds_left else "timeout"
        raise ModelFailed(
            cast(Reason, tries[-1].outcome) if tries else exhausted_limit, tuple(tries)
        )

    def check(
        self,
        target: ModelTarget,
        request: ModelRequest,
        seconds: float,
        on_piece: OnPiece | None = None,
    ) -> tuple[ModelResponse | None, ModelAttempt]:
        """Call one model once, as a test. Return its answer, or None, and the attempt."""
        output, attempt, _ = self._try(target, self._masked(request), seconds, on_piece)
        return output, attempt

    def _masked(self, request: ModelRequest) -> ModelRequest:
        """Return the request without secrets in its texts."""
        return replace(
            request,
            messages=tuple(
                ModelMessage(m.role, self._mask(m.content), masked_values(m.fields, self._mask))
                for m in request.messages
            ),
            fields=masked_values(request.fields, self._mask),
        )

    def _allowed_targets(self, slot: Slot, *, outside: bool) -> tuple[ModelTarget, ...]:
        return tuple(target for target in self.targets[slot] if outside or not target.is_outside)

    def _ask_one(
        self,
        target: ModelTarget,
        request: ModelRequest,
        own: Budget,
        budget: Budget,
        tries: list[ModelAttempt],
        on_piece: OnPiece | None,
    ) -> ModelResponse | None:
        """The answer of one model, tried again where that may help; None when it gives none.

        Adds to `tries`.
        """
        while own.calls_left and budget.calls_left and own.seconds_left:
            own.calls_left -= 1
            budget.calls_left -= 1
            output, attempt, retry_s = self._try(target, request, own.seconds_left, on_piece)
            tries.append(attempt)
            if output is not None:
                return replace(output, model=target.model, tries=tuple(tries))
            if on_piece is not None:
                on_piece(None)
            if attempt.outcome == "stopped":
                raise ModelFailed("stopped", tuple(tries))
            if (
                retry_s is None
                or retry_s > RETRY_AFTER_MAX
                or not own.calls_left
                or not budget.calls_left
            ):
                break
            time.sleep(min(max(retry_s, PAUSE_SECONDS), own.seconds_left))
        return None

    def _try(
        self, target: ModelTarget, request: ModelRequest, seconds: float, on_piece: OnPiece | None
    ) -> tuple[ModelResponse | None, ModelAttempt, float | None]:
        start = time.perf_counter()
        output, outcome, detail, retry_s = None, "ok", "", None
        options = self._options.setdefault((target.model, target.base_url), set())
        try:
            output = self._in_loop(
                lambda client, tell: _with_timeout(
                    seconds, call(client, target, request, options, tell)
                ),
                on_piece,
            )
        except EndpointError as error:
            outcome, detail, retry_s = error.reason, self._mask(error.detail), error.retry_s
        except CancelledError:
            outcome, detail = "stopped", "the service is stopping"
        read = written = 0
        if output is not None:
            read, written = output.prompt_tokens, output.completion_tokens
        elif outcome in ("empty", "cut_off", "too_large", "garbled"):  # it has read the request
            read = sum(tokens_of(m.content) for m in request.messages)
        ms = (time.perf_counter() - start) * 1000
        attempt = ModelAttempt(
            slot=request.slot,
            model=target.model,
            outcome=outcome,
            ms=round(ms, 1),
            prompt_tokens=read,
            completion_tokens=written,
            detail=detail,
        )
        if output is None:
            problem = target.model, request.slot, outcome, detail
            _log.warning("model %s of slot %s gave no answer: %s (%s)", *problem)
        for watcher in self._watchers:
            watcher(attempt)
        return output, attempt, retry_s

    def _in_loop(
        self,
        work: Callable[[Any, OnPiece | None], Coroutine[Any, Any, ModelResponse]],
        on_piece: OnPiece | None,
    ) -> ModelResponse:
        """Run a coroutine in the event loop, and pass on the pieces in the caller's thread."""
        with self._lock:
            self._loop = self._loop or _EventLoopThread()
            loop = self._loop
        if on_piece is None:
            return loop.start(lambda client: work(client, None)).result()
        pieces: queue.SimpleQueue[ChoiceDelta | None] = queue.SimpleQueue()
        future = loop.start(lambda client: work(client, pieces.put))
        future.add_done_callback(lambda _: pieces.put(None))
        try:
            while (piece := pieces.get()) is not None:
                on_piece(piece)
            return future.result()
        finally:
            future.cancel()


def masked_values(value: Any, mask: Callable[[str], str]) -> Any:
    """Return a JSON value with `mask` applied to its texts, except files and images in it."""
    if isinstance(value, str):
        return value if value.startswith("data:") else mask(value)
    if isinstance(value, Mapping):
        return {
            name: one if name in _BINARY else masked_values(one, mask)
            for name, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [masked_values(one, mask) for one in value]
    return value


async def _with_timeout(seconds: float, work: Coroutine[Any, Any, ModelResponse]) -> ModelResponse:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise EndpointError("timeout", f"no answer within {seconds:.1f} seconds") from None


class _EventLoopThread:
    """An event loop in its own thread, with its HTTP client."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client: httpx2.AsyncClient | None = None
        self._lock, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="models", daemon=True)
        self._thread.start()

    def start(
        self, work: Callable[[httpx2.AsyncClient], Coroutine[Any, Any, ModelResponse]]
    ) -> Future[ModelResponse]:
        async def run() -> ModelResponse:
            return await work(self._open())

        with self._lock:  # so that close() cancels everything that was started before it
            if self._closed:
                raise CancelledError
            return asyncio.run_coroutine_threadsafe(run(), self._loop)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _open(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            limits = httpx2.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=8)
            # Ignore proxies and passwords in the environment: the text goes only to the address.
            self._client = httpx2.AsyncClient(
                timeout=None, limits=limits, trust_env=False, follow_redirects=False
            )
        return self._client

    def _run(self) -> None:
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()


def usage_of(tries: Sequence[ModelAttempt]) -> ModelUsage:
    """Return the total usage of these attempts."""
    return ModelUsage(
        calls=len(tries),
        prompt_tokens=sum(attempt.prompt_tokens for attempt in tries),
        completion_tokens=sum(attempt.completion_tokens for attempt in tries),
        ms=round(sum(attempt.ms for attempt in tries), 1),
        tries=[ModelTry.model_validate(attempt, from_attributes=True) for attempt in tries],
    )

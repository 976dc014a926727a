"""Chat over HTTP, our own and OpenAI's: one JSON answer, or a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from ..agent.answers import ChatTurn, finish, start_chat
from ..agent.completions import (
    NAME,
    CompletionTurn,
    ResponseEvents,
    as_completion,
    as_response,
    complete,
    pending_response,
    start_completion,
)
from ..protocol.agent import Chat, ChatAnswer
from ..protocol.openai_api import (
    Choice,
    Completed,
    Completion,
    ResponseObject,
    ResponseRequest,
    is_openai_path,
)
from ..protocol.operations import EVENT_STREAM
from . import problems
from .dispatch import Call, ThreadPool

HEARTBEAT_SECONDS = 15  # after this silence, a comment keeps proxies from closing the connection
Emit = Callable[[str, object], None]


def chat_with_agent(call: Call[Chat]) -> BaseModel | Response:
    """Answer a chat message, as JSON or as events."""
    turn = start_chat(call.context, call.caller, call.input, call.idempotency)
    if not accepts_stream(call):
        return turn if isinstance(turn, ChatAnswer) else finish(turn)
    return stream_events(call, partial(_emit_chat, turn))


def accepts_stream(call: Call[Any]) -> bool:
    """Return True if the client accepts a stream of events."""
    accept = call.request.headers.get("accept", "")
    return any(kind.partition(";")[0].strip().lower() == EVENT_STREAM for kind in accept.split(","))


def stream_events(call: Call[Any], work: Callable[[Emit], None]) -> Response:
    """Stream the events that `work` emits from a thread.

    `work` runs to its end even when the client hangs up, so that its turn is stored.
    """
    call.headers["Vary"] = "Accept"
    headers = {**call.headers, "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(call, work), headers=headers, media_type=EVENT_STREAM)


def _emit_chat(turn: ChatTurn | ChatAnswer, emit: Emit) -> None:
    answer = finish(turn, emit) if isinstance(turn, ChatTurn) else turn
    emit("answer", answer.model_dump(mode="json"))


async def _events(call: Call[Any], work: Callable[[Emit], None]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def emit(event: str, data: object) -> None:
        compact = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
        text = data if isinstance(data, str) else compact(data)
        head = f"event: {event}\n" if event else ""
        loop.call_soon_threadsafe(events.put_nowait, f"{head}data: {text}\n\n".encode())

    def run() -> None:
        try:
            work(emit)
        except problems.FORESEEN as error:
            problem = problems.problem_for(error)
            assert problem is not None
            name = "" if is_openai_path(call.request.url.path) else "error"
            emit(name, problems.body_of(problem, call.request.scope))

    result = call.dispatcher.start(ThreadPool.TALK, run, call.caller.account_id)
    result.add_done_callback(lambda _: events.put_nowait(None))
    while True:
        try:
            event = await asyncio.wait_for(events.get(), HEARTBEAT_SECONDS)
        except TimeoutError:
            event = b": keep-alive\n\n"
        if event is None:
            break
        yield event
    await result  # raises unforeseen errors: the connection is cut, and the log has the cause


def complete_chat(call: Call[Completion]) -> BaseModel | Response:
    """Answer a chat completion, as JSON or as chunks."""
    turn = start_completion(call.context, call.caller, call.input, call.idempotency)
    if not call.input.stream:
        return turn if isinstance(turn, Completed) else complete(turn)
    head: dict[str, object] = {
        "id": f"chatcmpl-{call.request.scope['request_id']}",
        "object": "chat.completion.chunk",
        "created": call.context.clock() // 1000,
        "model": NAME,  # which model answered is known only at the end
    }
    return stream_events(call, partial(_emit_chunks, head, turn, call.input))


def _emit_chunks(
    head: dict[str, object], turn: CompletionTurn | Completed, request: Completion, emit: Emit
) -> None:
    opened: set[int] = set()

    def write(index: int, fields: Mapping[str, Any]) -> None:
        role = {} if index in opened else {"role": "assistant"}
        opened.add(index)
        emit("", _chunk(head, index, {**role, **fields}))

    completed = _completed(turn, write)
    for choice in completed.choices:
        emit("", _chunk(head, choice.index, {}, choice.finish_reason))
    if request.stream_options is not None and request.stream_options.include_usage:
        emit("", {**head, "choices": [], "usage": completed.usage.model_dump()})
    emit("", "[DONE]")


def _completed(
    turn: CompletionTurn | Completed, write: Callable[[int, Mapping[str, Any]], None]
) -> Completed:
    """Complete a turn in pieces; one that was answered before is one piece per choice."""
    if isinstance(turn, CompletionTurn):
        return complete(turn, write)
    for choice in turn.choices:
        write(choice.index, _delta(choice))
    return turn


def _delta(choice: Choice) -> dict[str, Any]:
    """Return a whole message as one piece of a stream."""
    fields = choice.message.model_dump(exclude={"role"}, exclude_none=True)
    if "tool_calls" in fields:
        fields["tool_calls"] = [
            {**called, "index": index} for index, called in enumerate(fields["tool_calls"])
        ]
    return fields


def _chunk(
    head: dict[str, object],
    index: int,
    fields: Mapping[str, Any],
    finish_reason: str | None = None,
) -> dict[str, object]:
    delta = {name: value for name, value in fields.items() if name != "logprobs"}
    choice: dict[str, object] = {"index": index, "delta": delta, "finish_reason": finish_reason}
    if "logprobs" in fields:
        choice["logprobs"] = fields["logprobs"]
    return {**head, "choices": [choice]}


def respond_to_input(call: Call[ResponseRequest]) -> BaseModel | Response:
    """Answer a request of the Responses API, as JSON or as events."""
    request = call.input
    turn = start_completion(call.context, call.caller, as_completion(request), call.idempotency)
    if not request.stream:
        completed = turn if isinstance(turn, Completed) else complete(turn)
        return as_response(request, completed)
    response_id = f"resp_{call.request.scope['request_id']}"
    head = pending_response(request, response_id, call.context.clock() // 1000, NAME)
    return stream_events(call, partial(_emit_response, request, head, turn))


def _emit_response(
    request: ResponseRequest, head: ResponseObject, turn: CompletionTurn | Completed, emit: Emit
) -> None:
    events = ResponseEvents(request, head, emit)
    events.end(_completed(turn, events.write))

"""Chat over HTTP, our own and OpenAI's: as one answer, or as events while it comes along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import cast

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from ..agent.chat import ChatTurn, finish, start_chat
from ..agent.completions import NAME, CompletionTurn, complete, served_models, start_completion
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModels
from . import problems
from .endpoint import Call, ThreadPool

STREAM = "text/event-stream"
QUIET_SECONDS = 15  # without an event; then a comment keeps proxies from hanging up
Put = Callable[[str, object], None]


def chat_with_agent(call: Call) -> BaseModel | Response:
    """Talk with the service's own agent: it searches, answers from what it found, and remembers the
    turn.

    With `Accept: text/event-stream` it answers in events: `hits`, `delta`, `look`, `again`, and
    `answer` with the whole, or `error`.
    """
    begun = start_chat(call.context, call.caller, cast(Chat, call.body), call.once)
    if not wants_stream(call):
        return begun if isinstance(begun, ChatAnswer) else finish(begun)
    return stream_events(call, partial(_finish, begun))


def wants_stream(call: Call) -> bool:
    """Whether the answer is to come in events."""
    return any(
        kind.partition(";")[0].strip().lower() == STREAM
        for kind in call.request.headers.get("accept", "").split(",")
    )


def stream_events(call: Call, work: Callable[[Put], None]) -> Response:
    """The events that `work` puts, from a thread.

    It goes on to its end when the client hangs up, so that nothing is lost.
    """
    call.headers["Vary"] = "Accept"
    headers = {**call.headers, "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(call, work), headers=headers, media_type=STREAM)


def _finish(begun: ChatTurn | ChatAnswer, put: Put) -> None:
    if isinstance(begun, ChatTurn):
        begun = finish(begun, put)
    put("answer", begun.model_dump(mode="json"))


async def _events(call: Call, work: Callable[[Put], None]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(event: str, data: object) -> None:
        said = (
            data
            if isinstance(data, str)
            else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        )
        head = f"event: {event}\n" if event else ""
        loop.call_soon_threadsafe(events.put_nowait, f"{head}data: {said}\n\n".encode())

    def run() -> None:
        try:
            work(put)
        except problems.FORESEEN as error:
            problem = problems.problem_for(error)
            assert problem is not None
            put("error", problem.body(call.request.scope["request_id"]))

    done = call.dispatcher.start(ThreadPool.TALK, run)
    done.add_done_callback(lambda _: events.put_nowait(None))
    while True:
        try:
            event = await asyncio.wait_for(events.get(), QUIET_SECONDS)
        except TimeoutError:
            event = b": still at it\n\n"
        if event is None:
            break
        yield event
    await done  # raises what was not foreseen: the connection is cut, and the log says why


def list_models(call: Call) -> ServedModels:
    """The models of this dispatcher, as OpenAI's clients ask for them:

    `memory`, or none where no chat model may answer.
    """
    return served_models(call.context, call.caller)


def complete_chat(call: Call) -> BaseModel | Response:
    """Chat completions as OpenAI has them, for any such client: a model of the server's setting
    answers, and the turn is remembered.

    What memory knows is put before the last message. With `stream` the answer comes in chunks,
    sentence by sentence.
    """
    body = cast(Completion, call.body)
    asked = start_completion(call.context, call.caller, body, call.once)
    if not body.stream:
        return asked if isinstance(asked, Completed) else complete(asked)
    head: dict[str, object] = {
        "id": f"chatcmpl-{call.request.scope['request_id']}",
        "object": "chat.completion.chunk",
    }
    head |= {
        "created": call.context.clock() // 1000,
        "model": NAME,
    }  # which model answers is known at the end
    return stream_events(call, partial(_chunks, head, asked, body))


def _chunks(
    said: dict[str, object], asked: CompletionTurn | Completed, body: Completion, put: Put
) -> None:
    if isinstance(asked, CompletionTurn):
        done = complete(asked, lambda text: put("", _chunk(said, {"content": text})))
    else:
        done = asked
        put("", _chunk(said, {"content": done.choices[0].message.content}))
    put("", _chunk(said, {}, done.choices[0].finish_reason))
    if body.stream_options is not None and body.stream_options.include_usage:
        put("", {**said, "choices": [], "usage": done.usage.model_dump()})
    put("", "[DONE]")


def _chunk(
    said: dict[str, object], delta: dict[str, str], finish: str | None = None
) -> dict[str, object]:
    return {
        **said,
        "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}],
    }

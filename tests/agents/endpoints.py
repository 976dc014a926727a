"""Endpoints of model providers on loopback that answer from a script: Anthropic's Messages API,
OpenAI's Responses API and Google's Gemini API.

A test gives the replies in order and reads the requests afterwards.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

OUT_OF_REPLIES = "(no reply is left)"
TITLE = "a title"  # the reply to requests without tools: titles and topics
DELTA_CHARACTERS = 40  # of text in one streamed piece


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool by the model.

    `arguments` as text is the input of a free-form tool (`apply_patch` of Codex). `namespace` is
    that of an MCP server in Codex.
    """

    name: str
    arguments: dict[str, Any] | str
    namespace: str | None = None


Block = str | ToolCall
# A function takes the request as text, for example to cite an event that the request contains.
Reply = Block | Callable[[str], Block]


@dataclass
class Script:
    """The replies still to give, and the requests so far. Thread-safe."""

    replies: list[Reply] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, Any]) -> Block:
        """Record a request and return its reply."""
        if not body.get("tools"):
            return TITLE
        with self.lock:
            self.requests.append(body)
            reply = self.replies.pop(0) if self.replies else OUT_OF_REPLIES
        return reply(json.dumps(body)) if callable(reply) else reply


class Handler(BaseHTTPRequestHandler):
    """JSON and server-sent events for one script. Subclasses speak one API."""

    protocol_version = "HTTP/1.1"
    script: ClassVar[Script]
    _numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer requests that are no part of a conversation (models, reachability)."""
        self.send_json({"data": [], "object": "list", "has_more": False})

    def do_HEAD(self) -> None:
        """Answer as to GET, without a body."""
        self.do_GET()

    def do_POST(self) -> None:
        """Answer with the next reply of the script."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = {}
        self.reply(body if isinstance(body, dict) else {})

    def reply(self, body: dict[str, Any]) -> None:
        """Answer one request."""
        raise NotImplementedError

    def next_id(self, prefix: str) -> str:
        """Return an id that no other part of the test has."""
        return f"{prefix}_{next(self._numbers):08}"

    def send_json(self, value: dict[str, Any]) -> None:
        """Send a whole response."""
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_events(self, events: Iterator[dict[str, Any]]) -> None:
        """Send a stream of events; each is named by its member `type`, if it has one."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()


class MessagesHandler(Handler):
    """Anthropic's Messages API. Source: docs.anthropic.com, "Streaming messages"."""

    def reply(self, body: dict[str, Any]) -> None:
        """Answer a message, or a request that counts tokens."""
        if "count_tokens" in self.path:
            return self.send_json({"input_tokens": len(json.dumps(body)) // 4})
        if not self.path.startswith("/v1/messages"):
            return self.send_json({})
        block = self.script.answer(body)
        message = self._message(body, block)
        return (
            self.send_events(self._events(message))
            if body.get("stream")
            else self.send_json(message)
        )

    def _message(self, body: dict[str, Any], block: Block) -> dict[str, Any]:
        content: dict[str, Any]
        if isinstance(block, str):
            content = {"type": "text", "text": block}
        else:
            content = {
                "type": "tool_use",
                "id": self.next_id("toolu"),
                "name": block.name,
                "input": block.arguments,
            }
        return {
            "id": self.next_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [content],
            "stop_reason": "end_turn" if isinstance(block, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        }

    def _events(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        (block,) = message["content"]
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
        else:
            start = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        yield {"type": "content_block_start", "index": 0, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20}}
        yield {"type": "message_stop"}


class ResponsesHandler(Handler):
    """OpenAI's Responses API. Source: platform.openai.com, "Streaming events"."""

    def reply(self, body: dict[str, Any]) -> None:
        """Answer a response request."""
        if "responses" not in self.path:
            return self.send_json({})
        item = self._item(self.script.answer(body))
        response = {
            "id": self.next_id("resp"),
            "object": "response",
            "created_at": 0,
            "status": "completed",
            "model": body.get("model"),
            "output": [item],
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 110,
            },
        }
        events = self._events(response, item)
        return self.send_events(events) if body.get("stream") else self.send_json(response)

    def _item(self, block: Block) -> dict[str, Any]:
        item: dict[str, Any] = {"id": self.next_id("item"), "status": "completed"}
        if isinstance(block, str):
            content = {"type": "output_text", "text": block, "annotations": []}
            return item | {"type": "message", "role": "assistant", "content": [content]}
        item |= {"call_id": self.next_id("call"), "name": block.name}
        if isinstance(block.arguments, str):
            return item | {"type": "custom_tool_call", "input": block.arguments}
        namespace = {"namespace": block.namespace} if block.namespace else {}
        arguments = json.dumps(block.arguments)
        return item | {"type": "function_call", "arguments": arguments} | namespace

    def _events(self, response: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        started = {**response, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": started}
        is_message = item["type"] == "message"
        added = {**item, "status": "in_progress", **({"content": []} if is_message else {})}
        yield {"type": "response.output_item.added", "output_index": 0, "item": added}
        if is_message:
            for piece in _pieces(item["content"][0]["text"]):
                yield {
                    "type": "response.output_text.delta",
                    "output_index": 0,
                    "content_index": 0,
                    "item_id": item["id"],
                    "delta": piece,
                }
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": response}


def _pieces(text: str) -> list[str]:
    return [
        text[start : start + DELTA_CHARACTERS] for start in range(0, len(text), DELTA_CHARACTERS)
    ]


class GeminiHandler(Handler):
    """Google's Gemini API. Source: ai.google.dev/api/generate-content."""

    def reply(self, body: dict[str, Any]) -> None:
        """Answer a request for content, or one that counts tokens."""
        if "countTokens" in self.path:
            return self.send_json({"totalTokens": len(json.dumps(body)) // 4})
        block = self.script.answer(body)
        part: dict[str, Any] = {"text": block}
        if not isinstance(block, str):
            part = {"functionCall": {"name": block.name, "args": block.arguments}}
        content = {"role": "model", "parts": [part]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        answer = {"candidates": [candidate], "usageMetadata": usage}
        if "stream" not in self.path:
            return self.send_json(answer)
        return self.send_events(iter([answer]))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignore clients that close their connection early."""


class Endpoint:
    """A scripted endpoint on its own port, used as a context manager."""

    def __init__(self, handler: type[Handler]) -> None:
        self.script = Script()
        bound = type(handler.__name__, (handler,), {"script": self.script})
        self._server = _Server(("127.0.0.1", 0), bound)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""A chat completions endpoint on a real socket that can play every kind of fault."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Play: TypeAlias = "Callable[[Handler], None]"


@dataclass
class Endpoint:
    """An endpoint: its scripted plays (one per request, the last repeats) and its requests."""

    port: int
    plays: list[Play]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def base_url(self) -> str:
        """Address of the endpoint, as in the setting."""
        return f"http://127.0.0.1:{self.port}/v1"

    def named(self, model: str = "tiny") -> str:
        """Value of the setting that selects this endpoint."""
        return f"{model}@{self.base_url}"

    @property
    def prompts(self) -> list[str]:
        """Return the text of the messages of each request."""
        return [
            "\n".join(str(message["content"]) for message in body["messages"])
            for body in self.requests
        ]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    endpoint: Endpoint
    body: dict[str, Any]

    def do_POST(self) -> None:
        """Record the request, then run the next play."""
        self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.endpoint.requests.append(self.body)
        self.endpoint.headers.append(dict(self.headers))
        self.endpoint.paths.append(self.path)
        play = (
            self.endpoint.plays.pop(0) if len(self.endpoint.plays) > 1 else self.endpoint.plays[0]
        )
        with suppress(ConnectionError):  # the client may have closed the connection
            play(self)

    def send(
        self, raw: bytes, *, status: int = 200, kind: str = "application/json", **headers: str
    ) -> None:
        """Send a complete response."""
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(raw)),
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log."""


def answer_of(text: Any, **more: Any) -> dict[str, Any]:
    """Return the body of a successful response."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
        **more,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": "tiny",
        "choices": [choice],
        "usage": {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77},
    }


def replies(text: str | Callable[[dict[str, Any]], str], **more: Any) -> Play:
    """Answer with `text`, or with its result for the request; streamed by words on request."""

    def play(handler: Handler) -> None:
        content = text if isinstance(text, str) else text(handler.body)
        if handler.body.get("stream"):
            words = [word + " " for word in content.split(" ")]
            words[-1] = words[-1][:-1]
            streams(words, is_complete=True, **more)(handler)
        else:
            handler.send(json.dumps(answer_of(content, **more)).encode())

    return play


def calls_tools(*calls: tuple[str, str, str]) -> Play:
    """Answer with tool calls, each as id, name and arguments; streamed in two pieces each."""
    whole = [
        {"id": name_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name_id, name, arguments in calls
    ]

    def play(handler: Handler) -> None:
        if not handler.body.get("stream"):
            message = {"role": "assistant", "content": None, "tool_calls": whole}
            answer = answer_of(None, message=message, finish_reason="tool_calls")
            handler.send(json.dumps(answer).encode())
            return
        deltas: list[dict[str, Any]] = []
        for index, (name_id, name, arguments) in enumerate(calls):
            head = {"name": name, "arguments": ""}
            deltas.append({"index": index, "id": name_id, "type": "function", "function": head})
            half = len(arguments) // 2
            deltas += [
                {"index": index, "function": {"arguments": piece}}
                for piece in (arguments[:half], arguments[half:])
            ]
        chunks = [{"index": 0, "delta": {"tool_calls": [delta]}} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
        streams_choices([[chunk] for chunk in chunks])(handler)

    return play


def streams_choices(chunks: Sequence[list[dict[str, Any]]]) -> Play:
    """Answer with these lists of choices, one per event, and the end marker."""

    def play(handler: Handler) -> None:
        raw = b"".join(
            b"data: " + json.dumps({"choices": choices}).encode() + b"\n\n" for choices in chunks
        )
        handler.close_connection = True
        handler.send(raw + b"data: [DONE]\n\n", kind="text/event-stream", Connection="close")

    return play


def streams(pieces: Sequence[str], *, is_complete: bool, finish_reason: str = "stop") -> Play:
    """Answer with server-sent events; without `is_complete` the stream breaks off."""

    def play(handler: Handler) -> None:
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
            for piece in pieces
        ]
        if is_complete:
            chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]})
            chunks.append({"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 7}})
        raw = b": hello\n\n" + b"".join(
            b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n" for chunk in chunks
        )
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(raw + (b"data: [DONE]\n\n" if is_complete else b""))

    return play


def sends(raw: bytes, *, status: int = 200, kind: str = "application/json", **headers: str) -> Play:
    """Answer with these bytes."""
    return lambda handler: handler.send(raw, status=status, kind=kind, **headers)


def fails(status: int, message: str = "no", **headers: str) -> Play:
    """Answer with an error in the format of OpenAI."""
    return sends(
        json.dumps({"error": {"message": message, "param": None}}).encode(),
        status=status,
        **headers,
    )


def hangs(handler: Handler) -> None:
    """Send no response until the test ends."""
    handler.endpoint.ended.wait(60)


def drips(handler: Handler) -> None:
    """Send a byte at a time: each read returns soon, but the response never ends."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.endpoint.ended.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def hangs_up(handler: Handler) -> None:
    """Close the connection without a response."""
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def endpoint(*plays: Play) -> Iterator[Endpoint]:
    """Serve these plays on a local port."""
    instance = Endpoint(port=0, plays=list(plays))
    handler = type("Handler", (Handler,), {"endpoint": instance})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    instance.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield instance
    finally:
        instance.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def nobody() -> str:
    """Return an address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"

"""The calls of bench.soak: clients that use every part of the service, and a scripted model."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USERS = ("u0", "u1", "u2")
# The vocabulary is small: caches of words are bounded, but unique numbers would fill them for long.
NUMBERS = 300
TURNS_MAX = 40  # of a client, before it erases the oldest
SECONDS_MAX = 120  # of one request
WORDS = (
    "ferry", "harbour", "ladder", "garden", "budget", "roof", "concert", "train", "bread", "letter",
)  # fmt: skip
PAGES = ("/console", "/console/memory", "/console/knows", "/console/searches", "/console/files")


class Model(BaseHTTPRequestHandler):
    """A chat completions endpoint that always gives the same reply, also as a stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a completion."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
        if body.get("stream"):
            chunks = [
                {"choices": [{"index": 0, "delta": {"content": "At "}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {"content": "nine."}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
            ]
            raw = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
            self._send(raw + b"data: [DONE]\n\n", "text/event-stream")
            return
        message = {"role": "assistant", "content": "At nine."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny"}
        self._send(
            json.dumps({**answer, "choices": [choice], "usage": usage}).encode(), "application/json"
        )

    def _send(self, raw: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account: its key, a browser session, and a cube to vote on."""

    key: str
    token: str  # of a browser's session
    cube_id: str  # of another account, published


@dataclass(slots=True)
class Client:
    """One connection of an account that makes all kinds of calls."""

    port: int
    account: Account
    number: int
    events: list[str] = field(default_factory=list)
    line: http.client.HTTPConnection | None = None
    random: random.Random = field(default_factory=random.Random)
    count: int = 0

    def __post_init__(self) -> None:
        """Seed the choice of calls."""
        self.random.seed(self.number)

    @property
    def user_id(self) -> str:
        """The user of the next call."""
        return USERS[self.count % len(USERS)]

    @property
    def text(self) -> str:
        """Words that are seldom the same twice."""
        first, second, third = (self.random.randrange(NUMBERS) for _ in range(3))
        return f"{self.random.choice(WORDS)} {first} of {second} by {third}"

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Send one request; return its status and body, status 0 if the connection broke."""
        if self.line is None:
            self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)
        own = {"Authorization": f"Bearer {self.account.key}", "Content-Type": "application/json"}
        try:
            raw = None if body is None else json.dumps(body)
            self.line.request(method, path, raw, headers or own)
            response = self.line.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self.line.close()
            self.line = None
            return 0, None
        with suppress(ValueError):
            return response.status, json.loads(content)
        return response.status, content

    def call(self) -> tuple[str, int]:
        """Make one call, chosen by its weight; return its name and status."""
        self.count += 1
        name = self.random.choices(list(CALLS), [weight for weight, _ in CALLS.values()])[0]
        return name, CALLS[name][1](self)


def search(client: Client) -> int:
    """Search as a turn begins, or without counting it."""
    text = f"where is the {client.text}"
    body = {"query_text": text, "user_id": client.user_id, "session_id": f"s{client.number}"}
    return client.send("POST", "/api/v7/memory", {**body, "interact": client.count % 2 == 0})[0]


def remember(client: Client) -> int:
    """Store a turn, and erase the oldest ones of this client."""
    turn = {
        "query": f"Where is the {client.text}?",
        "response": f"It is at the {client.text}.",
        "user_id": client.user_id,
        "session_id": f"s{client.number}",
    }
    status, answer = client.send("POST", "/api/v7/remember", turn)
    if status == 200:
        client.events.append(answer["event_id"])
    # those of second looks, too; a failure ends it and is returned
    while status in range(200, 300) and len(client.events) > TURNS_MAX:
        status = client.send("DELETE", f"/api/v7/event/{client.events.pop(0)}")[0]
    return status


def fact(client: Client) -> int:
    """Add a fact, list the facts, delete it."""
    body = {"user_id": client.user_id, "text": f"Box {client.number} holds the {client.text}."}
    status, answer = client.send("POST", "/api/v7/memory/facts", body)
    client.send("GET", f"/api/v7/memory/facts?user_id={client.user_id}")
    if status != 200:
        return status
    return client.send("DELETE", f"/api/v7/memory/facts/{answer['fact']['fact_id']}")[0]


def second_look(client: Client) -> int:
    """Store a turn and check its response."""
    text = f"It is general knowledge that bread needs water. [general] {client.text}"
    body = {"query": "What does bread need?", "response": text, "user_id": client.user_id}
    status, answer = client.send("POST", "/api/v7/remember", body)
    if status != 200:
        return status
    client.events.append(answer["event_id"])
    return client.send("POST", "/api/v7/agent/second-look", {"draft": text})[0]


def vote(client: Client) -> int:
    """Vote on another account's cube."""
    body = {"cube_id": client.account.cube_id, "user_id": client.user_id, "vote": 1}
    return client.send("POST", "/api/v7/experience/vote", {**body, "reason": "It helped."})[0]


def _whole(user_id: str) -> dict[str, str]:
    return {"user_id": user_id, "confirm": user_id}


def chat(client: Client) -> int:
    """Chat with the service's agent; now and then, forget what was said."""
    user_id = f"chat{client.number}"
    if client.count % 20 == 0:
        return client.send("POST", "/api/v7/memory/forget", _whole(user_id))[0]
    body = {"user_id": user_id, "message": f"When does the {client.text} leave?"}
    return client.send("POST", "/api/v7/agent/chat", body)[0]


def stream(client: Client) -> int:
    """Stream a completion; now and then, forget what was said."""
    user_id = f"stream{client.number}"
    if client.count % 20 == 0:
        return client.send("POST", "/api/v7/memory/forget", _whole(user_id))[0]
    messages = [{"role": "user", "content": f"When does the {client.text} leave?"}]
    body = {"model": "tiny", "messages": messages, "user": user_id, "stream": True}
    return client.send("POST", "/v1/chat/completions", body)[0]


def program(client: Client) -> int:
    """Run a program."""
    return client.send("POST", "/api/v7/execute/code", {"code": f"print({client.count} * 2)"})[0]


def file(client: Client) -> int:
    """Create, download and erase a file."""
    body = {
        "filename": "note",
        "type": "txt",
        "content": f"{client.number} {client.count} " * 2_000,
    }
    status, answer = client.send("POST", "/api/v7/tools/create-file", body)
    if status != 200:
        return status
    path = f"/download/{answer['filename']}"
    status = client.send("GET", path)[0]
    return client.send("DELETE", path)[0] if status == 200 else status


def mcp(client: Client, path: str = "/mcp") -> int:
    """Search through MCP."""
    arguments = {"query": f"where is the {client.random.choice(WORDS)}"}
    params = {"name": "search", "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": client.count, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {client.account.key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    return client.send("POST", path, body, **headers)[0]


def hooks(client: Client) -> int:
    """Make the calls of an agent's hooks: the start pack, and a search through MCP."""
    status = client.send("GET", f"/api/v7/memory/start?user_id={client.user_id}")[0]
    return mcp(client, "/mcp?client=hooks") if status == 200 else status


def page(client: Client) -> int:
    """Open a page of the console."""
    cookie = {"Cookie": f"session={client.account.token}", "Accept": "text/html"}
    return client.send("GET", client.random.choice(PAGES), **cookie)[0]


def monitor(client: Client) -> int:
    """Read the status, the readiness and the metrics."""
    return max(client.send("GET", path)[0] for path in ("/api/v7/status", "/readyz", "/metrics"))


CALLS: dict[str, tuple[int, Callable[[Client], int]]] = {
    "search": (40, search),
    "remember": (25, remember),
    "fact": (3, fact),
    "second look": (3, second_look),
    "vote": (2, vote),
    "chat": (3, chat),
    "stream": (3, stream),
    "program": (2, program),
    "file": (3, file),
    "MCP": (5, mcp),
    "hooks": (3, hooks),
    "console": (5, page),
    "monitor": (3, monitor),
}
Result = tuple[float, str, int, float]  # seconds since the begin, call, status, milliseconds


def load(port: int, accounts: list[Account], clients: int, seconds: float, results: Any) -> None:
    """Make calls for some time, from a process of its own; put the results every few seconds."""
    begin, lock = time.monotonic(), threading.Lock()
    calls: list[Result] = []

    def one(number: int) -> None:
        client = Client(port, accounts[number % len(accounts)], number)
        while time.monotonic() - begin < seconds:
            start = time.perf_counter()
            name, status = client.call()
            ms = (time.perf_counter() - start) * 1_000
            with lock:
                calls.append((time.monotonic() - begin, name, status, ms))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1.0)
        with lock:
            results.put(list(calls))
            calls.clear()
    results.put(None)


@contextmanager
def scripted_model() -> Iterator[str]:
    """Serve the model; yield the value of the setting `model_chat`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"tiny@http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()

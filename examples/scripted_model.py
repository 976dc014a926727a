"""A scripted model on a local port, with the APIs of OpenAI and Anthropic.

It lets anyone run the examples without a real model. Replace its address by that of your own.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTIONS = (
    "The ferry to Elba leaves Piombino at 9:40.",
    "When does the ferry to Elba leave?",
    "And what does it cost?",
)


def reply(prompt: str) -> str:
    """Return the reply to the last message, which cites an event and ends with the seal."""
    question = prompt.rpartition("The user says:\n")[2]
    seal = re.findall(r"^- the seal as its last line: (.+)$", prompt, re.MULTILINE)
    if event := re.search(r"^\[event (\S+)\][^\[]*leaves Piombino at 9:40", prompt, re.MULTILINE):
        fact = f"It leaves at 9:40 (ref: {event[1]})."
    else:
        fact = "Noted."
    answer = "That was never said." if "cost" in question else fact
    return "\n".join([answer, "CUBE_NOTHING: nothing new", *seal[-1:]])


@contextmanager
def serving() -> Iterator[str]:
    """Serve until the end of the block. Yield the address, such as http://127.0.0.1:49152."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        handlers = {
            "/v1/chat/completions": _completion,
            "/v1/responses": _response,
            "/v1/messages": _message,
        }
        handler = handlers.get(self.path.partition("?")[0])
        body = json.dumps(
            handler(request) if handler else {"error": {"message": "unknown path"}}
        ).encode()
        self.send_response(200 if handler else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def _reply_to(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return reply(
        content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    )


def _completion(request: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": _reply_to(request["messages"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [choice],
        "usage": usage,
    }


def _response(request: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "output_text", "text": _reply_to(request["input"]), "annotations": []}
    message = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    shared = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    return {
        "id": "r1",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "output": [message],
        **shared,
    }


MEMORY_CALLS: tuple[dict[str, Any], ...] = (
    {"command": "view", "path": "/memories"},
    {
        "command": "create",
        "path": "/memories/elba.md",
        "file_text": "The ferry leaves Piombino at 9:10.\n",
    },
    {"command": "str_replace", "path": "/memories/elba.md", "old_str": "9:10", "new_str": "9:40"},
)


def _memory_block(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the next call of the memory tool, or the text after the last one.

    None in a conversation without that tool.
    """
    content = request["messages"][-1]["content"]
    results = (
        [block["tool_use_id"] for block in content if block.get("type") == "tool_result"]
        if isinstance(content, list)
        else []
    )
    if not results and not any(
        tool.get("type") == "memory_20250818" for tool in request.get("tools", ())
    ):
        return None
    calls = int(results[-1].removeprefix("toolu_")) if results else 0
    if calls == len(MEMORY_CALLS):
        return {"type": "text", "text": "It is in /memories/elba.md."}
    return {
        "type": "tool_use",
        "id": f"toolu_{calls + 1}",
        "name": "memory",
        "input": MEMORY_CALLS[calls],
    }


def _message(request: dict[str, Any]) -> dict[str, Any]:
    block = _memory_block(request) or {"type": "text", "text": _reply_to(request["messages"])}
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [block],
    }
    return {
        **whole,
        "stop_reason": block["type"] if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }

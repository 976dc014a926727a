"""A model that says what is written below, on a port of this machine, in the words of the APIs of OpenAI and Anthropic.

It stands for a real one, so that the examples can be run by anyone: put your own address in its place.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTIONS = ("The ferry to Elba leaves Piombino at 9:40.", "When does the ferry to Elba leave?", "And what does it cost?")


def reply(prompt: str) -> str:
    """What the model says to the text of the last message: it cites the first event that tells of 9:40, and seals."""
    asked = prompt.rpartition("The user says:\n")[2]
    seal = re.findall(r"^- the seal as its last line: (.+)$", prompt, re.MULTILINE)
    if event := re.search(r"^\[event (\S+)\][^\[]*leaves Piombino at 9:40", prompt, re.MULTILINE):
        known = f"It leaves at 9:40 (ref: {event[1]})."
    else:
        known = "Noted."
    answer = "That was never said." if "cost" in asked else known
    return "\n".join([answer, "CUBE_NOTHING: nothing new", *seal[-1:]])


@contextmanager
def serving() -> Iterator[str]:
    """Serves until the end of the block; gives the address, such as http://127.0.0.1:49152."""
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
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = {"/v1/chat/completions": _completion, "/v1/responses": _response, "/v1/messages": _message}
        made = answers.get(self.path.partition("?")[0])
        body = json.dumps(made(asked) if made else {"error": {"message": "there is nothing here"}}).encode()
        self.send_response(200 if made else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def _said(messages: list[dict[str, Any]]) -> str:
    content = messages[-1]["content"]
    return reply(content if isinstance(content, str) else "".join(block.get("text", "") for block in content))


def _completion(asked: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": _said(asked["messages"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c1", "object": "chat.completion", "created": 0, "model": asked["model"], "choices": [choice], "usage": usage}


def _response(asked: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "output_text", "text": _said(asked["input"]), "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    shared = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    return {"id": "r1", "object": "response", "created_at": 0, "model": asked["model"], "output": [message], **shared}


MEMORY_CALLS: tuple[dict[str, Any], ...] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/elba.md", "file_text": "The ferry leaves Piombino at 9:10.\n"},
    {"command": "str_replace", "path": "/memories/elba.md", "old_str": "9:10", "new_str": "9:40"},
)


def _memory_block(asked: dict[str, Any]) -> dict[str, Any] | None:
    """The next call of the memory tool, or what is said after the last; None in a conversation without that tool."""
    content = asked["messages"][-1]["content"]
    results = [block["tool_use_id"] for block in content if block.get("type") == "tool_result"] if isinstance(content, list) else []
    if not results and not any(tool.get("type") == "memory_20250818" for tool in asked.get("tools", ())):
        return None
    done = int(results[-1].removeprefix("toolu_")) if results else 0
    if done == len(MEMORY_CALLS):
        return {"type": "text", "text": "It is in /memories/elba.md."}
    return {"type": "tool_use", "id": f"toolu_{done + 1}", "name": "memory", "input": MEMORY_CALLS[done]}


def _message(asked: dict[str, Any]) -> dict[str, Any]:
    block = _memory_block(asked) or {"type": "text", "text": _said(asked["messages"])}
    usage = {"input_tokens": 1, "output_tokens": 1}
    whole = {"id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "content": [block]}
    return {**whole, "stop_reason": block["type"] if block["type"] == "tool_use" else "end_turn", "stop_sequence": None, "usage": usage}

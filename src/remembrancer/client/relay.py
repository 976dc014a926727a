"""Relay MCP between standard input and output and `/mcp` of the service.

An agent starts this program and waits for its first answer, so nothing slow is imported: each
message is passed on as it is, and the service does the work.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlsplit

from .. import __version__
from .credentials import KeyMissingError, find_key, find_url

SECONDS_MAX = 900.0  # for a tool; the endpoints have their own, lower limits
CALLS_MAX = 16  # at once
_INTERNAL_ERROR = -32603


class Relay:
    """Passes messages on, several at once; each answer is one line of standard output.

    Raises ValueError for a wrong address.
    """

    def __init__(self, url: str, key: str, *, beside_hooks: bool, tools: str | None = None) -> None:
        self._url = url.rstrip("/")
        parts = urlsplit(self._url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"the address of the service must be like http://HOST:PORT, not {url}")
        self._is_tls, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        query = {"client": "hooks" if beside_hooks else "", "tools": tools or ""}
        words = "&".join(f"{name}={quote(value)}" for name, value in query.items() if value)
        self._path = f"{parts.path}/mcp" + (f"?{words}" if words else "")
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self._writing = threading.Lock()
        self._open: dict[Any, http.client.HTTPConnection] = {}  # by the id of the request
        self._cancelled: set[Any] = set()

    def run(self, lines: Iterable[bytes]) -> None:
        """Pass on each line until end of file, then finish what runs."""
        with ThreadPoolExecutor(CALLS_MAX) as pool:
            for line in lines:
                if not line.strip():
                    continue
                message = _parsed(line)
                if message.get("method") == "initialize":
                    self._pass_on(line, message)  # the version is known before the next message
                elif message.get("method") == "notifications/cancelled":
                    self._cancel(message)
                else:
                    pool.submit(self._pass_on, line, message)

    def _cancel(self, message: dict[str, Any]) -> None:
        """Close the connection of a request: the service stops what it does for it."""
        parameters = message.get("params")
        number = parameters.get("requestId") if isinstance(parameters, dict) else None
        connection = self._open.pop(number, None)
        if connection is not None:
            self._cancelled.add(number)
            connection.close()

    def _pass_on(self, line: bytes, message: dict[str, Any]) -> None:
        number = message.get("id")
        try:
            answer = self._post(line, number)
        except (OSError, http.client.HTTPException) as error:
            text = f"No service answers at {self._url}: {type(error).__name__}."
            answer = b"" if number is None else _failure(message, text)
        if number in self._cancelled:
            self._cancelled.discard(number)
        elif answer.strip():  # a notification has none
            self._note_version(message, answer)
            self._write(answer)

    def _post(self, line: bytes, number: Any) -> bytes:
        kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=SECONDS_MAX)
        if number is not None:
            self._open[number] = connection
        try:
            connection.request("POST", self._path, line, self._headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            self._open.pop(number, None)
            connection.close()
        if response.status >= 400 and b"jsonrpc" not in text:
            detail = _parsed(text).get("detail") or f"the service answered {response.status}"
            return _failure(_parsed(line), str(detail))
        return text

    def _note_version(self, message: dict[str, Any], answer: bytes) -> None:
        if message.get("method") == "initialize":
            result = _parsed(answer).get("result")
            if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
                self._headers["MCP-Protocol-Version"] = result["protocolVersion"]

    def _write(self, answer: bytes) -> None:
        with self._writing:
            sys.stdout.buffer.write(answer.strip() + b"\n")
            sys.stdout.buffer.flush()


def _failure(message: dict[str, Any], text: str) -> bytes:
    """Return the answer to a request that did not reach the service.

    A model reads the errors of its calls, and an agent that starts before the service keeps its
    server, so both are results.
    """
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
    parameters = message.get("params")
    if message.get("method") == "tools/call":
        content = [{"type": "text", "text": text}]
        answer["result"] = {"content": content, "isError": True}
    elif message.get("method") == "initialize" and isinstance(parameters, dict):
        answer["result"] = {
            "protocolVersion": parameters.get("protocolVersion"),
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "remembrancer", "version": __version__},
            "instructions": text,
        }
    else:
        answer["error"] = {"code": _INTERNAL_ERROR, "message": text}
    return json.dumps(answer).encode()


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def serve_by_arguments(arguments: Sequence[str]) -> bool:
    """Relay as `remembrancer mcp` with these arguments.

    Returns False without doing anything if they are not those that `remembrancer install` writes,
    or if something is missing: the command line explains what.
    """
    beside_hooks = "--beside-hooks" in arguments
    words = [word for word in arguments if word != "--beside-hooks"]
    options = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or not options.keys() <= {"--url", "--agent", "--tools"}:
        return False
    agent, tools = options.get("--agent"), options.get("--tools")
    if agent is not None and not re.fullmatch(r"[a-z][a-z-]*", agent):
        return False
    try:
        url = options.get("--url") or find_url()
        relay = Relay(url, find_key(agent=agent), beside_hooks=beside_hooks, tools=tools)
    except (KeyMissingError, ValueError):
        return False
    relay.run(sys.stdin.buffer)
    return True

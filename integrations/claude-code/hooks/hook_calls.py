"""Settings of the hooks, and a minimal HTTP client for the service that imports nothing slow."""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

URL = "http://127.0.0.1:8460"
TOKENS = 1200  # default size of the memory added to one prompt
CHOICES = {"PERMISSIONS": ("closed", "open", "off"), "SECOND_LOOK": ("recalled", "always", "off")}  # the first is the default
SECONDS = 8.0  # deadline of one request, and so the longest time that a hanging service delays an agent
RESPONSE_BYTES_MAX = 16 << 20
_URL = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?P<prefix>/[^\s?#]*)?")


class InvalidSetup(Exception):
    """The setup is invalid. The message names the problem and never contains a key."""


class Unreachable(Exception):
    """The service did not respond."""


class Refused(Exception):
    """The service, or something at its address, rejected a request. `status` is the HTTP status."""

    def __init__(self, status: int, detail: str, *, is_of_service: bool) -> None:
        self.status, self.is_of_service = status, is_of_service
        super().__init__(f"{detail} ({status})")

    @property
    def is_temporary(self) -> bool:
        """Return True if the same request may succeed later."""
        return self.status in (401, 403, 408, 425, 429) or self.status >= 500 or not self.is_of_service


class Setup:
    """The settings from the environment. Raises InvalidSetup."""

    def __init__(self, environment: dict[str, str], agent: str, url: str | None = None) -> None:
        self.agent = agent
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.project = environment.get("CLAUDE_PROJECT_DIR") or environment.get("CURSOR_PROJECT_DIR") or ""
        self.url = environment.get("REMEMBRANCER_URL") or url or URL
        self.user_id = environment.get("REMEMBRANCER_USER") or ""
        self.name = environment.get("REMEMBRANCER_HOOK_AGENT") or agent  # the agent name in grants
        self.seal_name = environment.get("REMEMBRANCER_SEAL_NAME") or "REM"
        self.permissions = _choice(environment, "PERMISSIONS")
        self.second_look = _choice(environment, "SECOND_LOOK")
        tokens = environment.get("REMEMBRANCER_HOOK_TOKENS") or str(TOKENS)
        if not re.fullmatch(r"[0-9]{1,6}", tokens) or not int(tokens):
            raise InvalidSetup("REMEMBRANCER_HOOK_TOKENS must be a number from 1 to 999999")
        self.tokens = int(tokens)
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
        state = environment.get("XDG_STATE_HOME") or os.path.join(self.home, ".local", "state")
        self.state = os.path.join(state, "remembrancer", "hooks")
        self._key = environment.get("REMEMBRANCER_KEY") or ""
        self._key_file = environment.get("REMEMBRANCER_KEY_FILE") or os.path.join(config, "remembrancer", "key")

    def key(self) -> str:
        """Return the API key from the environment or the key file. Raises InvalidSetup."""
        key = self._key.strip() or self._from_file()
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise InvalidSetup("the API key contains characters that are not allowed in a key")
        return key

    def _from_file(self) -> str:
        try:
            file = os.open(self._key_file, os.O_RDONLY)
        except OSError:
            raise InvalidSetup(f"there is no API key: set REMEMBRANCER_KEY, or write it to {self._key_file} (mode 0600)") from None
        with os.fdopen(file, "rb") as stream:
            status = os.fstat(stream.fileno())
            if status.st_mode & 0o077 or status.st_uid != os.geteuid():
                raise InvalidSetup(f"{self._key_file} must be readable by you alone: chmod 600")
            return stream.read(4096).decode("utf-8", "replace").strip()


def _choice(environment: dict[str, str], name: str) -> str:
    value = environment.get(f"REMEMBRANCER_HOOK_{name}") or CHOICES[name][0]
    if value not in CHOICES[name]:
        raise InvalidSetup(f"REMEMBRANCER_HOOK_{name} must be one of {', '.join(CHOICES[name])}")
    return value


class Service:
    """A client of the memory service with one connection per request."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.failure: Unreachable | None = None  # after the first failure, later requests fail without waiting
        self.refusal: Refused | None = None  # the last temporary one

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Send a GET request and return the response. Raises InvalidSetup, Unreachable, Refused."""
        parameters = "&".join(f"{name}={_quote(value)}" for name, value in query.items() if value)
        return self._request("GET", f"{path}?{parameters}" if parameters else path, b"", "")

    def post(self, path: str, body: dict[str, Any], idempotency_key: str = "") -> dict[str, Any]:
        """Send a POST request and return the response.

        Raises InvalidSetup, Unreachable, Refused.
        """
        return self._request("POST", path, json.dumps(body).encode("ascii"), idempotency_key)

    def _request(self, method: str, path: str, body: bytes, idempotency_key: str) -> dict[str, Any]:
        if self.failure:
            raise self.failure
        match = _URL.fullmatch(self.setup.url)
        if not match or not self.setup.url.isascii():
            raise InvalidSetup("REMEMBRANCER_URL must be the address of the service, such as http://HOST:PORT")
        heads = [
            # HTTP/1.0: no chunks; the response ends with the connection
            f"{method} {(match['prefix'] or '').rstrip('/')}{path} HTTP/1.0",
            f"Host: {match['host']}{':' + match['port'] if match['port'] else ''}",
            f"Authorization: Bearer {self.setup.key()}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *([f"Idempotency-Key: {idempotency_key}"] if idempotency_key else []),
        ]
        request = "\r\n".join([*heads, "", ""]).encode("latin-1") + body
        port = int(match["port"] or (443 if match["scheme"] == "https" else 80))
        try:
            response = _exchange(match["host"].strip("[]"), port, request, is_tls=match["scheme"] == "https")
        except (OSError, OverflowError) as error:
            self.failure = Unreachable(f"{self.setup.url} does not answer: {type(error).__name__}")
            raise self.failure from None
        try:
            return _parse(response)
        except Refused as error:
            self.refusal = error if error.is_temporary else self.refusal
            raise


def _exchange(host: str, port: int, request: bytes, *, is_tls: bool) -> bytes:
    """Send the bytes and return the whole response."""
    import socket
    from time import monotonic

    deadline = monotonic() + SECONDS
    connection = socket.create_connection((host, port), timeout=SECONDS)
    try:
        if is_tls:
            import ssl

            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
        connection.sendall(request)
        response = bytearray()
        while True:
            connection.settimeout(max(0.001, deadline - monotonic()))
            part = connection.recv(1 << 16)
            if not part:
                return bytes(response)
            response += part
            if len(response) > RESPONSE_BYTES_MAX or monotonic() > deadline:
                raise OSError("the response is too large or too slow")
    finally:
        connection.close()


def _parse(response: bytes) -> dict[str, Any]:
    """Return the body of a response.

    Raises Unreachable if it is invalid, Refused for a status other than 2xx.
    """
    head, gap, body = response.partition(b"\r\n\r\n")
    first, *heads = head.decode("latin-1").split("\r\n")
    match = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3})( .*)?", first)
    lengths = [int(line[15:]) for line in heads if re.fullmatch(r"(?i)content-length:[ \t]*[0-9]{1,12}[ \t]*", line)]
    if not match or not gap or (lengths and len(body) < lengths[0]):
        raise Unreachable("the response is truncated or not HTTP")
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    status = int(match[1])
    if not 200 <= status < 300:
        detail = content.get("detail") if isinstance(content, dict) else None
        is_of_service = isinstance(content, dict) and isinstance(content.get("error"), str)
        raise Refused(status, detail[:500] if isinstance(detail, str) else "the service rejected the request", is_of_service=is_of_service)
    if not isinstance(content, dict):
        raise Unreachable("the response is not from the service")
    return content


def _quote(text: str) -> str:
    unreserved = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return "".join(chr(byte) if byte in unreserved else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))

"""How the service is reached: where it is, the key, and one HTTP request at a time, spoken by hand so that nothing slow is imported."""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

URL = "http://127.0.0.1:8460"
TOKENS = 1200  # of what is recalled for one prompt, where the setting does not say
CHOICES = {"PERMISSIONS": ("closed", "open", "off"), "SECOND_LOOK": ("recalled", "always", "off")}  # the first is the default
SECONDS = 8.0  # for one request, all of it; an agent waits this long at most when the service hangs
ANSWER_BYTES_MAX = 16 << 20
_URL = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+)(?::(?P<port>[0-9]{1,5}))?(?P<prefix>/[^\s?#]*)?")


class Unfit(Exception):
    """Something is not set up as it must be; the message says what, and never holds a key."""


class Unreached(Exception):
    """The service gave no answer."""


class Refused(Exception):
    """The service said no, or something in its place did. `status` is that of HTTP."""

    def __init__(self, status: int, told: str, *, is_of_service: bool) -> None:
        self.status, self.is_of_service = status, is_of_service
        super().__init__(f"{told} ({status})")

    @property
    def passes(self) -> bool:
        """Whether it may be otherwise later, with nothing changed in what was asked."""
        return self.status in (401, 403, 408, 425, 429) or self.status >= 500 or not self.is_of_service


class SetUp:
    """What the environment says. Raises Unfit."""

    def __init__(self, environment: dict[str, str], agent: str, url: str | None = None) -> None:
        self.agent = agent
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.project = environment.get("CLAUDE_PROJECT_DIR") or environment.get("CURSOR_PROJECT_DIR") or ""
        self.url = environment.get("REMEMBRANCER_URL") or url or URL
        self.user_id = environment.get("REMEMBRANCER_USER") or ""
        self.name = environment.get("REMEMBRANCER_HOOK_AGENT") or agent  # by which grants are given
        self.seal_name = environment.get("REMEMBRANCER_SEAL_NAME") or "REM"
        self.permissions = _choice(environment, "PERMISSIONS")
        self.second_look = _choice(environment, "SECOND_LOOK")
        said = environment.get("REMEMBRANCER_HOOK_TOKENS") or str(TOKENS)
        if not re.fullmatch(r"[0-9]{1,6}", said) or not int(said):
            raise Unfit("REMEMBRANCER_HOOK_TOKENS is a number of tokens, 1 to 999999")
        self.tokens = int(said)
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
        state = environment.get("XDG_STATE_HOME") or os.path.join(self.home, ".local", "state")
        self.state = os.path.join(state, "remembrancer", "hooks")
        self._key = environment.get("REMEMBRANCER_KEY") or ""
        self._key_file = environment.get("REMEMBRANCER_KEY_FILE") or os.path.join(config, "remembrancer", "key")

    def key(self) -> str:
        """The key, from the environment or the file. Raises Unfit."""
        key = self._key.strip() or self._from_file()
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise Unfit("the key of the service holds what no key holds")
        return key

    def _from_file(self) -> str:
        try:
            file = os.open(self._key_file, os.O_RDONLY)
        except OSError:
            raise Unfit(f"there is no key: set REMEMBRANCER_KEY, or write it to {self._key_file} (mode 0600)") from None
        with os.fdopen(file, "rb") as opened:
            found = os.fstat(opened.fileno())
            if found.st_mode & 0o077 or found.st_uid != os.geteuid():
                raise Unfit(f"{self._key_file} must be yours alone: chmod 600")
            return opened.read(4096).decode("utf-8", "replace").strip()


def _choice(environment: dict[str, str], name: str) -> str:
    said = environment.get(f"REMEMBRANCER_HOOK_{name}") or CHOICES[name][0]
    if said not in CHOICES[name]:
        raise Unfit(f"REMEMBRANCER_HOOK_{name} is one of {', '.join(CHOICES[name])}")
    return said


class Service:
    """The memory service. One connection a request."""

    def __init__(self, set_up: SetUp) -> None:
        self.set_up = set_up
        self.silent: Unreached | None = None  # it is asked once: an agent should not wait for each of many requests
        self.refusal: Refused | None = None  # the last one that may be otherwise later

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """GET. Raises Unfit, Unreached, Refused."""
        asked = "&".join(f"{name}={_quoted(value)}" for name, value in query.items() if value)
        return self._ask("GET", f"{path}?{asked}" if asked else path, b"", "")

    def post(self, path: str, body: dict[str, Any], once: str = "") -> dict[str, Any]:
        """POST; `once` is an Idempotency-Key. Raises Unfit, Unreached, Refused."""
        return self._ask("POST", path, json.dumps(body).encode("ascii"), once)

    def _ask(self, method: str, path: str, body: bytes, once: str) -> dict[str, Any]:
        if self.silent:
            raise self.silent
        match = _URL.fullmatch(self.set_up.url)
        if not match or not self.set_up.url.isascii():
            raise Unfit("REMEMBRANCER_URL is the address of the service: http://HOST:PORT")
        heads = [
            f"{method} {(match['prefix'] or '').rstrip('/')}{path} HTTP/1.0",  # 1.0: the answer comes whole, and then the end
            f"Host: {match['host']}{':' + match['port'] if match['port'] else ''}",
            f"Authorization: Bearer {self.set_up.key()}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *([f"Idempotency-Key: {once}"] if once else []),
        ]
        sent = "\r\n".join([*heads, "", ""]).encode("latin-1") + body
        port = int(match["port"] or (443 if match["scheme"] == "https" else 80))
        try:
            got = _exchanged(match["host"].strip("[]"), port, sent, is_tls=match["scheme"] == "https")
        except (OSError, OverflowError) as error:
            self.silent = Unreached(f"{self.set_up.url} does not answer: {type(error).__name__}")
            raise self.silent from None
        try:
            return _understood(got)
        except Refused as refused:
            self.refusal = refused if refused.passes else self.refusal
            raise


def _exchanged(host: str, port: int, sent: bytes, *, is_tls: bool) -> bytes:
    import socket
    from time import monotonic

    ends = monotonic() + SECONDS
    connection = socket.create_connection((host, port), timeout=SECONDS)
    try:
        if is_tls:
            import ssl

            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=host)
        connection.sendall(sent)
        got = bytearray()
        while True:
            connection.settimeout(max(0.001, ends - monotonic()))
            part = connection.recv(1 << 16)
            if not part:
                return bytes(got)
            got += part
            if len(got) > ANSWER_BYTES_MAX or monotonic() > ends:
                raise OSError("too much, or too slow")
    finally:
        connection.close()


def _understood(got: bytes) -> dict[str, Any]:
    """The body of an answer. Raises Unreached for what is none, Refused for any status but 2xx."""
    head, gap, body = got.partition(b"\r\n\r\n")
    first, *heads = head.decode("latin-1").split("\r\n")
    match = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3})( .*)?", first)
    lengths = [int(line[15:]) for line in heads if re.fullmatch(r"(?i)content-length:[ \t]*[0-9]{1,12}[ \t]*", line)]
    if not match or not gap or (lengths and len(body) < lengths[0]):
        raise Unreached("the answer is cut, or none of HTTP")
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    status = int(match[1])
    if not 200 <= status < 300:
        detail = said.get("detail") if isinstance(said, dict) else None
        is_of_service = isinstance(said, dict) and isinstance(said.get("error"), str)
        raise Refused(status, detail[:500] if isinstance(detail, str) else "the service refused", is_of_service=is_of_service)
    if not isinstance(said, dict):
        raise Unreached("the answer is not the service's")
    return said


def _quoted(text: str) -> str:
    kept = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))

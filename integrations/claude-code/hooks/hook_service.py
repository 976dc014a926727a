"""Settings of the hooks, and a minimal HTTP client of the service.

HTTP is written by hand so that nothing slow is imported.
"""

from __future__ import annotations

import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_URL = "http://127.0.0.1:8460"
DEFAULT_TOKENS = 1200  # tokens of search results added to one prompt
# Allowed values of REMEMBRANCER_HOOK_*; the first is the default.
CHOICES = {
    "GATE": ("writes", "all", "off"),
    "PERMISSIONS": ("closed", "open"),
    "SECOND_LOOK": ("recalled", "always", "off"),
}
DEFAULT_SECONDS = 1.0  # that one hook waits for the service, all its requests together
BACKGROUND_SECONDS = 30.0  # the same when no agent waits
AWAY_SECONDS = 60.0  # that the service is not asked after it did not answer in time
ANSWER_BYTES_MAX = 16 << 20
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\[\]]+)"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<prefix>/[^\s?#]*)?"
)
_UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


class InvalidSetupError(Exception):
    """The configuration or the input is invalid. The message never contains a key."""


class ServiceUnreachableError(Exception):
    """The service did not answer."""


class ServiceError(Exception):
    """The service, or something in front of it, returned an error. `status` is the HTTP status."""

    def __init__(self, status: int, detail: str, *, is_of_service: bool) -> None:
        self.status, self.is_of_service = status, is_of_service
        super().__init__(f"{detail} ({status})")

    @property
    def is_transient(self) -> bool:
        """True if the same request may succeed later."""
        return (
            self.status in (401, 403, 408, 425, 429) or self.status >= 500 or not self.is_of_service
        )


class Settings:
    """Settings from the environment. Raises InvalidSetupError for invalid values."""

    def __init__(self, environment: dict[str, str], agent: str, url: str | None = None) -> None:
        self.agent = agent
        self.home = environment.get("HOME") or os.path.expanduser("~")
        self.project = (
            environment.get("CLAUDE_PROJECT_DIR") or environment.get("CURSOR_PROJECT_DIR") or ""
        )
        self.url = environment.get("REMEMBRANCER_URL") or url or DEFAULT_URL
        self.user_id = environment.get("REMEMBRANCER_USER") or ""
        # The name of the agent in grants.
        self.agent_name = environment.get("REMEMBRANCER_HOOK_AGENT") or agent
        self.gate = _choice(environment, "GATE")
        self.permissions = _choice(environment, "PERMISSIONS")
        self.second_look = _choice(environment, "SECOND_LOOK")
        tokens = environment.get("REMEMBRANCER_HOOK_TOKENS") or str(DEFAULT_TOKENS)
        if not re.fullmatch(r"[0-9]{1,6}", tokens) or not int(tokens):
            raise InvalidSetupError("REMEMBRANCER_HOOK_TOKENS must be a number from 1 to 999999")
        self.tokens = int(tokens)
        seconds = environment.get("REMEMBRANCER_HOOK_SECONDS") or str(DEFAULT_SECONDS)
        if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3})?", seconds) or not float(seconds):
            raise InvalidSetupError("REMEMBRANCER_HOOK_SECONDS must be a number up to 999.999")
        self.seconds = float(seconds)
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
        state = environment.get("XDG_STATE_HOME") or os.path.join(self.home, ".local", "state")
        self.state_folder = os.path.join(state, "remembrancer", "hooks")
        self._key = environment.get("REMEMBRANCER_KEY") or ""
        self._key_file = environment.get("REMEMBRANCER_KEY_FILE")
        self._key_folder = os.path.join(config, "remembrancer")
        self.pause_file = os.path.join(self._key_folder, "off")
        self.is_off = False  # set for the folder of the session

    def key(self) -> str:
        """Return the API key from the environment or the key file. Raises InvalidSetupError."""
        key = self._key.strip() or self._read_key_file()
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise InvalidSetupError("the API key contains invalid characters")
        return key

    def _read_key_file(self) -> str:
        """Read the agent's own key file, or that of `remembrancer login` if it has none."""
        own = os.path.join(self._key_folder, f"{self.agent}.key")
        path = self._key_file or own
        if not self._key_file and not os.path.exists(own):
            path = os.path.join(self._key_folder, "key")
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            raise InvalidSetupError(
                f"no API key: set REMEMBRANCER_KEY, or write it to {self._key_file or own} "
                "(mode 0600)"
            ) from None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & 0o077 or status.st_uid != os.geteuid():
                raise InvalidSetupError(f"{path} must be readable only by you: chmod 600")
            return file.read(4096).decode("utf-8", "replace").strip()


def _choice(environment: dict[str, str], name: str) -> str:
    value = environment.get(f"REMEMBRANCER_HOOK_{name}") or CHOICES[name][0]
    if value not in CHOICES[name]:
        raise InvalidSetupError(
            f"REMEMBRANCER_HOOK_{name} must be one of {', '.join(CHOICES[name])}"
        )
    return value


class Service:
    """The memory service. Opens one connection for each request."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        # After a failure nothing more is sent: an agent must not wait for each of many requests.
        self.unreachable: ServiceUnreachableError | None = None
        self.last_transient_error: ServiceError | None = None
        self.has_timed_out = False
        self._seconds = settings.seconds
        self._deadline: float | None = None  # of all requests of this hook

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Send a GET request; empty parameters are omitted. Raises the errors of this module."""
        parameters = "&".join(
            f"{name}={_percent_encoded(value)}" for name, value in query.items() if value
        )
        return self._send("GET", f"{path}?{parameters}" if parameters else path, b"", "")

    def post(self, path: str, body: dict[str, Any], idempotency_key: str = "") -> dict[str, Any]:
        """Send a POST request. Raises the errors of this module."""
        return self._send("POST", path, json.dumps(body).encode("ascii"), idempotency_key)

    def wait_in_background(self) -> None:
        """Give the requests from now on the time that they need: no agent waits for them."""
        self._seconds, self._deadline = BACKGROUND_SECONDS, None

    def _seconds_left(self) -> float:
        from time import monotonic

        if self._deadline is None:
            self._deadline = monotonic() + self._seconds
        return max(self._deadline - monotonic(), 0.0)

    @property
    def _away_file(self) -> str:
        """The file whose time says when the service did not answer in time."""
        import zlib

        name = f"away-{zlib.crc32(self.settings.url.encode()):08x}"
        return os.path.join(self.settings.state_folder, name)

    def _check_away(self) -> None:
        """Raise ServiceUnreachableError if the service is not to be asked now."""
        from time import time

        try:
            left = AWAY_SECONDS - (time() - os.path.getmtime(self._away_file))
        except OSError:
            return
        if 0 < left <= AWAY_SECONDS:
            self.unreachable = ServiceUnreachableError(
                f"{self.settings.url} did not answer in time and is asked again in {left:.0f} s"
            )
            raise self.unreachable

    def _note_away(self) -> None:
        self.has_timed_out = True
        os.makedirs(self.settings.state_folder, mode=0o700, exist_ok=True)
        with open(self._away_file, "wb"):
            os.utime(self._away_file)

    def _send(self, method: str, path: str, body: bytes, idempotency_key: str) -> dict[str, Any]:
        if self.unreachable:
            raise self.unreachable
        self._check_away()
        match = _URL.fullmatch(self.settings.url)
        if not match or not self.settings.url.isascii():
            raise InvalidSetupError("REMEMBRANCER_URL must look like http://HOST:PORT")
        lines = [
            # HTTP/1.0: the answer is not chunked, and the connection is closed after it.
            f"{method} {(match['prefix'] or '').rstrip('/')}{path} HTTP/1.0",
            f"Host: {match['host']}{':' + match['port'] if match['port'] else ''}",
            f"Authorization: Bearer {self.settings.key()}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *([f"Idempotency-Key: {idempotency_key}"] if idempotency_key else []),
        ]
        request = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        is_tls = match["scheme"] == "https"
        port = int(match["port"] or (443 if is_tls else 80))
        try:
            host = match["host"].strip("[]")
            response = _exchange(host, port, request, self._seconds_left(), is_tls=is_tls)
        except (OSError, OverflowError) as error:
            if isinstance(error, TimeoutError):
                self._note_away()
            self.unreachable = ServiceUnreachableError(
                f"{self.settings.url} does not answer: {type(error).__name__}"
            )
            raise self.unreachable from None
        try:
            return _parse_response(response)
        except ServiceError as error:
            if error.is_transient:
                self.last_transient_error = error
            raise


def _exchange(host: str, port: int, request: bytes, seconds: float, *, is_tls: bool) -> bytes:
    """Return the whole response. Raises OSError, of which TimeoutError after these seconds."""
    import socket
    from time import monotonic

    deadline = monotonic() + seconds
    connection = socket.create_connection((host, port), timeout=max(seconds, 0.001))
    try:
        if is_tls:
            import ssl

            context = ssl.create_default_context()
            connection = context.wrap_socket(connection, server_hostname=host)
        connection.sendall(request)
        response = bytearray()
        while True:
            connection.settimeout(max(0.001, deadline - monotonic()))
            chunk = connection.recv(1 << 16)
            if not chunk:
                return bytes(response)
            response += chunk
            if monotonic() > deadline:
                raise TimeoutError
            if len(response) > ANSWER_BYTES_MAX:
                raise OSError("the response is too large")
    finally:
        connection.close()


def _parse_response(response: bytes) -> dict[str, Any]:
    """Return the JSON body.

    Raises ServiceUnreachableError for an invalid response, ServiceError for any status but 2xx.
    """
    head, separator, body = response.partition(b"\r\n\r\n")
    status_line, *headers = head.decode("latin-1").split("\r\n")
    match = re.fullmatch(r"HTTP/1\.[01] ([0-9]{3})( .*)?", status_line)
    lengths = [
        int(line[15:])
        for line in headers
        if re.fullmatch(r"(?i)content-length:[ \t]*[0-9]{1,12}[ \t]*", line)
    ]
    if not match or not separator or (lengths and len(body) < lengths[0]):
        raise ServiceUnreachableError("the response is incomplete or not HTTP")
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    status = int(match[1])
    if not 200 <= status < 300:
        raise _service_error(status, document)
    if not isinstance(document, dict):
        raise ServiceUnreachableError("the response is not one of the service")
    return document


def _service_error(status: int, document: Any) -> ServiceError:
    problem = document if isinstance(document, dict) else {}
    detail = problem.get("detail")
    return ServiceError(
        status,
        detail[:500] if isinstance(detail, str) else "the service returned an error",
        is_of_service=isinstance(problem.get("error"), str),
    )


def _percent_encoded(text: str) -> str:
    return "".join(
        chr(byte) if byte in _UNRESERVED else f"%{byte:02X}"
        for byte in text.encode("utf-8", "replace")
    )

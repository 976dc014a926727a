"""Real servers in separate processes, and their answers over real sockets.

with Server(folder, REMEMBRANCER_STORE=url) as server:
    answer = server.post("/api/v7/memory", {"query_text": "ferry"}, key=key)
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ANSWER_SECONDS_MAX = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, with the start and end of its call on this machine's monotonic clock.

    Status 0: the connection broke before an answer.
    """

    status: int
    headers: Mapping[str, str]
    body: Any
    began: float
    ended: float


class Server:
    """`remembrancer serve` on a free port; it may not be ready yet.

    `settings` are environment variables.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        environment = {"REMEMBRANCER_DATA": str(folder), "REMEMBRANCER_PORT": "0", **settings}
        variables = [f"{name}={value}" for name, value in environment.items()]
        command = ["env", *variables, sys.executable, "-m", "remembrancer", "serve"]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.log = folder / "server.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)  # noqa: S603  our own
        self._port: int | None = None
        self._reading = threading.Lock()

    @property
    def port(self) -> int:
        """Return the port, known once the server logs it.

        Raises RuntimeError with its log if it ended before that.
        """
        with self._reading:
            if self._port is None:
                assert self.process.stdout is not None
                line = next((line for line in self.process.stdout if "listens on" in line), None)
                if line is None:
                    raise RuntimeError(
                        f"the server ended: {self.log.read_text('utf-8', 'replace')[-2000:]}"
                    )
                self._port = int(line.rpartition(":")[2])
            return self._port

    def get(self, path: str, *, key: str = "") -> Answer:
        """Send a GET request."""
        return self.ask("GET", path, key=key)

    def post(self, path: str, body: Any, *, key: str = "", once: str | None = None) -> Answer:
        """Send a POST request with a JSON body; `once` is an Idempotency-Key."""
        return self.ask(
            "POST", path, body, key=key, headers={"Idempotency-Key": once} if once else {}
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a new connection."""
        request_headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX)
        began = time.monotonic()
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, request_headers if key else {})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException):
            return Answer(0, {}, None, began, time.monotonic())
        finally:
            connection.close()
        ended = time.monotonic()
        headers = {name.lower(): value for name, value in response.getheaders()}
        is_json = "json" in headers.get("content-type", "")
        return Answer(
            response.status, headers, json.loads(answer) if is_json else answer, began, ended
        )

    def kill(self) -> None:
        """End it at once, like a crash. Idempotent."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

"""A server with its shim, and requests of one account to it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Self

from faults.shim import Shim
from servers.started import SETTINGS
from service import new_key

from remembrancer import testing
from remembrancer.settings import Settings
from remembrancer.testing.servers import Answer, Server


class Service:
    """`remembrancer serve` on a data folder, with the faults of `shim`."""

    def __init__(self, data: Path, shim: Shim, **settings: str) -> None:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.data, self.shim = data, shim
        store = settings.get("REMEMBRANCER_STORE", f"sqlite:{data / 'remembrancer.sqlite3'}")
        self.within = Settings(data=data, store=store, embedder="none", durability="normal")
        with closing(testing.context(data, settings=self.within)) as context:
            self.key = new_key(context)
        self._settings = {**SETTINGS, "REMEMBRANCER_STORE": store, **shim.settings(), **settings}
        self.server = Server(data, **self._settings)

    def restart(self) -> None:
        """Kill the server and start another one."""
        self.server.kill()
        self.server = Server(self.data, **self._settings)

    @property
    def pid(self) -> int:
        """Return the id of the server's process, which is ready."""
        assert self.server.get("/readyz").status == 200
        return self.server.process.pid

    def remember(self, word: str, *, once: str | None = None, user_id: str = "ada") -> Answer:
        """Remember a turn with this word."""
        body = {"query": f"Note {word}", "response": "Kept.", "user_id": user_id}
        return self.server.post("/api/v7/remember", body, key=self.key, once=once)

    def search(self, word: str, **more: Any) -> Answer:
        """Search for a word without counting a step."""
        body = {"query_text": word, "user_id": "ada", "interact": False, "top_k": 5, **more}
        return self.server.post("/api/v7/memory", body, key=self.key)

    def events_with(self, word: str) -> list[str]:
        """Return the ids of the events of `remember` with this word, by a search, which must succeed."""
        answer = self.search(word)
        assert answer.status == 200, answer
        return [hit["event_id"] for hit in answer.body["hits"] if hit["query"] == f"Note {word}"]

    def create_file(self, word: str) -> Answer:
        """Create a file with this word."""
        body = {"filename": word, "type": "txt", "content": word * 1000}
        return self.server.post("/api/v7/tools/create-file", body, key=self.key)

    def download(self, filename: str) -> Answer:
        """Download a file."""
        return self.server.get(f"/download/{filename}", key=self.key)

    def readiness(self) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of `/readyz`."""
        answer = self.server.get("/readyz")
        return answer.status, answer.body

    def state(self) -> str:
        """Return `status` of the status record."""
        return str(self.server.get("/api/v7/status").body["status"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.kill()

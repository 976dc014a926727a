"""Remembrancer: a server process behind its HTTP interface, as an agent calls it.

Searches count steps of the protocol. Texts are embedded by the server, so vectors are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.adding import Connection
from bench.http import Server
from bench.peers.port import Item, Peer, Question
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

BODY_BYTES_MAX = 1 << 26  # a batch of long turns exceeds the default


class ServerPeer(Peer):
    """A server with one worker process, and one connection to it."""

    def __init__(self, folder: Path) -> None:
        """Create the key of a new folder, and start the server."""
        settings = {"REMEMBRANCER_BODY_BYTES_MAX": str(BODY_BYTES_MAX)}
        self._server = Server(folder / "data", _key(folder), settings)
        self._server.__enter__()
        self._connection = Connection(self._server)

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer. Several items are one batch."""
        turns = [
            {
                "query": item.query,
                "response": item.response,
                "user_id": item.user,
                "session_id": f"{item.user}-{item.session}",
                "occurred_at": datetime.fromtimestamp(item.occurred_ms / 1000, UTC).isoformat(),
            }
            for item in items
        ]
        if len(turns) == 1:
            return [str(self._post("/api/v7/remember", turns[0])["event_id"])]
        answer = self._post("/api/v7/memory/batch", {"turns": turns})
        return [str(receipt["event_id"]) for receipt in answer["receipts"]]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        body = {
            "query_text": question.text,
            "user_id": question.user,
            "session_id": f"{question.user}-questions",
            "top_k": question.most,
        }
        return [str(hit["event_id"]) for hit in self._post("/api/v7/memory", body)["hits"]]

    def settle(self) -> None:
        """Wait until the server has no work left in the background."""
        self._server.settle()
        self._connection.close()  # it may have been idle for too long
        self._connection = Connection(self._server)

    def processes(self) -> list[int]:
        """See Peer."""
        return [self._server.process.pid]

    def close(self) -> None:
        """See Peer."""
        self._connection.close()
        self._server.__exit__()

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        status, answer = self._connection.answer(path, json.dumps(body).encode())
        if status != 200:
            raise RuntimeError(f"{path} answered {status}: {answer[:300]!r}")
        return json.loads(answer)


def _key(folder: Path) -> str:
    """Return the key of the bench, which the first call creates and stores beside the data."""
    path = folder / "key"
    if not path.exists():
        records = open_records(read(data=folder / "data"))
        key = keys.create(records, account="bench").key.reveal()
        records.close()
        path.write_text(key, "utf-8")
    return path.read_text("utf-8")


def open_peer(folder: Path, _dimensions: int) -> Peer:
    """Open the store in a folder, whose vectors may have any length."""
    return ServerPeer(folder)

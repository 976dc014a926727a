"""Kill the service again and again under load: nothing answered is lost, nothing erased returns.

40 kills of each engine in `make test-long`; on PostgreSQL every fourth one is of the database.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from engines import server as of_this_process
from rounds import rounds
from servers.started import SETTINGS, within
from service import new_key
from waiting import wait_until

from remembrancer.testing.postgres import Postgres
from remembrancer.testing.servers import Server

KILLS, CLIENTS, BATCH = rounds(2, 40), 6, 5


@dataclass
class Written:
    """Answers with 200: words of turns and of batches by event_id, and erased events."""

    turns: dict[str, str] = field(default_factory=dict)
    batches: list[list[str]] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)  # erasures without an answer
    answers: int = 0

    def write(self, server: Server, key: str, name: str) -> None:
        """Remember, erase and send batches until the server is gone."""
        for number in itertools.count():
            word = f"{name}x{number}"
            turn = {"query": f"Note {word}", "response": "Kept.", "user_id": "ada"}
            if number % 4 == 3:
                turns = [{**turn, "query": f"Note {word}y{place}"} for place in range(BATCH)]
                answer = server.post("/api/v7/memory/batch", {"turns": turns}, key=key)
                if answer.status == 200:
                    self.batches.append([one["event_id"] for one in answer.body["receipts"]])
            else:
                answer = server.post("/api/v7/remember", turn, key=key)
                if answer.status == 200:
                    self.turns[answer.body["event_id"]] = word
            if answer.status == 200 and number % 4 == 1:
                event = answer.body["event_id"]
                self.uncertain.add(event)
                answer = server.ask("DELETE", f"/api/v7/event/{event}", key=key)
                if answer.status == 200:
                    self.erased.add(event)
            if answer.status == 0:
                return
            assert answer.status in {200, 503}, answer
            self.answers += answer.status == 200

    def wait_for(self, answers: int, running: Sequence[Future[None]]) -> None:
        """Wait for that many answers more, or for a client that fails."""
        goal = self.answers + answers
        wait_until(lambda: self.answers >= goal or any(client.done() for client in running))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Postgres | None]:
    """Yield a durable PostgreSQL; None for SQLite."""
    if request.param == "sqlite":
        yield None
        return
    of_this_process()  # skips the test without PostgreSQL
    with Postgres(fsync="on", full_page_writes="on") as started:
        yield started


@pytest.mark.long
def test_nothing_answered_is_lost_and_nothing_erased_returns(
    database: Postgres | None, tmp_path: Path
) -> None:
    url = f"sqlite:{tmp_path / 'store.sqlite3'}" if database is None else database.database()
    draw, written = random.Random(8460), Written()
    with closing(within(url, tmp_path / "within")) as context:
        key = new_key(context)
    settings = {**SETTINGS, "REMEMBRANCER_STORE": url}
    for kill in range(KILLS):
        with ExitStack() as opened:
            server = opened.enter_context(Server(tmp_path / "server", **settings))
            assert server.get("/readyz").status == 200
            clients = opened.enter_context(ThreadPoolExecutor(CLIENTS))
            running = [
                clients.submit(written.write, server, key, f"zq{kill}x{client}")
                for client in range(CLIENTS)
            ]
            written.wait_for(draw.randrange(5, 80), running)
            if database is not None and kill % 4 == 3:
                database.kill()
            server.kill()
            for client in running:
                client.result()
            if database is not None and kill % 4 == 3:
                database.start()

    with Server(tmp_path / "server", **settings) as server:
        wrong = []
        for event, word in written.turns.items():
            read = server.get(f"/api/v7/event/{event}", key=key)
            if event in written.erased:
                wrong += [] if read.status == 404 else [f"{word} came back"]
            elif event not in written.uncertain or read.status == 200:
                body = {"query_text": word, "user_id": "ada", "interact": False, "top_k": 1}
                hits = server.post("/api/v7/memory", body, key=key).body["hits"]
                is_whole = read.status == 200 and read.body["query"] == f"Note {word}"
                wrong += [] if is_whole and hits[0]["event_id"] == event else [f"{word} is lost"]
        for batch in written.batches:
            statuses = [server.get(f"/api/v7/event/{one}", key=key).status for one in batch]
            wrong += [] if statuses == [200] * BATCH else [f"a batch is lost: {statuses}"]
        listed: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            path = f"/api/v7/events?user_id=ada&limit=100{cursor and f'&cursor={cursor}'}"
            page = server.get(path, key=key).body
            listed += [event["query"] for event in page["events"]]
            cursor = page["next"]

    assert wrong == []
    assert len(listed) == len(set(listed))  # and no part of a batch without the rest
    parts = {one.partition("y")[0] for one in listed if "y" in one}
    assert [p for p in parts if sum(one.startswith(f"{p}y") for one in listed) != BATCH] == []
    assert written.answers > 5 * KILLS

"""Servers and databases killed during writes: no finished write is lost, and service resumes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from engines import server as of_this_process
from servers.started import start, within
from service import new_key
from waiting import wait_until

from remembrancer.testing.postgres import Postgres
from remembrancer.testing.servers import Answer, Server

from .linear import CounterRead, not_one_counter

CLIENTS = 8


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """Yield a durable PostgreSQL that tests may kill."""
    of_this_process()  # skips the test without PostgreSQL
    with Postgres(fsync="on", full_page_writes="on") as started:
        yield started


@pytest.fixture
def begin(database: Postgres, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Yield a function that starts another server on a new store."""
    url, numbers = database.database(), itertools.count()
    with ExitStack() as opened:

        def one(**settings: str) -> Server:
            return opened.enter_context(
                start(url, tmp_path / f"server-{next(numbers)}", tmp_path / "files", **settings)
            )

        one.url = url  # type: ignore[attr-defined]
        yield one


@pytest.fixture
def key(begin: Callable[..., Server], tmp_path: Path) -> str:
    """Return a key of the owner, created before any server started."""
    with closing(within(begin.url, tmp_path / "within")) as context:  # type: ignore[attr-defined]
        return new_key(context)


class Load:
    """Clients that remember turns and count steps, round robin over the servers, until stopped."""

    def __init__(self, servers: list[Server], key: str) -> None:
        self.servers, self.key = servers, key
        self.turns: dict[str, str] = {}  # event_id -> unique word of the turn
        self.steps: list[CounterRead] = []
        self.others: list[Answer] = []  # responses other than 200
        self._ends = threading.Event()
        self._answered: list[float] = []  # start times of calls answered with 200
        self._clients = ThreadPoolExecutor(CLIENTS)
        self._running = [self._clients.submit(self._go, client) for client in range(CLIENTS)]

    def wait_for(self, answers: int) -> None:
        """Wait for that many responses with status 200 to calls that start from now on."""
        since = time.monotonic()
        wait_until(lambda: sum(began > since for began in self._answered) >= answers)

    def end(self) -> None:
        """Let every client finish its call."""
        self._ends.set()
        self._clients.shutdown()
        for client in self._running:
            client.result()

    def _go(self, client: int) -> None:
        servers = itertools.islice(itertools.cycle(self.servers), client, None)
        for number, one in enumerate(servers):
            if self._ends.is_set():
                return
            word = f"zq{client}x{number}"
            turn = one.post(
                "/api/v7/remember",
                {"query": f"Note {word}", "response": "Kept.", "user_id": "ada"},
                key=self.key,
            )
            if turn.status == 200:
                self.turns[turn.body["event_id"]] = word
            body = {"query_text": "note", "user_id": "ada", "session_id": "steps", "top_k": 1}
            step = one.post("/api/v7/memory", body, key=self.key)
            self.steps.append(
                CounterRead(
                    step.began, step.ended, step.body["step"] if step.status == 200 else None
                )
            )
            for answer in (turn, step):
                if answer.status == 200:
                    self._answered.append(answer.began)
                else:
                    self.others.append(answer)


def lost(one: Server, load: Load) -> list[str]:
    """Return the words of finished turns that are incomplete or not found by search."""
    missing = []
    for event_id, word in load.turns.items():
        answer = one.get(f"/api/v7/event/{event_id}", key=load.key)
        body = {"query_text": word, "user_id": "ada", "interact": False, "top_k": 1}
        hits = one.post("/api/v7/memory", body, key=load.key).body["hits"]
        if (
            answer.status != 200
            or answer.body["query"] != f"Note {word}"
            or [hit["event_id"] for hit in hits] != [event_id]
        ):
            missing.append(word)
    return missing


def test_killed_server_loses_no_finished_write(begin: Callable[..., Server], key: str) -> None:
    killed, other = begin(), begin()
    load = Load([killed, other], key)
    load.wait_for(40)
    killed.kill()
    load.wait_for(40)  # answered by the other server
    load.end()

    assert {answer.status for answer in load.others} == {0}
    assert not_one_counter(load.steps) == []
    assert lost(other, load) == []


def test_killed_database_loses_no_finished_write_and_service_resumes(
    begin: Callable[..., Server], database: Postgres, key: str
) -> None:
    """Until then, every response is a 503 with Retry-After; the servers are alive but not ready, and
    need no restart.

    Steps are not flushed: as after a power failure, the last ones before the crash may be counted again
    (docs/explanation/durability.md).
    """
    servers = [begin(), begin()]
    load = Load(servers, key)
    load.wait_for(40)
    database.kill()
    away = [one.get(path) for one in servers for path in ("/healthz", "/readyz")]
    database.start()
    back = [one.get("/readyz") for one in servers]
    load.wait_for(40)
    load.end()
    before = [step for step in load.steps if step.ended < away[0].began]
    since = back[-1].ended
    later = [step for step in load.steps if step.began > since]
    around = [
        CounterRead(step.began, step.ended, None)
        for step in load.steps
        if step.began <= since < step.ended
    ]

    assert {answer.status for answer in load.others} == {503}
    assert {answer.headers["retry-after"] for answer in load.others} == {"1"}
    assert [answer.status for answer in away] == [200, 503] * 2
    assert [answer.status for answer in back] == [200] * 2
    assert not_one_counter(before) == []
    assert (
        not_one_counter(
            [*later, *around], first=min(step.value for step in later if step.value is not None)
        )
        == []
    )
    assert lost(servers[0], load) == []


def test_failover_to_the_standby_loses_no_turn_and_needs_no_restart(tmp_path: Path) -> None:
    """Failover as in docs/guides/deploy.md: both hosts in the URL, synchronous standby."""
    of_this_process()
    with (
        Postgres(wal_level="replica", max_wal_senders="4") as primary,
        primary.standby() as standby,
        ExitStack() as opened,
    ):
        url = f"{primary.database()},{standby.folder}&target_session_attrs=read-write"
        with closing(within(url, tmp_path / "within")) as context:
            key = new_key(context)
        servers = [
            opened.enter_context(start(url, tmp_path / name, tmp_path / "files"))
            for name in ("one", "other")
        ]
        load = Load(servers, key)
        load.wait_for(40)
        primary.kill()
        away = [one.get("/readyz") for one in servers]
        standby.promote()
        load.wait_for(40)
        load.end()

        assert {answer.status for answer in load.others} == {503}
        assert [answer.status for answer in away] == [503] * 2
        assert [one.get("/readyz").status for one in servers] == [200] * 2
        assert lost(servers[0], load) == []


def test_server_waits_for_its_database_or_exits_with_an_error(
    begin: Callable[..., Server], database: Postgres, key: str
) -> None:
    database.kill()
    patient, impatient = begin(), begin(REMEMBRANCER_STORE_WAIT_SECONDS="0")
    ended = impatient.process.wait(60)
    wait_until(
        lambda: (
            "for the store" in patient.log.read_text("utf-8") or patient.process.poll() is not None
        )
    )
    database.start()

    assert ended == 1
    assert "postgresql" in impatient.log.read_text("utf-8")
    assert patient.get("/readyz").status == 200
    assert patient.get("/api/v7/key", key=key).status == 200

"""Servers and a database that are killed while clients write:

what was answered is there, what was not is told, and it goes on.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from engines import server as of_this_process
from servers.started import start, within
from service import new_key

from remembrancer.testing.linear import CounterRead, not_one_counter
from remembrancer.testing.postgres import Postgres
from remembrancer.testing.servers import Answer, Server

CLIENTS = 8


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """A PostgreSQL that forgets nothing, to be killed."""
    of_this_process()  # skips where there is none
    with Postgres(fsync="on", full_page_writes="on") as started:
        yield started


@pytest.fixture
def begin(database: Postgres, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts one more server on a new store."""
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
    """A key of the owner, made before any server was there."""
    with closing(within(begin.url, tmp_path / "within")) as context:  # type: ignore[attr-defined]
        return new_key(context)


class Load:
    """Clients that remember turns and take steps, at one server after the other, until they are
    told to end; what they were answered.
    """

    def __init__(self, servers: list[Server], key: str) -> None:
        self.servers, self.key = servers, key
        self.turns: dict[str, str] = {}  # event_id -> the turn's own word
        self.steps: list[CounterRead] = []
        self.others: list[Answer] = []  # that are not 200
        self._ends = threading.Event()
        self._answered = threading.Semaphore(0)
        self._clients = ThreadPoolExecutor(CLIENTS)
        self._running = [self._clients.submit(self._go, client) for client in range(CLIENTS)]

    def wait_for(self, answers: int) -> None:
        """Until so many more calls were answered with 200."""
        for _ in range(answers):
            assert self._answered.acquire(timeout=60)

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
                    self._answered.release()
                else:
                    self.others.append(answer)


def lost(one: Server, load: Load) -> list[str]:
    """Return answered turns that are incomplete, or absent from a search for their own word."""
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


def test_a_server_that_is_killed_loses_nothing_it_answered_and_the_others_go_on(
    begin: Callable[..., Server], key: str
) -> None:
    killed, other = begin(), begin()
    load = Load([killed, other], key)
    load.wait_for(40)
    killed.kill()
    load.wait_for(40)  # by the other one
    load.end()

    assert {answer.status for answer in load.others} == {0}
    assert not_one_counter(load.steps) == []
    assert lost(other, load) == []


def test_a_database_that_is_killed_loses_nothing_answered_and_service_resumes_when_it_is_back(
    begin: Callable[..., Server], database: Postgres, key: str
) -> None:
    """Meanwhile every answer is 503 and says when to come again; the servers are alive and not
    ready, and need no restart.

    Steps are not flushed: as after a power cut, the last ones before the crash may be counted again
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


def test_a_failover_to_the_standby_loses_no_answered_turn_and_restarts_no_server(
    tmp_path: Path,
) -> None:
    """A fail-over as docs/guides/deploy.md describes it:

    both machines are in the URL, and the standby is synchronous.
    """
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


def test_a_server_that_starts_before_its_database_waits_for_it_or_ends_and_says_so(
    begin: Callable[..., Server], database: Postgres, key: str
) -> None:
    database.kill()
    patient, impatient = begin(), begin(REMEMBRANCER_STORE_WAIT_SECONDS="0")
    ended = impatient.process.wait(60)
    while "for the store" not in patient.log.read_text("utf-8") and patient.process.poll() is None:
        pass
    database.start()

    assert ended == 1
    assert "postgresql" in impatient.log.read_text("utf-8")
    assert patient.get("/readyz").status == 200
    assert patient.get("/api/v7/key", key=key).status == 200

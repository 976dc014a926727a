"""Measure several servers on one PostgreSQL: throughput, and losses when processes are killed.

    python -m bench.servers [--seconds 15] [--kills 10]

Fifty clients, each with its own user, store turns and search. The baseline is one server in the
same run. In a second part servers and the database are killed. After each series of kills the
acknowledged turns are read back and the steps of a shared session are checked.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench.linear import CounterRead, not_one_counter
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import Settings
from remembrancer.testing.postgres import Postgres
from remembrancer.testing.servers import Answer, Server

SEED, CLIENTS, SERVERS, FILLED = 11, 50, 3, 200
SETTINGS = {
    "REMEMBRANCER_EMBEDDER": "none",
    "REMEMBRANCER_SANDBOX_MIN_LEVEL": "gvisor",
    "REMEMBRANCER_LOG_LEVEL": "error",
}
SURVIVING = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
}


@dataclass
class Load:
    """A load of many clients, and the responses: turns by event_id, steps and statuses."""

    servers: list[Server]
    key: str
    share_a_session: bool = False
    turns: dict[str, str] = field(default_factory=dict)
    steps: list[CounterRead] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    is_stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float) -> float:
        """Run all clients for this long; return successful requests per second."""
        self.is_stopped.clear()
        before, start = self.statuses[200], time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as clients:
            running = [clients.submit(self._go, client) for client in range(CLIENTS)]
            time.sleep(seconds)
            self.is_stopped.set()
        for one in running:
            one.result()
        return (self.statuses[200] - before) / (time.perf_counter() - start)

    def _go(self, client: int) -> None:
        for number in itertools.count(client):
            if self.is_stopped.is_set():
                return
            one, word, user_id = (
                self.servers[number % len(self.servers)],
                f"zq{time.monotonic_ns()}x{client}",
                f"user-{client}",
            )
            turn = one.post(
                "/api/v7/remember",
                {"query": f"Note {word}", "response": "Kept.", "user_id": user_id},
                key=self.key,
            )
            if turn.status == 200:
                self.turns[turn.body["event_id"]] = word
            where = (
                {"user_id": "all", "session_id": "steps"}
                if self.share_a_session
                else {"user_id": user_id}
            )
            step = one.post(
                "/api/v7/memory", {"query_text": word, "top_k": 3, **where}, key=self.key
            )
            self.steps.append(
                CounterRead(
                    step.began, step.ended, step.body["step"] if step.status == 200 else None
                )
            )
            self.statuses.update((turn.status, step.status))

    def lost(self) -> int:
        """Return the number of acknowledged turns that are missing or incomplete."""
        answers = {
            event_id: self.servers[0].get(f"/api/v7/event/{event_id}", key=self.key)
            for event_id in self.turns
        }
        return sum(
            not _is_whole(answer, self.turns[event_id]) for event_id, answer in answers.items()
        )


def _is_whole(answer: Answer, word: str) -> bool:
    return answer.status == 200 and answer.body["query"] == f"Note {word}"


def new_key(url: str, folder: Path) -> str:
    """Create a store; return a key of the owner."""
    with closing(open_records(Settings(data=folder, store=url))) as records:
        return keys.create(records, account="bench").key.reveal()


def started(opened: ExitStack, url: str, folder: Path, count: int) -> list[Server]:
    """Start servers and wait until they are ready."""
    servers = [
        opened.enter_context(
            Server(folder / f"{time.monotonic_ns()}", REMEMBRANCER_STORE=url, **SETTINGS)
        )
        for _ in range(count)
    ]
    for one in servers:
        while one.get("/readyz").status != 200:
            time.sleep(0.05)
    return servers


@dataclass(frozen=True, slots=True)
class Throughput:
    """The answers of a number of servers."""

    requests: int
    others: int  # responses with another status than 200
    rollbacks: int
    rate: float  # successful requests per second


def throughput(
    store: tuple[str, str],
    folder: Path,
    seconds: float,
    count: int,
) -> Throughput:
    """Measure some servers on a store (URL, key)."""
    url, key = store
    rollbacks = rolled_back(url)
    with ExitStack() as opened:
        servers = started(opened, url, folder, count)
        load = Load(servers, key)
        load.run(3)  # warm-up
        rate = load.run(seconds)
        return Throughput(
            requests=load.statuses[200],
            others=load.statuses.total() - load.statuses[200],
            rollbacks=rolled_back(url) - rollbacks,
            rate=rate,
        )


def unlimited(database: Postgres, folder: Path, seconds: float) -> list[list[str]]:
    """Return the table rows for one and for several servers that share all processors."""
    measured = {}
    for count in (1, 2, SERVERS):
        url = database.database()
        store = url, new_key(url, folder / f"store-{count}")
        measured[count] = throughput(store, folder, seconds, count)
    return [
        [
            str(count),
            f"{one.requests:,}",
            str(one.others),
            f"{one.rollbacks:,}",
            f"{one.rate:.0f}",
            f"{one.rate / measured[1].rate:.2f}x",
        ]
        for count, one in measured.items()
    ]


def rolled_back(url: str) -> int:
    """Return the number of transactions that were rolled back."""
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute(
            "select xact_rollback from pg_stat_database where datname = current_database()"
        ).fetchall()
    return int(count)


def killed(database: Postgres, folder: Path, kills: int) -> list[str]:
    """Return the losses after kills of a server and of the database under load."""
    url, chance = database.database(), random.Random(SEED)
    key, sentences = new_key(url, folder / "within"), []
    with ExitStack() as opened:
        servers = started(opened, url, folder, SERVERS)
        for what in ("a server", "the database"):
            load = Load(servers, key, share_a_session=True)
            for _ in range(kills):
                load_thread = threading.Thread(target=load.run, args=(2.5,))
                load_thread.start()
                time.sleep(0.5 + chance.random())
                if what == "a server":
                    victim = chance.randrange(SERVERS)
                    servers[victim].kill()
                    load_thread.join()
                    servers[victim] = started(opened, url, folder, 1)[0]
                else:
                    database.kill()
                    time.sleep(0.3)
                    database.start()
                    load_thread.join()
            statuses = ", ".join(
                f"{n:,} with status {status}" for status, n in sorted(load.statuses.items())
            )
            sentence = (
                f"{kills} kills of {what}: {len(load.turns):,} acknowledged turns, "
                f"{load.lost()} lost or incomplete"
            )
            # Steps are not flushed: a database that crashed may count some again.
            if what == "a server":
                sentence += (
                    f"; of {len(load.steps):,} steps, {len(not_one_counter(load.steps))} not "
                    "linearizable"
                )
            sentences.append(f"{sentence}; responses: {statuses}.")
    return sentences


def main() -> None:
    """Measure throughput and losses, and write the section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument(
        "--seconds", type=float, default=15, help="duration of each measurement. Default: 15"
    )
    parser.add_argument("--kills", type=int, default=10, help="kills per series. Default: 10")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Postgres(**SURVIVING) as database:
        folder = Path(name)
        rows = unlimited(database, folder, arguments.seconds)
        losses = killed(database, folder, arguments.kills)
    heads = [
        "servers",
        "successful requests",
        "other responses",
        "rolled-back transactions",
        "requests/s",
        "ratio to one server",
    ]
    text = (
        f"{CLIENTS} clients, each with its own user. Each stores a turn (flushed) and searches, "
        f"in a loop.\n\n{table(heads, rows)}\n\n"
    )
    note = (
        "Status 0: connection lost. Servers, database and clients share the processors: this "
        "measures losses, not scaling."
    )
    text += "\n\n".join([*losses, note])
    command = f"python -m bench.servers --seconds {arguments.seconds:.0f} --kills {arguments.kills}"
    write_section("servers", "Several servers on one PostgreSQL", command, text)


if __name__ == "__main__":
    main()

"""Measure several servers on one PostgreSQL: throughput, and losses when processes are killed.

    python -m bench.servers [--seconds 15] [--kills 10] [--server-cores 0.25 --rounds 3]

Fifty clients, each with its own user, store turns and search. The baseline is one server in the
same run. In a second part servers and the database are killed. After each series of kills the
acknowledged turns are read back and the steps of a shared session are checked.

`--server-cores` measures scaling alone, emulated on one machine: a control group limits each server
to this share of a core, so that the database and the clients have the rest (as root on Linux).
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from bench.core_share import core_share
from bench.processes import family
from bench.report import table, write_section
from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import open_records
from remembrancer.memory.write.events import write_batch
from remembrancer.protocol.memory import TurnBatch
from remembrancer.settings import Settings
from remembrancer.testing.linear import CounterRead, not_one_counter
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


def filled_store(url: str, folder: Path) -> str:
    """Create a store in which each user has FILLED turns; return a key of the owner.

    In an empty store all users share a few pages of each index, and transactions of different users
    conflict on them.
    """
    key = new_key(url, folder)
    turns = [
        {"query": f"Note {number}: pier {number * 7 % 31}", "response": "Kept."}
        for number in range(FILLED)
    ]
    settings = Settings(data=folder, store=url, embedder="none")
    with closing(testing.context(folder, settings=settings)) as context:
        for client in range(CLIENTS):
            batch = TurnBatch.model_validate({"turns": turns, "user_id": f"user-{client}"})
            write_batch(context, caller_for(context), batch)
        context.store.run_outside_transaction("vacuum analyze")
    return key


def throughput(
    store: tuple[str, str],
    folder: Path,
    seconds: float,
    shares: Sequence[float],
) -> Throughput:
    """Measure servers on a store (URL, key); `shares`: the cores of each, 0 for no limit."""
    url, key = store
    rollbacks = rolled_back(url)
    with ExitStack() as opened:
        servers = started(opened, url, folder, len(shares))
        for one, cores in zip(servers, shares, strict=True):
            if cores:
                opened.enter_context(core_share(cores, family(one.process.pid)))
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
        measured[count] = throughput(store, folder, seconds, [0] * count)
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


def limited(
    database: Postgres, folder: Path, seconds: float, cores: float, rounds: int
) -> list[list[str]]:
    """Return the table rows for one and for several servers with a share of a core each."""
    url = database.database()
    store = url, filled_store(url, folder / "store")
    measured: dict[int, list[Throughput]] = {count: [] for count in (1, 2, SERVERS)}
    for _ in range(rounds):
        for count, some in measured.items():
            some.append(throughput(store, folder, seconds, [cores] * count))
    rows = []
    for count, some in measured.items():
        ratios = [one.rate / first.rate for one, first in zip(some, measured[1], strict=True)]
        rows.append(
            [
                str(count),
                f"{median(one.rate for one in some):.0f}",
                f"{median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})",
                str(sum(one.others for one in some)),
                f"{median(one.rollbacks / one.requests for one in some):.3f}",
            ]
        )
    return rows


def write_limited(rows: list[list[str]], seconds: float, cores: float, rounds: int) -> None:
    """Write the section about servers with a share of a core each."""
    heads = [
        "servers",
        "requests/s",
        "ratio to one server",
        "other responses",
        "rolled-back transactions per request",
    ]
    text = (
        f"Emulated: all on one machine, where a control group limits each server to {cores} of a "
        "core; the database and the clients have the rest. "
        f"{CLIENTS} clients, each with its own user of {FILLED} turns. Each stores a turn "
        "(flushed) and searches, in a loop. "
        f"Medians of {rounds} rounds of {seconds:.0f} s, in turn; the ratios with their "
        f"range.\n\n{table(heads, rows)}"
    )
    command = (
        f"python -m bench.servers --server-cores {cores} --seconds {seconds:.0f} --rounds {rounds}"
    )
    write_section("servers-limited", "Servers with a share of a core, emulated", command, text)


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
    parser.add_argument(
        "--server-cores",
        type=float,
        help="limit each server to this share of a core; measure scaling only. Default: no limit",
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds with --server-cores. Default: 3"
    )
    arguments = parser.parse_args()
    if arguments.server_cores is not None:
        seconds, cores, rounds = arguments.seconds, arguments.server_cores, arguments.rounds
        with tempfile.TemporaryDirectory() as name, Postgres(**SURVIVING) as database:
            rows = limited(database, Path(name), seconds, cores, rounds)
        write_limited(rows, seconds, cores, rounds)
        return
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

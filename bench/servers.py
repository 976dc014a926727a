"""Measure the throughput of several servers on one PostgreSQL.

    python -m bench.servers [--seconds 15]

Fifty clients, each with its own user, store turns and search. The baseline is one server in the
same run. What kills lose is tested (tests/servers).
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import Settings
from remembrancer.testing.postgres import Postgres
from remembrancer.testing.servers import Server

CLIENTS, SERVERS = 50, 3
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
    """A load of many clients, and the statuses of its responses."""

    servers: list[Server]
    key: str
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
        user = {"user_id": f"user-{client}"}
        for number in itertools.count(client):
            if self.is_stopped.is_set():
                return
            server, word = self.servers[number % len(self.servers)], f"zq{number}x{client}"
            turn = user | {"query": f"Note {word}", "response": "Kept."}
            search = user | {"query_text": word, "top_k": 3}
            for path, body in (("/api/v7/remember", turn), ("/api/v7/memory", search)):
                self.statuses[server.post(path, body, key=self.key).status] += 1


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


def row_of(url: str, folder: Path, seconds: float, count: int) -> tuple[list[str], float]:
    """Measure some servers on a new store; return their table row and the rate."""
    key, before = new_key(url, folder / "first"), rolled_back(url)
    with ExitStack() as opened:
        load = Load(started(opened, url, folder, count), key)
        load.run(3)  # warm-up
        rate = load.run(seconds)
    answers = load.statuses[200]
    others, rollbacks = load.statuses.total() - answers, rolled_back(url) - before
    return [str(count), f"{answers:,}", str(others), f"{rollbacks:,}", f"{rate:.0f}"], rate


def rolled_back(url: str) -> int:
    """Return the number of transactions that were rolled back."""
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute(
            "select xact_rollback from pg_stat_database where datname = current_database()"
        ).fetchall()
    return int(count)


def main() -> None:
    """Measure throughput and losses, and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument(
        "--seconds", type=float, default=15, help="duration of each measurement. Default: 15"
    )
    arguments = parser.parse_args()
    rows, alone = [], 0.0
    with Postgres(**SURVIVING) as database:
        for count in (1, 2, SERVERS):
            with tempfile.TemporaryDirectory() as name:
                row, rate = row_of(database.database(), Path(name), arguments.seconds, count)
            alone = alone or rate
            rows.append([*row, f"{rate / alone:.2f}x"])
    heads = ["servers", "answers", "others", "rolled back", "requests/s", "ratio to one server"]
    text = (
        f"{CLIENTS} clients, each with its own user. Each stores a turn (flushed) and searches, "
        f"in a loop.\n\n{table(heads, rows)}\n\n"
        "Servers, database and clients share the processors: this does not measure scaling."
    )
    command = f"python -m bench.servers --seconds {arguments.seconds:.0f}"
    write_section("servers", "Several servers on one PostgreSQL", command, text)


if __name__ == "__main__":
    main()

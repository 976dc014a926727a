"""Measure latency, throughput, CPU, memory, disk and start-up of the server over HTTP.

    python -m bench.http --data locomo-dev.json [--sizes 1000 10000 100000] [--users 1000]

Stores are filled through the service's own code (bench/load.py). A server process then receives
sequential requests on one connection. CPU time is that of the server process.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from bench.load import SEED, Turns, fill
from bench.processes import family
from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import Context, assemble
from remembrancer.settings import read

SEARCHES, ADDED, CLIENTS = 300, 200, 16
TICKS = os.sysconf("SC_CLK_TCK")
WORKERS = os.environ.get("REMEMBRANCER_WORKERS", "1")  # processes of a server


def code_of(checkout: Path) -> dict[str, str]:
    """Return the variable that lets Python run the code of a checkout with its own packages."""
    packages = sorted(checkout.glob(".venv/lib/python*/site-packages"))
    return {"PYTHONPATH": ":".join(map(str, (checkout / "src", checkout, *packages)))}


@dataclass
class Server:
    """A server process on a data folder, and one connection to it."""

    folder: Path
    key: str
    settings: dict[str, str] = field(default_factory=dict)
    module: str = "remembrancer"  # the program: python -m MODULE serve
    process: subprocess.Popen[str] = field(init=False)
    port: int = field(init=False)
    started_ms: float = field(init=False)

    def __enter__(self) -> Self:
        begin = time.perf_counter()
        # A bench is a flood of one key.
        limits = {"REMEMBRANCER_RATE_MEMORY_PER_MINUTE": "0", "REMEMBRANCER_WORKERS": WORKERS}
        environment = os.environ | limits | {"REMEMBRANCER_DATA": str(self.folder)} | self.settings
        command = [sys.executable, "-m", self.module, "serve", "--port", "0"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(
            command, env=environment, stderr=subprocess.DEVNULL, text=True, **pipes
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        while True:
            try:
                if self.request("GET", "/readyz")[0] == 200:
                    break
            except OSError:
                continue
        self.started_ms = (time.perf_counter() - begin) * 1e3
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        via: http.client.HTTPConnection | None = None,
    ) -> tuple[int, bytes]:
        connection = via or self.connection()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def cpu_ms(self) -> float:
        """Return the CPU time of the server and its processes, ended ones included."""
        ticks = 0
        for pid in family(self.process.pid):
            with suppress(OSError):  # it has ended
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(field) for field in fields[11:15])
        return ticks * 1000 / TICKS

    def settle(self) -> None:
        """Wait until the server has warmed up its indexes and is idle."""
        before = -1.0
        while before != (before := self.cpu_ms()):
            time.sleep(0.5)

    def rss_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def posted(server: Server, path: str, bodies: Sequence[dict[str, Any]]) -> list[float]:
    """Send requests one after another on one connection; return the ms of each."""
    connection, times = server.connection(), []
    for body in bodies:
        begin = time.perf_counter()
        status, answer = server.request("POST", path, body, connection)
        times.append((time.perf_counter() - begin) * 1e3)
        if status != 200:
            raise SystemExit(f"{path} answered {status}: {answer[:300]!r}")
    return times


def timed(server: Server, bodies: Sequence[dict[str, Any]], path: str) -> tuple[list[float], float]:
    """Return the milliseconds of sequential requests, and the server's CPU ms per request."""
    posted(server, path, bodies[:10])
    before = server.cpu_ms()
    took = posted(server, path, bodies)
    return took, (server.cpu_ms() - before) / len(bodies)


def quantiles(took: Sequence[float]) -> list[str]:
    """Return p50, p95 and p99 in ms."""
    return [f"{np.percentile(took, q):.2f}" for q in (50, 95, 99)]


def searches(turns: Turns, user_id: str, **more: Any) -> list[dict[str, Any]]:
    """Return distinct questions, to avoid cached answers."""
    chosen = np.random.default_rng(SEED).permutation(len(turns.questions))[:SEARCHES]
    return [{"query_text": turns.questions[at], "user_id": user_id, **more} for at in chosen]


def concurrent_adds(server: Server, turns: Turns, user_id: str) -> float:
    """Return turns per second with many clients."""
    bodies = [
        {"query": turns.text(), "response": turns.text(), "user_id": user_id}
        for _ in range(CLIENTS * 40)
    ]

    def one(some: list[dict[str, Any]]) -> None:
        connection = server.connection()
        for body in some:
            server.request("POST", "/api/v7/remember", body, connection)

    begin = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(one, [bodies[at::CLIENTS] for at in range(CLIENTS)]))
    return len(bodies) / (time.perf_counter() - begin)


def disk_mb(folder: Path) -> float:
    """Return the size of the data folder in MB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def fdatasync_ms(folder: Path) -> float:
    """Return the median of a durable 4 KiB append: a lower bound for durable writes."""
    took = []
    with (folder / "sync.tmp").open("wb", buffering=0) as file:
        for _ in range(100):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - begin) * 1e3)
    (folder / "sync.tmp").unlink()
    return float(np.median(took))


def prepared(
    folder: Path, make: Callable[[Context, int, Turns], None], data: Path
) -> tuple[str, Turns]:
    """Fill a store in `folder`; return a key and the source of its turns."""
    context = assemble(read(data=folder))
    key = keys.create(context, account="bench", label="bench").key.reveal()
    caller = keys.authenticate(context, key)
    turns = Turns(data, context)
    make(context, caller.account_id, turns)
    context.close()
    return key, turns


def one_size(
    label: str, folder: Path, key: str, turns: Turns, events: int, user_id: str
) -> list[str]:
    """Return the table row of one store."""
    disk = disk_mb(folder) / events * 1000
    baseline = fdatasync_ms(folder)
    with Server(folder, key) as server:
        begin = time.perf_counter()
        server.request(
            "POST", "/api/v7/memory", {"query_text": "hello", "user_id": user_id, "interact": False}
        )
        first = (time.perf_counter() - begin) * 1e3
        server.settle()
        took, cpu = timed(server, searches(turns, user_id), "/api/v7/memory")
        rss = server.rss_mb()
        adds = [
            {"query": turns.text(), "response": turns.text(), "user_id": user_id}
            for _ in range(ADDED)
        ]
        added, add_cpu = timed(server, adds, "/api/v7/remember")
        rate = concurrent_adds(server, turns, user_id)
    return [
        label,
        *quantiles(took),
        f"{cpu:.2f}",
        *quantiles(added),
        f"{baseline:.2f}",
        f"{add_cpu:.2f}",
        *(f"{value:.0f}" for value in (rate, rss)),
        f"{disk:.2f}",
        *(f"{value:.0f}" for value in (server.started_ms, first)),
    ]


HEADS = [
    "store", "search p50 ms", "search p95 ms", "search p99 ms", "search CPU ms",
    "add p50 ms", "add p95 ms", "add p99 ms", "fdatasync ms",
    "add CPU ms", f"adds/s, {CLIENTS} clients", "RSS MB", "disk MB per 1,000 events",
    "start-up ms", "first search ms",
]  # fmt: skip


def main() -> None:
    """Fill each store, measure a server on it, and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="*",
        default=[1_000, 10_000, 100_000],
        help="events of one user. Default: 1000 10000 100000",
    )
    parser.add_argument(
        "--users",
        type=int,
        default=1_000,
        help="number of users with 100 events each. Default: 1000; 0 omits this store",
    )
    arguments = parser.parse_args()
    stores = [(f"1 user, {size:,} events", 1, size) for size in arguments.sizes]
    if arguments.users:
        stores.append((f"{arguments.users:,} users, 100 events each", arguments.users, 100))
    rows = []
    for label, users, events in stores:

        def make(
            context: Context,
            account_id: int,
            turns: Turns,
            users: int = users,
            events: int = events,
        ) -> None:
            for number in range(users):
                fill(context, account_id, f"u{number}", turns, events)

        with tempfile.TemporaryDirectory() as name:
            key, turns = prepared(Path(name), make, arguments.data)
            rows.append(one_size(label, Path(name), key, turns, users * events, "u0"))
    write_section(
        "http",
        "Latency over HTTP",
        "python -m bench.http --data locomo-dev.json",
        table(HEADS, rows),
    )


if __name__ == "__main__":
    main()

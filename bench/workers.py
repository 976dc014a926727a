"""Measure one server with one worker process and with several: throughput, latency and memory.

    python -m bench.workers --data locomo-dev.json [--events 10000] [--rounds 5] [--seconds 6]

Two servers, each on its own copy of one SQLite store, get the same load in turn, in pairs: 16
clients in a process of their own search, then store turns, then batches of BATCH turns. Memory is
that of all processes of a server (PSS: a page that several share counts once), before and after the
load.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import shutil
import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from bench.http import Server, prepared
from bench.load import Turns, fill
from bench.report import arguments_of, table, write_section
from bench.soak import sample
from remembrancer.context import Context

CLIENTS, USER, BATCH = 16, "u0", 50
BATCHES = f"batches of {BATCH} turns"
PATHS = {
    "searches": "/api/v7/memory",
    "added turns": "/api/v7/remember",
    BATCHES: "/api/v7/memory/batch",
}


def load(port: int, key: str, path: str, bodies: list[Any], seconds: float, to: Any) -> None:
    """Send requests from all clients for some seconds.

    Puts their milliseconds and the number of answers per second into `to`.
    """
    took: list[float] = []
    start = time.perf_counter()
    until = start + seconds

    def one(client: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        number = client
        while (begin := time.perf_counter()) < until:
            connection.request("POST", path, bodies[number % len(bodies)], headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{path} answered {answer.status}: {text[:300]!r}")
            took.append((time.perf_counter() - begin) * 1e3)
            number += CLIENTS

    threads = [threading.Thread(target=one, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    to.put((took, len(took) / (time.perf_counter() - start)))


def measure(
    server: Server, path: str, bodies: list[str], seconds: float
) -> tuple[list[float], float]:
    """Return the milliseconds of the requests in that time, and the answers per second."""
    results: Any = multiprocessing.Queue()
    client = multiprocessing.Process(
        target=load, args=(server.port, server.key, path, bodies, seconds, results)
    )
    client.start()
    took, rate = results.get()
    client.join()
    return took, rate


def bodies_of(turns: Turns) -> dict[str, list[str]]:
    """Return bodies of searches and of turns."""
    searches = [
        {"query_text": question, "user_id": USER, "session_id": f"bench-{number % 97}"}
        for number, question in enumerate(turns.questions)
    ]
    adds = [
        {"query": turns.text(), "response": turns.text(), "user_id": USER} for _ in range(4_000)
    ]
    return {
        "searches": [json.dumps(body) for body in searches],
        "added turns": [json.dumps(body) for body in adds],
        BATCHES: [json.dumps({"turns": adds[at : at + BATCH]}) for at in range(0, 4_000, BATCH)],
    }


def main() -> None:
    """Measure both servers and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument("--events", type=int, default=10_000, help="of one user. Default: 10000")
    parser.add_argument("--rounds", type=int, default=5, help="Default: 5")
    parser.add_argument("--seconds", type=float, default=6.0, help="of a round. Default: 6")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="Default: 1 2")
    options = parser.parse_args()

    def make(context: Context, account_id: int, turns: Turns) -> None:
        fill(context, account_id, USER, turns, options.events)

    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        first = Path(name) / "first"
        key, turns = prepared(first, make, options.data)
        servers = {}
        for count in options.workers:
            folder = Path(name) / str(count)
            shutil.copytree(first, folder)
            folder.chmod(0o700)
            settings = {"REMEMBRANCER_WORKERS": str(count)}
            servers[count] = opened.enter_context(Server(folder, key, settings))
        rows = run(servers, bodies_of(turns), options.rounds, options.seconds)
    write_section(
        "workers",
        "Worker processes",
        f"python -m bench.workers --data locomo-dev.json --events {options.events}"
        f" --rounds {options.rounds} --workers {' '.join(map(str, options.workers))}",
        table(HEADS, rows)
        + f"\n\n{CLIENTS} clients on the same machine; medians of {options.rounds} rounds of "
        f"{options.seconds:g} s, in turn, with the smallest and largest ratio of a round to one "
        "worker.",
    )


HEADS = ["workers", "load", "a second", "of one worker", "p50 ms", "p99 ms", "PSS MB", "of one"]


def run(
    servers: dict[int, Server], bodies: dict[str, list[str]], rounds: int, seconds: float
) -> list[list[str]]:
    """Return the rows of the table."""
    rates: dict[tuple[int, str], list[float]] = {}
    delays: dict[tuple[int, str], list[float]] = {}
    for kind, path in PATHS.items():
        for number in range(rounds + 1):
            for count, server in servers.items():
                took, rate = measure(server, path, bodies[kind], seconds)
                if number:  # the first one warms up
                    rates.setdefault((count, kind), []).append(rate)
                    delays.setdefault((count, kind), []).extend(took)
    memory = {count: sample(one.process.pid, 0.0).pss_mb for count, one in servers.items()}
    base = min(servers)
    rows = []
    for (count, kind), values in rates.items():
        ratios = [one / other for one, other in zip(values, rates[base, kind], strict=True)]
        p50, p99 = np.percentile(delays[count, kind], (50, 99))
        rows.append(
            [
                str(count),
                kind,
                f"{statistics.median(values):.0f}",
                f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})",
                f"{p50:.1f}",
                f"{p99:.1f}",
                f"{memory[count]:.0f}",
                f"{memory[count] / memory[base]:.2f}x",
            ]
        )
    return rows


if __name__ == "__main__":
    main()

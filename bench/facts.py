"""Measure one user with many facts: import, searches and new facts of several clients, forgetting.

    python -m bench.facts [--facts 100000] [--embedder none]

Facts are imported over HTTP, 500 a request. Then CLIENTS clients of that user search, add facts and
read the start pack at once, while another account searches. CPU time is that of the server.
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from bench.http import Server
from bench.report import arguments_of, table, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import Settings

CLIENTS, CALLS, BATCH = 4, 60, 500
THINGS = ("lamp", "door", "boat", "wall", "kettle", "shelf", "bike", "tent", "rope", "gate", "pump")
COLOURS = ("red", "blue", "green", "white", "black", "grey", "brown", "yellow")


def fact(n: int) -> str:
    """Return a statement about a thing of its own."""
    return f"The {COLOURS[n % 8]} {THINGS[n % 11]} number {n} is stored in room {n * 7 % 9973}."


def measure(facts: int, embedder: str) -> list[list[str]]:
    """Return the rows of the table."""
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        with closing(open_records(settings)) as records:
            new_keys = [
                keys.create(records, account=name, label="bench") for name in ("owner", "other")
            ]
        key, other = (one.key.reveal() for one in new_keys)
        with Server(Path(folder), key, {"REMEMBRANCER_EMBEDDER": embedder}) as server:
            began, cpu = time.perf_counter(), server.cpu_ms()
            for first in range(0, facts, BATCH):
                batch = [
                    {"id": str(n), "user_id": "u", "text": fact(n)}
                    for n in range(first, min(first + BATCH, facts))
                ]
                status, answer = server.request("POST", "/api/v7/memory/import", {"facts": batch})
                assert status == 200, answer
            seconds, cpu = time.perf_counter() - began, server.cpu_ms() - cpu
            rows.append(
                ["import", f"{facts / seconds:,.0f} facts/s", f"{cpu / facts:.2f} CPU ms each"]
            )
            rows += load(server, other, facts)
            rows.append(["memory", f"{server.rss_mb():.0f} MB RSS", ""])
            began = time.perf_counter()
            scope = {"user_id": "u", "confirm": "u"}
            status, answer = server.request("POST", "/api/v7/memory/forget", scope)
            assert json.loads(answer)["counts"]["facts"] >= facts, answer
            rows.append(["forget the user", f"{time.perf_counter() - began:.1f} s", ""])
    return rows


def load(server: Server, other: str, facts: int) -> list[list[str]]:
    """Return the latencies of the calls of several clients at once."""
    took: dict[str, list[float]] = {}
    calls: dict[str, Callable[[int], tuple[str, str, Any]]] = {
        "search": lambda n: ("POST", "/api/v7/memory", {
            "query_text": f"Where is the {THINGS[n % 11]} number {n}?",
            "user_id": "u", "interact": False,
        }),
        "new fact": lambda n: ("POST", "/api/v7/memory/facts", {
            "user_id": "u", "text": fact(facts + n),
        }),
        "start pack": lambda _: ("GET", "/api/v7/memory/start?user_id=u", None),
        "list of 100": lambda n: (
            "GET", f"/api/v7/memory/facts?user_id=u&limit=100&below={n + 1}", None,
        ),
    }  # fmt: skip
    searched = calls["search"](1)
    begin = time.perf_counter()
    server.request(*searched)
    first = [["first search", f"{time.perf_counter() - begin:.1f} s", ""]]
    begin_cpu = server.cpu_ms()

    def client(number: int) -> None:
        draw, via = random.Random(number), server.connection()
        for _ in range(CALLS):
            name = draw.choice(["search", "search", "new fact", "start pack", "list of 100"])
            request = calls[name](draw.randrange(facts))
            begin = time.perf_counter()
            status, answer = server.request(*request, via=via)
            assert status == 200, answer
            took.setdefault(name, []).append(time.perf_counter() - begin)

    def elsewhere() -> None:
        quiet = Server(server.folder, other)
        quiet.port = server.port
        via, question = quiet.connection(), {"query_text": "tea", "user_id": "v"}
        while any(thread.is_alive() for thread in threads[:-1]):
            begin = time.perf_counter()
            quiet.request("POST", "/api/v7/memory", question, via=via)
            took.setdefault("search of another account", []).append(time.perf_counter() - begin)
            time.sleep(0.05)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    threads.append(threading.Thread(target=elsewhere))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu = (server.cpu_ms() - begin_cpu) / sum(map(len, took.values()))

    def row(name: str) -> list[str]:
        p50, p99 = np.percentile(np.array(took[name]) * 1e3, [50, 99])
        return [name, f"p50 {p50:.0f} ms", f"p99 {p99:.0f} ms"]

    return [*first, *(row(name) for name in took), ["each call", f"{cpu:.1f} CPU ms", ""]]


def main(arguments: list[str] | None = None) -> Any:
    """Measure and write the section of results.md."""
    parser = arguments_of(__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--embedder", default="multilingual")
    chosen = parser.parse_args(arguments)
    rows = measure(chosen.facts, chosen.embedder)
    lines = table(["", f"{chosen.facts:,} facts of one user, embedder {chosen.embedder}", ""], rows)
    command = f"python -m bench.facts --facts {chosen.facts} --embedder {chosen.embedder}"
    write_section("facts", "Many facts of one user", command, lines)


if __name__ == "__main__":
    main()

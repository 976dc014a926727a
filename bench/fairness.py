"""Measure how much one account's flood of requests slows the calls of others.

    python -m bench.fairness [--accounts 20] [--seconds 12] [--workers N] [--against CHECKOUT]

Quiet accounts search and store turns, a call a second each, at times that are fixed before (a late
answer delays no later call). One more account sends as many requests as CLIENTS connections can, to
one endpoint after the other. `--against` measures the server of another checkout in the same way.
The clients are processes of their own.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import pydoc_data.topics
import random
import string
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.http import Server, code_of
from bench.report import arguments_of, table, write_section

HERE = Path(__file__).parents[1]
CLIENTS = 16  # of the flood
TURNS = 200  # of each account
BIG_TURNS = 8  # of 900 KB, of another user of the account that floods
WARM_SECONDS = 2.0
Body = dict[str, Any]
SOURCE = random.Random(5)
WORDS = ["".join(SOURCE.choices(string.ascii_lowercase, k=3 + n % 7)) for n in range(5_000)]
PROSE = "\n\n".join(pydoc_data.topics.topics.values())


def prose(size: int) -> str:
    """Return English from a random place of the language reference, repeated if it is too short."""
    start = SOURCE.randrange(len(PROSE))
    return (PROSE[start:] + PROSE * (size // len(PROSE) + 1))[:size]


def turn(n: int, size: int = 200) -> Body:
    """Return the body of a turn."""
    text = f"How is {WORDS[n % 4_000]} {n}?"
    return {"user_id": "u", "query": text, "response": prose(size)}


def question(n: int) -> Body:
    """Return the body of a search."""
    text = f"how is {WORDS[n % TURNS]} {WORDS[n % 50]}"
    return {"user_id": "u", "query_text": text, "interact": False}


LONG = prose(900_000)


FLOODS: dict[str, tuple[str, Callable[[int], Body]]] = {
    "search": ("/api/v7/memory", question),
    "search with focus words": (
        "/api/v7/memory",
        lambda n: question(n) | {"focus_words": WORDS[n % 100 : n % 100 + 20]},
    ),
    "remember": ("/api/v7/remember", turn),
    "remember 60 KB": ("/api/v7/remember", lambda n: turn(n, 60_000)),
    "remember 900 KB": ("/api/v7/remember", lambda n: turn(n, 900_000)),
    "programs": (
        "/api/execute/code",
        lambda n: {"code": f"x = sum(range(3_000_000 + {n}))", "session_id": "s"},
    ),
    "chat": (
        "/api/v7/agent/chat",
        lambda n: {"user_id": "u", "message": f"How is {WORDS[n % TURNS]}?"},
    ),
    "batches of 500": (
        "/api/v7/memory/batch",
        lambda n: {
            "user_id": f"u{n}",
            "turns": [
                {"query": f"{WORDS[m % 4_000]} {m}?", "response": prose(400)} for m in range(500)
            ],
        },
    ),
    "2048 embeddings": (
        "/v1/embeddings",
        lambda _: {"model": "remembrancer", "input": [prose(100) for _ in range(2_048)]},
    ),
    "long searches": (
        "/api/v7/memory",
        lambda _: {"user_id": "big", "query_text": prose(20_000), "top_k": 100, "interact": False},
    ),
    "second looks": ("/api/v7/agent/second-look", lambda _: {"draft": LONG}),
    "invented keys": ("/api/v7/memory", question),
}


def send(key: str, path: str, body: Body, via: http.client.HTTPConnection) -> int:
    """Send one request; return its status."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    via.request("POST", path, json.dumps(body), headers)
    answer = via.getresponse()
    answer.read()
    return answer.status


def flood(port: int, key: str, name: str, count: Any) -> None:
    """Send requests without a pause until the process is ended; count those that end.

    At the lowest priority: clients that flood are elsewhere, and take no processor of the server.
    """
    os.nice(19)
    path, make = FLOODS[name]
    bodies = [make(n) for n in range(50)]
    # Made before, because a client that makes them on the way floods less.

    def one(client: int) -> None:
        n = client
        while True:
            via = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            try:
                while True:
                    n += CLIENTS
                    own = f"{key}{n}" if name == "invented keys" else key
                    send(own, path, bodies[n % len(bodies)], via)
                    count.value += 1
            except OSError:
                continue

    threads = [threading.Thread(target=one, args=(n,), daemon=True) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    threads[0].join()


def quiet(port: int, keys: list[str], seconds: float, results: Any) -> None:
    """Send the calls of the quiet accounts; put (path, milliseconds, status) of each."""
    times: list[tuple[str, float, int]] = []
    begin = time.perf_counter()

    def one(place: int, key: str) -> None:
        source = random.Random(place)
        via = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        due, n = begin + source.random(), place
        while due < begin + seconds:
            time.sleep(max(due - time.perf_counter(), 0))
            path, make = FLOODS["remember" if n % 4 == 0 else "search"]
            status = send(key, path, make(n), via)
            if due > begin + WARM_SECONDS:
                times.append((path, (time.perf_counter() - due) * 1e3, status))
            due, n = due + 1.0, n + 1

    threads = [threading.Thread(target=one, args=each) for each in enumerate(keys)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(times)


@contextmanager
def server(
    checkout: Path, folder: Path, accounts: int, workers: int
) -> Iterator[tuple[Server, list[str]]]:
    """Yield a server of a checkout and the keys of some accounts, each with a small memory."""
    settings = code_of(checkout) | {
        "REMEMBRANCER_SANDBOX_MIN_LEVEL": "landlock",
        "REMEMBRANCER_WORKERS": str(workers),
    }
    environment = os.environ | settings | {"REMEMBRANCER_DATA": str(folder)}
    keys = []
    for n in range(accounts):
        command = [sys.executable, "-m", "remembrancer", "keys", "create", "--account", f"a{n}"]
        output = subprocess.run(
            command,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ).stdout
        keys.append(output.split()[-1])
    with Server(folder, keys[0], settings) as one:
        for key in keys:
            via = one.connection()
            for n in range(TURNS if key == keys[-1] else TURNS // 10):
                send(key, "/api/v7/remember", turn(n), via)
        for n in range(BIG_TURNS):
            send(keys[-1], "/api/v7/remember", turn(n) | {"user_id": "big", "response": LONG}, via)
        yield one, keys


def measured(one: Server, keys: list[str], seconds: float, name: str | None) -> tuple[Any, float]:
    """Return the milliseconds of quiet calls by path, and how many requests a second flooded."""
    *quiet_keys, flooder = keys
    spawn = multiprocessing.get_context("spawn")
    results, count = spawn.Queue(), spawn.Value("i", 0)
    own = "rk_invented" if name == "invented keys" else flooder
    noise = spawn.Process(target=flood, args=(one.port, own, name, count), daemon=True)
    if name is not None:
        noise.start()
        while not count.value:
            time.sleep(0.05)
    callers = spawn.Process(target=quiet, args=(one.port, quiet_keys, seconds, results))
    before = count.value
    callers.start()
    times = results.get()
    rate = (count.value - before) / seconds
    callers.join()
    if name is not None:
        noise.kill()
        noise.join()
        one.settle()
    refused = [status for _, _, status in times if status != 200]
    if refused:
        raise SystemExit(f"{name}: quiet calls answered {refused[:5]}")
    return np.array([ms for _, ms, _ in times]), rate


def rows_of(
    checkout: Path, accounts: int, seconds: float, floods: list[str], workers: int
) -> list[list[str]]:
    """Return a row for the quiet accounts alone and for each flood."""
    rows: list[list[str]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        server(checkout, Path(folder), accounts + 1, workers) as (one, keys),
    ):
        measured(one, keys, WARM_SECONDS + 2, None)
        alone: float = 0.0
        for name in (None, *floods):
            times, rate = measured(one, keys, seconds, name)
            p50, p99 = (float(np.percentile(times, q)) for q in (50, 99))
            alone = alone or p99
            cells = (f"{rate:.0f}" if name else "", f"{p50:.0f}", f"{p99:.0f}")
            rows.append([name or "none", *cells, f"{p99 / alone:.1f}"])
            print(*rows[-1], flush=True)
    return rows


def main() -> None:
    """Measure and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--accounts", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--floods", default=",".join(FLOODS), help="names, with commas between")
    parser.add_argument("--workers", type=int, default=0, help="Default: 0, one per processor")
    parser.add_argument("--against", type=Path, help="another checkout")
    options = parser.parse_args()
    heads = ["flood of", "its requests/s", "p50 ms", "p99 ms", "of p99 alone"]
    parts = []
    for label, checkout in (("another checkout", options.against), ("this one", HERE)):
        if checkout is not None:
            floods = options.floods.split(",")
            rows = rows_of(
                checkout.resolve(), options.accounts, options.seconds, floods, options.workers
            )
            parts += [f"Server of {label}:", "", table(heads, rows), ""]
    parts.append(
        f"{options.accounts} quiet accounts, {options.workers or os.cpu_count()} worker "
        f"processes; the flood comes from {CLIENTS} connections of a process of lowest priority."
    )
    title = "Calls of quiet accounts while another account floods the server"
    command = "python -m bench.fairness --against CHECKOUT"
    write_section("fairness", title, command, "\n".join(parts))


if __name__ == "__main__":
    main()

"""Compare adding turns with another checkout, over HTTP, in alternating rounds.

    python -m bench.adding CHECKOUT DATA [--rounds 5]

CHECKOUT is a checkout of this project at another commit, DATA a file of conversations in the format
of LoCoMo. In each round each checkout gets a new memory and the same turns, the two checkouts one
after the other: SEQUENTIAL turns on one connection, whose CPU time counts; CONCURRENT turns from
CLIENTS clients, whose number per second counts; BATCHES batches (a checkout without them shows
none); and `remembrancer import` of IMPORTED events, without its start. Every write is durable
before its answer. The middle round is reported, with the lowest and the highest. Servers have one
worker process, or as many as REMEMBRANCER_WORKERS says.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from math import isnan, nan
from pathlib import Path
from statistics import median
from typing import Any

from bench.cost import server
from bench.http import WORKERS, Server, code_of
from bench.report import arguments_of, table, write_section

HERE = Path(__file__).parents[1]
SEQUENTIAL, CONCURRENT, CLIENTS, BATCHES, BATCH, IMPORTED = 300, 1_600, 16, 4, 500, 6_000
SESSION_TURNS = 20
KEY = ["-m", "remembrancer", "keys", "create", "--account", "bench"]
MEASURES = {
    "CPU ms of a turn": "{:.2f}",
    "ms of a turn": "{:.2f}",
    f"turns/s, {CLIENTS} clients": "{:.0f}",
    "turns/s in batches": "{:.0f}",
    "events/s imported": "{:.0f}",
}
IMPORT = """
import sys, time
from pathlib import Path
from remembrancer.accounts import keys
from remembrancer.cli.memory import import_into
from remembrancer.context import assemble
from remembrancer.settings import Settings
context = assemble(Settings(data=Path(sys.argv[1])))
keys.create(context, account="bench")
start = time.perf_counter()
result = import_into(context, Path(sys.argv[2])).document
print(result["stored"] / (time.perf_counter() - start))
context.close()
"""


class Connection:
    """A connection of a client that needs little time of its own."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=120)
        self._head = (
            f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.key}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    def post(self, path: str, body: bytes) -> int:
        """Send a request; return the status of its response."""
        return self.answer(path, body)[0]

    def answer(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request; return the status and the body of its response."""
        self._socket.sendall(
            f"POST {path} HTTP/1.1\r\n{self._head}{len(body)}\r\n\r\n".encode() + body
        )
        received = b""
        while b"\r\n\r\n" not in received:
            received += self._socket.recv(65_536)
        head, _, rest = received.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._socket.recv(65_536)
        return int(head.split()[1]), rest

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def bodies(turns: Sequence[str], most: int, **more: Any) -> list[dict[str, Any]]:
    """Return turns of the conversations as the bodies of requests."""
    pairs = islice(zip(turns[0::2], turns[1::2], strict=False), most)
    return [
        {"query": query, "response": response, "session_id": f"s{place // SESSION_TURNS}", **more}
        for place, (query, response) in enumerate(pairs)
    ]


def concurrent(one: Server, requests: Sequence[bytes]) -> float:
    """Return the turns that CLIENTS clients have stored per second."""

    def send(some: Sequence[bytes]) -> None:
        connection = Connection(one)
        for body in some:
            if connection.post("/api/v7/remember", body) != 200:
                raise SystemExit("a turn was refused")
        connection.close()

    begin = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(send, [requests[at::CLIENTS] for at in range(CLIENTS)]))
    return len(requests) / (time.perf_counter() - begin)


def round_of(checkout: Path, turns: Sequence[str]) -> dict[str, float]:
    """Measure one checkout with a new memory."""
    kinds = iter(MEASURES)
    values: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, server(checkout, Path(name), KEY) as one:
        connection = Connection(one)
        all_turns = bodies(turns, len(turns), user_id="one")
        encoded = [json.dumps(body).encode() for body in islice(cycle(all_turns), CONCURRENT)]
        for body in encoded[-20:]:  # load what the first turn needs
            connection.post("/api/v7/remember", body)
        one.settle()
        before, begin = one.cpu_ms(), time.perf_counter()
        for body in encoded[:SEQUENTIAL]:
            connection.post("/api/v7/remember", body)
        values[next(kinds)] = (one.cpu_ms() - before) / SEQUENTIAL
        values[next(kinds)] = (time.perf_counter() - begin) * 1_000 / SEQUENTIAL
        one.settle()
        values[next(kinds)] = concurrent(one, encoded)
        one.settle()
        values[next(kinds)] = batches(connection, all_turns)
        connection.close()
    values[next(kinds)] = imported(checkout, turns)
    return values


def batches(connection: Connection, turns: Sequence[dict[str, Any]]) -> float:
    """Return the turns stored per second in batches; nan if there are none."""
    source: Iterator[dict[str, Any]] = cycle(turns)
    requests = [
        json.dumps({"turns": list(islice(source, BATCH)), "user_id": "batch"}).encode()
        for _ in range(BATCHES)
    ]
    begin = time.perf_counter()
    for body in requests:
        if connection.post("/api/v7/memory/batch", body) != 200:
            return nan
    return BATCH * BATCHES / (time.perf_counter() - begin)


def imported(checkout: Path, turns: Sequence[str]) -> float:
    """Return the events that an import stores per second."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "turns.jsonl"
        source = islice(cycle(bodies(turns, len(turns))), IMPORTED)
        lines = (json.dumps({**body, "id": f"t{place}"}) for place, body in enumerate(source))
        path.write_text("\n".join(lines), "utf-8")
        output = subprocess.run(
            [sys.executable, "-c", IMPORT, f"{name}/data", str(path)],
            env=os.environ | code_of(checkout),
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    return float(output)


def cell(kind: str, values: Sequence[float]) -> str:
    """Return the middle value with the lowest and the highest."""
    if any(map(isnan, values)):
        return "–"
    form = MEASURES[kind]
    low, middle, high = min(values), median(values), max(values)
    return f"{form.format(middle)} ({form.format(low)} to {form.format(high)})"


def main() -> None:
    """Measure both checkouts and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    turns = [
        turn["text"]
        for one in json.loads(options.data.read_text("utf-8"))
        for value in one["conversation"].values()
        if isinstance(value, list)
        for turn in value
    ]
    rounds: dict[Path, list[dict[str, float]]] = {options.checkout: [], HERE: []}
    for _ in range(options.rounds):
        for checkout, measured in rounds.items():
            measured.append(round_of(checkout, turns))
            print(checkout.name, measured[-1], file=sys.stderr)
    rows = [
        [kind, *(cell(kind, [one[kind] for one in measured]) for measured in rounds.values())]
        for kind in MEASURES
    ]
    write_section(
        f"adding-{WORKERS}",
        f"Adding turns, beside another commit (workers: {WORKERS})",
        f"REMEMBRANCER_WORKERS={WORKERS} python -m bench.adding CHECKOUT locomo-dev.json "
        f"--rounds {options.rounds}",
        table(["", "other checkout", "this one"], rows),
    )


if __name__ == "__main__":
    main()

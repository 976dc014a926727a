"""Kill the server with SIGKILL during writes, and look for every acknowledged write afterwards.

    python -m bench.crash [--kills 200]

After each kill the server is restarted. Each acknowledged turn is read back in full and searched
for by a word of its own. The floor is a program that appends to a file without flushing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.http import Server
from bench.report import write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

SEED, CLIENTS = 11, 4
FLOOR = """
import sys
with open(sys.argv[1], "a") as file:
    number = 0
    while True:
        number += 1
        file.write(f"{number}\\n")
        print(number, flush=True)
"""


def answered_writes(server: Server, kill: int, seconds: float) -> dict[str, str]:
    """Write with several clients until the server is killed; event_id -> the turn's own word, of
    those it answered.
    """
    reply: dict[str, str] = {}

    def write(client: int) -> None:
        connection = server.connection()
        for number in range(100_000):
            word = f"zq{kill}x{client}x{number}"
            try:
                status, answer = server.request(
                    "POST",
                    "/api/v7/remember",
                    {"query": f"note {word}", "response": "kept"},
                    connection,
                )
            except (OSError, ValueError, AttributeError):
                return
            except Exception as error:  # noqa: BLE001 - a connection that dies under http.client ends in several ways
                print(f"client {client}: {error!r}", file=sys.stderr)
                return
            if status == 200:
                reply[json.loads(answer)["event_id"]] = word

    clients = [threading.Thread(target=write, args=(client,)) for client in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(seconds)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    for client in clients:
        client.join()
    return reply


def missing(server: Server, answered: dict[str, str]) -> tuple[int, int]:
    """Return the counts of answered turns that are incomplete and that a search misses."""
    connection = server.connection()
    rows = hits = 0
    for event_id, word in answered.items():
        status, detail = server.request("GET", f"/api/v7/event/{event_id}", via=connection)
        rows += status != 200 or json.loads(detail)["query"] != f"note {word}"
        request = {"query_text": word, "user_id": "bench", "interact": False, "top_k": 1}
        matches = json.loads(server.request("POST", "/api/v7/memory", request, connection)[1])[
            "hits"
        ]
        hits += [hit["event_id"] for hit in matches] != [event_id]
    return rows, hits


def floor_lost(folder: Path, kills: int, chance: random.Random) -> tuple[int, int]:
    """The same kills for a program that appends to a file without flushing:

    acknowledged and lost.
    """
    acknowledged = lost = 0
    for kill in range(kills):
        path = folder / f"floor-{kill}"
        process = subprocess.Popen(
            [sys.executable, "-c", FLOOR, str(path)], stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.05 + chance.random() * 0.1)
        process.kill()
        text = (process.communicate()[0] or "").splitlines()
        stored = path.read_text().splitlines() if path.exists() else []
        acknowledged += len(text)
        lost += len(set(text) - set(stored))
    return acknowledged, lost


def main() -> None:
    """Kill and restart the server, count losses, and write them to bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="not used; every benchmark takes it")
    parser.add_argument("--kills", type=int, default=200)
    arguments = parser.parse_args()
    chance = random.Random(SEED)
    os.environ["REMEMBRANCER_EMBEDDER"] = (
        "none"  # the store is on trial; the server starts in a third of the time
    )
    total = rows = hits = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = open_records(read(data=folder))
        key = keys.create(records, account="bench").key.reveal()
        records.close()
        answer: dict[str, str] = {}
        for kill in range(arguments.kills):
            with Server(folder, key) as server:
                lost = missing(server, answer)
                rows, hits = rows + lost[0], hits + lost[1]
                answer = answered_writes(server, kill, 0.03 + chance.random() * 0.2)
                total += len(answer)
        with Server(folder, key) as server:
            lost = missing(server, answer)
            rows, hits = rows + lost[0], hits + lost[1]
        acknowledged, floor = floor_lost(folder, 20, chance)
    text = (
        f"{arguments.kills} kills, {total:,} answered writes by {CLIENTS} clients: {rows} not "
        "there, "
        f"{hits} not found by a search for their own word.\n\n"
        f"Floor, 20 kills of a program that appends to a file and flushes nothing: {floor:,} of "
        f"{acknowledged:,} acknowledged lines lost."
    )
    write_section(
        "crash", "Answered writes after SIGKILL", "python -m bench.crash --kills 200", text
    )


if __name__ == "__main__":
    main()

"""Count acknowledged writes that are lost when the server is killed with SIGKILL.

    python -m bench.crash [--kills 200]

After each kill the server is restarted. Each acknowledged turn is read back and searched for by its
unique word. The baseline is a program that appends to a file without flushing.
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
BASELINE = """
import sys
with open(sys.argv[1], "a") as file:
    number = 0
    while True:
        number += 1
        file.write(f"{number}\\n")
        print(number, flush=True)
"""


def acknowledged_writes(server: Server, kill: int, seconds: float) -> dict[str, str]:
    """Write with several clients until the server is killed.

    Return the unique word of each acknowledged turn, by event_id.
    """
    acknowledged: dict[str, str] = {}

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
                acknowledged[json.loads(answer)["event_id"]] = word

    clients = [threading.Thread(target=write, args=(client,)) for client in range(CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(seconds)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    for client in clients:
        client.join()
    return acknowledged


def missing(server: Server, acknowledged: dict[str, str]) -> tuple[int, int]:
    """Return how many turns are lost or incomplete, and how many a search does not find."""
    connection = server.connection()
    rows = hits = 0
    for event_id, word in acknowledged.items():
        status, detail = server.request("GET", f"/api/v7/event/{event_id}", via=connection)
        rows += status != 200 or json.loads(detail)["query"] != f"note {word}"
        request = {"query_text": word, "user_id": "bench", "interact": False, "top_k": 1}
        status, answer = server.request("POST", "/api/v7/memory", request, connection)
        hit_ids = [hit["event_id"] for hit in json.loads(answer)["hits"]] if status == 200 else []
        hits += hit_ids != [event_id]
    return rows, hits


def baseline_losses(folder: Path, kills: int, chance: random.Random) -> tuple[int, int]:
    """Kill a program that appends to a file without flushing.

    Return the numbers of acknowledged and of lost lines.
    """
    acknowledged = lost = 0
    for kill in range(kills):
        path = folder / f"baseline-{kill}"
        process = subprocess.Popen(
            [sys.executable, "-c", BASELINE, str(path)], stdout=subprocess.PIPE, text=True
        )
        time.sleep(0.05 + chance.random() * 0.1)
        process.kill()
        lines = (process.communicate()[0] or "").splitlines()
        stored = path.read_text().splitlines() if path.exists() else []
        acknowledged += len(lines)
        lost += len(set(lines) - set(stored))
    return acknowledged, lost


def main() -> None:
    """Kill and restart the server, count losses, and write them to bench/results.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="ignored")
    parser.add_argument("--kills", type=int, default=200, help="Default: 200")
    arguments = parser.parse_args()
    chance = random.Random(SEED)
    os.environ["REMEMBRANCER_EMBEDDER"] = "none"  # starts the server in a third of the time
    total = rows = hits = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = open_records(read(data=folder))
        key = keys.create(records, account="bench").key.reveal()
        records.close()
        acknowledged: dict[str, str] = {}
        for kill in range(arguments.kills):
            with Server(folder, key) as server:
                lost = missing(server, acknowledged)
                rows, hits = rows + lost[0], hits + lost[1]
                acknowledged = acknowledged_writes(server, kill, 0.03 + chance.random() * 0.2)
                total += len(acknowledged)
        with Server(folder, key) as server:
            lost = missing(server, acknowledged)
            rows, hits = rows + lost[0], hits + lost[1]
        lines, baseline = baseline_losses(folder, 20, chance)
    text = (
        f"{arguments.kills} kills, {total:,} acknowledged writes by {CLIENTS} clients: "
        f"{rows} lost, {hits} not found by search.\n\n"
        f"Baseline, 20 kills of a program that appends to a file without flushing: {baseline:,} of "
        f"{lines:,} acknowledged lines lost."
    )
    write_section(
        "crash",
        "Acknowledged writes after SIGKILL",
        f"python -m bench.crash --kills {arguments.kills}",
        text,
    )


if __name__ == "__main__":
    main()

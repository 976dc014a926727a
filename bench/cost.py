"""Compare the CPU time of this checkout with another one, over HTTP, in one run.

    python -m bench.cost CHECKOUT DATA

CHECKOUT is a checkout of this project at another commit, DATA a file of conversations in the
format of LoCoMo. Each checkout serves two memories of 1,000 turns: one of turns alone, one whose
turns also bring 200 critical facts and 50 L1s. Then both answer the same questions, one checkout
after the other, ROUNDS times; the smallest CPU time of each counts, because other load of the
machine only adds to it. A CPU time is that of the whole server process for one request.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.http import Server
from bench.report import table, write_section

HERE = Path(__file__).parents[1]
TURNS, FACTS, TURNS_PER_SESSION, QUESTIONS, ROUNDS = 1_000, 200, 20, 200, 5
MEMORIES = {"plain": "turns alone", "layers": f"with {FACTS} facts and {TURNS // 20} L1s"}


def texts(data: Path) -> tuple[list[str], list[str]]:
    """Return the turns and the questions of some conversations."""
    conversations = json.loads(data.read_text("utf-8"))
    turns = [
        turn["text"]
        for one in conversations
        for value in one["conversation"].values()
        if isinstance(value, list)
        for turn in value
    ]
    return turns, [qa["question"] for one in conversations for qa in one["qa"]][:QUESTIONS]


def bodies(turns: list[str], memory: str) -> Iterator[dict[str, Any]]:
    """Yield the bodies of `remember` that fill a memory."""
    for number in range(TURNS):
        place = 2 * number
        body = {
            "user_id": memory,
            "session_id": f"s{number // TURNS_PER_SESSION}",
            "query": turns[place],
            "response": turns[place + 1],
        }
        if memory == "layers" and number < FACTS:
            body["critical"] = f"{turns[place][:200]} ({number})"
        if memory == "layers" and number % TURNS_PER_SESSION == TURNS_PER_SESSION - 1:
            body["l1_summary"] = " ".join(turns[place - 10 : place])[:600]
        yield body


def server(checkout: Path, folder: Path) -> Server:
    """Return a server that runs the code of a checkout, with an account and its key."""
    settings = {"PYTHONPATH": str(checkout / "src"), "REMEMBRANCER_DURABILITY": "normal"}
    command = [sys.executable, "-m", "remembrancer", "keys", "create", "--account", "bench"]
    environment = os.environ | settings | {"REMEMBRANCER_DATA": str(folder)}
    output = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return Server(folder, output.split()[-1], settings)


def cpu_of(one: Server, path: str, requests: list[dict[str, Any]]) -> float:
    """Return the CPU milliseconds of the server for each of these requests."""
    connection = one.connection()
    before = one.cpu_ms()
    for body in requests:
        status, answer = one.request("POST", path, body, connection)
        if status != 200:
            raise SystemExit(f"{path} answered {status}: {answer[:300]!r}")
    return (one.cpu_ms() - before) / len(requests)


def main() -> None:
    """Measure both checkouts and write the section."""
    parser = argparse.ArgumentParser(prog="bench.cost", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    turns, questions = texts(options.data)
    rows: dict[tuple[str, str], list[list[float]]] = {}
    with ExitStack() as stack:
        servers = []
        for checkout in (options.checkout, HERE):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            servers.append(stack.enter_context(server(checkout, Path(folder))))
        for memory in MEMORIES:
            added = [
                cpu_of(one, "/api/v7/remember", list(bodies(turns, memory))) for one in servers
            ]
            rows["a turn added", memory] = [[value] for value in added]
        for one in servers:
            one.settle()
        for memory in MEMORIES:
            searches = [
                {"query_text": text, "user_id": memory, "interact": False} for text in questions
            ]
            rows["a search", memory] = [[] for _ in servers]
            for _ in range(ROUNDS):
                for place, one in enumerate(servers):
                    rows["a search", memory][place].append(cpu_of(one, "/api/v7/memory", searches))
    lines = []
    for (request, memory), times in rows.items():
        before, now = min(times[0]), min(times[1])
        lines.append(
            [request, MEMORIES[memory], f"{before:.2f}", f"{now:.2f}", f"{now / before:.2f}"]
        )
    heads = ["CPU ms of", "memory", "other checkout", "this one", "ratio"]
    write_section(
        "cost", "CPU time beside another commit", "python -m bench.cost CHECKOUT DATA",
        table(heads, lines),
    )  # fmt: skip


if __name__ == "__main__":
    main()

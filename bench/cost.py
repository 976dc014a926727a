"""Compare the CPU time of searches of this checkout with another one, over HTTP, in one run.

    python -m bench.cost CHECKOUT DATA [--stores 1x10000,1x100000,1000x100]

CHECKOUT is a checkout of this project at another commit, DATA a file of conversations in the
format of LoCoMo. Each checkout fills stores of its own with the same generated turns, by its own
bench/profile_store.py, and serves them. Then both answer the same questions in turn, ROUNDS times:
first new ones, then the same again, whose vectors are known. The median of the rounds counts. CPU
is that of the whole server process for one request.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.http import Server, code_of
from bench.report import arguments_of, table, write_section

HERE = Path(__file__).parents[1]
QUESTIONS, ROUNDS = 100, 5
# Run in the other checkout, too: only what both have.
FILL = """
import sys
from contextlib import closing
from pathlib import Path
from bench.load import Turns
from bench.profile_store import TEXTS, StoreFiller
from remembrancer.accounts import caller_for, keys
from remembrancer.context import assemble
from remembrancer.settings import read

users, events = int(sys.argv[1]), int(sys.argv[2])
with closing(assemble(read())) as context:
    key = keys.create(context, account="owner").key.reveal()
    turns = Turns(Path(sys.argv[3]), context)
    account_id, texts = caller_for(context).account_id, min(TEXTS, 2 * events)
    filler = StoreFiller(context, account_id, turns, texts=texts)
    filler.grow([f"u{number}" for number in range(users)], events)
print(key)
"""


class Memories(NamedTuple):
    """A store that is filled: users, and events of each."""

    users: int
    events: int

    def __str__(self) -> str:
        if self.users == 1:
            return f"{self.events:,} events of one user"
        return f"{self.users:,} users of {self.events:,} events"


def server(checkout: Path, folder: Path, command: list[str]) -> Server:
    """Return a server that runs the code of a checkout; a Python command makes store and key."""
    settings = code_of(checkout)
    output = subprocess.run(
        [sys.executable, *command],
        env=os.environ | settings | {"REMEMBRANCER_DATA": str(folder)},
        cwd=checkout,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return Server(folder, output.split()[-1], settings)


def cpu_of(one: Server, requests: list[dict[str, Any]]) -> float:
    """Return the CPU milliseconds of the server for each of these searches."""
    connection = one.connection()
    before = one.cpu_ms()
    for body in requests:
        status, answer = one.request("POST", "/api/v7/memory", body, connection)
        if status != 200:
            raise SystemExit(f"a search answered {status}: {answer[:300]!r}")
    return (one.cpu_ms() - before) / len(requests)


def measured(checkout: Path, data: Path, memories: Memories) -> list[list[str]]:
    """Return the table rows of one kind of memories."""
    samples = json.loads(data.read_text("utf-8"))
    questions = [qa["question"] for one in samples for qa in one["qa"]]
    rounds = [questions[at * QUESTIONS : (at + 1) * QUESTIONS] for at in range(ROUNDS + 1)]
    times: dict[str, list[list[float]]] = {"a new question": [[], []], "its vector known": [[], []]}
    with ExitStack() as stack:
        servers = []
        for code in (checkout, HERE):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            fill = ["-c", FILL, *map(str, memories), str(data.resolve())]
            servers.append(stack.enter_context(server(code, folder, fill)))
        for number, texts in enumerate(rounds):
            searches = [
                {"query_text": text, "user_id": f"u{user % memories.users}", "session_id": "s"}
                for user, text in enumerate(texts)
            ]
            for name, values in times.items():
                for place, one in enumerate(servers):
                    cpu_ms = cpu_of(one, searches)
                    if number:  # the first round warms up
                        values[place].append(cpu_ms)
                        print(memories, name, place, f"{cpu_ms:.2f}", flush=True)
    return [
        [
            name,
            str(memories),
            *(f"{median(values):.2f}" for values in pair),
            f"{median(now / before for before, now in zip(*pair, strict=True)):.2f}",
        ]
        for name, pair in times.items()
    ]


def main() -> None:
    """Measure both checkouts and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--stores",
        default="1x10000,1x100000,1000x100",
        help="users x events, with commas between. Default: %(default)s",
    )
    options = parser.parse_args()
    rows = []
    for store in options.stores.split(","):
        memories = Memories(*map(int, store.split("x")))
        rows += measured(options.checkout, options.data, memories)
    heads = ["search", "memories", "other checkout, CPU ms", "this one", "ratio"]
    command = "python -m bench.cost CHECKOUT DATA"
    write_section("cost", "CPU time beside another commit", command, table(heads, rows))


if __name__ == "__main__":
    main()

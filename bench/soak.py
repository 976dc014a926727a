"""Load a server with everything at once for a long time, flood it, and judge memory and latency.

    python -m bench.soak [--minutes 30] [--clients 8]

The clients call every part: searches, turns, facts, second looks, votes, chat (with a scripted
model, also as a stream), programs, files, MCP, the calls of hooks and console pages, as four
accounts. They erase what they stored, so that the memory of the service has no reason to grow.
Every ten seconds the memory, descriptors and threads of the server and its children are read. At
the end a flood of large bodies and many connections, and the memory after it. Status 1 if a verdict
fails.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import queue
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.processes import children, family
from bench.report import arguments_of, table, write_section
from bench.soak_calls import (
    CALLS,
    SECONDS_MAX,
    Account,
    Client,
    Result,
    load,
    scripted_model,
    search,
)
from remembrancer.accounts import caller_for, keys, sign_in
from remembrancer.context import open_records
from remembrancer.settings import read
from remembrancer.testing.servers import Server

ACCOUNTS = ("owner", "ada", "ben", "chen")
SAMPLE_SECONDS = 10.0
WARM_SHARE = 0.2  # of the time, before caches and pools are full
FLOOD_FILES, FLOOD_FILE_BYTES, FLOOD_CLIENTS, FLOOD_CONNECTIONS = 48, 20_000_000, 16, 300
GROWTH_MAX, P99_GROWTH_MAX, FLOOD_GROWTH_MAX = 0.03, 0.25, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The resources of the server and its processes at a moment."""

    at_s: float
    pss_mb: float
    own_mb: float  # of it: without mapped files, whose pages other programs share at times
    descriptors: int
    threads: int


def sample(pid: int, at_s: float) -> Sample:
    """Read the resources; memory of all processes, the rest of the server and its workers."""
    sizes = Counter[str]()
    for process in family(pid):
        with suppress(OSError):  # it has ended
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]:
                sizes[line.split()[0]] += int(line.split()[1])
    workers = [pid, *children(pid)]
    counts = [
        sum(len(list(Path(f"/proc/{one}/{name}").iterdir())) for one in workers)
        for name in ("fd", "task")
    ]
    return Sample(
        at_s=at_s,
        pss_mb=sizes["Pss:"] / 1024,
        own_mb=(sizes["Pss_Anon:"] + sizes["Pss_Shmem:"]) / 1024,
        descriptors=counts[0],
        threads=counts[1],
    )


def run_load(
    server: Server, accounts: list[Account], clients: int, seconds: float
) -> tuple[list[Result], list[Sample]]:
    """Load the server; return the results of all calls and the samples."""
    results: Any = multiprocessing.Queue()
    arguments = (server.port, accounts, clients, seconds, results)
    process = multiprocessing.Process(target=load, args=arguments, daemon=True)
    begin = time.monotonic()
    process.start()
    calls: list[Result] = []
    samples: list[Sample] = []
    until_s = begin + seconds + 2 * SECONDS_MAX
    while time.monotonic() < until_s:
        if time.monotonic() - begin >= SAMPLE_SECONDS * len(samples):
            samples.append(sample(server.process.pid, time.monotonic() - begin))
        try:
            part = results.get(timeout=1.0)
        except queue.Empty:
            continue
        if part is None:
            break
        calls += part
    process.join(SECONDS_MAX)
    return calls, samples


def flood(server: Server, accounts: list[Account]) -> Counter[int]:
    """Send large files, large invalid bodies and many connections; return the statuses."""
    text, long = "w " * (FLOOD_FILE_BYTES // 2), "word " * 180_000

    def large_file(number: int) -> int:
        client = Client(server.port, accounts[number % len(accounts)], number)
        body = {"filename": "large", "type": "txt", "content": f"{number} {text}"}
        status, answer = client.send("POST", "/api/v7/tools/create-file", body)
        if status == 200:
            client.send("DELETE", f"/download/{answer['filename']}")
        return status

    def refused(number: int) -> int:
        client = Client(server.port, accounts[number % len(accounts)], number)
        return client.send("POST", "/api/v7/remember", {"query": long, "response": 5})[0]

    def short(number: int) -> int:
        return search(Client(server.port, accounts[number % len(accounts)], number))

    statuses = Counter[int]()
    with ThreadPoolExecutor(FLOOD_CLIENTS) as clients:
        statuses.update(clients.map(large_file, range(FLOOD_FILES)))
    with ThreadPoolExecutor(FLOOD_CONNECTIONS) as clients:
        statuses.update(clients.map(refused, range(FLOOD_CONNECTIONS)))
        statuses.update(clients.map(short, range(5 * FLOOD_CONNECTIONS)))
    return statuses


def thirds(values: list[tuple[float, float]], seconds: float) -> tuple[list[float], list[float]]:
    """Return the values of the first and of the last third after the warm-up."""
    start = seconds * WARM_SHARE
    third = (seconds - start) / 3
    first = [value for at, value in values if start <= at < start + third]
    last = [value for at, value in values if at >= seconds - third]
    return first, last


def growth(values: list[tuple[float, float]], seconds: float) -> float:
    """Return the growth of the median from the first to the last third."""
    first, last = thirds(values, seconds)
    return statistics.median(last) / statistics.median(first) - 1 if first and last else np.nan


def trend(samples: list[Sample], seconds: float) -> float:
    """Return the slope of the memory in MB per hour after the warm-up, by least squares."""
    late = [one for one in samples if one.at_s >= seconds * WARM_SHARE]
    if len(late) < 3:
        return 0.0
    times, sizes = [one.at_s for one in late], [one.own_mb for one in late]
    return float(np.polyfit(np.array(times), np.array(sizes), 1)[0] * 3600)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that must be true."""

    what: str
    figure: str
    holds: bool


def verdicts(calls: list[Result], samples: list[Sample], seconds: float) -> list[Verdict]:
    """Judge the load."""
    memory = growth([(one.at_s, one.own_mb) for one in samples], seconds)
    descriptors = growth([(one.at_s, one.descriptors) for one in samples], seconds)
    errors = Counter(
        f"{name} {status}"
        for _, name, status, _ in calls
        if status not in range(200, 300) and status != 429
    )
    refusals = sum(status == 429 for _, _, status, _ in calls)
    first, last = thirds([(at, ms) for at, name, _, ms in calls if name == "search"], seconds)
    p99 = np.percentile(last, 99) / np.percentile(first, 99) - 1 if first and last else np.nan
    slope = trend(samples, seconds)
    return [
        Verdict("memory flat", f"{memory:+.1%}, {slope:+.1f} MB/h", abs(memory) <= GROWTH_MAX),
        Verdict("descriptors flat", f"{descriptors:+.1%}", abs(descriptors) <= GROWTH_MAX),
        Verdict("p99 of searches flat", f"{p99:+.1%}", p99 <= P99_GROWTH_MAX),
        Verdict("no error but 429", f"{dict(errors)}, {refusals} of 429", not errors),
    ]


def call_rows(calls: list[Result], seconds: float) -> list[list[str]]:
    """Return a row per call: its number, p50 and p99 of the first and the last third."""
    by_name: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for at, name, _, ms in calls:
        by_name[name].append((at, ms))
    rows = []
    for name in CALLS:
        parts = [part or [0.0] for part in thirds(by_name[name], seconds)]
        figures = [f"{np.percentile(part, q):.0f}" for part in parts for q in (50, 99)]
        rows.append([name, f"{len(by_name[name]):,}", *figures])
    return rows


def create_accounts(folder: Path) -> list[Account]:
    """Create the accounts with their keys and browser sessions."""
    records = open_records(read(data=folder))
    try:
        accounts = []
        for name in ACCOUNTS:
            key = keys.create(records, account=name, label="bench").key.reveal()
            token = sign_in.sign_in(records, caller_for(records, name).account_id)
            accounts.append(Account(key=key, token=token, cube_id=""))
        return accounts
    finally:
        records.close()


def with_cubes(server: Server, accounts: list[Account]) -> list[Account]:
    """Return the accounts with a cube of another one to vote on."""
    cube = {
        "query": "How is a kettle descaled?",
        "response": "With vinegar.",
        "cube_essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
        "cube_rules": "- MUST boil one part vinegar with two parts water.",
        "cube_topic": "kettles",
        "cube_publish": True,
    }
    answer = server.post("/api/v7/remember", cube, key=accounts[0].key)
    cube_id = answer.body["cube"]["cube_id"]
    return [Account(key=one.key, token=one.token, cube_id=cube_id) for one in accounts]


def main() -> None:
    """Load, flood, judge and write the tables."""
    parser = arguments_of(__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="Default: 30")
    parser.add_argument("--clients", type=int, default=8, help="Default: 8")
    parser.add_argument("--data", type=Path, help="ignored")
    options = parser.parse_args()
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        accounts = create_accounts(Path(name))
        settings = {
            "REMEMBRANCER_MODEL_CHAT": model,
            "REMEMBRANCER_RATE_CHAT_PER_MINUTE": "0",
            "REMEMBRANCER_RATE_SANDBOX_PER_MINUTE": "0",
            "REMEMBRANCER_LOG_LEVEL": "warning",
        }
        with Server(Path(name), **settings) as server:
            accounts = with_cubes(server, accounts)
            calls, samples = run_load(server, accounts, options.clients, seconds)
            before = sample(server.process.pid, seconds)
            statuses = flood(server, accounts)
            time.sleep(SAMPLE_SECONDS)
            after = sample(server.process.pid, seconds)
            print(server.log.read_text("utf-8", "replace")[-2_000:], file=sys.stderr)
    rows_of_verdicts = verdicts(calls, samples, seconds)
    returned = after.pss_mb / before.pss_mb - 1
    refusals = set(statuses) <= {200, 422, 429, 503}  # 503: bodies are bounded
    rows_of_verdicts.append(
        Verdict(
            "memory returned after the flood",
            f"{before.pss_mb:.0f} to {after.pss_mb:.0f} MB, statuses {dict(statuses)}",
            returned <= FLOOD_GROWTH_MAX and refusals,
        )
    )
    report(options, calls, samples, rows_of_verdicts)
    sys.exit(not all(one.holds for one in rows_of_verdicts))


def report(
    options: argparse.Namespace,
    calls: list[Result],
    samples: list[Sample],
    rows_of_verdicts: list[Verdict],
) -> None:
    """Write the section."""
    seconds = options.minutes * 60
    rate = len(calls) / seconds
    picked = samples[:: max(len(samples) // 10, 1)]
    resources = [
        [
            f"{one.at_s / 60:.1f}",
            *(f"{n:.0f}" for n in (one.pss_mb, one.own_mb, one.descriptors, one.threads)),
        ]
        for one in picked
    ]
    heads = ["call", "calls", "p50 ms first third", "p99", "p50 ms last third", "p99"]
    text = "\n\n".join(
        [
            (
                f"{len(calls):,} calls by {options.clients} clients of {len(ACCOUNTS)} accounts, "
                f"{rate:.0f} a second, to {os.cpu_count()} worker processes. A call of some kinds "
                "is two or three requests."
            ),
            table(
                ["verdict", "figure", "holds"],
                [[v.what, v.figure, "yes" if v.holds else "**no**"] for v in rows_of_verdicts],
            ),
            table(heads, call_rows(calls, seconds)),
            table(["minute", "PSS MB", "own MB", "descriptors", "threads"], resources),
        ]
    )
    command = f"python -m bench.soak --minutes {options.minutes:g}"
    write_section("soak", "Long load and flood", command, text)


if __name__ == "__main__":
    main()

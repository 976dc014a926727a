"""Measure the overhead of MCP: one search as an MCP tool and as `POST /api/v7/memory`.

    python -m bench.mcp [--events 2000]

Both alternate on one server. The first MCP call loads the SDK and is reported separately.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

from bench.http import Server, quantiles
from bench.report import table, timed, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

SEARCHES = 400
WORDS = (
    "ferry",
    "harbour",
    "ladder",
    "garden",
    "budget",
    "roof",
    "concert",
    "train",
    "bread",
    "letter",
)


def fill(server: Server, events: int) -> None:
    """Store this many turns over HTTP."""
    connection = server.connection()
    for n in range(events):
        turn = {
            "query": f"What of the {WORDS[n % 10]} number {n}?",
            "response": f"It is at {WORDS[n * 3 % 10]} street {n % 97}.",
            "session_id": f"s{n // 20}",
        }
        status, answer = server.request("POST", "/api/v7/remember", turn, connection)
        if status != 200:
            raise SystemExit(f"POST /api/v7/remember returned status {status}: {answer[:300]!r}")


def by_http(server: Server, connection: HTTPConnection, n: int) -> bytes:
    """Search once over HTTP."""
    request = {
        "query_text": f"where is the {WORDS[n % 10]} {n}",
        "user_id": "owner",
        "interact": False,
    }
    status, answer = server.request("POST", "/api/v7/memory", request, connection)
    if status != 200:
        raise SystemExit(f"POST /api/v7/memory returned status {status}: {answer[:300]!r}")
    return answer


def by_mcp(server: Server, connection: HTTPConnection, n: int) -> bytes:
    """Search once as an MCP tool."""
    call = {"name": "search", "arguments": {"query": f"where is the {WORDS[n % 10]} {n}"}}
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    body = json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call})
    connection.request("POST", "/mcp", body, {**headers, "MCP-Protocol-Version": "2025-11-25"})
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200 or b'"results"' not in answer:
        raise SystemExit(f"the MCP tool returned status {response.status}: {answer[:300]!r}")
    return answer


def took(
    act: Callable[[Server, HTTPConnection, int], bytes],
    server: Server,
    connection: HTTPConnection,
    n: int,
) -> tuple[float, float]:
    """Return wall milliseconds and the server's CPU milliseconds."""
    before = server.cpu_ms()
    return timed(lambda: act(server, connection, n)), server.cpu_ms() - before


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=2_000, help="Default: 2000")
    parser.add_argument("--data", type=Path, help="ignored")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = open_records(read(data=folder, durability="normal"))
        key = keys.create(records, account="owner", label="bench").key.reveal()
        records.close()
        limits = {"REMEMBRANCER_RATE_MEMORY_PER_MINUTE": "0", "REMEMBRANCER_DURABILITY": "normal"}
        with Server(folder, key, limits) as server:
            fill(server, options.events)
            server.settle()
            connection = server.connection()
            first = timed(lambda: by_mcp(server, connection, 0))
            ways = {"POST /api/v7/memory": by_http, "MCP tool `search`": by_mcp}
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
            for n in range(20 + SEARCHES):
                for way, act in ways.items():
                    one = took(act, server, connection, n)
                    if n >= 20:
                        times[way].append(one)
    rows = [
        [way, *quantiles([ms for ms, _ in one]), f"{sum(cpu for _, cpu in one) / len(one):.2f}"]
        for way, one in times.items()
    ]
    medians = [sorted(ms for ms, _ in one)[len(one) // 2] for one in times.values()]
    text = (
        f"{options.events:,} events, {SEARCHES} searches per interface.\n\n"
        f"{table(['interface', 'p50 ms', 'p95 ms', 'p99 ms', 'CPU ms'], rows)}\n\n"
    )
    more = (
        f"{medians[1] / medians[0]:.2f}x the p50 latency of the HTTP request, "
        f"{medians[1] - medians[0]:.1f} ms more"
    )
    text += (
        f"The MCP tool has {more}. First call on a server, which loads the SDK: {first:,.0f} ms."
    )
    write_section("mcp", "MCP overhead", "python -m bench.mcp", text)


if __name__ == "__main__":
    main()

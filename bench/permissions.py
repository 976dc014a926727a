"""Measure the latency of permission checks over HTTP with many grants and the audit trail.

    python -m bench.permissions [--grants 10000]

The baseline reads every grant and checks if it covers the path. The goal is a p50 of 2 ms.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from bench.http import Server, fdatasync_ms, quantiles
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.context import Records, open_records
from remembrancer.permissions.audit import verify
from remembrancer.permissions.grants import grant
from remembrancer.permissions.rules import Grant, allows
from remembrancer.protocol.permissions import Action, GrantRequest
from remembrancer.settings import read

REQUESTS = 1_000
BASELINE_CHECKS = 50
AGENTS = 20
PATTERNS = (
    "/srv/app{}/config.toml",
    "/srv/app{}/logs/",
    "/srv/app{}/*.conf",
    "/srv/app{}/**/*.html",
)
INSIDE = (
    "/srv/app{}/config.toml",
    "/srv/app{}/logs/2026/a.log",
    "/srv/app{}/nginx.conf",
    "/srv/app{}/www/a/index.html",
)


def scopes(count: int, *, one_folder: bool) -> list[str]:
    """Return scopes of all patterns in equal numbers, or globs in one folder, the worst case."""
    if one_folder:
        return [f"/srv/app{n}-*.conf" for n in range(count)]
    return [PATTERNS[n % len(PATTERNS)].format(n // len(PATTERNS)) for n in range(count)]


def paths(count: int, *, one_folder: bool) -> list[str]:
    """Return paths to check, of which every second one is covered."""
    if one_folder:
        return [f"/srv/app{n * 7 % count}-a.{'conf' if n % 2 else 'txt'}" for n in range(REQUESTS)]
    spread = [(n, n * 7 % count) for n in range(REQUESTS)]
    return [
        INSIDE[at % len(INSIDE)].format(at // len(INSIDE) if n % 2 else f"{at}-no")
        for n, at in spread
    ]


def fill(records: Records, scopes: Sequence[str]) -> str:
    """Create all grants; return the owner's key."""
    key = keys.create(records, account="owner", label="bench").key.reveal()
    owner = keys.authenticate(records, key)
    for n, scope in enumerate(scopes):
        request = GrantRequest(
            scope=scope,
            ttl_minutes=240,
            actions=["read", "write"],
            agent=f"agent{n % AGENTS}" if n % 3 == 0 else "agent1" if n % 2 else "*",
        )
        grant(records, owner, request)
    return key


def check_over_http(server: Server, paths: Sequence[str]) -> tuple[list[float], float, int]:
    """Return ms per check, the server's CPU ms per check, and the number allowed."""
    connection = server.connection()
    bodies: list[dict[str, Any]] = [
        {"path": path, "action": "read", "agent": "agent1"} for path in paths
    ]
    for body in bodies[:20]:
        server.request("POST", "/api/v7/sysperm/check", body, connection)
    took, allowed, before = [], 0, server.cpu_ms()
    for body in bodies:
        begin = time.perf_counter()
        status, answer = server.request("POST", "/api/v7/sysperm/check", body, connection)
        took.append((time.perf_counter() - begin) * 1e3)
        if status != 200:
            raise SystemExit(
                f"POST /api/v7/sysperm/check returned status {status}: {answer[:300]!r}"
            )
        allowed += b'"allowed":true' in answer
    return took, (server.cpu_ms() - before) / len(bodies), allowed


def check_all_grants(records: Records, paths: Sequence[str]) -> list[float]:
    """Check every grant without index, audit and HTTP: the baseline."""
    took, sql = [], "select scope, actions, agent, expires_ms, revoked_ms from grants"
    for path in paths:
        begin = time.perf_counter()
        rows = records.store.read(lambda tx: tx.all(sql))
        grants = [
            Grant(
                scope=r[0],
                actions=frozenset(cast(list[Action], r[1].split(","))),
                agent=r[2],
                expires_ms=r[3],
            )
            for r in rows
        ]
        now_ms = records.clock()
        any(allows(one, path=path, action="read", agent="agent1", now_ms=now_ms) for one in grants)
        took.append((time.perf_counter() - begin) * 1e3)
    return took


def measured(label: str, count: int, *, one_folder: bool) -> list[str]:
    """Return one row of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = open_records(read(data=folder, durability="normal"))
        key = fill(records, scopes(count, one_folder=one_folder))
        requested = paths(count, one_folder=one_folder)
        baseline = check_all_grants(records, requested[:BASELINE_CHECKS])
        records.close()
        disk = fdatasync_ms(folder)
        with Server(folder, key, {"REMEMBRANCER_RATE_SYSPERM_PER_MINUTE": "0"}) as server:
            server.settle()
            took, cpu, allowed = check_over_http(server, requested)
        records = open_records(read(data=folder))
        begin = time.perf_counter()
        entries = verify(records).seq
        verified = (time.perf_counter() - begin) * 1e3
        records.close()
    figures = [
        *quantiles(took),
        f"{cpu:.2f}",
        f"{disk:.2f}",
        *quantiles(baseline)[:1],
        f"{allowed / len(requested):.0%}",
    ]
    return [label, *figures, f"{verified / entries * 1e3:.1f}"]


HEADS = [
    "grants",
    "check p50 ms",
    "check p95 ms",
    "check p99 ms",
    "CPU ms",
    "fdatasync ms",
    "baseline p50 ms",
    "allowed",
    "audit verification, µs per entry",
]


def main() -> None:
    """Measure both kinds of scopes and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="ignored")
    parser.add_argument("--grants", type=int, default=10_000, help="Default: 10000")
    count = parser.parse_args().grants
    rows = [measured(f"{n:,}, all patterns", n, one_folder=False) for n in (100, count)]
    rows.append(measured(f"{count:,} globs in one folder", count, one_folder=True))
    write_section(
        "permissions",
        "Permission checks over HTTP",
        "python -m bench.permissions",
        table(HEADS, rows),
    )


if __name__ == "__main__":
    main()

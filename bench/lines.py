"""Measure the time to parse the service lines of one-megabyte replies.

    python -m bench.lines

The inputs are worst cases of the parser. The goal is under one second each.
"""

from __future__ import annotations

import time

from bench.report import table, write_section
from remembrancer.protocol.lines import parse
from remembrancer.protocol.seal import render

SIZE = 1 << 20
TEXTS = {
    "one line of one word": "a" * SIZE,
    "one line of spaces": "CRITICAL:" + " " * SIZE,
    "one line of vertical bars": "CUBE: fact " + "|" * SIZE,
    "one line of backticks": "`" * SIZE,
    "lines of prose": "It leaves at 9:40 from Piombino, pier 3.\n" * (SIZE // 41),
    "RATE lines": "RATE: c1 +1 used\n" * (SIZE // 17),
    "multi-line L1 summaries": "L1: a\n  b\n" * (SIZE // 10),
    "code fences": "```\nTASK_DONE\n" * (SIZE // 14),
    "empty lines": "\n" * SIZE,
}


def main() -> None:
    """Write the table: the minimum of three runs per reply."""
    rows = [
        [name, f"{min(_milliseconds(text) for _ in range(3)):.1f}"] for name, text in TEXTS.items()
    ]
    write_section(
        "lines",
        "Parsing service lines",
        "python -m bench.lines",
        table(["one-megabyte reply", "min ms"], rows),
    )


def _milliseconds(text: str) -> float:
    start = time.perf_counter()
    parse(f"{text}\n{render(7)}", step=7)
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()

"""Measure parsing replies of one megabyte, whatever they contain.

    python -m bench.lines

The goal is under one second each.
"""

from __future__ import annotations

import time

from bench.report import table, write_section
from remembrancer.protocol.lines import parse
from remembrancer.protocol.seal import render

SIZE = 1 << 20
TEXTS = {
    "one line of one word": "a" * SIZE,
    "one line of blanks": "CRITICAL:" + " " * SIZE,
    "one line of bars": "CUBE: fact " + "|" * SIZE,
    "one line of backticks": "`" * SIZE,
    "lines of prose": "It leaves at 9:40 from Piombino, pier 3.\n" * (SIZE // 41),
    "ratings": "RATE: c1 +1 used\n" * (SIZE // 17),
    "summaries that go on": "L1: a\n  b\n" * (SIZE // 10),
    "fences": "```\nTASK_DONE\n" * (SIZE // 14),
    "empty lines": "\n" * SIZE,
}


def main() -> None:
    """Print the table, the least of three tries a text, and keep it in bench/results.md."""
    rows = [
        [name, f"{min(_milliseconds(text) for _ in range(3)):.1f}"] for name, text in TEXTS.items()
    ]
    write_section(
        "lines",
        "Service lines of a megabyte",
        "python -m bench.lines",
        table(["a reply of", "ms"], rows),
    )


def _milliseconds(text: str) -> float:
    start = time.perf_counter()
    parse(f"{text}\n{render(7)}", step=7)
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()

"""Measure how many injection turns are flagged as instruction-like, and the false positives.

    python -m bench.screening --data locomo-dev.json

The injections are those of tests/memory/injections.toml; the fence contains all of them, flagged or
not. The floor is the one pattern that most guides recommend.
"""

from __future__ import annotations

import argparse
import re
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

from bench.locomo import conversations
from bench.report import table, write_section
from remembrancer.search.text.screening import instruction_like

CORPUS = Path(__file__).parents[1] / "tests" / "memory" / "injections.toml"
_USUAL = re.compile(r"ignore (?:all )?(?:previous|prior|above) instructions", re.IGNORECASE)


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    injections = tomllib.loads(CORPUS.read_text("utf-8"))["turns"]
    talk = [
        event.query or event.response
        for conversation in conversations(arguments.data)
        for event in conversation.events
    ]
    instruction_like("")
    rows = []
    ways: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("floor: one pattern", _USUAL.search),
        ("ours", instruction_like),
    )
    for name, marks in ways:
        begin = time.process_time()
        wrong = sum(bool(marks(text)) for text in talk)
        took = (time.process_time() - begin) / len(talk) * 1e6
        matches = sum(bool(marks(text)) for text in injections)
        rows.append(
            [name, f"{matches} of {len(injections)}", f"{wrong} of {len(talk):,}", f"{took:.0f}"]
        )
    heads = [
        "",
        "injection turns marked",
        "turns of ordinary talk marked",
        "CPU microseconds a turn",
    ]
    write_section(
        "screening",
        "Instruction-like turns",
        f"python -m bench.screening --data {arguments.data.name}",
        table(heads, rows),
    )


if __name__ == "__main__":
    main()

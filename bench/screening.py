"""Measure the detection of instruction-like turns: recall, false positives and CPU time.

    python -m bench.screening --data locomo-dev.json

The injections are those of tests/memory/injections.toml. The fence of search results contains all
of them, flagged or not. The baseline is the regular expression that most guides recommend.
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
_USUAL_PATTERN = re.compile(r"ignore (?:all )?(?:previous|prior|above) instructions", re.IGNORECASE)


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    arguments = parser.parse_args()
    injections = tomllib.loads(CORPUS.read_text("utf-8"))["turns"]
    ordinary = [
        event.query or event.response
        for conversation in conversations(arguments.data)
        for event in conversation.events
    ]
    instruction_like("")
    rows = []
    ways: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("baseline: one regular expression", _USUAL_PATTERN.search),
        ("Remembrancer", instruction_like),
    )
    for name, is_flagged in ways:
        begin = time.process_time()
        false_positives = sum(bool(is_flagged(text)) for text in ordinary)
        took = (time.process_time() - begin) / len(ordinary) * 1e6
        detected = sum(bool(is_flagged(text)) for text in injections)
        rows.append(
            [
                name,
                f"{detected} of {len(injections)}",
                f"{false_positives} of {len(ordinary):,}",
                f"{took:.0f}",
            ]
        )
    heads = [
        "method",
        "injections flagged",
        "ordinary turns flagged",
        "CPU µs per turn",
    ]
    write_section(
        "screening",
        "Detection of instruction-like turns",
        f"python -m bench.screening --data {arguments.data.name}",
        table(heads, rows),
    )


if __name__ == "__main__":
    main()

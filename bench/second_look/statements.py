"""Measure how second look compares statements: swapped roles and negations.

    python -m bench.second_look.statements

A pair is an event and a draft that cites it. `same`: the event says it; `roles`: who does what to
whom is swapped; `negation`: one denies the other. A rejected `same` is a false alarm. "Compared" is
the share of pairs of which the rules decide anything; the others are reported as not compared. The
held-out pairs were written before the code and never used for tuning.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from bench.report import arguments_of, table, write_section
from remembrancer.claims.extract import claims_in
from remembrancer.claims.statements import Statement, compare

FOLDER = Path(__file__).parent
SETS = {"held out": "statements_held_out.toml", "tuned on": "statements_tuned.toml"}
DAY = date(2026, 11, 20)


class Pair(NamedTuple):
    """An event and a draft, each one sentence or two."""

    language: str
    label: str
    event: str
    draft: str


def pairs(file: str) -> Iterator[Pair]:
    """Yield the pairs of a file."""
    for language, lines in tomllib.loads((FOLDER / file).read_text("utf-8")).items():
        for line in lines.strip().splitlines():
            yield Pair(language, *line.split(" | "))


def verdict(pair: Pair) -> str | None:
    """Return the verdict on a pair; None if it is not comparable."""
    draft, event = (
        Statement(text, claims_in(text, DAY, pair.language, generous=True))
        for text in (pair.draft, pair.event)
    )
    result = compare(draft, [event], pair.language)
    return result and result[0]


def counts(pairs_: list[Pair]) -> dict[str, Counter[str]]:
    """Return the number of each verdict by label."""
    result: dict[str, Counter[str]] = {}
    for pair in pairs_:
        row = result.setdefault(pair.label, Counter())
        row["pairs"] += 1
        row[verdict(pair) or "not compared"] += 1
    return result


def main() -> None:
    """Print the table and keep it in bench/results.md."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, help="not used: the pairs stand beside this file")
    parser.add_argument("--show", choices=list(SETS), help="print the wrong verdicts of one set")
    arguments = parser.parse_args()
    if arguments.show:
        for pair in pairs(SETS[arguments.show]):
            if (actual := verdict(pair)) != pair.label:
                print(actual, "|", *pair)
        return
    rows = []
    for name, file in SETS.items():
        by_label = counts(list(pairs(file)))
        wrong = sum(by_label["same"][kind] for kind in ("roles", "negation"))
        for label in ("roles", "negation"):
            row = by_label[label]
            rejected = row["roles"] + row["negation"]
            figures = [str(row["pairs"]), f"{rejected / row['pairs']:.3f}"]
            rows.append([name, f"`{label}`", *figures, ""])
        row = by_label["same"]
        rows.append([name, "`same`", str(row["pairs"]), "", f"{wrong} rejected"])
    write_section(
        "statements",
        "Second look at statements",
        "python -m bench.second_look.statements",
        table(["pairs", "label", "number", "recall", "false alarms"], rows),
    )


if __name__ == "__main__":
    main()

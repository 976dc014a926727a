"""Measure the rules that say when a newer statement replaces an older one.

    python -m bench.changes [--data FOLDER] [--show SET] [--train]

A wrong link is a pair that the rules link for certain though its label says no; each is printed.
Coverage is the share of true changes linked for certain, and the share at least hinted. Rules were
chosen on the sets named `tuned` alone. Then the service is asked: questions about contradicting
facts, sets of turns that change and end, and the cases of must.toml. Without FOLDER, only the
hand-written pairs are measured, and bench/results.md stays as it is. `--train` first trains what
recognises questions about an earlier state.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.changes import sources
from bench.changes.conflicts import contexts, rates
from bench.changes.history import history_table, train
from bench.changes.must import must_table
from bench.changes.order import order_table
from bench.changes.pairs import DEVELOPMENT, Pair, labelled_pairs
from bench.changes.states import change_table, update_table
from bench.report import arguments_of, table, write_section
from remembrancer.memory.changes import change

DATA = Path(__file__).parents[3] / "shared" / "data"
READERS = (
    sources.fact_pairs,
    sources.update_pairs,
    sources.state_pairs,
    sources.conversation_pairs,
)


def all_pairs(folder: Path | None) -> Iterator[tuple[str, str, Pair]]:
    """Yield the name of a set, the part that a pair belongs to, and the pair."""
    for pair in labelled_pairs():
        if pair.source == DEVELOPMENT:
            yield "hand-written, while the rules were made", "tuned", pair
        else:
            part = "held out" if pair.is_held_out else "tuned"
            yield "hand-written before the rules", part, pair
    if folder is not None:
        for reader in READERS:
            for part, pair in reader(folder):
                yield pair.source, "tuned" if part == "tuned" else "held out", pair


def outcome(pair: Pair) -> str:
    """Return `certain`, `hint` or `none`."""
    result = change(pair.older, pair.newer)
    if result is None:
        return "none"
    return "certain" if result.certain else "hint"


def counts(folder: Path | None, *, show: str | None) -> dict[tuple[str, str], Counter[str]]:
    """Count the outcomes of every set, and print the wrong links, and with `show` the misses."""
    result: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for name, part, pair in all_pairs(folder):
        verdict = outcome(pair)
        row = result[name, part]
        row["pairs"] += 1
        row["changes"] += pair.is_change
        row["certain"] += pair.is_change and verdict == "certain"
        row["hinted"] += pair.is_change and verdict != "none"
        is_wrong = verdict == "certain" and not pair.is_change
        row["wrong"] += is_wrong
        row["hinted look-alikes"] += verdict == "hint" and not pair.is_change
        if is_wrong:
            print(f"WRONG LINK ({name}, {part}): {pair.older} | {pair.newer}")
        if show == name and pair.is_change and verdict != "certain":
            print(f"MISSED, {verdict} ({name}, {part}): {pair.older} | {pair.newer}")
    return result


def conflict_table(folder: Path) -> str:
    """Return the table of questions whose facts contradict each other, asked of the service."""
    rows = []
    for context in contexts(folder / sources.FACTS):
        one = rates(context)
        values = (one.service, one.best_of_fts, one.newest_of_fts)
        rows.append(
            [f"{len(context.facts):,}", str(one.questions), *(f"{value:.2f}" for value in values)]
        )
    heads = ["facts", "questions", "the service's first fact", "FTS5: best", "FTS5: newest of ten"]
    return (
        "Questions of FactConsolidation, of whose facts later ones contradict earlier ones: the "
        f"share whose first fact has the newest answer.\n\n{table(heads, rows)}"
    )


def turn_tables(folder: Path) -> str:
    """Return the tables of turns that change, end or are taken back."""
    states = (
        'Turns that change, end or are taken back, asked of the service with ten hits. "Without'
        ' these rules" leaves three steps out of the same service: links between turns,'
        " withdrawals, and the order of hits by use. The rules were made on these development sets;"
        " other conversations of the same sets are kept. FTS5 does not split Chinese into words."
    )
    must = (
        "Small memories of four turns or facts with one question and three hits (must.toml): what"
        " must be in the answer, and what must not, or only marked and below."
    )
    return "\n\n".join(
        [
            states,
            change_table(folder / sources.STATES),
            update_table(folder / sources.UPDATES),
            must,
            must_table(),
        ]
    )


def main() -> None:
    """Print the tables and write them to bench/results.md."""
    parser = arguments_of(__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        help="folder of the development data, or a file in it. Default: %(default)s",
    )
    parser.add_argument("--show", metavar="SET", help="also print the missed changes of a set")
    parser.add_argument("--train", action="store_true", help="train first")
    arguments = parser.parse_args()
    folder: Path | None = arguments.data
    if folder is not None and folder.is_file():
        folder = folder.parent
    if folder is None or not (folder / sources.FACTS).is_file():
        print(f"{folder} has no {sources.FACTS}: only the hand-written pairs are measured.")
        folder = None
    if arguments.train and folder is not None:
        train(folder)
    result = counts(folder, show=arguments.show)
    total = sum(row["pairs"] for row in result.values())
    wrong = sum(row["wrong"] for row in result.values())
    right = sum(row["certain"] for row in result.values())
    text = (
        f"{table(*_rows(result))}\n\n{wrong:,} wrong links of {total:,} pairs"
        f" ({wrong / total:.3%}); of {wrong + right:,} links, {wrong / (wrong + right):.1%} are"
        f" wrong. In the conversations every link counts as wrong.\n\n{order_table()}"
    )
    if folder is not None:
        text += "\n\n".join(
            ["", history_table(folder), conflict_table(folder), turn_tables(folder)]
        )
    if arguments.show is None and folder is not None:
        write_section("changes", "Facts that replace older ones", "python -m bench.changes", text)
    else:
        print(text)


def _rows(result: dict[tuple[str, str], Counter[str]]) -> tuple[list[str], list[list[str]]]:
    heads = [
        "set", "part", "pairs", "true changes", "linked for certain", "at least hinted",
        "wrong links", "look-alikes hinted",
    ]  # fmt: skip
    rows = [
        [
            name,
            part,
            f"{row['pairs']:,}",
            f"{row['changes']:,}",
            f"{row['certain'] / row['changes']:.3f}" if row["changes"] else "-",
            f"{row['hinted'] / row['changes']:.3f}" if row["changes"] else "-",
            f"{row['wrong']:,}",
            f"{row['hinted look-alikes']:,}",
        ]
        for (name, part), row in sorted(result.items(), key=lambda item: (item[0][0], item[0][1]))
    ]
    return heads, rows


if __name__ == "__main__":
    main()

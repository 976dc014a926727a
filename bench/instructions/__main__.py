"""Measure the recognition of standing instructions in messages of users.

    python -m bench.instructions --data FOLDER [--store FOLDER]

First the labelled messages (messages.toml): a third of them was never used for tuning; others were
written after the rules (unseen.toml). Then, if FOLDER has beam-dev.json, a channel of three
instructions on BEAM, and the service, whose store of BEAM is built in 10 minutes and stays in the
FOLDER of `--store`. At last the sentences recognised in other conversations, and the time.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from bench.instructions.channel import (
    CHANNEL,
    FTS_HITS,
    KINDS,
    fts_hits,
    histories,
    left_out,
    newest,
    turns_of,
)
from bench.instructions.labelled import UNSEEN, Counts, counts, messages
from bench.instructions.served import served_table
from bench.report import table, write_section
from remembrancer.memory.instructions import instructions_in
from remembrancer.search import open_embedder

SETS = ("beam-dev.json", "realmem-dev.json", "locomo-dev.json")
# Recognised sentences that were read (100 at random, or all), and how many of them are wrong.
READ = {"beam-dev.json": (100, 2), "realmem-dev.json": (10, 3), "locomo-dev.json": (0, 0)}
LONG = 20_000  # characters of a long message


def labelled_table() -> str:
    """Return precision and recall on the labelled messages."""
    everything = messages()
    parts = {
        "all": everything,
        "tuned on": [one for one in everything if not one.is_held_out],
        "held out": [one for one in everything if one.is_held_out],
        "written after the rules": messages(UNSEEN),
    }
    for language in dict.fromkeys(one.language for one in everything):
        parts[language] = [one for one in everything if one.language == language]
        parts[f"{language}, held out"] = [one for one in parts[language] if one.is_held_out]
    heads = ["messages", "number", "labels", "precision", "recall", "kind right", "condition right"]
    return table(heads, [_row(name, counts(some)) for name, some in parts.items()])


def _row(name: str, result: Counts) -> list[str]:
    return [
        name,
        str(result.messages),
        str(result.labels),
        f"{result.precision:.3f}",
        f"{result.recall:.3f}",
        f"{result.right_kind} of {result.correct}",
        f"{result.right_condition} of {result.correct}",
    ]


def channel_table(path: Path) -> str:
    """Return how often a channel of three holds the evidence of BEAM's questions."""
    some = histories(path)
    fts = {id(history): fts_hits(history) for history in some}
    ranked = left_out(some, open_embedder("multilingual"))
    rows = []
    for kind in KINDS:
        of_kind = [row for row in ranked if row[1].kind == kind]
        shares = (
            sum(any(m in q.evidence for m, _ in h.recognised) for h, q, _ in of_kind),
            sum(newest(history, question) for history, question, _ in of_kind),
            sum(place.among_all < CHANNEL for _, _, place in of_kind),
            sum(place.in_kind < CHANNEL for _, _, place in of_kind),
            sum(bool(fts[id(h)][q.text] & q.evidence) for h, q, _ in of_kind),
        )
        rows.append([kind, str(len(of_kind)), *(f"{share / len(of_kind):.3f}" for share in shares)])
    heads = [
        "questions", "number", "evidence recognised", "three newest", "best three",
        "best three of its kind", f"FTS5, {FTS_HITS} turns",
    ]  # fmt: skip
    return table(heads, rows)


def frequency_table(folder: Path) -> str:
    """Return how many sentences are recognised in conversations, and the time."""
    rows = []
    for name in SETS:
        path = folder / name
        if not path.exists():
            continue
        texts = [
            turn["text"]
            for sample in json.loads(path.read_text("utf-8"))
            for turn in turns_of(sample["conversation"])
            if turn["speaker"].lower() != "assistant"
        ]
        start = time.perf_counter()
        recognised = sum(len(instructions_in(text)) for text in texts)
        mean_ms = (time.perf_counter() - start) * 1_000 / len(texts)
        read, wrong = READ[name]
        rows.append(
            [name, str(len(texts)), str(recognised), f"{read}, {wrong} wrong", f"{mean_ms:.3f}"]
        )
    return table(["conversations", "messages", "recognised", "read", "ms per message"], rows)


def milliseconds(text: str) -> float:
    """Return the milliseconds of a message, the best of 20 runs."""
    times = []
    for _ in range(20):
        start = time.perf_counter()
        instructions_in(text)
        times.append((time.perf_counter() - start) * 1_000)
    return min(times)


def long_messages(folder: Path | None) -> dict[str, str]:
    """Return messages of 20,000 characters with a name each."""
    look_alikes = " ".join(
        one.text.replace("\n", " ") for one in messages() if one.language == "en" and not one.labels
    )
    texts = {"nothing but English look-alikes": look_alikes}
    for name in SETS:
        if folder and (folder / name).exists():
            sample = json.loads((folder / name).read_text("utf-8"))[0]["conversation"]
            texts[name] = " ".join(turn["text"] for turn in turns_of(sample))
    return {name: (f"{text} " * (LONG // len(text) + 1))[:LONG] for name, text in texts.items()}


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the conversations")
    parser.add_argument("--store", type=Path, help="folder that keeps the store with BEAM")
    arguments = parser.parse_args()
    folder = arguments.data
    parts = [labelled_table()]
    if folder and folder.is_file():
        folder = folder.parent
    if folder and (folder / SETS[0]).exists():
        parts.append(
            "Questions of BEAM whose evidence is among the instructions shown. The ranking is tuned"
            " on the other conversations.\n\n" + channel_table(folder / SETS[0])
        )
        parts.append(
            "The same questions asked of the service, which shows three instructions and three"
            " preferences. An event is two turns.\n\n"
            + served_table(folder / SETS[0], arguments.store)
        )
        parts.append("Sentences recognised in conversations.\n\n" + frequency_table(folder))
    parts.append(
        table(
            [f"text of {LONG:,} characters", "ms"],
            [[name, f"{milliseconds(text):.2f}"] for name, text in long_messages(folder).items()],
        )
    )
    write_section(
        "instructions",
        "Standing instructions in messages",
        "python -m bench.instructions --data FOLDER",
        "\n\n".join(parts),
    )


if __name__ == "__main__":
    main()

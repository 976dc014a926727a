"""Measure the recognition of standing instructions in messages of users.

    python -m bench.instructions --data FOLDER

First the labelled messages (messages.toml): a third of them was never used for tuning; others were
written after the rules (unseen.toml). Then the sentences recognised in conversations, and the time.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from bench.instructions.labelled import UNSEEN, Counts, counts, messages
from bench.report import table, write_section
from remembrancer.memory.instructions import instructions_in

SETS = ("beam-dev.json", "realmem-dev.json", "locomo-dev.json")
# Recognised sentences that were read (100 at random, or all), and how many of them are wrong.
READ = {"beam-dev.json": (100, 2), "realmem-dev.json": (10, 3), "locomo-dev.json": (0, 0)}
LONG = 20_000  # characters of a long message


def turns_of(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turns of a conversation in the shape of LoCoMo, in order."""
    return [turn for value in conversation.values() if isinstance(value, list) for turn in value]


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
    arguments = parser.parse_args()
    folder = arguments.data
    parts = [labelled_table()]
    if folder and folder.is_file():
        folder = folder.parent
    if folder and (folder / SETS[0]).exists():
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

"""Measure evidence recall on BEAM from its public files, by kind of question.

    git clone https://github.com/mohammadtavakoli78/BEAM
    python -m bench.beam BEAM --size 500K

Tavakoli et al., "Beyond a Million Tokens: Benchmarking and Enhancing Long-Term Memory in LLMs",
2025. The repository states no licence, and the project does not contain the data. Evidence
are the messages that a question names; answers, abstention and summarization are not measured. The
command also reads a file in LoCoMo's format.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.evidence import DEPTHS, Array, evaluate, formatted, interval, systems
from bench.locomo import Conversation
from bench.report import table, write_section
from bench.sets import in_pairs
from bench.spaces import load_vectors, save_vectors
from remembrancer.search import open_embedder

SIZES = ("100K", "500K")
# Numbers of LoCoMo's categories for the kinds of questions. Abstention questions have no evidence.
# A summary has evidence, but it needs every turn about a subject, not the few that answer.
CATEGORIES = {
    "multi_session_reasoning": 1,
    "temporal_reasoning": 2,
    "event_ordering": 2,
    "instruction_following": 3,
    "preference_following": 3,
    "information_extraction": 4,
    "contradiction_resolution": 5,
    "knowledge_update": 5,
}
NOT_MEASURED = ("abstention", "summarization")
# The generator's mark at the end of a user's message: the bullet of its plan.
_MARK = re.compile(r"\s*->->.*", re.DOTALL)


class NotBeam(ValueError):
    """The folder has no conversations of this size in BEAM's layout."""


def conversations(path: Path, size: str, only: Iterable[int] = ()) -> list[Conversation]:
    """Return conversations of a checkout, or of a file in LoCoMo's format; `only` some numbers.

    Raises NotBeam.
    """
    chosen = set(only)
    if path.is_file():
        samples = json.loads(path.read_text("utf-8"))
        by_number = {int(sample["sample_id"].rpartition("-")[2]): sample for sample in samples}
    else:
        folders = (path / "chats" / size).glob("*/chat.json")
        by_number = {
            int(file.parent.name): sample_of(file.parent, f"beam-{size}-{file.parent.name}")
            for file in folders
            if not chosen or int(file.parent.name) in chosen
        }
    missing = chosen - set(by_number)
    if missing or not by_number:
        numbers = ", ".join(str(number) for number in sorted(missing)) or "any conversation"
        raise NotBeam(
            f"{path} has no chats/{size}/N/chat.json for N = {numbers}. Pass the folder that `git "
            "clone https://github.com/mohammadtavakoli78/BEAM` creates."
        )
    return in_pairs([by_number[number] for number in sorted(chosen or by_number)])


def sample_of(folder: Path, name: str) -> dict[str, Any]:
    """Read one conversation of a checkout into LoCoMo's format.

    A session is one question of the user's plan with its follow-ups. Its time is the last time
    anchor of the messages up to it, or that of its batch. Raises NotBeam.
    """
    batches = json.loads((folder / "chat.json").read_text("utf-8"))
    questions = json.loads(
        (folder / "probing_questions" / "probing_questions.json").read_text("utf-8")
    )
    sessions: dict[str, Any] = {}
    turn_of: dict[int, str] = {}
    anchor, number = "", 0
    for batch in batches:
        anchor = batch.get("time_anchor") or anchor
        for messages in batch["turns"]:
            number += 1
            anchor = next(
                (one["time_anchor"] for one in messages if one.get("time_anchor")), anchor
            )
            if not anchor:
                raise NotBeam(f"{folder}: the first session has no time anchor")
            sessions[f"session_{number}_date_time"] = _date(anchor)
            sessions[f"session_{number}"] = turns = []
            for place, message in enumerate(messages, 1):
                turn_of[message["id"]] = f"D{number}:{place}"
                text = _MARK.sub("", message["content"])
                turns.append(
                    {"speaker": message["role"], "dia_id": f"D{number}:{place}", "text": text}
                )
    return {
        "sample_id": name,
        "conversation": sessions,
        "qa": list(_questions(questions, turn_of)),
    }


def _questions(questions: dict[str, Any], turn_of: dict[int, str]) -> Iterator[dict[str, Any]]:
    for kind, rows in questions.items():
        if kind in NOT_MEASURED:
            continue
        for row in rows:
            ids = set(_message_ids(row.get("source_chat_ids")))
            evidence = sorted(turn_of[number] for number in ids if number in turn_of)
            if evidence:
                yield {
                    "question": row["question"],
                    "answer": row.get("answer") or row.get("ideal_answer") or "",
                    "evidence": evidence,
                    "category": CATEGORIES[kind],
                    "kind": kind,
                }


def _message_ids(value: Any) -> Iterator[int]:
    """Yield the message ids in a list, or in the lists of a dictionary."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        yield from _message_ids(list(value.values()))
    elif isinstance(value, list):
        for one in value:
            yield from _message_ids(one)


def _date(anchor: str) -> str:
    """Convert `January-05-2024` to LoCoMo's notation."""
    date = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC)
    return date.strftime("12:00 AM on %d %B, %Y")


def report(spaces: list[Conversation]) -> str:
    """Return the tables: all questions with intervals, then recall by kind of question."""
    embedder = open_embedder("multilingual")
    recalls = {name: evaluate(spaces, system) for name, system in systems(embedder).items()}
    kinds = np.array([question.kind for one in spaces for question in one.questions])
    heads = ["questions", "number", *recalls]
    rows = [["all", str(len(kinds)), *(formatted([values]) for values in recalls.values())]]
    for kind in sorted(set(kinds)):
        is_kind = kinds == kind
        cells = [_cell(values[is_kind]) for values in recalls.values()]
        rows.append([kind.replace("_", " "), str(is_kind.sum()), *cells])
    events, turns = (
        sum(len(one.events) for one in spaces),
        sum(len(event.turns) for one in spaces for event in one.events),
    )
    depths = "/".join(f"@{depth}" for depth in DEPTHS)
    return (
        f"{len(spaces)} conversations, {turns:,} messages in {events:,} events, {len(kinds)} "
        f"questions with evidence. Evidence recall{depths}; a bootstrap 95 % interval of all "
        "questions at each depth, of a kind at 10.\n\n" + table(heads, rows)
    )


def _cell(values: Array) -> str:
    five, ten, fifty = values.mean(0)
    low, high = interval([values[:, 1]])
    return f"{five:.2f} / {ten:.2f} [{low:.2f}, {high:.2f}] / {fifty:.2f}"


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, help="checkout of BEAM, or a file in LoCoMo's format")
    parser.add_argument("--size", choices=SIZES, default="500K", help="default: %(default)s")
    parser.add_argument("--only", default="", help="numbers of conversations, such as 1,4,7")
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    arguments = parser.parse_args()
    numbers = [int(number) for number in arguments.only.split(",") if number]
    try:
        spaces = conversations(arguments.path, arguments.size, numbers)
    except NotBeam as error:
        parser.exit(2, f"{error}\n")
    if arguments.cache:
        load_vectors(arguments.cache)
    text = report(spaces)
    if arguments.cache:
        save_vectors(arguments.cache)
    only = f" --only {arguments.only}" if arguments.only else ""
    write_section(
        f"beam-{arguments.size}",
        f"Evidence recall on BEAM, {arguments.size}",
        f"python -m bench.beam BEAM --size {arguments.size}{only}",
        text,
    )


if __name__ == "__main__":
    main()

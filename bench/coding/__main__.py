"""Measure evidence recall on the days of coding agents, beside FTS5.

    python -m bench.coding [--part development|held-out] [--write FOLDER]

Two turns are one event. `--write` writes `coding-dev.json` and `coding-held-out.json`, in the shape
of LoCoMo, for other benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.coding.days import KINDS, projects
from bench.locomo import Conversation, Question, conversation_of
from bench.report import arguments_of, table, write_section
from bench.retrieval import Search, fts_baseline, service_search
from remembrancer.search import open_embedder

DEPTHS = (1, 5, 10)
FILES = {"development": "coding-dev.json", "held-out": "coding-held-out.json"}


def recalls(
    conversation: Conversation, search: Search, questions: Sequence[Question]
) -> list[list[float]]:
    """Return the evidence recall of each question at each of DEPTHS."""
    rows = []
    for question in questions:
        order = search(question.text)
        events = [conversation.events[number] for number in order[: max(DEPTHS)]]
        rows.append(
            [
                len(question.evidence & {turn for event in events[:depth] for turn in event.turns})
                / len(question.evidence)
                for depth in DEPTHS
            ]
        )
    return rows


def main() -> None:
    """Measure and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--part", choices=tuple(FILES), help="measure one part; prints only")
    parser.add_argument("--write", type=Path, help="folder for the files; measures nothing")
    options = parser.parse_args()
    samples = projects()
    if options.write:
        for part, name in FILES.items():
            of_part = [sample for sample in samples if sample["part"] == part]
            text = json.dumps(of_part, ensure_ascii=False, indent=1)
            (options.write / name).write_text(text, "utf-8")
        return
    embedder = open_embedder("multilingual")
    groups: dict[str, list[list[float]]] = {}
    for sample in samples:
        if options.part and sample["part"] != options.part:
            continue
        conversation = conversation_of(sample).paired()
        fts = recalls(conversation, fts_baseline(conversation), conversation.questions)
        own = recalls(conversation, service_search(conversation, embedder), conversation.questions)
        for question, first, second in zip(conversation.questions, own, fts, strict=True):
            kind = KINDS[question.category - 1]
            for name in (f"{conversation.name}, {sample['part']}", f"{sample['part']}: {kind}"):
                groups.setdefault(name, []).append([*first, *second])
            groups.setdefault(f"all, {sample['part']}", []).append([*first, *second])
    rows = [
        [name, str(len(values)), *(f"{value:.3f}" for value in np.mean(values, axis=0))]
        for name, values in sorted(groups.items())
    ]
    heads = ["questions", "number", *(f"recall@{depth}" for depth in DEPTHS)]
    text = table([*heads, *(f"FTS5 @{depth}" for depth in DEPTHS)], rows)
    if options.part:
        print(text)
    else:
        title = "Days of coding agents: evidence recall"
        write_section("coding", title, "python -m bench.coding", text)


if __name__ == "__main__":
    main()

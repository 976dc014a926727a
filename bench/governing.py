"""Measure whether a question finds the stated preference that governs it, in other words.

    python -m bench.governing --data FOLDER

Of PrefEval (bench/sets.py), each topic is the memory of a user, who has many preferences about the
same; and each of PEOPLE users has one preference of each topic, beside talk of one of them. Their
questions, and others that hardly any preference governs, are asked of the service: the first ten
lines are the preferences shown, then hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.locomo import Conversation, conversations
from bench.report import arguments_of, table, write_section
from bench.service import Service, service

STATED = "prefeval-explicit-dev.json"
OTHERS = {"LoCoMo": "locomo-dev.json", "BEAM-500K": "beam-dev.json"}
OTHERS_EACH = 10  # other questions of a set that each memory is asked
PEOPLE, LINES = 20, 10


def asked(memory: Service, user_id: str, question: str) -> tuple[list[str | None], list[str]]:
    """Return the events of the preferences shown and of the hits, best first."""
    answer = memory.ask(user_id, question, top_k=LINES)
    shown = [one.event_id for one in answer.instructions if one.kind == "preference"]
    return shown, [one.event_id for one in answer.hits]


def found(
    memory: Service, user_id: str, talks: Sequence[Conversation], chosen: int | None
) -> list[list[bool]]:
    """Return for each question if its preference is shown, in ten hits, and in ten lines.

    Stored is each conversation, or the evidence of its question of the number `chosen`, and of one
    conversation what answers no question.
    """
    events: dict[tuple[str, str], str] = {}
    questions = []
    for talk in talks:
        some = talk.questions if chosen is None else talk.questions[chosen : chosen + 1]
        questions += [(talk.name, one) for one in some]
        left_out = {turn for one in talk.questions for turn in one.evidence}
        if chosen is not None and talk is not talks[chosen % len(talks)]:
            left_out |= {turn for event in talk.events for turn in event.turns}
        left_out -= {turn for one in some for turn in one.evidence}  # the user's: first of two
        for event in talk.paired().events:
            if left_out.isdisjoint(event.turns[:1]):
                session = f"{talk.name} {event.session}"
                stored = memory.say(user_id, session, event.query, event.response)
                events |= {(talk.name, turn): stored for turn in event.turns}
    results = []
    for name, question in questions:
        shown, hits = asked(memory, user_id, question.text)
        lines = [*dict.fromkeys([*shown, *hits])][:LINES]
        wanted = {events[name, turn] for turn in question.evidence}
        results.append([not wanted.isdisjoint(some) for some in (shown, hits, lines)])
    return results


def measured(folder: Path) -> list[list[str]]:
    """Return a row for the memories of a topic, and one for those of a person."""
    topics = conversations(folder / STATED)
    others = [
        [one.text for talk in conversations(folder / file) for one in talk.questions]
        for file in OTHERS.values()
    ]
    memories: dict[str, list[tuple[list[Conversation], int | None]]] = {
        "one topic each": [([talk], None) for talk in topics],
        "one preference of each topic": [(topics, number) for number in range(PEOPLE)],
    }
    rows = []
    for name, some in memories.items():
        results, stray = [], []
        with service() as memory:
            for number, (talks, chosen) in enumerate(some):
                user_id = f"u{number}"
                results += found(memory, user_id, talks, chosen)
                stray.append(
                    [
                        np.mean(
                            [
                                len(asked(memory, user_id, text)[0])
                                for text in texts[number::PEOPLE][:OTHERS_EACH]
                            ]
                        )
                        for texts in others
                    ]
                )
        figures = [*np.mean(results, axis=0), *np.mean(stray, axis=0)]
        rows.append([name, str(len(some)), str(len(results)), *(f"{one:.3f}" for one in figures)])
    return rows


def main() -> None:
    """Measure, and write the table."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the conversations")
    heads = ["preferences", "memories", "questions", "shown", "ten hits", "ten lines"]
    write_section(
        "governing",
        "Preferences that govern a question",
        "python -m bench.governing --data FOLDER",
        table(
            [*heads, *(f"shown on a question of {name}" for name in OTHERS)],
            measured(parser.parse_args().data),
        ),
    )


if __name__ == "__main__":
    main()

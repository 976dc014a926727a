"""Recall on the scale that others publish: sessions found, beside the turns found.

`any@k`: the share of questions of which any session with evidence is among the first k sessions;
`all@k`: of which all are; `turns@k`: the share of the turns of evidence among the first k events.
A session is as good as its best event. FTS5 beside it, over the same events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.evidence import DEPTHS, fts, present
from bench.locomo import Conversation
from bench.report import table, write_section
from remembrancer.search import open_embedder

SESSIONS = (5, 10)  # depths


@dataclass(frozen=True, slots=True)
class Haystack:
    """One memory with one question; `kind` is the set's own name for questions like it."""

    kind: str
    conversation: Conversation


def measures(one: Haystack, best: Sequence[int]) -> list[float]:
    """Return any@k and all@k of sessions, then the recall of turns, for a ranking of events."""
    events, [question] = one.conversation.events, one.conversation.questions
    wanted = {event.session for event in events if question.evidence.intersection(event.turns)}
    sessions = list(dict.fromkeys(events[number].session for number in best))
    row = [float(bool(wanted & set(sessions[:depth]))) for depth in SESSIONS]
    row += [float(wanted <= set(sessions[:depth])) for depth in SESSIONS]
    for depth in DEPTHS:
        turns = {turn for number in best[:depth] for turn in events[number].turns}
        row.append(len(question.evidence & turns) / len(question.evidence))
    return row


def report(haystacks: Sequence[Haystack], embedder_name: str) -> str:
    """Return a table of each kind of question and of all, for the service's ranking and FTS5."""
    embedder = open_embedder(embedder_name)
    systems: dict[str, Callable[[Conversation], list[list[int]]]] = {
        "Remembrancer": lambda conversation: present(conversation, embedder),
        "FTS5": fts,
    }
    rows = []
    for name, system in systems.items():
        figures = np.array([measures(one, system(one.conversation)[0]) for one in haystacks])
        for kind in (*dict.fromkeys(one.kind for one in haystacks), "all"):
            own = [kind in (one.kind, "all") for one in haystacks]
            cells = [f"{value:.3f}" for value in figures[own].mean(axis=0)]
            rows.append([name, kind, str(sum(own)), *cells])
    heads = ["system", "kind", "questions", *(f"any@{depth}" for depth in SESSIONS)]
    heads += [f"all@{depth}" for depth in SESSIONS] + [f"turns@{depth}" for depth in DEPTHS]
    return table(heads, rows)


def run(name: str, title: str, doc: str, read: Callable[[Path], Iterator[Haystack]]) -> None:
    """Read the arguments of a bench, measure its file and write the table."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--most", type=int, help="questions, evenly spread; default: all")
    parser.add_argument("--embedder", default="multilingual", help="default: %(default)s")
    arguments = parser.parse_args()
    some = list(read(arguments.file))
    some = some[:: max(1, len(some) // arguments.most)] if arguments.most else some
    command = f"python -m bench.{name} {arguments.file.name}"
    write_section(name, title, command, report(some, arguments.embedder))

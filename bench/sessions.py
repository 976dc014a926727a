"""Recall on the scale that others publish: sessions found, beside the turns found.

    python -m bench.sessions FILE [--most 100]  # conversations in LoCoMo's format

`any@k`: the share of questions of which any session with evidence is among the first k sessions;
`all@k`: of which all are; `turns@k`: the share of the turns of evidence among the first k events.
A session is as good as its best event. FTS5 beside it, over the same events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.evidence import DEPTHS, fts, present
from bench.locomo import Conversation, Event, Question, conversations
from bench.report import table, write_section
from bench.retrieval import CATEGORIES
from remembrancer.search import open_embedder

SESSIONS = (5, 10)  # depths


def measures(one: Conversation, question: Question, best: Sequence[int]) -> list[float]:
    """Return any@k and all@k of sessions, then the recall of turns, for a ranking of events."""
    events = one.events
    wanted = {event.session for event in events if question.evidence.intersection(event.turns)}
    sessions = list(dict.fromkeys(events[number].session for number in best))
    row = [float(bool(wanted & set(sessions[:depth]))) for depth in SESSIONS]
    row += [float(wanted <= set(sessions[:depth])) for depth in SESSIONS]
    for depth in DEPTHS:
        turns = {turn for number in best[:depth] for turn in events[number].turns}
        row.append(len(question.evidence & turns) / len(question.evidence))
    return row


def pairs(session: int, texts: list[str], ids: list[str], at_ms: int) -> Iterator[Event]:
    """Yield the events of a session: two turns that follow each other, each with its id."""
    for place in range(0, len(texts), 2):
        query, response, *_ = [*texts[place : place + 2], ""]
        yield Event(session, query, response, at_ms + place, tuple(ids[place : place + 2]))


def report(some: Sequence[Conversation], embedder_name: str) -> str:
    """Return a table of each kind of question and of all, for the service's ranking and FTS5."""
    embedder = open_embedder(embedder_name)
    systems: dict[str, Callable[[Conversation], list[list[int]]]] = {
        "Remembrancer": lambda conversation: present(conversation, embedder),
        "FTS5": fts,
    }
    kinds = [question.kind for one in some for question in one.questions]
    rows = []
    for name, system in systems.items():
        figures = np.array(
            [
                measures(one, question, best)
                for one in some
                for question, best in zip(one.questions, system(one), strict=True)
            ]
        )
        for kind in (*dict.fromkeys(kinds), "all"):
            own = [kind in (other, "all") for other in kinds]
            cells = [f"{value:.3f}" for value in figures[own].mean(axis=0)]
            rows.append([name, kind, str(sum(own)), *cells])
    heads = ["system", "kind", "questions", *(f"any@{depth}" for depth in SESSIONS)]
    heads += [f"all@{depth}" for depth in SESSIONS] + [f"turns@{depth}" for depth in DEPTHS]
    return table(heads, rows)


def run(name: str, title: str, doc: str, read: Callable[[Path], Iterator[Conversation]]) -> None:
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


def _of_locomo(path: Path) -> Iterator[Conversation]:
    """Yield conversations with two turns an event; their questions have kinds by category."""
    for one in conversations(path):
        questions = tuple(replace(each, kind=CATEGORIES[each.category]) for each in one.questions)
        yield replace(one.paired(), questions=questions)


if __name__ == "__main__":
    run("sessions", "LoCoMo: sessions and turns found", __doc__, _of_locomo)

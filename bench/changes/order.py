"""Which of two statements about the same comes first: that which holds now, and only that.

order.toml was written by somebody who knew none of the rules, before they were made. All older
statements of a language are stored first, one a day, then all newer ones, with one standing reply;
among them are English days of work. A correction is right if the newer statement comes before the
older one, a look-alike if the right statement comes before a later one about something else, and a
question about an earlier state if the older statement is among ten hits.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.changes.history import as_words
from bench.languages.memories import memory
from bench.locomo import Conversation, Event, Question
from bench.report import table
from bench.spaces import ranking, view_of
from remembrancer.memory.changes import change, names_history
from remembrancer.search import Embedder, Known, Ranker, load_ranker, open_embedder

PAIRS = Path(__file__).with_name("order.toml")
DAY_MS = 86_400_000
HITS = 10
COUNTS = ("pairs", "right", "first", "linked")
REPLY = "Okay, I will remember that for you."


@dataclass(frozen=True, slots=True)
class Statements:
    """The pairs of a language in one memory: `first` is the number of the first older one."""

    kind: str  # `corrections`, `lookalikes` or `history`
    language: str
    conversation: Conversation
    first: int

    def events(self, place: int) -> tuple[int, int]:
        """Return the numbers of the two events of a pair: said first, and said later."""
        return self.first + place, self.first + len(self.conversation.questions) + place


def statements() -> Iterator[Statements]:
    """Yield the memories of the file."""
    days = memory("en").paired()
    for language in tomllib.loads(PAIRS.read_text("utf-8"))["language"]:
        for kind in ("corrections", "lookalikes"):
            if kind in language:
                rows = [line.split(" | ") for line in language[kind].strip().splitlines()]
                name = "history" if language["code"] == "history" else kind
                yield _in_memory(name, language["code"], rows, days)


def _in_memory(kind: str, code: str, rows: list[list[str]], days: Conversation) -> Statements:
    first = len(days.events)
    session = max(event.session for event in days.events) + 1
    start = max(event.occurred_ms for event in days.events)
    said = [row[0] for row in rows] + [row[1] for row in rows]
    events = tuple(
        Event(session + at, text, REPLY, start + (at + 1) * DAY_MS, (f"{at}",))
        for at, text in enumerate(said)
    )
    questions = tuple(Question(row[2], frozenset(), 0) for row in rows)
    whole = Conversation(f"{kind} {code}", days.events + events, questions)
    return Statements(kind, code, whole, first)


def order_of(one: Statements, embedder: Embedder, ranker: Ranker) -> Counter[str]:
    """Ask every question of a memory; count what is right, and right and first of all hits."""
    view, result = view_of(one.conversation, embedder), Counter[str]()
    for place, question in enumerate(one.conversation.questions):
        [vector] = embedder.encode_queries([as_words(question.text)])
        known = Known(asks_history=names_history(question.text, vector, embedder.name))
        scores = ranking(view, question.text, embedder, ranker).scores(known)
        earlier, later = scores.events.numbers.searchsorted(one.events(place)).tolist()
        right, other = (later, earlier) if one.kind == "corrections" else (earlier, later)
        result["pairs"] += 1
        if one.kind == "history":
            result["right"] += int(np.count_nonzero(scores.total > scores.total[earlier]) < HITS)
        else:
            result["right"] += bool(scores.total[right] > scores.total[other])
        result["first"] += bool(scores.total.argmax() == right)
        linked = change(*(one.conversation.events[number].query for number in one.events(place)))
        result["linked"] += linked is not None
    return result


def order_table() -> str:
    """Return the table of every language, and of all, for each kind of pair."""
    embedder = open_embedder("multilingual")
    ranker = load_ranker(embedder.name)
    totals: dict[str, Counter[str]] = {}
    rows = []
    for one in statements():
        counts = order_of(one, embedder, ranker)
        totals[one.kind] = totals.get(one.kind, Counter()) + counts
        rows.append([one.kind, one.language, *(str(counts[name]) for name in COUNTS)])
    rows += [[kind, "all", *(str(one[name]) for name in COUNTS)] for kind, one in totals.items()]
    return (
        "Statements and what was said later, by somebody who knew no rule (order.toml). Right: of "
        "corrections the newer one comes first, of look-alikes the earlier one; of questions about "
        "an earlier state the older one is a hit. Linked: rules link the two, or hint.\n\n"
        + table(["kind", "language", *COUNTS], rows)
    )

"""Questions about facts that contradict earlier ones, asked of the service.

The facts of a context of FactConsolidation are stored one by one in their order, as critical facts
with later and later `valid_from`. A question counts as answered if the first of the service's
`facts` contains one of its answers. The floor is FTS5 (BM25) over the same facts, with the newest
of its ten best and with the best.
"""

from __future__ import annotations

import json
import re
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from remembrancer.accounts import keys
from remembrancer.context import assemble
from remembrancer.memory.facts.life import add_fact
from remembrancer.memory.recall.recall import recall
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.search import MemoryQuery
from remembrancer.settings import read

_FACT = re.compile(r"^(\d+)\.\s+(.+)$", re.MULTILINE)
_START = datetime(2020, 1, 1, tzinfo=UTC)
_WORD = re.compile(r"\w+")


class Context(NamedTuple):
    """Numbered facts, and questions with their accepted answers."""

    facts: tuple[str, ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]


class Rates(NamedTuple):
    """Shares of the questions of a context whose first fact has the answer."""

    questions: int
    service: float
    newest_of_fts: float
    best_of_fts: float


def contexts(path: Path) -> list[Context]:
    """Read the contexts of FactConsolidation."""
    return [
        Context(
            tuple(text.strip() for _, text in _FACT.findall(sample["context"])),
            tuple(
                (question, tuple([answers] if isinstance(answers, str) else answers))
                for question, answers in zip(sample["questions"], sample["answers"], strict=True)
            ),
        )
        for sample in json.loads(path.read_text("utf-8"))
    ]


def rates(one: Context) -> Rates:
    """Return the shares of answered questions of the service and of FTS5."""
    served = _served(one)
    best, newest = _by_fts(one)

    def share(texts: Sequence[str]) -> float:
        hits = [
            any(answer.casefold() in text.casefold() for answer in answers)
            for text, (_, answers) in zip(texts, one.questions, strict=True)
        ]
        return sum(hits) / len(hits)

    return Rates(len(one.questions), share(served), share(newest), share(best))


def _served(one: Context) -> list[str]:
    """Return the first fact that the service gives for each question."""
    with tempfile.TemporaryDirectory() as folder:
        context = assemble(read(data=Path(folder)))
        key = keys.create(context, account="bench", label="bench").key.reveal()
        caller = keys.authenticate(context, key)
        for number, text in enumerate(one.facts):
            start = _START + timedelta(hours=number)
            add_fact(context, caller, FactAdd(user_id="u", text=text, valid_from=start))
        texts = []
        for question, _ in one.questions:
            query = MemoryQuery(query_text=question, user_id="u", interact=False)
            facts = recall(context, caller, query).facts
            texts.append(facts[0].text if facts else "")
        context.close()
    return texts


def _by_fts(one: Context) -> tuple[list[str], list[str]]:
    """Return the best of the ten best facts for each question, and the newest of them."""
    db = sqlite3.connect(":memory:")
    db.execute("create virtual table facts using fts5 (text, tokenize = 'porter')")
    db.executemany("insert into facts (rowid, text) values (?, ?)", enumerate(one.facts))
    best, newest = [], []
    for question, _ in one.questions:
        words = " or ".join(f'"{word}"' for word in _WORD.findall(question)).replace(" or ", " OR ")
        rows = db.execute(
            "select rowid from facts where facts match ? order by bm25(facts) limit 10", (words,)
        ).fetchall()
        numbers = [number for (number,) in rows]
        best.append(one.facts[numbers[0]] if numbers else "")
        newest.append(one.facts[max(numbers)] if numbers else "")
    return best, newest

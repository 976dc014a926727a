"""Measure a channel of three instructions on BEAM: does it hold the evidence of a question?

Tavakoli et al., BEAM (mohammadtavakoli78/BEAM); 12 conversations of a user and an assistant in the
shape of LoCoMo. The weights of the ranking are tuned on eleven conversations and reported on the
twelfth, for each of them in turn.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import numpy as np

from remembrancer.memory.instructions import Instruction, applies, instructions_in
from remembrancer.search import Embedder, parse_query

KINDS = ("instruction_following", "preference_following")
CHANNEL = 3
FTS_HITS = 10


class Weights(NamedTuple):
    """Weights of the parts of a score: fit of the condition, common words, cosine, kind."""

    condition: float
    words: float
    cosine: float
    is_instruction: float


GRID = tuple(
    Weights(*values)
    for values in itertools.product(
        (0.0, 0.5, 1.0), (0.0, 0.25, 0.5, 1.0), (0.5, 1.0, 2.0), (0.0, 0.1, 0.2, 0.3)
    )
)


class Places(NamedTuple):
    """Places of the best evidence of a question, from 0: among all, among those of its kind."""

    among_all: int
    in_kind: int


NOWHERE = Places(1_000, 1_000)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the ids of the messages that answer it."""

    text: str
    kind: str
    evidence: frozenset[str]


@dataclass(slots=True)
class History:
    """A conversation: its turns, the recognised sentences with their message ids, its questions."""

    turns: dict[str, str]
    recognised: list[tuple[str, Instruction]]
    questions: list[Question]


def turns_of(conversation: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the turns of a conversation in the shape of LoCoMo."""
    for value in conversation.values():
        if isinstance(value, list):
            yield from value


def histories(path: Path) -> list[History]:
    """Read the conversations, recognise instructions in them, and take the questions of `KINDS`."""
    result = []
    for sample in json.loads(path.read_text("utf-8")):
        turns = list(turns_of(sample["conversation"]))
        newest: dict[str, tuple[str, Instruction]] = {}
        for turn in turns:
            if turn["speaker"] == "user":
                for one in instructions_in(turn["text"]):
                    newest.pop(one.text, None)
                    newest[one.text] = (turn["dia_id"], one)
        questions = [
            Question(qa["question"], qa["kind"], frozenset(qa["evidence"]))
            for qa in sample["qa"]
            if qa["kind"] in KINDS
        ]
        texts = {turn["dia_id"]: turn["text"] for turn in turns}
        result.append(History(texts, list(newest.values()), questions))
    return result


def features(history: History, question: str, embedder: Embedder) -> np.ndarray:
    """Return a row for each recognised sentence: the four parts of `Weights`, each in 0..1."""
    words = [_terms(one.text) for _, one in history.recognised]
    frequency = Counter(number for some in words for number in some)
    query = _terms(question)
    idf = {number: math.log(1 + len(words) / count) for number, count in frequency.items()}
    total = sum(idf.get(number, 0.0) for number in query) or 1.0
    texts = [one.condition or one.text for _, one in history.recognised]
    vectors = embedder.encode([*texts, question])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors[:-1] @ vectors[-1]
    rows = [
        (
            applies(one, question) if one.condition else 0.0,
            sum(idf[number] for number in some & query) / total,
            max(0.0, float(cosine)),
            float(one.kind == "instruction"),
        )
        for (_, one), some, cosine in zip(history.recognised, words, cosines, strict=True)
    ]
    return np.array(rows).reshape(-1, len(Weights._fields))


def _terms(text: str) -> set[int]:
    return {
        number
        for word in parse_query(text).words
        if not word.is_stop
        for number, weight in word.terms.items()
        if weight == 1
    }


def places(history: History, question: Question, rows: np.ndarray, weights: Weights) -> Places:
    """Return where the best evidence of a question is in the ranking of the recognised."""
    order = np.argsort(-(rows @ np.array(weights)), kind="stable").tolist()
    kind = question.kind.partition("_")[0]
    same = [number for number in order if history.recognised[number][1].kind == kind]
    evidence = {
        number
        for number, (message, _) in enumerate(history.recognised)
        if message in question.evidence
    }
    if not evidence:
        return NOWHERE
    return Places(
        min(order.index(number) for number in evidence),
        min((same.index(number) for number in evidence & set(same)), default=NOWHERE.in_kind),
    )


def fts_hits(history: History) -> dict[str, set[str]]:
    """Return the ids of the best turns for each question: FTS5, Porter stems, BM25."""
    db = apsw.Connection(":memory:")
    db.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61')")
    ids = list(history.turns)
    db.executemany(
        "insert into texts (rowid, text) values (?, ?)", list(enumerate(history.turns.values()))
    )
    hits = {}
    for question in history.questions:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        rows = db.execute(
            "select rowid from texts where texts match ? order by bm25(texts) limit ?",
            (words, FTS_HITS),
        )
        hits[question.text] = {ids[row[0]] for row in rows}
    return hits


def newest(history: History, question: Question) -> bool:
    """Return True if one of the three newest instructions is evidence."""
    return any(message in question.evidence for message, _ in history.recognised[-CHANNEL:])


def left_out(some: Sequence[History], embedder: Embedder) -> list[tuple[History, Question, Places]]:
    """Return the places for each question, ranked with weights tuned on the other conversations.

    Tuned by mean reciprocal rank.
    """
    ranked = [
        [
            (question, [places(history, question, rows, weights) for weights in GRID])
            for question in history.questions
            for rows in [features(history, question.text, embedder)]
        ]
        for history in some
    ]
    gains = np.array(
        [
            np.sum([[1 / (1 + one.among_all) for one in row] for _, row in questions], axis=0)
            for questions in ranked
        ]
    )
    result = []
    for number, history in enumerate(some):
        best = int(np.argmax(gains.sum(axis=0) - gains[number]))
        result += [(history, question, row[best]) for question, row in ranked[number]]
    return result

"""Cases to train the ranker on: questions with the features of the events that may answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.coding.days import projects
from bench.everyday.memories import NINE, Memory, memories, parallel_facts
from bench.evidence import scaled
from bench.languages.memories import LANGUAGES, MIXED, memory
from bench.locomo import Conversation, Event, Question, conversations
from bench.sets import CORRECTIONS, FILES, corrected, in_pairs, read_set, searchable
from bench.spaces import load_vectors, ranking, save_vectors, views_of
from remembrancer.search import Embedder, Ranking
from remembrancer.search.ranking import untrained

Array: TypeAlias = npt.NDArray[Any]

PUBLIC = ("LoCoMo", "BEAM-500K", "RealMem", "PrefEval, stated", "PrefEval, implied")
SIZES = (2, 3, 5, 8, 12)  # events of the small memories cut out of others
SMALL_MAX = 40  # of each conversation
QUOTES, QUOTED = 20, 160  # questions of a conversation that quote it, and their characters
FOREIGN_MAX = 60  # questions of other memories that are put to each memory
START = datetime(2026, 1, 5, tzinfo=UTC)
DAY_MS = 86_400_000
UNTRAINED = untrained()


@dataclass(frozen=True, slots=True)
class Case:
    """One question put to one memory, with the C most promising events."""

    set: str
    conversation: str
    kind: str
    features: Array  # (C, len(FEATURES)) f4
    answers: Array  # (C,) number of turns of the evidence in each event
    evidence: int  # number of turns that answer it; 0 = the memory cannot answer
    signs: Array  # what tells whether the memory answers, but for the lead, which a ranker gives
    plain: Array  # (C,) plain fusion: half BM25, half cosine of the best part, each scaled to 0..1
    any_of_it: bool  # an event of the evidence is as good as all of them: hit, not recall


def spaces(folder: Path, *, held_out: bool = False) -> dict[str, list[Conversation]]:
    """Return the memories by name of the set; the held-out ones of the project's own sets only."""
    own = {
        "coding days": [
            one
            for sample in projects()
            if (sample["part"] == "held-out") == held_out
            for one in in_pairs([sample])
        ],
        "everyday": [
            _of_facts(one, in_one_session=in_one)
            for one in memories()
            if one.is_held_out == held_out
            for in_one in (False, True)
        ],
    }
    if held_out:
        return own
    read = {name: read_set(folder / FILES[name]) for name in PUBLIC}
    read["LoCoMo"] = corrected(read["LoCoMo"], folder / CORRECTIONS)
    turns = {
        "LoCoMo, turns": corrected(conversations(folder / FILES["LoCoMo"]), folder / CORRECTIONS)
    }
    small = {
        "small memories": [
            one for some in read.values() for whole in some for one in _small_ones(whole)
        ]
    }
    quotes = {
        "quotes": [
            _quoting(whole, QUOTES) for some in [*read.values(), *own.values()] for whole in some
        ]
    }
    languages = {"languages": [memory(name).paired() for name in (*LANGUAGES, MIXED)]}
    days = memory("en").paired()
    facts = {
        "facts": [parallel_facts(days, code, code) for code in NINE],
        "facts across languages": [
            parallel_facts(days, code, other)
            for code in NINE[:2]
            for other in NINE
            if other != code
        ],
    }
    return read | turns | own | languages | facts | small | quotes


def _small_ones(whole: Conversation) -> Iterator[Conversation]:
    """Yield memories of a few consecutive events, each with one question that they answer.

    What somebody has who has just begun.
    """
    step = max(1, len(whole.questions) // SMALL_MAX)
    for place, question in enumerate(whole.questions[::step][:SMALL_MAX]):
        size = SIZES[place % len(SIZES)]
        holders = [
            number
            for number, event in enumerate(whole.events)
            if question.evidence.intersection(event.turns)
        ]
        start = max(0, min(holders[0] - place % size, len(whole.events) - size))
        events = whole.events[start : start + size]
        turns = {turn for event in events for turn in event.turns}
        cut_question = Question(question.text, question.evidence & turns, question.category)
        yield Conversation(f"{whole.name} {start} {size}", events, (cut_question,))
        yield _quoting(Conversation(f"{whole.name} {start} {size}", events, ()), 1)


def _quoting(whole: Conversation, most: int) -> Conversation:
    """Return a memory with questions that repeat the beginning of a message.

    Nobody labels such questions, and a ranker that is trained without them may put a neighbour
    before the very turn that is quoted.
    """
    step = max(1, len(whole.events) // most)
    questions = []
    for event in whole.events[step // 2 :: step][:most]:
        text = event.query or event.response
        questions.append(Question(_beginning(text), frozenset(event.turns[:1]), 0))
    return Conversation(f"{whole.name} quoted", whole.events, tuple(questions))


def _beginning(text: str) -> str:
    """Return the words of a text up to QUOTED characters, at least one, without its speaker."""
    own = re.sub(r"^[\w' ]{1,30}: ", "", text)
    return own[:QUOTED].rsplit(" ", 1)[0] if len(own) > QUOTED else own


def _of_facts(one: Memory, *, in_one_session: bool) -> Conversation:
    """Return a memory of facts as a conversation, with a session for each fact or one for all."""
    start = int(START.timestamp() * 1000)
    events = tuple(
        Event(
            0 if in_one_session else number,
            query,
            response,
            start + number * DAY_MS,
            (f"{number}",),
        )
        for number, (query, response) in enumerate(one.facts)
    )
    questions = tuple(Question(text, frozenset((f"{fact}",)), 0) for fact, text in one.questions)
    return Conversation(one.name, events, questions)


def cases(name: str, spaces: Sequence[Conversation], embedder: Embedder) -> Iterator[Case]:
    """Yield every question put to its own memory and some to another memory of the set."""
    for place, own in enumerate(spaces):
        limits = {searchable(own, question) for question in own.questions}
        views = views_of(own, embedder, limits | {len(own.events)})
        for question in own.questions:
            limit = searchable(own, question)
            if limit:
                yield _case(name, own, views[limit], question, embedder, is_own=True)
        if name == "languages" or name.startswith("facts"):  # all tell the same story
            continue
        others = list(_strange(name, own, [*spaces[place + 1 :], *spaces[:place]]))
        step = max(1, len(others) // FOREIGN_MAX)
        for question in others[::step][:FOREIGN_MAX]:
            yield _case(name, own, views[len(own.events)], question, embedder, is_own=False)


def _strange(name: str, own: Conversation, others: Sequence[Conversation]) -> Iterator[Question]:
    """Yield questions of other memories that a memory does not answer."""
    if name == "quotes":
        return
    if name == "small memories":  # each conversation gives up to twice SMALL_MAX: one of the next
        others = others[2 * SMALL_MAX :][:1]
    if name != "everyday":
        yield from (question for other in others for question in other.questions)
        return
    also = {one.name: one.also for one in memories()}[own.name]
    for other in others:
        if other.name[:2] == own.name[:2] and other.name != own.name:
            for place, question in enumerate(other.questions):
                if (other.name, place) not in also:
                    yield question


def _case(
    name: str, own: Conversation, view: Any, question: Question, embedder: Embedder, *, is_own: bool
) -> Case:
    result = ranking(view, question.text, embedder, UNTRAINED)
    pool, evidence = result.pool_events, question.evidence if is_own else frozenset[str]()
    order = np.argsort(-pool.best[pool.candidates], kind="stable")  # the most promising first
    numbers = pool.numbers[pool.candidates[order]]
    answers = [len(evidence.intersection(own.events[n].turns)) for n in numbers]
    return Case(
        set=name,
        conversation=own.name,
        kind=question.kind or str(question.category),
        features=result.features[order],
        answers=np.array(answers, "i2"),
        evidence=len(evidence),
        signs=result.evidence(),
        plain=_plain(result, numbers),
        any_of_it=question.kind.startswith("implicit"),
    )


def _plain(result: Ranking, numbers: Array) -> Array:
    """Return plain fusion of some events by their best part, from all parts of the space."""
    score = 0.5 * scaled(result.lexical.score) + 0.5 * scaled(result.cosine)
    best = np.full(int(result.view["event"].max(initial=0)) + 1, -1.0)
    np.maximum.at(best, result.view["event"], score)
    return best[numbers]


def cases_of_sets(
    folder: Path, embedder: Embedder, cache: Path | None
) -> tuple[dict[str, list[Case]], dict[str, list[Case]]]:
    """Return the cases of the sets, and those of the parts that are held out, by name of the set.

    `cache` is a file that keeps the vectors between runs.
    """
    if cache and embedder.dimensions:
        load_vectors(cache)
    sets, held_out = (
        {
            f"{key}, held out" if is_held_out else key: list(cases(key, some, embedder))
            for key, some in spaces(folder, held_out=is_held_out).items()
        }
        for is_held_out in (False, True)
    )
    if cache and embedder.dimensions:
        save_vectors(cache)
    return sets, held_out


def recall_at(case: Case, scores: Array, depths: Sequence[int]) -> list[float]:
    """Return the recall of the evidence among the best events at each depth; see `any_of_it`."""
    found = np.cumsum(case.answers[np.argsort(-scores, kind="stable")])
    wanted = 1 if case.any_of_it else case.evidence
    return [min(float(found[:depth][-1]) / wanted, 1.0) for depth in depths]


def of_sets(all_cases: Mapping[str, Sequence[Case]], *names: str) -> list[Case]:
    """Return the answerable cases of some sets, or of all."""
    return [
        case
        for name, some in all_cases.items()
        if not names or name in names
        for case in some
        if case.evidence
    ]

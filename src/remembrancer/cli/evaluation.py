"""The work of `remembrancer evaluate`: ask a service questions, and explain the misses."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..client import Client
from ..protocol.limits import TOP_K_MAX
from ..protocol.message import first_fault
from ..protocol.search import ExplainedHit, MemoryAnswer, MemoryQuery
from ..protocol.text import beginning
from ..settings import SettingInvalid

QUESTIONS_MAX = 10_000
TEXT_CHARACTERS = 160  # of a hit: two lines of a terminal
ANSWERABLE_MIN = 0.5  # what chat requires, see `min_answerable`
_EVENT_ID = re.compile(r"e_[0-9a-z]+")
_WORD = re.compile(r"[^\W_]{3,}")


class Question(BaseModel):
    """One line of the file: a question, and the turns that answer it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    question: Annotated[str, Field(min_length=1)]
    expected: list[Annotated[str, Field(min_length=1)]]  # event ids, or text of the turns
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class Miss:
    """An expected turn that is not among the best hits, with the reason."""

    question: str
    expected: str
    rank: int | None  # None: not among the best TOP_K_MAX
    reason: str
    first_hit: str | None  # text of the best hit instead


@dataclass(slots=True)
class Evaluation:
    """The figures of all questions. Shares are 0..1; None without questions of the kind."""

    top_k: int
    questions: int = 0
    without_answer: int = 0  # questions that no turn answers
    recall: dict[str, float | None] = field(default_factory=dict)  # by number of hits
    # The same of the hits ordered by plain fusion: half BM25, half cosine, each scaled to 0..1.
    plain_recall: dict[str, float | None] = field(default_factory=dict)
    precision: float | None = None  # share of the hits, up to the last expected turn
    reciprocal_rank: float | None = None  # mean of 1 / rank of the first expected turn
    answerable: float | None = None  # share of the questions with an answer that reach .5
    answerable_without: float | None = None  # the same, of those that no turn answers
    median_ms: float = 0.0  # of a search, measured by the client
    misses: list[Miss] = field(default_factory=list)


def read_questions(path: Path) -> list[Question]:
    """Return the questions of a file of JSON lines. Raises SettingInvalid, naming the line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise SettingInvalid(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingInvalid(f"{path} cannot be read as UTF-8 text: {error}") from error
    questions = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            questions.append(Question.model_validate_json(line))
        except ValidationError as error:
            raise SettingInvalid(
                f"{path}, line {number}: {first_fault(error)}. Expected is "
                '{"question": "…", "expected": ["event id or text of the turn", …]}.'
            ) from error
    if not 0 < len(questions) <= QUESTIONS_MAX:
        raise SettingInvalid(f"{path} has {len(questions):,} questions; 1 to 10,000 are possible.")
    return questions


def evaluate(
    client: Client, questions: Sequence[Question], *, user_id: str | None, top_k: int
) -> Evaluation:
    """Search for every question, as a pure read, and compare the hits with the expected turns.

    Raises SettingInvalid for a user without turns, whose name is probably mistyped.
    """
    result = Evaluation(top_k=top_k, questions=len(questions))
    default = user_id or client.own_key().user_id
    users = {one.user_id or default for one in questions}
    stored = {user: _StoredTurns(client, user) for user in sorted(users)}
    for user, turns in stored.items():
        if not turns.texts:
            raise SettingInvalid(
                f"The user {user} has no turns. Name one with --user-id, or in `user_id` of a line."
            )
    answers = [
        _ask(client, one, one.user_id or default, stored[one.user_id or default])
        for one in questions
    ]
    _summarize(result, answers)
    for answered in answers:
        result.misses += _misses(client, answered, top_k)
    return result


class _StoredTurns:
    """The turns of a user, to find those that have a text."""

    def __init__(self, client: Client, user_id: str) -> None:
        self.texts = {
            one.event_id: f"{one.query}\n{one.response}" for one in client.events(user_id=user_id)
        }
        self._plain = {event: _plain(text) for event, text in self.texts.items()}

    def with_text(self, expected: str) -> set[str]:
        """Return the ids of the turns that an expectation means."""
        if _EVENT_ID.fullmatch(expected) and expected in self.texts:
            return {expected}
        part = _plain(expected)
        return {event for event, text in self._plain.items() if part in text}


@dataclass(frozen=True, slots=True)
class _Answered:
    """A question with its answer. The lists have an entry for each expectation."""

    question: Question
    answer: MemoryAnswer
    ms: float
    means: list[set[str]]  # ids of the turns that it means
    ranks: list[int | None]  # of the best of them; None without one
    plain_ranks: list[int | None]  # the same in the order of plain fusion
    texts: dict[str, str]  # of all turns of the user, by id


def _ask(client: Client, question: Question, user_id: str, stored: _StoredTurns) -> _Answered:
    query = MemoryQuery(
        query_text=question.question,
        user_id=user_id,
        top_k=TOP_K_MAX,
        interact=False,
        layers=["events"],
    )
    begin = time.perf_counter()
    answer = client.search_memory(query)
    ms = (time.perf_counter() - begin) * 1e3
    means = [stored.with_text(expected) for expected in question.expected]
    ranks = _ranks(means, [hit.event_id for hit in answer.hits])
    plain_ranks = _ranks(means, _by_plain_fusion(client.explain_search(query).hits))
    return _Answered(question, answer, ms, means, ranks, plain_ranks, stored.texts)


def _ranks(means: Sequence[set[str]], order: Sequence[str]) -> list[int | None]:
    """Return for each set the rank of the first hit in it."""
    return [
        next((rank for rank, hit in enumerate(order, 1) if hit in events), None) for events in means
    ]


def _by_plain_fusion(hits: Sequence[ExplainedHit]) -> list[str]:
    """Return the ids of hits in the order that the two scores would give without a ranker."""
    scores = [0.0] * len(hits)
    for values in ([hit.bm25 for hit in hits], [hit.cosine for hit in hits]):
        low, high = min(values, default=0.0), max(values, default=0.0)
        for place, value in enumerate(values):
            scores[place] += (value - low) / (high - low or 1.0)
    order = sorted(range(len(hits)), key=lambda place: -scores[place])
    return [hits[place].event_id for place in order]


def _summarize(result: Evaluation, answers: Sequence[_Answered]) -> None:
    with_answer = [one for one in answers if one.question.expected]
    without = [one for one in answers if not one.question.expected]
    result.without_answer = len(without)
    result.median_ms = round(statistics.median(one.ms for one in answers), 1)
    for most in sorted({most for most in (1, 5, result.top_k) if most <= result.top_k}):
        result.recall[str(most)] = _mean(_share(one.ranks, most) for one in with_answer)
        result.plain_recall[str(most)] = _mean(_share(one.plain_ranks, most) for one in with_answer)
    result.precision = _mean(_precision(one.ranks, result.top_k) for one in with_answer)
    firsts = [min((rank for rank in one.ranks if rank), default=None) for one in with_answer]
    result.reciprocal_rank = _mean(1 / first if first else 0.0 for first in firsts)
    result.answerable = _mean(_reaches(one.answer) for one in with_answer)
    result.answerable_without = _mean(_reaches(one.answer) for one in without)


def _share(ranks: Sequence[int | None], most: int) -> float:
    return sum(rank is not None and rank <= most for rank in ranks) / len(ranks)


def _precision(ranks: Sequence[int | None], top_k: int) -> float:
    """Return the share of expected turns among the hits up to the last one within `top_k`."""
    within = [rank for rank in ranks if rank is not None and rank <= top_k]
    return len(set(within)) / max(within) if within else 0.0


def _reaches(answer: MemoryAnswer) -> float:
    return float((answer.answerable or 0.0) >= ANSWERABLE_MIN)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(statistics.fmean(listed), 4) if listed else None


def _misses(client: Client, answered: _Answered, top_k: int) -> Iterator[Miss]:
    hits = answered.answer.hits
    text = " ".join(f"{hits[0].query} {hits[0].response}".split()) if hits else ""
    first = beginning(text, TEXT_CHARACTERS) if hits else None
    expectations = zip(answered.question.expected, answered.means, answered.ranks, strict=True)
    for expected, means, rank in expectations:
        if rank is None or rank > top_k:
            reason = _reason(client, answered, means, rank)
            yield Miss(answered.question.question, expected, rank, reason, first)


def _reason(client: Client, answered: _Answered, means: set[str], rank: int | None) -> str:
    """Return why an expected turn is not among the best hits, in one sentence."""
    if not means:
        return "No stored turn has this text or id."
    event_id = min(means)
    event = client.get_event(event_id)
    if event.superseded_by is not None:
        return f"A newer turn replaced it: {event.superseded_by}."
    if event.withdrawn_by is not None:
        return "The user took it back."
    words = _words(answered.question.question)
    shared = sorted(words & _words(answered.texts[event_id]))
    likeness = f"It shares {', '.join(shared)}" if shared else "It shares no word with the question"
    place = f"rank {rank}" if rank is not None else f"not among the best {TOP_K_MAX}"
    return f"{likeness}; {place}."


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))

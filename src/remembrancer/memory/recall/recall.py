"""Search memory:

by words, by meaning, by the words an agent insists on, and by what stood beside what was found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from time import perf_counter
from typing import Any

import numpy as np

from ...accounts import space_user_id
from ...context import Caller, Context
from ...cubes import relevant_cubes
from ...protocol.limits import SNIPPET_CHARACTERS_MAX
from ...protocol.memory import Help, Hit, MemoryAnswer, MemoryQuery, Signal
from ...protocol.text import rfc3339, tokens
from ...search import (
    IndexView,
    QueryWord,
    Ranking,
    Reason,
    SpaceIndex,
    Weights,
    analyze,
    contains,
    cosines,
    embedding_text,
    lexical_scores,
    load_weights,
    normalize,
    pack,
    parse_query,
    passages,
    unpack,
)
from ...store import Row, Transaction
from ..duties import count_search, open_tasks, record_read
from ..spaces import SQL, flag_names, milliseconds, row_id, space_view
from .postgresql import view_for

EDGE_CHARACTERS = 30  # a cut is moved so far at most, not to go through a word
SPOTS_MAX = 200  # words of the question in a passage that are looked at

HELP_MAX = 2  # passages
# of what the question says must stand in a passage: "the seal at the zoo" is no question about
# seals of ours
COVERAGE_MIN = 0.5
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_ABOUT_US = re.compile(
    r"/api/v7|\b(?:remembrancer|cubes?|seals?|sealed|dut(?:y|ies)|(?:duty_error|last_seal|open_tasks|task_done|focus_words|top_k|event_id"
    r"|user_id|session_id|l1_summary|l2_map|vote_nothing|cube_nothing|cube_publish|duty_reason|help_hits|shared_cubes|query_text)"
    r"|l1|l2|start pack|second look|critical facts?|memory map|idempotency|api keys?"
    r"|(?:search|remember|save|store|memory) (?:endpoint|api|call|service)|this (?:service|memory|api))\b",
    re.IGNORECASE,
)

ERASED_MAX = 5  # so many hits more are ranked than asked for, should some be erased a moment ago
FOCUS_CHECKED_MAX = 200  # events looked at for each focus word, the likeliest first
# as long as none of them holds it: a phrase of common words may be in few of those that have the
# words
FOCUS_SEARCHED_MAX = 2_000
# what a focus word adds to an event's score: least for a word that is everywhere, most for a rare
# one
FOCUS_LIFT = (
    1.0,
    4.0,
)
_weights = lru_cache(maxsize=8)(load_weights)


@dataclass(frozen=True, slots=True)
class FocusMatches:
    """What looking for the focus words gave."""

    lifts: dict[int, float]  # event number -> what is added to its score
    held: dict[int, int]  # event number -> how many focus words it holds
    missing: list[str]  # those that occur nowhere


class StageTimer:
    """How long each stage of a search took."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._last = perf_counter()

    def end(self, stage: str) -> None:
        """What was done since the last one ended was this one."""
        now = perf_counter()
        self.ms[stage] = (now - self._last) * 1000
        self._last = now


@dataclass(frozen=True, slots=True)
class RankedEvent:
    """One event of a ranking."""

    event: int  # its number in the space
    score: float  # 0..1
    part: int  # the one that answers best


@dataclass(slots=True, kw_only=True)
class SearchOutcome:
    """What a search came to, and how; without `found` there was no memory to look in."""

    answer: MemoryAnswer
    space_id: int | None = None
    found: Ranking | None = None
    weights: Weights | None = None
    focus: FocusMatches = field(default_factory=lambda: FocusMatches({}, {}, []))
    shown: list[RankedEvent] = field(default_factory=list)  # the hits of the answer, in their order
    vector_text: str = ""  # what was embedded


def recall(context: Context, caller: Caller, query: MemoryQuery) -> MemoryAnswer:
    """The events that answer a query, best first, and the lessons that bear on it; nothing found is
    an empty list.

    An interacting search counts one step of its session and tells what the session owes; a
    read-only key never interacts. Raises Forbidden for a pinned key with another user_id,
    StoreUnavailable, EmbedderUnavailable.
    """
    user_id = space_user_id(caller, query.user_id)
    found = context.store.read(
        lambda tx: search(context, tx, caller, user_id, query, StageTimer()),
        account_id=caller.account_id,
    ).answer
    if caller.read_only:
        return found
    if not query.interact:
        if found.hits and found.step:  # a session that never searched as a turn has nothing to cite
            record_read(context, caller, user_id, query, found)
        return found
    step, owed = count_search(context, caller, user_id, query, found)
    return found.model_copy(
        update={"step": step, "duty_error": owed.duty_error, "reminders": owed.reminders or None}
    )


def search(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    query: MemoryQuery,
    stages: StageTimer,
) -> SearchOutcome:
    """Every stage of a search, in one snapshot.

    Counts nothing and notes nothing. `user_id` is one that the caller may name.
    """
    space = tx.one_or_none(
        SQL.searched, account_id=caller.account_id, user_id=user_id, session_id=query.session_id
    )
    help_hits = help_for(query.query_text) or None
    if space is None:
        question = parse_query(query.query_text)
        lessons = relevant_cubes(
            context, tx, caller, question, context.query_vectors(question.text)
        )
        missing = list(query.focus_words) or None
        stages.end("cubes")
        return SearchOutcome(
            answer=MemoryAnswer(
                hits=[],
                shared_cubes=lessons,
                step=0,
                total_hits=0,
                focus_missing=missing,
                help_hits=help_hits,
            )
        )
    if context.store.supports_vector_search:
        view = view_for(context, tx, caller.account_id, space, query)
    else:
        view = space_view(context, tx, space)
    stages.end("index")
    weights = _weights(context.embedder.name)
    found = score_parts(context, view, query, stages)
    focus = _focus(tx, space.id, found, query.focus_words)
    stages.end("focus")
    ranked = [
        RankedEvent(*one) for one in found.ranked(weights, focus.lifts, query.top_k + ERASED_MAX)
    ]
    stages.end("ranking")
    hits, shown = _hits(tx, space.id, found, focus, ranked, query)
    stages.end("texts")
    steering = embedding_text(view, found.question)
    lessons = relevant_cubes(context, tx, caller, found.question, context.query_vectors(steering))
    stages.end("cubes")
    answer = MemoryAnswer(
        hits=hits,
        shared_cubes=lessons,
        step=space.step or 0,
        total_hits=max(found.matching(weights, focus.lifts), len(hits)),
        focus_missing=focus.missing or None,
        help_hits=help_hits,
        open_tasks=open_tasks(tx, space.id, query.session_id) or None,
    )
    stages.end("session")
    return SearchOutcome(
        answer=answer,
        space_id=space.id,
        found=found,
        weights=weights,
        focus=focus,
        shown=shown,
        vector_text=steering,
    )


def score_parts(
    context: Context, view: IndexView, query: MemoryQuery, stages: StageTimer
) -> Ranking:
    """Score every part of a space against a query."""
    question = parse_query(query.query_text, view.languages)
    words = lexical_scores(view, (*question.words, *focus_words(view, query)))
    stages.end("words")
    vector = context.query_vectors(embedding_text(view, question))
    stages.end("embedding")
    cosine = cosines(view, vector)
    stages.end("vectors")
    found = Ranking(view, question, words, cosine, among=_among(view, query))
    stages.end("fusion")
    return found


def focus_words(view: IndexView, query: MemoryQuery) -> tuple[QueryWord, ...]:
    """The words of the focus phrases, which search looks for like those of the query."""
    return tuple(
        word for phrase in query.focus_words for word in parse_query(phrase, view.languages).words
    )


def _among(view: IndexView, query: MemoryQuery) -> Any:
    if query.after is None and query.before is None:
        return None
    occurred = view["occurred_ms"]
    least, most = np.iinfo("i8").min, np.iinfo("i8").max
    return (occurred >= milliseconds(query.after, least)) & (
        occurred < milliseconds(query.before, most)
    )


def _focus(tx: Transaction, space_id: int, found: Ranking, phrases: Sequence[str]) -> FocusMatches:
    lifts: dict[int, float] = {}
    held: dict[int, int] = {}
    missing = []
    for phrase in phrases:
        candidates = found.focus_candidates(parse_query(phrase, found.view.languages))
        holding = _holding(tx, space_id, candidates.tolist(), phrase)
        if not holding:
            missing.append(phrase)
        rarity = 1 - len(candidates) / max(found.view.events, 1)
        for event in holding:
            lifts[event] = (
                lifts.get(event, 0.0)
                + FOCUS_LIFT[0]
                + (FOCUS_LIFT[1] - FOCUS_LIFT[0]) * max(rarity, 0.0)
            )
            held[event] = held.get(event, 0) + 1
    return FocusMatches(lifts, held, missing)


def _holding(tx: Transaction, space_id: int, candidates: list[int], phrase: str) -> list[int]:
    holding: list[int] = []
    for place, event in enumerate(candidates[:FOCUS_SEARCHED_MAX]):
        if holding and place >= FOCUS_CHECKED_MAX:
            break
        if _holds(tx, space_id, event, phrase):
            holding.append(event)
    return holding


def _holds(tx: Transaction, space_id: int, event: int, phrase: str) -> bool:
    row = tx.one_or_none(SQL.hit, id=row_id(space_id, event))
    return row is not None and any(
        contains(text, phrase) for text in (row.query, row.response, row.topic or "")
    )


def _hits(
    tx: Transaction,
    space_id: int,
    found: Ranking,
    focus: FocusMatches,
    ranked: Sequence[RankedEvent],
    query: MemoryQuery,
) -> tuple[list[Hit], list[RankedEvent]]:
    hits: list[Hit] = []
    shown: list[RankedEvent] = []
    left = query.max_tokens
    rows = {
        row.id: row
        for row in tx.all(SQL.hits, ids=json.dumps([row_id(space_id, one.event) for one in ranked]))
    }
    for one, reasons in zip(ranked, found.reasons([one.part for one in ranked]), strict=True):
        if len(hits) == query.top_k:
            break
        row = rows.get(row_id(space_id, one.event))
        if row is None:  # erased a moment ago
            continue
        about = hit_text(row.query, row.response, found, one.part)
        if left is not None:
            cost = tokens(about.query) + tokens(about.response)
            if cost > left and hits:
                break
            left -= cost
        marks = [Signal(signal=flag, value=1.0) for flag in flag_names(row.flags)]
        hits.append(_hit(row, one.score, about, _why(reasons, focus, one.event) + marks))
        shown.append(one)
    return hits, shown


def _hit(row: Row, score: float, about: HitText, why: list[Signal]) -> Hit:
    return Hit(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=about.query,
        response=about.response,
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
        score=round(score, 4),
        why=why,
    )


def _why(reasons: Sequence[Reason], focus: FocusMatches, event: int) -> list[Signal]:
    held = [Signal(signal="focus", value=float(focus.held[event]))] if event in focus.held else []
    return held + [
        Signal(signal=name, rank=rank, value=round(value, 4)) for name, rank, value in reasons
    ]


@lru_cache(maxsize=1)
def _passages() -> tuple[list[Help], IndexView]:
    text = resources.files(__package__).joinpath("help.md").read_text("utf-8")
    heads = list(_HEADING.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    found = [
        Help(title=head[1], text=text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]
    index = SpaceIndex(0)
    rows = [
        (
            number,
            0,
            0,
            pack(
                analyze(
                    query="", response=f"{passage.title}. {passage.text}", topic=None, occurred_ms=0
                )
            ),
            None,
        )
        for number, passage in enumerate(found)
    ]
    index.add(unpack(rows, 0), len(found))
    return found, index.view()


def help_for(query: str) -> list[Help]:
    """The passages that answer a query, best first; none unless it asks about the service."""
    if not _ABOUT_US.search(query):
        return []
    passages, view = _passages()
    scored = lexical_scores(view, parse_query(query, view.languages).words)
    events = view["event"]
    best = [
        int(part)
        for part in np.argsort(-scored.score, kind="stable")
        if scored.coverage[part] >= COVERAGE_MIN
    ]
    return [passages[number] for number in dict.fromkeys(int(events[part]) for part in best)][
        :HELP_MAX
    ]


@dataclass(frozen=True, slots=True)
class HitText:
    """Both sides of a turn as a hit shows them."""

    query: str
    response: str


def hit_text(query: str, response: str, found: Ranking, part: int) -> HitText:
    """Snippets of a turn, around the place that answers best: `part` of what was found."""
    if len(query) <= SNIPPET_CHARACTERS_MAX and len(response) <= SNIPPET_CHARACTERS_MAX:
        return HitText(query, response)
    side, place = found.place_of(part)
    words = [normalize(word.text) for word in found.question.words if not word.is_stop]
    texts = [query, response]
    return HitText(
        *(snippet(text, place if side == at else 0, words) for at, text in enumerate(texts))
    )


def snippet(text: str, place: int, words: list[str]) -> str:
    """At most SNIPPET_CHARACTERS_MAX characters of a text:

    of its passage number `place`, where most of `words` (normalised) stand.
    """
    if len(text) <= SNIPPET_CHARACTERS_MAX:
        return text
    cuts = passages(text)
    place = min(place, len(cuts) - 1)
    start = sum(len(passage) for passage in cuts[:place])
    room = SNIPPET_CHARACTERS_MAX - 2  # for the marks
    start = min(
        start + max(_densest(cuts[place], words, room * 3 // 4) - room // 4, 0), len(text) - room
    )
    end = start + room
    if start and not text[start - 1].isspace():
        start = text.find(" ", start, start + EDGE_CHARACTERS) + 1 or start
    if end < len(text) and not text[end].isspace():
        end = (
            text.rfind(" ", end - EDGE_CHARACTERS, end)
            if " " in text[end - EDGE_CHARACTERS : end]
            else end
        )
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


def _densest(passage: str, words: list[str], room: int) -> int:
    """Where a stretch of `room` characters begins that holds most of the words; 0 where there is
    none of them.
    """
    plain = normalize(passage)
    spots = sorted(
        (at, number)
        for number, word in enumerate(words)
        for piece in _pieces(word, plain)
        for at in _all(piece, plain)
    )
    best, most = 0, 0
    for first, (at, _) in enumerate(spots[:SPOTS_MAX]):
        held = len(
            {number for there, number in spots[first : first + SPOTS_MAX] if there <= at + room}
        )
        if held > most:
            best, most = at, held
    return best * len(passage) // max(len(plain), 1)  # normalising may shorten or lengthen a text


def _pieces(word: str, plain: str) -> list[str]:
    """What of a word stands in a text:

    the whole, else its beginning (another ending), else its characters two by two.
    """
    for end in range(len(word), max(2 * len(word) // 3, 2), -1):
        if word[:end] in plain:
            return [word[:end]]
    return (
        []
        if word.isascii()
        else [word[at : at + 2] for at in range(len(word) - 1) if word[at : at + 2] in plain]
    )


def _all(piece: str, plain: str) -> Iterator[int]:
    at = plain.find(piece)
    while at >= 0:
        yield at
        at = plain.find(piece, at + len(piece))

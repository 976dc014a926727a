"""Hits of a search as a page shows them, and the memories that a search covers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ..accounts.teams import ALL_TEAMS, enter_all
from ..context import Caller
from ..http.pages import ago
from ..memory.history import activity
from ..protocol.search import ExplainedHit, Explanation, Mark
from .browser_session import BrowserRequest

# --- The memories that a search of the console covers: of one user or all, and of teams ------

EVERYONE = "everyone"  # value of `users`: search the memory of all users
WITH_TEAMS = "yes"  # value of `teams`: search the memory of the account's teams, too
USERS_SEARCHED_MAX = 20  # those that were active last


@dataclass(frozen=True, slots=True)
class SearchedMemory:
    """A memory, and the caller that reads it. `team` is the name of the team that it belongs to."""

    caller: Caller
    user_id: str
    team: str | None = None


@dataclass(frozen=True, slots=True)
class SearchReach:
    """The memories to search. `is_cut`: there are more users."""

    memories: list[SearchedMemory]
    is_cut: bool = False

    @property
    def users(self) -> int:
        """The number of users among the memories."""
        return sum(one.team is None for one in self.memories)

    @property
    def teams(self) -> int:
        """The number of teams among the memories."""
        return len(self.memories) - self.users


def search_scope(browser: BrowserRequest, user_id: str, params: Mapping[str, str]) -> SearchReach:
    """Return the memories that `users` and `teams` of a page name. Default: that of `user_id`.

    Raises TooManyTeams.
    """
    context, caller = browser.context, browser.caller()
    names, is_cut = [user_id], False
    if params.get("users") == EVERYONE:
        active = activity.active_users(context, caller, most=USERS_SEARCHED_MAX + 1)
        names = [user.user_id for user in active[:USERS_SEARCHED_MAX]]
        is_cut = len(active) > USERS_SEARCHED_MAX
    memories = [SearchedMemory(caller, name) for name in names]
    if params.get("teams") == WITH_TEAMS:
        for member in enter_all(context, caller, [ALL_TEAMS], None):
            assert member.member is not None
            team = member.member
            memories.append(SearchedMemory(member, team.team_id, team.team_name))
    return SearchReach(memories, is_cut)


# --- Hits of a search as a page shows them: one plain line of reasons, and the parts of each score
# The passage whose score is explained is the one that is highlighted: words of the query are marked
# in it, and nowhere else.

BAR_WIDTH = 100.0  # of the longest bar, in SVG units
ADDS_MIN = 0.05  # smaller contributions are summed up as `other`
WORDS_NAMED_MAX = 4  # in the line of reasons
MEANING_RANK_MAX = 5  # by vectors: the line says that the meaning is similar
_LABELS = {
    "text and dense": "words and meaning together",
    "neighbour": "adjacent turns",
    "speaker": "the speaker",
    "date": "the date",
}
_ADJUSTMENT_LABELS = {
    "focus": "contains the exact words",
    "summary": "a summary that matches covers it",
    "replaces": "it replaced a turn that matches",
    "newer": "it probably gives a newer value",
    "history": "it changed a value",
    "replaced": "a newer turn gives another value",
    "outdated": "a newer turn probably gives another value",
    "repeated": "near duplicate",
    "empty": "it says nothing",
    "unverified": "it says that it is unverified",
    "suspect": "possible prompt injection",
    "notice": "machine notice",
    "age": "it is old",
}
FLAG_LABELS = {
    "instruction_like": "possible prompt injection",
    "secret": "contains a secret",
    "machine_notice": "machine notice",
    "near_duplicate": "near duplicate",
}
# In the line of reasons, in this order.
_PLAIN = {
    "focus": "has the exact words",
    "neighbour": "adjacent turn matches",
    "summary": "in a summary that matches",
    "date": "the date matches",
    "speaker": "the speaker matches",
    "superseded": "a newer turn gives another value",
}


@dataclass(frozen=True, slots=True)
class ReasonBar:
    """One contribution to the score of a hit. `left` and `width` are those of its bar."""

    signal: str
    label: str
    rank: int | None
    adds: float
    left: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A part of a text: in the explained passage or not, and marked as a word of the query."""

    text: str
    is_marked: bool = False
    in_passage: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """A hit as the page shows it: query and response with highlights, and the score bars."""

    hit: ExplainedHit
    user_id: str
    team: str | None  # name of the team whose memory has it; the console has no page of the turn
    query: list[TextPiece]
    response: list[TextPiece]
    reasons: list[ReasonBar]
    flags: list[str]
    zero: float  # where the bars start
    start: float  # score of a passage that shares nothing with the query
    reason: str  # why it is a hit, in one line


def hit_views(
    explanation: Explanation, user_id: str, now_ms: int, *, team: str | None = None
) -> Iterator[HitView]:
    """Yield the hits of a search of a user or team, on one scale. `now_ms` is in ms since 1970."""
    reasons = [list(_reasons(hit)) for hit in explanation.hits]
    contributions = [0.0, *(adds for rows in reasons for *_, adds in rows)]
    unit = BAR_WIDTH / ((max(contributions) - min(contributions)) or 1.0)
    zero = round(-min(contributions) * unit, 1)

    def bar(adds: float) -> tuple[float, float]:
        """Return left edge and width of a bar."""
        width = round(abs(adds) * unit, 1)
        return (round(zero - width, 1) if adds < 0 else zero), width

    for hit, rows in zip(explanation.hits, reasons, strict=True):
        yield HitView(
            hit=hit,
            user_id=user_id,
            team=team,
            query=text_pieces(hit, "query"),
            response=text_pieces(hit, "response"),
            reasons=[
                ReasonBar(signal, label, rank, adds, *bar(adds))
                for signal, label, rank, adds in rows
            ],
            flags=[one.signal for one in hit.why if one.signal in FLAG_LABELS],
            zero=zero,
            start=explanation.start_score,
            reason=plain_reason(hit, now_ms),
        )


def plain_reason(hit: ExplainedHit, now_ms: int) -> str:
    """Return why a turn is a hit, such as `matches ferry, leave · similar meaning · 2 days ago`."""
    words = {word.casefold(): word for word in _words_in_passage(hit)}
    signals = {one.signal: one for one in hit.why}
    parts = []
    if words:
        named = list(words.values())[:WORDS_NAMED_MAX]
        parts.append(f"matches {', '.join(named)}{' …' if len(words) > WORDS_NAMED_MAX else ''}")
    dense = signals.get("dense")
    if dense and (not words or (dense.rank or MEANING_RANK_MAX) < MEANING_RANK_MAX):
        parts.append("similar meaning")
    parts += [text for signal, text in _PLAIN.items() if signal in signals]
    occurred_ms = round(datetime.fromisoformat(hit.occurred_at).timestamp() * 1000)
    return " · ".join([*parts, ago(occurred_ms, now_ms)])


def _words_in_passage(hit: ExplainedHit) -> Iterator[str]:
    text: str = getattr(hit, hit.side)
    for mark in hit.marks:
        if mark.side == hit.side and hit.passage_start <= mark.start < hit.passage_end:
            yield text[mark.start : mark.end]


def text_pieces(hit: ExplainedHit, side: Literal["query", "response"]) -> list[TextPiece]:
    """Split one side of a hit at its explained passage, and this at the marks in it."""
    text: str = getattr(hit, side)
    if side != hit.side:
        return _outside(text)
    start, end = hit.passage_start, min(hit.passage_end, len(text))
    is_whole = not text[:start].strip("… ") and not text[end:].strip("… ")
    marks = [
        Mark(side=side, start=mark.start - start, end=min(mark.end, end) - start)
        for mark in hit.marks
        if mark.side == side and start <= mark.start < end
    ]
    passage = [
        TextPiece(text=piece, is_marked=is_marked, in_passage=not is_whole)
        for piece, is_marked in highlights(text[start:end], marks)
    ]
    return [*_outside(text[:start]), *passage, *_outside(text[end:])]


def _outside(text: str) -> list[TextPiece]:
    return [TextPiece(text=text)] if text else []


def _reasons(hit: ExplainedHit) -> Iterator[tuple[str, str, int | None, float]]:
    """Yield signal, label, rank and contribution to the score."""
    ranks = {one.feature: one.rank for one in hit.features}
    labels = _LABELS | {
        "text": f"{hit.coverage:.0%} of the words, BM25 {hit.bm25:.1f}",
        "dense": f"cosine {hit.cosine:.2f}",
    }
    other = 0.0
    for signal in dict.fromkeys(one.signal for one in hit.features):
        adds = sum(one.adds for one in hit.features if one.signal == signal)
        if abs(adds) < ADDS_MIN:
            other += adds
        else:
            rank = ranks.get(signal) if signal in ("text", "dense") else None
            yield signal, labels[signal], rank, adds
    for one in hit.adjustments:
        yield one.name, _ADJUSTMENT_LABELS[one.name], None, one.adds
    if abs(other) >= ADDS_MIN / 10:
        yield "other", "all other signals", None, other


def highlights(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, bool]]:
    """Split a text at its marks. Yield each piece and True if it is marked."""
    position = 0
    for mark in marks:
        if mark.start > position:
            yield text[position : mark.start], False
        yield text[mark.start : mark.end], True
        position = mark.end
    if position < len(text):
        yield text[position:], False

"""The memory explorer:

search with every reason, the newest turns, one turn with all that hangs on it, and forgetting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ..agent.second_look import second_look
from ..http.endpoint import ThreadPool
from ..memory.history import browse
from ..memory.history.forget import NotConfirmed, erase_event, forget
from ..memory.recall.explain import explain
from ..protocol import limits
from ..protocol.errors import Problem
from ..protocol.explain import ExplainedHit, Explanation, Mark
from ..protocol.forget import Forget
from ..protocol.memory import MemoryQuery
from ..protocol.second_look import SecondLook
from . import parameters as given
from .browser_session import BrowserRequest, Page
from .parameters import link_to

HERE = "/console/memory"
FOUND_MAX = (5, 10, 20, 50)  # hits to choose from
BAR_WIDTH = 100.0  # of the picture that the largest bars fill, in its units
ADDS_MIN = 0.05  # what adds less is told together, as the rest
_SAID = {
    "neighbour": "the turns beside it",
    "session": "its session",
    "speaker": "who said it",
    "date": "when it occurred",
    "form": "how it is written",
}


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """How long the bars of all hits are: as far below zero, and above it, as any of them goes."""

    below: float
    above: float

    @property
    def unit(self) -> float:
        """How long a bar of 1 is."""
        return BAR_WIDTH / ((max(self.below, 0.0) + max(self.above, 0.0)) or 1.0)

    @property
    def zero(self) -> float:
        """Where bars begin."""
        return round(max(self.below, 0.0) * self.unit, 1)

    def bar(self, adds: float) -> tuple[float, float]:
        """Where the bar is, and how wide."""
        width = round(abs(adds) * self.unit, 1)
        return (round(self.zero - width, 1) if adds < 0 else self.zero), width


@dataclass(frozen=True, slots=True)
class ReasonBar:
    """One line of why a hit stands where it does. `left` and `width` are of its bar."""

    signal: str
    said: str
    rank: int | None
    adds: float
    left: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HitView:
    """A hit as the page tells it: its sides in pieces of which some are marked, and its reasons."""

    hit: ExplainedHit
    query: list[tuple[str, bool]]
    response: list[tuple[str, bool]]
    reasons: list[ReasonBar]
    noticed: list[str]
    zero: float  # where its bars begin


def show(visit: BrowserRequest) -> Response:
    """Search, or the newest turns; one turn with `event_id`."""
    asked = visit.request.query_params
    if event_id := given.ident(asked, "event_id"):
        return _turn(visit, event_id)
    caller, context = visit.caller(), visit.context
    users = given.users(context, caller, asked)
    fields = {
        "query": given.text(asked, "query", limits.QUERY_CHARACTERS_MAX),
        "focus": given.text(asked, "focus", limits.FOCUS_WORD_CHARACTERS_MAX),
        "after": given.parse_day(asked, "after"),
        "before": given.parse_day(asked, "before"),
        "top_k": given.number(asked, "top_k") or FOUND_MAX[1],
        "noticed": "yes" if asked.get("noticed") == "yes" else "",
    }
    values = (
        _found(visit, users.chosen, fields)
        if fields["query"]
        else _newest(visit, users.chosen, fields)
    )
    values |= {"users": users, "fields": fields, "counts": FOUND_MAX, "swapped": visit.is_swap}
    if visit.is_swap:
        return visit.fragment("_found.html", **values)
    return visit.page(
        "memory.html", **values, kept=browse.user_counts(context, caller, users.chosen)
    )


def _found(visit: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    focus = [one.strip() for one in fields["focus"].split(",") if one.strip()]
    values = {name: fields[name] for name in ("after", "before", "top_k")}
    query = given.message(
        MemoryQuery,
        {"query_text": fields["query"], "user_id": user_id, "focus_words": focus, **values},
    )
    found = explain(visit.context, visit.caller(), query)
    slowest = max((stage.ms for stage in found.stages), default=1.0) or 1.0
    return {
        "found": found,
        "hits": list(_told(found)),
        "ms": sum(stage.ms for stage in found.stages),
        "stages": [(stage, BAR_WIDTH * stage.ms / slowest) for stage in found.stages],
    }


def _newest(visit: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    behind = given.place(visit.request.query_params, "behind")
    if fields["noticed"]:
        page = browse.list_flagged(visit.context, visit.caller(), user_id, behind=behind)
    else:
        after, before = (given.milliseconds(fields[name]) for name in ("after", "before"))
        page = browse.newest_events(
            visit.context, visit.caller(), user_id, after_ms=after, before_ms=before, behind=behind
        )
    days = {
        name: f"{fields[name]:%Y-%m-%d}" if fields[name] else None for name in ("after", "before")
    }
    more = (
        link_to(HERE, user_id=user_id, noticed=fields["noticed"], behind=page.next, **days)
        if page.next
        else None
    )
    return {"found": None, "events": page.events, "more": more, "is_first": behind is None}


def _told(found: Explanation) -> Iterator[HitView]:
    reasons = [list(_reasons(hit)) for hit in found.hits]
    added = [adds for lines in reasons for *_, adds in lines]
    scale = ScoreScale(-min(added, default=0.0), max(added, default=0.0))
    for hit, lines in zip(found.hits, reasons, strict=True):
        yield HitView(
            hit=hit,
            query=list(pieces(hit.query, [mark for mark in hit.marks if mark.side == "query"])),
            response=list(
                pieces(hit.response, [mark for mark in hit.marks if mark.side == "response"])
            ),
            reasons=[
                ReasonBar(signal, said, rank, adds, *scale.bar(adds))
                for signal, said, rank, adds in lines
            ],
            noticed=[one.signal for one in hit.why if one.signal in ("instruction_like", "secret")],
            zero=scale.zero,
        )


def _reasons(hit: ExplainedHit) -> Iterator[tuple[str, str, int | None, float]]:
    ranks = {one.feature: one.rank for one in hit.features}
    said = _SAID | {
        "text": f"{hit.coverage:.0%} of the words, BM25 {hit.bm25:.1f}",
        "dense": f"cosine {hit.cosine:.2f}",
    }
    rest = 0.0
    for signal in dict.fromkeys(one.signal for one in hit.features):
        adds = sum(one.adds for one in hit.features if one.signal == signal)
        if abs(adds) < ADDS_MIN:
            rest += adds
        else:
            yield (
                signal,
                said[signal],
                ranks.get(signal) if signal in ("text", "dense") else None,
                adds,
            )
    if hit.focus_lift:
        yield "focus", "holds exact words", None, hit.focus_lift
    if hit.order_cost:
        yield "orders", "reads like orders", None, -hit.order_cost
    if abs(rest) >= ADDS_MIN / 10:
        yield "rest", "all else", None, rest


def pieces(text: str, marks: Sequence[Mark]) -> Iterator[tuple[str, bool]]:
    """A text in pieces, and whether each is marked."""
    at = 0
    for mark in marks:
        if mark.start > at:
            yield text[at : mark.start], False
        yield text[mark.start : mark.end], True
        at = mark.end
    if at < len(text):
        yield text[at:], False


def _turn(visit: BrowserRequest, event_id: str) -> Response:
    found = browse.event_context(visit.context, visit.caller(), event_id)
    looked, refused = None, None
    if visit.request.query_params.get("look") == "again":
        try:
            looked = second_look(
                visit.context,
                visit.caller(),
                given.message(SecondLook, {"draft": found.event.response}),
            )
        except Problem as error:
            refused = error.detail
    return visit.page("turn.html", found=found, looked=looked, refused=refused)


def confirm_forget(visit: BrowserRequest) -> Response:
    """What would be erased, counted by a run that erases nothing; with `sure`, it is erased."""
    form, caller = visit.form, visit.caller()
    sure = form.get("sure") == "yes"
    if event_id := given.ident(form, "event_id"):
        told = erase_event(visit.context, caller, event_id, dry_run=not sure)
        back = link_to(HERE, user_id=given.ident(form, "user_id"))
        if sure:
            return visit.go(back, told=_erased({"events": 1, "facts": told.facts}))
        values: dict[str, Any] = {
            "what": "this turn",
            "name": None,
            "told_in": told.told_in,
            "leave": back,
        }
        counts, fields = (
            {"events": 1, "facts": told.facts},
            {"event_id": event_id, "user_id": form.get("user_id", "")},
        )
        return visit.page("forget.html", counts=counts, fields=fields, **values)
    users = given.users(visit.context, caller, form)
    days = {name: given.parse_day(form, name) for name in ("after", "before")}
    session_id = given.ident(form, "session_id") or None
    asked = given.message(
        Forget, {"user_id": users.chosen, "session_id": session_id, **days, "dry_run": True}
    )
    values = {
        "what": _what(asked),
        "name": None if asked.is_narrowed else users.chosen,
        "fields": {
            name: form[name]
            for name in ("user_id", "session_id", "after", "before")
            if form.get(name)
        },
        "counts": forget(visit.context, caller, asked).counts.model_dump(),
        "told_in": [],
        "leave": link_to(HERE, user_id=users.chosen),
    }
    if not sure:
        return visit.page("forget.html", **values)
    try:
        confirm = given.ident(form, "confirm") or None
        done = forget(
            visit.context, caller, asked.model_copy(update={"dry_run": False, "confirm": confirm})
        )
    except NotConfirmed:
        return visit.page(
            "forget.html", status=422, **values, error="This is not the name. Nothing was erased."
        )
    return visit.go(
        link_to(HERE, user_id=users.chosen if asked.is_narrowed else None),
        told=_erased(done.counts.model_dump()),
    )


def _what(asked: Forget) -> str:
    time = [f"from {asked.after:%Y-%m-%d}"] if asked.after else []
    time += [f"before {asked.before:%Y-%m-%d}"] if asked.before else []
    parts = [f"the session {asked.session_id}" if asked.session_id else "", " and ".join(time)]
    said = ", ".join(part for part in parts if part)
    return f"{said} of {asked.user_id}" if said else f"all that is kept of {asked.user_id}"


def _erased(counts: Mapping[str, int]) -> str:
    words = {
        "events": "turns",
        "summaries": "L1s",
        "maps": "versions of the map",
        "prompts": "prompts",
        "memory_files": "versions of memory files",
    }
    said = ", ".join(
        f"{count:,} {words.get(name, name)}" for name, count in counts.items() if count
    )
    return f"Erased: {said}." if said else "There was nothing to erase."


PAGES = {
    HERE: Page(get=show, where=ThreadPool.SEARCH),
    f"{HERE}/forget": Page(post=confirm_forget),
}

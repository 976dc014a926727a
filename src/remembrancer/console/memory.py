"""The memory page: search with explained scores, newest turns, one turn in detail, forget."""

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
from ..protocol.reasons import reason_line
from ..protocol.search import MemoryQuery
from ..protocol.second_look import SecondLook
from . import parameters
from .browser_session import BrowserRequest, Page
from .parameters import link_to

PATH = "/console/memory"
TOP_K_CHOICES = (5, 10, 20, 50)
BAR_WIDTH = 100.0  # of the longest bar, in SVG units
ADDS_MIN = 0.05  # smaller contributions are summed up as `other`
_LABELS = {
    "text and dense": "words and meaning together",
    "neighbour": "adjacent turns",
    "session": "other hits in its session",
    "speaker": "the speaker",
    "date": "the date",
    "form": "length and style",
}
FLAG_LABELS = {
    "instruction_like": "possible prompt injection",
    "secret": "contains a secret",
    "machine_notice": "machine notice",
    "near_duplicate": "near duplicate",
}
_COSTLY_FLAGS = ("instruction_like", "machine_notice", "near_duplicate")  # they lower a score


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Common scale of the score bars of all hits, from the lowest to the highest contribution."""

    below: float
    above: float

    @property
    def unit(self) -> float:
        """Length of a bar for a contribution of 1."""
        return BAR_WIDTH / ((max(self.below, 0.0) + max(self.above, 0.0)) or 1.0)

    @property
    def zero(self) -> float:
        """Position of zero."""
        return round(max(self.below, 0.0) * self.unit, 1)

    def bar(self, adds: float) -> tuple[float, float]:
        """Return left edge and width of a bar."""
        width = round(abs(adds) * self.unit, 1)
        return (round(self.zero - width, 1) if adds < 0 else self.zero), width


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
class HitView:
    """A hit as the page shows it: query and response with highlights, and the score bars."""

    hit: ExplainedHit
    query: list[tuple[str, bool]]
    response: list[tuple[str, bool]]
    reasons: list[ReasonBar]
    flags: list[str]
    zero: float  # where the bars start
    reason: str  # why it is a hit, in one line


def show(browser: BrowserRequest) -> Response:
    """Show search results, or the newest turns, or one turn with `?event_id`."""
    params = browser.request.query_params
    if event_id := parameters.identifier(params, "event_id"):
        return _turn(browser, event_id)
    caller, context = browser.caller(), browser.context
    users = parameters.users(context, caller, params)
    fields = {
        "query": parameters.text(params, "query", limits.QUERY_CHARACTERS_MAX),
        "focus": parameters.text(params, "focus", limits.FOCUS_WORD_CHARACTERS_MAX),
        "after": parameters.parse_day(params, "after"),
        "before": parameters.parse_day(params, "before"),
        "top_k": parameters.number(params, "top_k") or TOP_K_CHOICES[1],
        "noticed": "yes" if params.get("noticed") == "yes" else "",
    }
    values = (
        _search(browser, users.chosen, fields)
        if fields["query"]
        else _newest(browser, users.chosen, fields)
    )
    values |= {
        "users": users,
        "fields": fields,
        "top_k_choices": TOP_K_CHOICES,
        "is_fragment": browser.wants_fragment,
    }
    if browser.wants_fragment:
        return browser.fragment("_search_results.html", **values)
    return browser.page(
        "memory.html", **values, totals=browse.user_counts(context, caller, users.chosen)
    )


def _search(browser: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    focus = [word.strip() for word in fields["focus"].split(",") if word.strip()]
    values = {name: fields[name] for name in ("after", "before", "top_k")}
    query = parameters.parse(
        MemoryQuery,
        {"query_text": fields["query"], "user_id": user_id, "focus_words": focus, **values},
    )
    explanation = explain(browser.context, browser.caller(), query)
    slowest_ms = max((stage.ms for stage in explanation.stages), default=1.0) or 1.0
    return {
        "explanation": explanation,
        "hits": list(_hit_views(explanation)),
        "ms": sum(stage.ms for stage in explanation.stages),
        "stages": [(stage, BAR_WIDTH * stage.ms / slowest_ms) for stage in explanation.stages],
    }


def _newest(browser: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    behind = parameters.cursor(browser.request.query_params, "behind")
    if fields["noticed"]:
        page = browse.list_flagged(browser.context, browser.caller(), user_id, behind=behind)
    else:
        after, before = (parameters.milliseconds(fields[name]) for name in ("after", "before"))
        page = browse.newest_events(
            browser.context,
            browser.caller(),
            user_id,
            after_ms=after,
            before_ms=before,
            behind=behind,
        )
    days = {
        name: f"{fields[name]:%Y-%m-%d}" if fields[name] else None for name in ("after", "before")
    }
    more = (
        link_to(PATH, user_id=user_id, noticed=fields["noticed"], behind=page.next, **days)
        if page.next
        else None
    )
    return {"explanation": None, "events": page.events, "more": more, "is_first": behind is None}


def _hit_views(explanation: Explanation) -> Iterator[HitView]:
    reasons = [list(_reasons(hit)) for hit in explanation.hits]
    contributions = [adds for rows in reasons for *_, adds in rows]
    scale = ScoreScale(-min(contributions, default=0.0), max(contributions, default=0.0))
    for hit, rows in zip(explanation.hits, reasons, strict=True):
        yield HitView(
            hit=hit,
            query=list(highlights(hit.query, [m for m in hit.marks if m.side == "query"])),
            response=list(highlights(hit.response, [m for m in hit.marks if m.side == "response"])),
            reasons=[
                ReasonBar(signal, label, rank, adds, *scale.bar(adds))
                for signal, label, rank, adds in rows
            ],
            flags=[one.signal for one in hit.why if one.signal in FLAG_LABELS],
            zero=scale.zero,
            reason=reason_line(hit.why),
        )


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
    if hit.focus_lift:
        yield "focus", "contains the exact words", None, hit.focus_lift
    if hit.summary_lift:
        yield "summary", "an L1 that matches covers it", None, hit.summary_lift
    if hit.history_lift:
        yield "history", "it changed a value", None, hit.history_lift
    if hit.age_cost:
        yield "age", "it is old", None, -hit.age_cost
    if hit.order_cost:
        flags = [one.signal for one in hit.why if one.signal in _COSTLY_FLAGS]
        costs = [FLAG_LABELS[flag] for flag in flags]
        yield "orders", ", ".join(costs) or "matched by a machine notice", None, -hit.order_cost
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


def _turn(browser: BrowserRequest, event_id: str) -> Response:
    detail = browse.event_context(browser.context, browser.caller(), event_id)
    verdict, error_message = None, None
    if browser.request.query_params.get("look") == "again":
        try:
            verdict = second_look(
                browser.context,
                browser.caller(),
                parameters.parse(SecondLook, {"draft": detail.event.response}),
            )
        except Problem as error:
            error_message = error.detail
    return browser.page("turn.html", detail=detail, verdict=verdict, error_message=error_message)


def confirm_forget(browser: BrowserRequest) -> Response:
    """Show counts of what would be erased; with `sure`, erase it."""
    form, caller = browser.form, browser.caller()
    if event_id := parameters.identifier(form, "event_id"):
        return _forget_event(browser, event_id)
    users = parameters.users(browser.context, caller, form)
    days = {name: parameters.parse_day(form, name) for name in ("after", "before")}
    session_id = parameters.identifier(form, "session_id") or None
    request = parameters.parse(
        Forget, {"user_id": users.chosen, "session_id": session_id, **days, "dry_run": True}
    )
    values: dict[str, Any] = {
        "target": _target(request),
        "name": None if request.is_narrowed else users.chosen,
        "fields": {
            name: form[name]
            for name in ("user_id", "session_id", "after", "before")
            if form.get(name)
        },
        "counts": forget(browser.context, caller, request).counts.model_dump(),
        "mentioned_in": [],
        "cancel_path": link_to(PATH, user_id=users.chosen),
    }
    if form.get("sure") != "yes":
        return browser.page("forget.html", **values)
    try:
        confirm = parameters.identifier(form, "confirm") or None
        confirmed_request = request.model_copy(update={"dry_run": False, "confirm": confirm})
        result = forget(browser.context, caller, confirmed_request)
    except NotConfirmed:
        return browser.page(
            "forget.html",
            status=422,
            **values,
            error="The name does not match. Nothing was erased.",
        )
    return browser.redirect(
        link_to(PATH, user_id=users.chosen if request.is_narrowed else None),
        notice=_erasure_notice(result.counts.model_dump()),
    )


def _forget_event(browser: BrowserRequest, event_id: str) -> Response:
    form = browser.form
    is_confirmed = form.get("sure") == "yes"
    result = erase_event(browser.context, browser.caller(), event_id, dry_run=not is_confirmed)
    counts = {"events": 1, "facts": result.facts}
    back = link_to(PATH, user_id=parameters.identifier(form, "user_id"))
    if is_confirmed:
        return browser.redirect(back, notice=_erasure_notice(counts))
    return browser.page(
        "forget.html",
        target="this turn",
        name=None,
        mentioned_in=result.told_in,
        cancel_path=back,
        counts=counts,
        fields={"event_id": event_id, "user_id": form.get("user_id", "")},
    )


def _target(request: Forget) -> str:
    time = [f"from {request.after:%Y-%m-%d}"] if request.after else []
    time += [f"before {request.before:%Y-%m-%d}"] if request.before else []
    parts = [f"session {request.session_id}" if request.session_id else "", " and ".join(time)]
    filters = ", ".join(part for part in parts if part)
    return f"{filters} of {request.user_id}" if filters else f"everything of {request.user_id}"


def _erasure_notice(counts: Mapping[str, int]) -> str:
    words = {
        "events": "turns",
        "summaries": "L1 summaries",
        "maps": "map versions",
        "prompts": "prompts",
        "memory_files": "memory file versions",
    }
    items = ", ".join(
        f"{count:,} {words.get(name, name)}" for name, count in counts.items() if count
    )
    return f"Erased: {items}." if items else "There was nothing to erase."


PAGES = {
    PATH: Page(get=show, pool=ThreadPool.SEARCH),
    f"{PATH}/forget": Page(post=confirm_forget),
}

"""The memory page: one list of what is stored, found or browsed, and one record in a panel.

The address holds the state: what is searched for, the facets that narrow the list, and the
record in the panel. Without scripts each choice loads the page again; with them only what changes.
"""

from __future__ import annotations

from calendar import Calendar
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any

from starlette.responses import Response

from ..accounts.teams import authors_of_events
from ..agent.second_look import second_look
from ..cubes import board
from ..files.files import list_files
from ..http.dispatch import ThreadPool
from ..memory.facts.life import change_fact, fact_timeline, list_facts, remove_fact
from ..memory.history import activity, browse
from ..memory.history.endings import change_event
from ..memory.history.forget import NotConfirmed, erase_event, forget
from ..memory.recall.explain import explain
from ..permissions.teams import list_teams
from ..protocol import limits
from ..protocol.agent import SecondLook
from ..protocol.errors import InvalidRequest, Problem
from ..protocol.facts import FactChange, FactsQuery
from ..protocol.filters import filters_of
from ..protocol.forget import Forget
from ..protocol.memory import EventChange, EventsQuery, ListedEvent
from ..protocol.search import PROJECT, Author, Explanation, MemoryQuery
from ..protocol.trust import SOURCES
from . import layout
from .browser_session import BrowserRequest, Page
from .hits import EVERYONE, WITH_TEAMS, HitView, SearchReach, hit_views, search_scope
from .layout import link_to

PATH = "/console/memory"
KINDS = {
    "turn": "Turns",
    "session": "Sessions",
    "fact": "Facts",
    "wish": "Wishes",
    "summary": "Summaries",
}
STATUSES = ("current", "superseded", "expired", "removed", "all")  # of facts and wishes
LISTED, HITS = 30, 10
CHOICES_OFFERED = 6  # sessions and topics of a facet
_DAY = timedelta(days=1)
_LAST_MONTH = date(9999, 12, 1)  # has no month after it
_STATE = (
    "user_id", "kind", "query", "session_id", "project", "topic", "source", "status", "after",
    "before", "focus", "filters", "noticed", "users", "teams",
)  # fmt: skip


# --- The state of the page -------------------------------------------------------------------


def search_fields(params: Mapping[str, str]) -> dict[str, Any]:
    """Return the state that the parameters of an address hold. Raises InvalidRequest."""
    return {
        "query": layout.text(params, "query", limits.QUERY_CHARACTERS_MAX),
        "focus": layout.text(params, "focus", limits.FOCUS_WORD_CHARACTERS_MAX),
        "filters": layout.text(params, "filters", limits.METADATA_TEXT_CHARACTERS_MAX),
        "project": layout.text(params, "project", limits.METADATA_TEXT_CHARACTERS_MAX),
        "topic": layout.text(params, "topic", limits.METADATA_TEXT_CHARACTERS_MAX),
        "session_id": layout.identifier(params, "session_id"),
        "after": layout.parse_day(params, "after"),
        "before": layout.parse_day(params, "before"),
        "noticed": "yes" if params.get("noticed") == "yes" else "",
        "users": EVERYONE if params.get("users") == EVERYONE else "",
        "teams": WITH_TEAMS if params.get("teams") == WITH_TEAMS else "",
        "kind": layout.one_of(params, "kind", KINDS),
        "source": layout.one_of(params, "source", SOURCES),
        "status": layout.one_of(params, "status", STATUSES),
        "top_k": layout.number(params, "top_k") or HITS,
    }


def turn_filters(fields: Mapping[str, Any], *names: str) -> dict[str, Any] | None:
    """Return the filter of the fields of these names and of the field `filters`."""
    parts = [{name: fields[name]} for name in names if fields[name]]
    try:
        written = filters_of(_words(fields["filters"]))
    except ValueError as error:
        raise InvalidRequest(f"Metadata: {error}.") from error
    parts += [written] if written else []
    return {"and": parts} if len(parts) > 1 else next(iter(parts), None)


def search_query(fields: Mapping[str, Any], user_id: str) -> MemoryQuery:
    """Return the search of the fields of a page, for one user. Raises InvalidRequest."""
    values = {name: fields[name] for name in ("after", "before", "top_k")}
    return layout.parse(
        MemoryQuery,
        {
            "query_text": fields["query"],
            "user_id": user_id,
            "focus_words": _words(fields["focus"]),
            "filters": turn_filters(fields, "session_id", PROJECT, "topic", "source"),
            **values,
        },
    )


def events_query(fields: Mapping[str, Any], user_id: str, **page: Any) -> EventsQuery:
    """Return the list of turns that the fields of a page narrow. Raises InvalidRequest."""
    values = {name: fields[name] or None for name in ("session_id", "after", "before")}
    filters = turn_filters(fields, PROJECT, "topic", "source")
    return layout.parse(EventsQuery, {"user_id": user_id, "filters": filters, **values, **page})


def facts_query(fields: Mapping[str, Any], user_id: str, **page: Any) -> FactsQuery:
    """Return the list of facts or wishes that the fields of a page narrow."""
    values = {
        "user_id": user_id,
        "which": {"fact": "facts", "wish": "instructions"}.get(fields["kind"], "all"),
        "status": fields["status"] or "current",
        "filters": turn_filters(fields, PROJECT, "source"),
    }
    return layout.parse(FactsQuery, values | page)


def _words(field: str) -> list[str]:
    return [word.strip() for word in field.split(",") if word.strip()]


def address(fields: Mapping[str, Any], **changes: Any) -> str:
    """Return the address of the page with these fields, after changes to them."""
    values = {name: fields.get(name) for name in _STATE} | changes
    days = {name: f"{values[name]:%Y-%m-%d}" for name in ("after", "before") if values.get(name)}
    return link_to(PATH, **values | days)


# --- The list --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """A row of the list: a record, and the address that shows it."""

    kind: str
    id: str
    address: str
    at: int | str  # ms since 1970, or RFC 3339
    text: str
    reply: str = ""
    session_id: str = ""
    about: str = ""
    marks: Sequence[str] = ()  # flags of a turn, status of a fact
    view: HitView | None = None  # of a hit


def _browse(browser: BrowserRequest, fields: Mapping[str, Any]) -> tuple[list[ListRow], object]:
    """Return the rows of a page of one kind of records, and where the next page begins."""
    params, user_id, kind = browser.request.query_params, fields["user_id"], fields["kind"]
    if kind in ("fact", "wish"):
        below = layout.number(params, "behind")
        query = facts_query(fields, user_id, limit=LISTED, below=below)
        page = list_facts(*browser.arguments, query)
        return [_fact_row(fields, fact) for fact in page.facts], page.next
    if kind == "summary":
        below = layout.number(params, "behind")
        found, low = browse.list_summaries(*browser.arguments, user_id, below=below, size=LISTED)
        return [_summary_row(user_id, one, one.created_ms) for one in found], low
    if kind == "session":
        behind = layout.cursor(params, "behind")
        sessions, last = browse.list_sessions(*browser.arguments, user_id, behind=behind)
        return [_session_row(user_id, one) for one in sessions], last
    if fields["noticed"]:
        below = layout.number(params, "behind")
        flagged, low = browse.list_flagged(*browser.arguments, user_id, below=below)
        return [_turn_row(fields, one) for one in flagged], low
    cursor = layout.text(params, "behind", 40) or None
    turns = events_query(fields, user_id, limit=LISTED, cursor=cursor)
    listed = browse.list_events(*browser.arguments, turns)
    return [_turn_row(fields, one) for one in listed.events], listed.next


def session_address(user_id: str, session_id: str) -> str:
    """Return the address of a session as a conversation."""
    return link_to("/console/sessions", user_id=user_id, session_id=session_id)


def _turn_row(fields: Mapping[str, Any], event: ListedEvent) -> ListRow:
    return ListRow(
        kind="turn",
        id=event.event_id,
        address=address(fields, event_id=event.event_id),
        at=event.occurred_at,
        text=event.query or event.response,
        reply=event.response if event.query else "",
        session_id=event.session_id,
        about=event.topic or "",
        marks=event.flags,
    )


def _fact_row(fields: Mapping[str, Any], fact: Any) -> ListRow:
    marks = [] if fact.status == "current" else [fact.status]
    return ListRow(
        kind="wish" if getattr(fact, "kind", "fact") != "fact" else "fact",
        id=fact.fact_id,
        address=address(fields, fact_id=fact.fact_id),
        at=fact.valid_from,
        text=fact.text or "Text erased.",
        about=f"from {fact.source}",
        marks=[*marks, "pinned"] if getattr(fact, "pinned", False) else marks,
    )


def _session_row(user_id: str, session: browse.SessionRow) -> ListRow:
    marks = {"task open": session.task_open, "summary due": session.is_l1_due}
    return ListRow(
        kind="session",
        id=session.session_id,
        address=session_address(user_id, session.session_id),
        at=session.last_ms,
        text=session.title,
        reply=session.summary,
        about=f"{session.turns:,} turn{'' if session.turns == 1 else 's'}",
        marks=[name for name, has in marks.items() if has],
    )


def _summary_row(user_id: str, summary: Any, at: int | str = "") -> ListRow:
    """Return the row of a summary, or of lines of the profile, which belong to no session."""
    place = link_to("/console/knows", user_id=user_id)
    if summary.session_id:
        place = f"{session_address(user_id, summary.session_id)}#{summary.l1_id}"
    return ListRow(
        kind="summary",
        id=summary.l1_id or "",
        address=place,
        at=at,
        text=summary.text,
        session_id=summary.session_id or "",
        about="" if summary.session_id else "profile",
    )


def _hit_row(fields: Mapping[str, Any], view: HitView) -> ListRow:
    is_own = view.user_id == fields["user_id"]
    here = fields if is_own else {"user_id": view.user_id, "query": fields["query"]}
    return ListRow(
        kind="turn",
        id=view.hit.event_id,
        address=address(here, event_id=view.hit.event_id),
        at=view.hit.occurred_at,
        text=view.hit.query,
        reply=view.hit.response,
        session_id=view.hit.session_id,
        marks=view.flags,
        view=view,
    )


def _layer_rows(fields: Mapping[str, Any], found: Explanation) -> Iterator[ListRow]:
    for wish in found.instructions:
        yield ListRow(
            kind="wish",
            id=wish.instruction_id,
            address=address(fields, fact_id=wish.instruction_id),
            at="",
            text=wish.text,
            about=f"applies {wish.condition or 'always'}",
        )
    wishes = {one.text for one in found.instructions}
    yield from (_fact_row(fields, fact) for fact in found.facts if fact.text not in wishes)
    yield from (_summary_row(fields["user_id"], one) for one in found.summaries)


def search(
    browser: BrowserRequest, fields: Mapping[str, Any]
) -> tuple[list[ListRow], dict[str, Any]]:
    """Search one memory or several, one after the other; return rows, and what to say of them.

    Of one memory, its facts, wishes and summaries come before the hits.
    """
    context, scope = browser.context, search_scope(browser, fields["user_id"], fields)
    found: list[Explanation] = []
    views: list[HitView] = []
    for memory in scope.memories:
        one = explain(context, memory.caller, search_query(fields, memory.user_id))
        views += hit_views(one, memory.user_id, context.clock(), team=memory.team)
        found.append(one)
    rows, kind = [], fields["kind"]
    is_one = not (fields["users"] or fields["teams"])
    if is_one:
        rows = [row for row in _layer_rows(fields, found[0]) if kind in ("", row.kind)]
    else:
        views = sorted(views, key=lambda view: -view.hit.score)[: fields["top_k"]]
    if kind in ("", "turn"):
        rows += [_hit_row(fields, view) for view in views]
    stages = found[0].stages if is_one else []
    slowest_ms = max((stage.ms for stage in stages), default=0.0) or 1.0
    return rows, {
        "explanation": found[0] if is_one else None,
        "views": views,
        "scope": None if is_one else scope,
        "authors": _authors(browser, scope, views),
        "matches": sum(one.total_hits for one in found),
        "passages": sum(one.looked.passages for one in found),
        "ms": sum(stage.ms for one in found for stage in one.stages),
        "stages": [(stage, 100 * stage.ms / slowest_ms) for stage in stages],
    }


def _authors(
    browser: BrowserRequest, scope: SearchReach, views: Sequence[HitView]
) -> dict[str, Author]:
    """Return who wrote the hits that are in memories of teams, by event_id."""
    authors: dict[str, Author] = {}
    for memory in scope.memories:
        if memory.team:
            ids = [view.hit.event_id for view in views if view.user_id == memory.user_id]
            read = partial(authors_of_events, event_ids=ids)
            authors |= browser.context.store.read(read, account_id=memory.caller.account_id)
    return authors


# --- The facets ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FacetChoice:
    """A choice of a facet: its text, its count if it is known, and its address."""

    text: str
    count: int | None
    address: str
    is_chosen: bool = False


def _facets(browser: BrowserRequest, fields: Mapping[str, Any]) -> dict[str, list[FacetChoice]]:
    user_id, kind = fields["user_id"], fields["kind"]
    counts = browse.user_counts(*browser.arguments, user_id)
    places = browse.turn_places(*browser.arguments, user_id)
    sessions, _ = browse.list_sessions(*browser.arguments, user_id, size=CHOICES_OFFERED)
    facets = {"Kind": _kinds(browser, fields, counts)}
    of_facts = kind in ("fact", "wish")
    if of_facts:
        facets["Status"] = _choices(fields, "status", dict.fromkeys(STATUSES))
    if places.projects or fields["project"]:  # the counts are those of turns
        projects = dict.fromkeys(places.projects) if of_facts else places.projects
        facets["Project"] = _choices(fields, "project", projects)
    if (places.topics and not of_facts) or fields["topic"]:
        # a longer one cannot be filtered by
        short = (one for one in places.topics if len(one) <= limits.METADATA_TEXT_CHARACTERS_MAX)
        topics = {one: places.topics[one] for one in islice(short, CHOICES_OFFERED)}
        facets["Topic"] = _choices(fields, "topic", topics)
    if kind in ("", "turn") and (sessions or fields["session_id"]):
        titles = {one.session_id: one.title for one in sessions}
        turns = {one.session_id: one.turns for one in sessions}
        facets["Session"] = _choices(fields, "session_id", turns, titles)
        if counts.flagged or fields["noticed"]:
            flagged = {"yes": counts.flagged}
            texts = {"yes": "possible injections, secrets"}
            facets["Flagged"] = _choices(fields, "noticed", flagged, texts)
    if (len(places.sources) > 1 and not of_facts) or fields["source"]:
        facets["Source"] = _choices(fields, "source", places.sources)
    return facets


def _kinds(
    browser: BrowserRequest, fields: Mapping[str, Any], counts: browse.UserCounts
) -> list[FacetChoice]:
    """Return the kinds of records; lessons and files, which the account owns, have their pages."""
    by_kind = {
        "turn": counts.events, "session": counts.sessions, "fact": counts.facts,
        "wish": counts.wishes, "summary": counts.summaries,
    }  # fmt: skip
    lessons = sum(board.counts(*browser.arguments).values())
    files = list_files(*browser.arguments, None).count
    return [
        *_choices(fields, "kind", by_kind, KINDS),
        FacetChoice("Lessons", lessons, "/console/cubes"),
        FacetChoice("Files", files, "/console/files"),
    ]


def _choices(
    fields: Mapping[str, Any],
    name: str,
    counts: Mapping[str, int | None],
    texts: Mapping[str, str] = MappingProxyType({}),
) -> list[FacetChoice]:
    """Return the choices of a facet; the address of the one that is chosen clears it."""
    chosen = fields[name]
    return [
        FacetChoice(
            texts.get(one, one),
            counts.get(one),
            address(fields, **{name: "" if one == chosen else one}),
            one == chosen,
        )
        for one in dict.fromkeys([*counts, *([chosen] if chosen else [])])
    ]


@dataclass(frozen=True, slots=True)
class Month:
    """A month as a calendar: weeks of (day, turns, level 0 to 4, address)."""

    first: date
    address: str
    earlier: str | None
    later: str | None
    weeks: list[list[tuple[date, int, int, str]]]


def _month(browser: BrowserRequest, fields: Mapping[str, Any]) -> Month | None:
    """Return the month of the chosen days, or of the latest turn. None without turns."""
    turns_by_day = activity.turns_by_day(*browser.arguments, fields["user_id"])
    by_day = {day: turns for day, turns in turns_by_day.items() if day < _LAST_MONTH}
    if not by_day:
        return None
    chosen = fields["after"] or fields["before"]
    first = min(chosen.date() if chosen else max(by_day), _LAST_MONTH - _DAY).replace(day=1)
    most = max((turns for day, turns in by_day.items() if first <= day < _next(first)), default=1)

    def period(start: date, end: date) -> str:
        days = {"after": _midnight(start), "before": _midnight(end)}
        if all(fields[name] == day for name, day in days.items()):  # a second click clears it
            days = {}
        return address(fields, **{"after": None, "before": None, "noticed": "", **days})

    def whole(days: list[date]) -> str | None:
        start = days[0].replace(day=1) if days else None
        return period(start, _next(start)) if start else None

    def cell(day: date) -> tuple[date, int, int, str]:
        turns = by_day.get(day, 0)
        return day, turns, 1 + 3 * turns // most if turns else 0, period(day, day + _DAY)

    return Month(
        first=first,
        address=period(first, _next(first)),
        earlier=whole(sorted((day for day in by_day if day < first), reverse=True)),
        later=whole(sorted(day for day in by_day if day >= _next(first))),
        weeks=[
            [cell(day) for day in week]
            for week in Calendar().monthdatescalendar(first.year, first.month)
        ],
    )


def _next(first: date) -> date:
    return (first + 31 * _DAY).replace(day=1)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


# --- The panel, and the page -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedForm:
    """A form about facts that was not accepted: its name, entered values, messages by field."""

    name: str = ""
    fact_id: str = ""  # empty: the form that adds one
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


NO_ERRORS = RejectedForm()


def show(browser: BrowserRequest) -> Response:
    """Show the list that the address describes, and with `event_id` or `fact_id` a record."""
    try:
        return page(browser)
    except InvalidRequest as error:
        if not browser.wants_fragment:
            raise
        # In place of the list: the next letter may make the field valid.
        return browser.fragment("_explorer_error.html", status=error.status, detail=error.detail)


def page(browser: BrowserRequest, rejected: RejectedForm = NO_ERRORS) -> Response:
    """Render the page, after a form was rejected with that form."""
    params = browser.request.query_params
    fields = search_fields(params) | {"user_id": browser.users.chosen}
    event_id = layout.identifier(params, "event_id")
    fact_id = rejected.fact_id or layout.identifier(params, "fact_id")
    panel: dict[str, Any] = {"turn": None, "fact": None}
    if rejected.name:
        fields["kind"] = "fact"
    if event_id:
        panel["turn"] = _turn(browser, event_id)
        fields["user_id"] = panel["turn"]["detail"].event.user_id
    elif fact_id:
        panel["fact"] = _fact(browser, fact_id, rejected)
        fields["user_id"] = panel["fact"]["detail"].user_id
    behind: object = None
    found: dict[str, Any] = {}
    if fields["query"]:
        rows, found = search(browser, fields)
    else:
        rows, behind = _browse(browser, fields)
    view = next((one for one in found.get("views", ()) if one.hit.event_id == event_id), None)
    return browser.page(
        "memory.html",
        status=rejected.status,
        fields=fields,
        rows=rows,
        more=address(fields, behind=behind) if behind else None,
        found=found,
        panel=panel,
        view=view,
        open_id=event_id or fact_id,
        facets=_facets(browser, fields),
        month=_month(browser, fields),
        here=address(fields),
        is_first=not params.get("behind"),
        rejected=rejected,
        fact_max=limits.CRITICAL_CHARACTERS_MAX,
        has_teams=bool(list_teams(*browser.arguments).teams),
    )


def _turn(browser: BrowserRequest, event_id: str) -> dict[str, Any]:
    """Return a turn, its place in the conversation, and its second look if `look` asks for it."""
    detail = browse.event_context(*browser.arguments, event_id)
    event, verdict, error = detail.event, None, ""
    if browser.request.query_params.get("look") == "again":
        try:
            verdict = second_look(
                *browser.arguments, layout.parse(SecondLook, {"draft": event.response})
            )
        except Problem as problem:
            error = problem.detail
    return {"detail": detail, "verdict": verdict, "error": error}


def _fact(browser: BrowserRequest, fact_id: str, rejected: RejectedForm) -> dict[str, Any]:
    """Return a fact with its history, and the values of its forms. Raises FactUnknown."""
    detail = fact_timeline(*browser.arguments, fact_id)
    times = ("valid_from", "valid_to", "expires_at")
    values = {name: (getattr(detail.fact, name) or "")[:19] for name in times}
    values |= {"text": detail.fact.text or "", "since": ""}
    values["project"] = (detail.fact.metadata or {}).get(PROJECT, "")
    fields = {"wording": ("text", "since"), "times": times, "project": ("project",)}
    entered = {name: rejected.values[name] for name in fields.get(rejected.name, ())}
    return {"detail": detail, "fact": detail.fact, "values": values | entered}


# --- Several records at once, and forgetting -------------------------------------------------


def act_on_several(browser: BrowserRequest) -> Response:
    """Pin, unpin, end, delete or forget the records that a form picks, by `do`.

    All are facts, or all are turns.
    """
    form = browser.form
    browser.form_session()
    ids = [name.removeprefix("pick_") for name in form if name.startswith("pick_")]
    back = layout.local_path(form.get("back", ""), PATH)
    if not ids:
        return browser.redirect(back, notice="Choose at least one row first.")
    do = layout.one_of(form, "do", ("forget", "pin", "unpin", "end", "delete"))
    if do == "forget":
        return _forget_events(browser, ids, back)
    done = {"pin": "pinned", "unpin": "no longer pinned", "end": "ended", "delete": "deleted"}
    if ids[0].startswith("e_") and do in ("pin", "unpin"):
        for event_id in ids:
            change_event(*browser.arguments, event_id, EventChange(pinned=do == "pin"))
        return browser.redirect(back, notice=f"{len(ids)} of {len(ids)} turns {done[do]}.")
    facts = [fact_timeline(*browser.arguments, fact_id).fact for fact_id in ids]  # all exist
    if do != "delete":
        facts = [fact for fact in facts if fact.status == "current"]
    now = datetime.fromtimestamp(browser.context.clock() / 1000, UTC)
    changes = {
        "pin": FactChange(pinned=True),
        "unpin": FactChange(pinned=False),
        "end": FactChange(valid_to=now),
    }
    for fact in facts:
        if do == "delete":
            remove_fact(*browser.arguments, fact.fact_id)
        else:
            change_fact(*browser.arguments, fact.fact_id, changes[do])
    return browser.redirect(back, notice=f"{len(facts)} of {len(ids)} facts {done[do]}.")


_ERASED = ("user_id", "session_id", "after", "before")  # fields that say what is to be erased


def confirm_forget(browser: BrowserRequest) -> Response:
    """Show counts of what would be erased; with `sure`, erase it."""
    form, caller = browser.form, browser.caller()
    if ids := layout.identifiers(form, "event_ids"):
        return _forget_events(browser, ids, link_to(PATH, user_id=form.get("user_id")))
    user_id = browser.users.chosen
    days = {name: layout.parse_day(form, name) for name in ("after", "before")}
    session_id = layout.identifier(form, "session_id") or None
    request = layout.parse(
        Forget, {"user_id": user_id, "session_id": session_id, **days, "dry_run": True}
    )
    values: dict[str, Any] = {
        "target": _target(request),
        "name": None if request.is_narrowed else user_id,
        "fields": {name: form[name] for name in _ERASED if form.get(name)},
        "counts": forget(browser.context, caller, request).counts.model_dump(),
        "mentioned_in": [],
        "cancel_path": link_to(PATH, user_id=user_id),
    }
    if form.get("sure") != "yes":
        return browser.page("forget.html", **values)
    try:
        confirm = layout.identifier(form, "confirm") or None
        confirmed_request = request.model_copy(update={"dry_run": False, "confirm": confirm})
        result = forget(browser.context, caller, confirmed_request)
    except NotConfirmed:
        error = "The name does not match. Nothing was erased."
        return browser.page("forget.html", status=422, error=error, **values)
    return browser.redirect(
        link_to(PATH, user_id=user_id if request.is_narrowed else None),
        notice=_erasure_notice(result.counts.model_dump()),
    )


def _forget_events(browser: BrowserRequest, event_ids: list[str], back: str) -> Response:
    is_confirmed = browser.form.get("sure") == "yes"
    # All are counted first: an unknown one is refused before any is erased.
    results = [erase_event(*browser.arguments, one, dry_run=True) for one in event_ids]
    counts = {"events": len(results), "facts": sum(one.facts for one in results)}
    if is_confirmed:
        for one in event_ids:
            erase_event(*browser.arguments, one, dry_run=False)
        return browser.redirect(back, notice=_erasure_notice(counts))
    return browser.page(
        "forget.html",
        target="this turn" if len(results) == 1 else f"{len(results)} turns",
        name=None,
        mentioned_in=list(dict.fromkeys(l1 for one in results for l1 in one.told_in)),
        cancel_path=back,
        counts=counts,
        fields={"event_ids": " ".join(event_ids), "user_id": browser.users.chosen},
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
        "summaries": "summaries",
        "maps": "profile versions",
        "prompts": "prompts",
        "memory_files": "memory file versions",
    }
    items = ", ".join(
        f"{count:,} {words.get(name, name)}" for name, count in counts.items() if count
    )
    return f"Erased: {items}." if items else "There was nothing to erase."


PAGES = {
    PATH: Page(get=show, pool=ThreadPool.SEARCH),
    f"{PATH}/several": Page(post=act_on_several),
    f"{PATH}/forget": Page(post=confirm_forget),
}

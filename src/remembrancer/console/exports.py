"""Export of a list as CSV or JSON, with the filters of its page.

One address, `/console/export?list=NAME&format=csv`: the other parameters are those of the page.
Each list is read page by page with the action that its page uses, and sent while it is read.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any, TypeAlias, cast, get_args

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from ..accounts import keys, sign_in
from ..accounts.usage import usage_of
from ..cubes import board
from ..files.files import list_files
from ..http.dispatch import ThreadPool
from ..memory.facts.life import fact_timeline, list_facts
from ..memory.history import activity, browse
from ..memory.summaries.maps import map_history
from ..permissions.audit import search_audit
from ..permissions.grants import list_grants
from ..protocol import limits
from ..protocol.cubes import CubeStatus
from ..protocol.errors import InvalidRequest
from ..protocol.line import CubeKind
from ..protocol.permissions import GrantsQuery
from ..protocol.text import rfc3339
from . import audit, feedback, layout, users
from .browser_session import BrowserRequest, Page
from .memory import events_query, facts_query, search, search_fields

PATH = "/console/export"
SEARCHES_PAGE = 100
_FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
# A spreadsheet reads a text that begins like this as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

# The items of one page, and where the next page begins; None on the last.
ItemsPage: TypeAlias = tuple[Sequence[Any], Any]
ReadPage: TypeAlias = Callable[[BrowserRequest, Any], ItemsPage]


def export(browser: BrowserRequest) -> Response:
    """Send a list as a file.

    Raises InvalidRequest for an unknown list or format, NotOwner, StoreUnavailable.
    """
    params = browser.request.query_params
    name = layout.text(params, "list", 40)
    file_format = layout.text(params, "format", 40) or "csv"
    if name not in LISTS:
        raise InvalidRequest(f"list must be one of {', '.join(LISTS)}.")
    if file_format not in _FORMATS:
        raise InvalidRequest(f"format must be one of {', '.join(_FORMATS)}.")
    pages = _pages(browser, LISTS[name])
    first = next(pages)  # what is wrong with the request is answered before the file begins
    write = as_csv if file_format == "csv" else as_json
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{file_format}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return StreamingResponse(
        (part.encode("utf-8", "replace") for part in write(chain([first], pages))),
        headers=headers,
        media_type=_FORMATS[file_format],
    )


def _pages(browser: BrowserRequest, read: ReadPage) -> Iterator[Sequence[Any]]:
    position = None
    while True:
        items, position = read(browser, position)
        yield items
        if position is None:
            return


def as_csv(pages: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield items as CSV (RFC 4180), with a line of names; nested values are JSON.

    A text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    names: list[str] = []
    for items in pages:
        out = io.StringIO()
        writer = csv.writer(out)
        if items and not names:
            names = list(_row(items[0], every=True))
            writer.writerow(names)
        for item in items:
            row = _row(item)
            writer.writerow([_cell(row.get(name)) for name in names])
        yield out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value


def as_json(pages: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield items as an array of JSON objects, one a line."""
    yield "["
    separator = "\n"
    for items in pages:
        for item in items:
            yield separator + json.dumps(_row(item), ensure_ascii=False)
            separator = ",\n"
    yield "\n]\n"


def _row(item: Any, *, every: bool = False) -> dict[str, Any]:
    """Return an item as values of JSON. `every`: also with the fields that a message leaves out."""
    row: dict[str, Any] = _plain(item)
    if every and isinstance(item, BaseModel):
        return dict.fromkeys(type(item).model_fields) | row
    return row


def _plain(value: Any) -> Any:
    """Return a message, a row or another value as JSON has it; `*_ms` become `*_at` in RFC 3339."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return dict(_plain_item(name, part) for name, part in value.items())
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _plain_item(name: str, value: Any) -> tuple[str, Any]:
    if name.endswith("_ms"):
        return f"{name[:-3]}_at", rfc3339(value) if value else None
    return name, _plain(value)


def _turns(browser: BrowserRequest, position: Any) -> ItemsPage:
    """Return whole turns: of a session in order, else newest first, or flagged."""
    params, user_id = browser.request.query_params, browser.users.chosen
    if params.get("noticed") == "yes":
        return browse.list_flagged(*browser.arguments, user_id, below=position)
    fields = search_fields(params)
    order = "oldest" if fields["session_id"] else "newest"
    page = {"order": order, "limit": limits.EVENTS_PAGE_MAX, "cursor": position}
    listed = browse.list_events(*browser.arguments, events_query(fields, user_id, **page))
    return listed.events, listed.next


def _hits(browser: BrowserRequest, _: Any) -> ItemsPage:
    fields = search_fields(browser.request.query_params) | {"user_id": browser.users.chosen}
    views = search(browser, fields)[1]["views"]
    return [
        {"user_id": view.user_id, "team": view.team or ""} | _row(view.hit, every=True)
        for view in views
    ], None


def _facts(browser: BrowserRequest, position: Any) -> ItemsPage:
    params = browser.request.query_params
    if fact_id := layout.identifier(params, "fact_id"):
        return fact_timeline(*browser.arguments, fact_id).timeline, None
    page_of = {"below": position, "limit": limits.FACTS_LISTED_MAX}
    query = facts_query(search_fields(params), browser.users.chosen, **page_of)
    page = list_facts(*browser.arguments, query)
    return page.facts, page.next


def _lessons(browser: BrowserRequest, position: tuple[int, int | None] | None) -> ItemsPage:
    """Return lessons of one status, or of all, one after the other."""
    params = browser.request.query_params
    chosen, kind = params.get("status", ""), params.get("kind", "")
    statuses = (chosen,) if chosen in get_args(CubeStatus) else get_args(CubeStatus)
    place, below = position or (0, None)
    cards, following = board.page(
        *browser.arguments,
        cast(CubeStatus, statuses[place]),
        kind=cast(CubeKind, kind) if kind in get_args(CubeKind) else None,
        own=params.get("own") == "yes",
        below=below,
    )
    if following is not None:
        return cards, (place, following)
    return cards, (place + 1, None) if place + 1 < len(statuses) else None


def _users(browser: BrowserRequest, _: Any) -> ItemsPage:
    prefix = layout.text(browser.request.query_params, "prefix", limits.ID_CHARACTERS_MAX)
    return users.list_rows(*browser.arguments, prefix), None


def _feedback(browser: BrowserRequest, position: Any) -> ItemsPage:
    _, page = feedback.list_page(browser, position, limits.FEEDBACK_LISTED_MAX)
    return page.feedback, page.next


def _keys(browser: BrowserRequest, _: Any) -> ItemsPage:
    now_ms = browser.context.clock()
    listed = keys.list_keys(browser.context, browser.caller().account_name)
    return [key._asdict() | {"state": key.state(now_ms)} for key in listed], None


def _audit(browser: BrowserRequest, position: Any) -> ItemsPage:
    query, _ = audit.filters_of(browser.request.query_params, position)
    page = search_audit(*browser.arguments, query)
    return page.entries, page.next


def _named_user(browser: BrowserRequest) -> str | None:
    return layout.identifier(browser.request.query_params, "user_id") or None


def _of(page: Any, items: str) -> ItemsPage:
    return getattr(page, items), page.next


LISTS: dict[str, ReadPage] = {
    "turns": _turns,
    "hits": _hits,
    "sessions": lambda b, at: browse.list_sessions(*b.arguments, b.users.chosen, behind=at),
    "facts": _facts,
    "summaries": lambda b, at: browse.list_summaries(
        *b.arguments, b.users.chosen, below=at, size=limits.EVENTS_PAGE_MAX
    ),
    "lessons": _lessons,
    "profiles": lambda b, at: _of(map_history(*b.arguments, b.users.chosen, below=at), "versions"),
    "users": _users,
    "searches": lambda b, at: activity.list_searches(
        *b.arguments, user_id=_named_user(b), behind=at, most=SEARCHES_PAGE
    ),
    "usage": lambda b, _: (usage_of(*b.arguments).by_key, None),
    "files": lambda b, at: _of(list_files(*b.arguments, at), "files"),
    "feedback": _feedback,
    "keys": _keys,
    "browsers": lambda b, _: (sign_in.list_browsers(b.context, b.require_session(), b.token), None),
    "grants": lambda b, at: _of(list_grants(*b.arguments, GrantsQuery(before=at)), "grants"),
    "audit": _audit,
}
PAGES = {PATH: Page(get=export, pool=ThreadPool.SEARCH, is_download=True)}

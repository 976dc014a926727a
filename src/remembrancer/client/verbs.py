"""The plain verbs of the clients: `add`, `search` and what belongs to them.

Times are datetimes with an offset, texts in RFC 3339, or days, which begin at midnight, UTC.
They owe no duties: `add` stores turns that belong to no step, and `search` is a pure read. Every
call without a `user_id` uses the same user: that of the client, else the key's pin, else the
account's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from ..protocol.events import EventsQuery, ListedEvent
from ..protocol.facts import Fact, FactChange, FactRemoved, FactsQuery, FactStored
from ..protocol.forget import EventErased, Forget, Forgotten
from ..protocol.memory import Event
from ..protocol.memory_batch import BatchWritten, TurnBatch
from ..protocol.search import MemoryAnswer, MemoryQuery
from ..protocol.sessions import ListedSession, SessionsQuery
from ..protocol.teams import TeamQuery
from . import requests, team_requests
from .argument_hints import unknown_arguments
from .errors import NotFoundError
from .plans import DefaultUser, PagePlan, Plan
from .results import AddResult, SearchResult
from .turns import Content, batches, turns_of

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
Page: TypeAlias = tuple[list[T], Any]  # its items, and the position of the next page or None
Time: TypeAlias = datetime | str | None
DEFAULT_SESSION = "default"  # of a request that names none
SOME_USER = "user"  # to check the other fields before the service is asked for the default
PAGE_MAX = 100  # items of a page
TIMES = frozenset({"after", "before", "as_of", "occurred_at", "expires_at"})
ARGUMENTS: Mapping[int | str, str] = {"query_text": "query"}  # of the verbs, by the field they fill
_ID = re.compile(r"[\w-]+", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# Fields of a search that belong to the protocol of a turn.
PROTOCOL_FIELDS = frozenset({"interact", "last_seal", "seals", "session_id"})


def add(
    default: DefaultUser,
    /,
    content: Content,
    *,
    user_id: str | None = None,
    session_id: str = DEFAULT_SESSION,
    topic: str | None = None,
    occurred_at: Time = None,
    expires_at: Time = None,
    team: str | None = None,
) -> Plan[AddResult]:
    """Store what was said: a text, a pair (query, response), or the messages of a chat.

    The turns are durable and the next search finds them. They owe no duties. All of them are
    stored, or none, unless they exceed one request (500 turns or half a megabyte). `team` is the id
    or the name of a team in whose memory to store them.
    """
    fields = {"topic": topic, "occurred_at": occurred_at, "expires_at": expires_at}
    try:
        turns = turns_of(content, **_present(fields))
    except ValidationError as error:
        raise _invalid(error) from None
    if (expires := turns[0].expires_at) is not None and expires <= datetime.now(UTC):
        raise ValueError(
            f"expires_at: {expires.isoformat()} has passed. Name a time in the future."
        )
    # Not named, the default session is nobody's: several users may share it without a note.
    named = None if session_id == DEFAULT_SESSION else session_id
    _valid(TurnBatch, turns=turns[:1], user_id=user_id, session_id=named, team=team)
    user = yield from default.resolve(user_id)
    event_ids: list[str] = []
    notes: list[str] = []
    for batch in batches(turns):
        body = _valid(TurnBatch, turns=batch, user_id=user, session_id=named, team=team)
        written: BatchWritten = yield requests.save_batch(body)
        event_ids += [receipt.event_id for receipt in written.receipts]
        notes += [receipt.detail for receipt in written.receipts if receipt.detail]
    return AddResult(
        user_id=user, session_id=session_id, event_ids=tuple(event_ids), notes=tuple(notes)
    )


def search(
    default: DefaultUser,
    /,
    query: str,
    *,
    user_id: str | None = None,
    top_k: int = 5,
    focus_words: list[str] | None = None,
    after: Time = None,
    before: Time = None,
    **options: Any,
) -> Plan[SearchResult]:
    """Search memory, best hit first. It is a pure read: it counts no step and owes no duties.

    `options` are the other fields of `MemoryQuery`, such as `min_score`, `layers` or
    `as_of`. `teams="all"` or a list of names searches the memory of those teams, too.
    """
    unknown = options.keys() - (MemoryQuery.model_fields.keys() - PROTOCOL_FIELDS)
    if unknown:
        message = unknown_arguments("search", unknown)
        if unknown & PROTOCOL_FIELDS:
            message += (
                " For a search that counts as a step of the protocol, call "
                "search_memory(MemoryQuery(...))."
            )
        raise TypeError(message)
    _check_teams(options.get("teams"))
    body = _valid(
        MemoryQuery,
        query_text=query,
        user_id=SOME_USER if user_id is None else user_id,
        top_k=top_k,
        focus_words=focus_words,
        after=after,
        before=before,
        interact=False,
        **options,
    )
    user = yield from default.resolve(user_id)
    body = body.model_copy(update={"user_id": user})
    answer: MemoryAnswer = yield requests.search_memory(body)
    return SearchResult(answer, user)


def get(
    default: DefaultUser,
    /,
    item_id: str,
    *,
    user_id: str | None = None,
    team: str | None = None,
) -> Plan[Event | Fact]:
    """Return one turn (`e_…`) or one fact (`f_…`). Raises NotFoundError.

    A turn is found by its id alone. A fact is looked up among those of the user.
    """
    if _is_fact(item_id):
        _, fact = yield from _find_fact(default, item_id, user_id, team)
        return fact
    event: Event = yield requests.get_event(item_id, _in_team(team))
    return event


def get_all(
    default: DefaultUser,
    /,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    limit: int = 100,
    team: str | None = None,
) -> Plan[list[ListedEvent]]:
    """Return the newest turns of a user, at most `limit`. `events` reads all of them lazily."""
    pages = events(default, user_id=user_id, session_id=session_id, team=team)
    return (yield from _collect(pages, limit))


def update(
    default: DefaultUser, /, fact_id: str, text: str, *, team: str | None = None
) -> Plan[FactStored]:
    """Change the wording of a fact. The old wording stays as a superseded fact.

    Raises ValueError for the id of a turn: turns are verbatim and never change.
    """
    del default  # a fact belongs to its user
    if not isinstance(text, str):
        raise TypeError(f"The new wording must be a text, not {type(text).__name__}.")
    if not _is_fact(fact_id):
        raise ValueError(
            f"{fact_id!r} is not the id of a fact. A turn is kept word for word and never changes: "
            "add a new one, or delete it."
        )
    change = _valid(FactChange, text=text, team=team)
    stored: FactStored = yield requests.change_fact(fact_id, change)
    return stored


def delete(
    default: DefaultUser, /, item_id: str, *, team: str | None = None
) -> Plan[EventErased | FactRemoved]:
    """Erase one turn (`e_…`) or the text of one fact (`f_…`) for good."""
    del default  # an id belongs to its user
    if _is_fact(item_id):
        removed: FactRemoved = yield requests.remove_fact(item_id, _in_team(team))
        return removed
    erased: EventErased = yield requests.erase_event(item_id, _in_team(team))
    return erased


def delete_all(
    default: DefaultUser,
    /,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    team: str | None = None,
) -> Plan[Forgotten]:
    """Erase the whole memory of a user or of a team, or one session of it, for good.

    Returns the signed receipt. Name either `user_id`, which has no default here, or `team`: what
    all members stored there is erased, for which the role `owner` is needed. Raises TypeError for
    both or none, and ForbiddenError for a role that may not.
    """
    if (user_id is None) == (team is None):
        raise TypeError(
            "delete_all() needs either user_id or team. With team it erases the whole memory of "
            "the team, whoever stored it."
        )
    if team is not None:
        user_id = yield from default.resolve(None)  # the member that acts
        team = (yield team_requests.show_team(team)).team_id
    confirm = (team or user_id) if session_id is None else None
    scope = _valid(Forget, user_id=user_id, session_id=session_id, confirm=confirm, team=team)
    forgotten: Forgotten = yield requests.forget_memory(scope)
    return forgotten


def history(
    default: DefaultUser,
    /,
    fact_id: str,
    *,
    user_id: str | None = None,
    team: str | None = None,
) -> Plan[list[Fact]]:
    """Return a fact with those that it replaced and those that replaced it, oldest first.

    Raises NotFoundError for a fact that the user does not have.
    """
    _check_id(fact_id)
    every, first = yield from _find_fact(default, fact_id, user_id, team)
    by_id = {fact.fact_id: fact for fact in every}
    line, pending = {first.fact_id}, [first]
    while pending:
        fact = pending.pop()
        for other in (*fact.supersedes, fact.superseded_by):
            if other in by_id and other not in line:
                line.add(other)
                pending.append(by_id[other])
    return [fact for fact in reversed(every) if fact.fact_id in line]


def events(
    default: DefaultUser,
    /,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    after: Time = None,
    before: Time = None,
    order: Literal["newest", "oldest"] = "newest",
    team: str | None = None,
) -> PagePlan[ListedEvent]:
    """Iterate over the turns of a user, complete, in the order of their times."""
    fields = {"session_id": session_id, "after": after, "before": before, "order": order}
    user = yield from default.resolve(user_id)

    def page(cursor: Any) -> Plan[Page[ListedEvent]]:
        query = _valid(
            EventsQuery, user_id=user, limit=PAGE_MAX, cursor=cursor, team=team, **fields
        )
        listed = yield requests.list_events(query)
        return listed.events, listed.next

    yield from _all_pages(page)


def facts(
    default: DefaultUser,
    /,
    *,
    user_id: str | None = None,
    status: Literal["current", "superseded", "expired", "removed", "all"] = "current",
    as_of: Time = None,
    team: str | None = None,
) -> PagePlan[Fact]:
    """Iterate over the facts of a user, newest first."""
    yield from _facts(default, user_id, team, which="facts", status=status, as_of=as_of)


def instructions(
    default: DefaultUser,
    /,
    *,
    user_id: str | None = None,
    status: Literal["current", "superseded", "expired", "removed", "all"] = "current",
    as_of: Time = None,
    team: str | None = None,
) -> PagePlan[Fact]:
    """Iterate over the standing instructions and preferences of a user, newest first."""
    fields = {"which": "instructions", "status": status, "as_of": as_of}
    yield from _facts(default, user_id, team, **fields)


def sessions(
    default: DefaultUser, /, *, user_id: str | None = None, team: str | None = None
) -> PagePlan[ListedSession]:
    """Iterate over the sessions of a user, latest turn first."""
    user = yield from default.resolve(user_id)

    def page(cursor: Any) -> Plan[Page[ListedSession]]:
        query = _valid(SessionsQuery, user_id=user, limit=PAGE_MAX, cursor=cursor, team=team)
        listed = yield requests.list_sessions(query)
        return listed.sessions, listed.next

    yield from _all_pages(page)


def _facts(
    default: DefaultUser, user_id: str | None, team: str | None, **fields: Any
) -> PagePlan[Fact]:
    user = yield from default.resolve(user_id)

    def page(below: Any) -> Plan[Page[Fact]]:
        query = _valid(FactsQuery, user_id=user, limit=PAGE_MAX, below=below, team=team, **fields)
        listed = yield requests.list_facts(query)
        return listed.facts, listed.next

    yield from _all_pages(page)


def _all_pages(page: Callable[[Any], Plan[Page[T]]]) -> PagePlan[T]:
    """Yield the items of each page. `page` requests the one at a position; None is the first."""
    place = None
    while True:
        items, place = yield from page(place)
        yield items
        if place is None:
            return


def _collect(pages: PagePlan[T], limit: int | None = None) -> Plan[list[T]]:
    """Return the items of pages, at most `limit`. Requests no page beyond it."""
    items: list[T] = []
    answer = None
    while limit is None or len(items) < limit:
        try:
            step = pages.send(answer)
        except StopIteration:
            break
        if isinstance(step, list):
            items, answer = items + step, None
        else:
            answer = yield step
    return items[:limit]


def _find_fact(
    default: DefaultUser, fact_id: str, user_id: str | None, team: str | None
) -> Plan[tuple[list[Fact], Fact]]:
    """Return all facts of the user or the team, and the one with this id. Raises NotFoundError."""
    user = yield from default.resolve(user_id)
    every = yield from _collect(_facts(default, user, team, which="all", status="all"))
    for fact in every:
        if fact.fact_id == fact_id:
            return every, fact
    detail = (
        f"The team {team} has no fact {fact_id}."
        if team
        else f"The user {user} has no fact {fact_id}. If it is another user's, pass its user_id."
    )
    raise NotFoundError(HTTPStatus.NOT_FOUND, {"detail": detail})


def _in_team(team: str | None) -> TeamQuery | None:
    return None if team is None else _valid(TeamQuery, team=team)


def _is_fact(item_id: str) -> bool:
    """Return True for the id of a fact. Raises TypeError or ValueError for what is no id."""
    _check_id(item_id)
    return item_id.startswith("f_")


def _check_id(item_id: str) -> None:
    expected = "`e_…` of a turn, or `f_…` of a fact"
    if not isinstance(item_id, str):
        raise TypeError(f"An id is a text, {expected}, not {type(item_id).__name__}.")
    if not _ID.fullmatch(item_id):
        raise ValueError(f"{item_id!r} is no id. An id is {expected}.")


def _check_teams(teams: Any) -> None:
    """Raise TypeError or ValueError for teams that the message would refuse, alternative by
    alternative.
    """
    expected = '`teams` must be "all", or a list of ids or names, such as ["Garden"]'
    if teams is None or teams == "all":
        return
    if not isinstance(teams, list) or not all(isinstance(team, str) for team in teams):
        raise TypeError(f"{expected}, not {teams!r}.")
    if not all(teams):
        raise ValueError(f"{expected}, without an empty one.")


def _valid(model: type[M], **fields: Any) -> M:
    """Return a message of these fields without those that are None. Raises ValueError."""
    try:
        return model(**_present(fields))
    except ValidationError as error:
        raise _invalid(error) from None


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None. A day becomes the time at which it begins, in UTC."""
    present = {name: value for name, value in fields.items() if value is not None}
    for name in TIMES & present.keys():
        if isinstance(present[name], str) and _DAY.fullmatch(present[name]):
            present[name] += "T00:00:00Z"
    return present


def _invalid(error: ValidationError) -> ValueError:
    """Return the error for a person: each field with what is wrong, without the values."""
    faults = []
    for fault in error.errors():
        first, *rest = fault["loc"] or ("the call",)
        place = ".".join(map(str, (ARGUMENTS.get(first, first), *rest)))
        message = fault["msg"].removeprefix("Value error, ")
        day = ", or a day, such as 2026-03-01" if first in TIMES and "RFC 3339" in message else ""
        faults.append(f"{place}: {message}{day}")
    return ValueError("; ".join(faults))

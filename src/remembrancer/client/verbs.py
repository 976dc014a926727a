"""Messages of the plain verbs of the clients (`add`, `search`, …), made before anything is sent.

Times are datetimes, texts in RFC 3339, or days. Those without a zone are local times.
They owe no duties: `add` stores turns that belong to no step, and `search` is a pure read. Every
call without a `user_id` uses the same user: that of the client, else the key's pin, else the
account's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeAlias, TypedDict, TypeVar

from pydantic import BaseModel, ValidationError

from ..protocol.facts import Fact, FactAdd, FactChange, FactVersion
from ..protocol.forget import Forget
from ..protocol.memory import TurnBatch
from ..protocol.message import in_characters
from ..protocol.search import MemoryQuery
from ..protocol.sources import TurnSource
from ..protocol.teams import TeamQuery
from ..protocol.text import local_times, notes_on_times
from ..protocol.trust import TextSource
from .errors import NotFoundError
from .turns import Content, batches, left_out, turns_of

M = TypeVar("M", bound=BaseModel)
Time: TypeAlias = datetime | str | None
SOME_USER = "user"  # to check the other fields before the service is asked for the default
PAGE_MAX = 100  # items of a page
TIMES = frozenset(
    {"after", "before", "as_of", "occurred_at", "expires_at", "valid_from", "valid_to"}
)
ARGUMENTS: Mapping[int | str, str] = {"query_text": "query"}  # of the verbs, by the field they fill
_ID = re.compile(r"[\w-]+", re.ASCII)
# Fields of a search that belong to the protocol of a turn.
PROTOCOL_FIELDS = frozenset({"interact", "last_seal", "seals", "session_id"})


class TurnFields(TypedDict, total=False):
    """Fields of the turns that `add` stores."""

    topic: str | None
    occurred_at: Time
    expires_at: Time
    metadata: Mapping[str, Any] | None
    source: TextSource | TurnSource | None


def turn_batches(
    content: Content, *, user_id: str | None, session_id: str, team: str | None, fields: TurnFields
) -> tuple[list[TurnBatch], tuple[str, ...]]:
    """Return the requests that store a content, for a user who is named later, and what a program
    should know of how its content and its times were read.

    Raises TypeError for a field that a turn does not have.
    """
    _check_names("add", fields, TurnFields.__annotations__)
    present = _present(fields)
    if "metadata" in present:
        present["metadata"] = dict(present["metadata"])
    try:
        with local_times() as times:
            turns = turns_of(content, **present)
    except ValidationError as error:
        raise _invalid(error) from None
    if (expires := turns[0].expires_at) is not None and expires <= datetime.now(UTC):
        raise ValueError(
            f"expires_at: {expires.isoformat()} has passed. Name a time in the future."
        )
    address = {"user_id": user_id, "session_id": session_id, "team": team}
    notes = (*notes_on_times(times), *filter(None, [left_out(content)]))
    return [valid(TurnBatch, turns=batch, **address) for batch in batches(turns)], notes


def search_query(query: str, *, user_id: str | None, options: Mapping[str, Any]) -> MemoryQuery:
    """Return the message of a search that is a pure read, for a user who may be named later.

    Raises TypeError for an option that a search does not have.
    """
    hint = (
        "For a search that counts as a step of the protocol, call search_memory(MemoryQuery(...))."
    )
    is_step = PROTOCOL_FIELDS.intersection(options)
    allowed = MemoryQuery.model_fields.keys() - PROTOCOL_FIELDS
    _check_names("search", options, allowed, f" {hint}" if is_step else "")
    _check_teams(options.get("teams"))
    user = SOME_USER if user_id is None else user_id
    return valid(MemoryQuery, query_text=query, user_id=user, interact=False, **options)


def _check_names(
    call: str, options: Mapping[str, Any], allowed: Iterable[str], hint: str = ""
) -> None:
    """Raise TypeError for an option that a call does not take."""
    names = sorted(allowed)
    if unknown := sorted(options.keys() - set(names)):
        unknown_names, known_names = ", ".join(unknown), ", ".join(names)
        raise TypeError(f"{call}() takes no {unknown_names}. It takes {known_names}.{hint}")


def without_user(
    filters: Mapping[str, Any] | None, user_id: str | None
) -> tuple[str | None, dict[str, Any] | None]:
    """Return the user that filters name, as those of mem0 do, and the filters without it.

    The user is a condition of its own, alone or in an `and`. Raises ValueError if two are named.
    """
    if not filters:
        return user_id, None
    parts = [
        part
        for name, value in filters.items()
        for part in (
            value if name.lower() == "and" and isinstance(value, list) else [{name: value}]
        )
    ]
    named = {one["user_id"] for one in parts if isinstance(one, Mapping) and "user_id" in one}
    if not named:
        return user_id, dict(filters)
    if len(named | ({user_id} if user_id is not None else set())) > 1:
        raise ValueError("filters: they name another user_id than the call")
    left = [{name: value for name, value in one.items() if name != "user_id"} for one in parts]
    left = [one for one in left if one]
    return named.pop(), {"and": left} if left else None


def fact_change(fact_id: str, text: str, team: str | None) -> FactChange:
    """Return the message that changes the wording of a fact. Raises ValueError for a turn."""
    if not isinstance(text, str):
        raise TypeError(f"The new wording must be a text, not {type(text).__name__}.")
    if not is_fact(fact_id):
        raise ValueError(
            f"{fact_id!r} is not the id of a fact. A turn is kept word for word and never changes: "
            "add a new one, or delete it."
        )
    return valid(FactChange, text=text, team=team)


def fact_of(fact: FactAdd | str, user_id: str | None, fields: Mapping[str, Any]) -> FactAdd:
    """Return the message that adds a fact: a text with its fields, or the message itself."""
    if not isinstance(fact, str):
        if user_id is not None or fields:
            raise TypeError("add_fact() takes user_id and other fields only beside a text.")
        return fact
    _check_names("add_fact", fields, FactAdd.model_fields.keys() - {"text"})
    return valid(FactAdd, text=fact, user_id=user_id, **fields)


def erased_scope(
    user_id: str | None,
    session_id: str | None,
    team_id: str | None,
    filters: Mapping[str, Any] | None,
) -> Forget:
    """Return the message that erases a user, a team, or a part of it."""
    is_whole = session_id is None and filters is None
    return valid(
        Forget,
        user_id=user_id,
        session_id=session_id,
        filters=None if filters is None else dict(filters),
        confirm=(team_id or user_id) if is_whole else None,
        team=team_id,
    )


def check_scope(user_id: str | None, team: str | None) -> None:
    """Raise TypeError unless exactly one of a user and a team is named."""
    if (user_id is None) == (team is None):
        raise TypeError(
            "delete_all() needs either user_id or team. With team it erases the whole memory of "
            "the team, whoever stored it."
        )


def line_of_facts(every: Sequence[Fact], fact_id: str) -> list[Fact]:
    """Return a fact with those that it replaced and those that replaced it, oldest first.

    Before each fact come its versions.
    """
    by_id = {fact.fact_id: fact for fact in every}
    line, pending = {fact_id}, [by_id[fact_id]]
    while pending:
        fact = pending.pop()
        for other in (*fact.supersedes, fact.superseded_by):
            if other in by_id and other not in line:
                line.add(other)
                pending.append(by_id[other])
    return [
        wording
        for fact in reversed(every)
        if fact.fact_id in line
        for wording in (*(_of_version(fact, one) for one in fact.versions), fact)
    ]


def _of_version(fact: Fact, version: FactVersion) -> Fact:
    fields: dict[str, Any] = {"status": "superseded", "versions": [], **version.model_dump()}
    return fact.model_copy(update=fields)


def find_fact(every: Sequence[Fact], fact_id: str, user_id: str, team: str | None) -> Fact:
    """Return the fact with this id. Raises NotFoundError."""
    for fact in every:
        if fact.fact_id == fact_id:
            return fact
    detail = (
        f"The team {team} has no fact {fact_id}."
        if team
        else f"The user {user_id} has no fact {fact_id}. If it is another user's, pass its user_id."
    )
    raise NotFoundError(HTTPStatus.NOT_FOUND, {"detail": detail})


def in_team(team: str | None) -> TeamQuery | None:
    """Return the query that names a team; None without one."""
    return None if team is None else valid(TeamQuery, team=team)


def is_fact(item_id: str) -> bool:
    """Return True for the id of a fact. Raises TypeError or ValueError for what is no id."""
    check_id(item_id)
    return item_id.startswith("f_")


def check_id(item_id: str) -> None:
    """Raise TypeError or ValueError for what is no id."""
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


def valid(model: type[M], **fields: Any) -> M:
    """Return a message of these fields without those that are None. Raises ValueError."""
    try:
        return model(**_present(fields))
    except ValidationError as error:
        raise _invalid(error) from None


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _invalid(error: ValidationError) -> ValueError:
    """Return the error for a person: each field with what is wrong, without the values."""
    faults = []
    for fault in error.errors():
        first, *rest = fault["loc"] or ("the call",)
        place = ".".join(map(str, (ARGUMENTS.get(first, first), *rest)))
        message = in_characters(fault, fault["msg"]).removeprefix("Value error, ")
        day = ", or a day, such as 2026-03-01" if first in TIMES and "RFC 3339" in message else ""
        faults.append(f"{place}: {message}{day}")
    return ValueError("; ".join(faults))

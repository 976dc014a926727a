"""Parameters of pages and forms: texts, ids, days, numbers and list cursors.

Every function raises InvalidRequest, naming the parameter, for a value that it cannot parse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ValidationError

from ..accounts import default_user_id
from ..context import Caller, Context
from ..memory.history import browse
from ..memory.paging import PageCursor
from ..protocol.errors import InvalidRequest
from ..protocol.limits import ID_CHARACTERS_MAX

M = TypeVar("M", bound=BaseModel)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CURSOR = re.compile(r"(-?\d{1,15})\.(\d{1,18})", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserChoice:
    """The user whose memory a page shows, and the users to choose from."""

    chosen: str
    names: Sequence[str]

    @property
    def is_truncated(self) -> bool:
        """Return True if there may be more users than `names` lists."""
        return len(self.names) >= browse.USERS_LISTED_MAX


def text(values: Mapping[str, str], name: str, characters_max: int) -> str:
    """Return a trimmed text, or an empty string if it is missing."""
    value = values.get(name, "").strip()
    if len(value) > characters_max:
        raise InvalidRequest(
            f"{name} must be at most {characters_max:,} characters long; it has {len(value):,}."
        )
    if "\0" in value:
        raise InvalidRequest(f"{name} must not contain NUL characters.")
    return value


def identifier(values: Mapping[str, str], name: str) -> str:
    """Return an id, or an empty string if it is missing."""
    return text(values, name, ID_CHARACTERS_MAX)


def users(context: Context, caller: Caller, values: Mapping[str, str]) -> UserChoice:
    """Return the user in `user_id`, by default the account's own, and all users of the account."""
    chosen = identifier(values, "user_id") or default_user_id(caller)
    names = browse.list_users(context, caller)
    return UserChoice(chosen, sorted({chosen, *names}))


def parse_day(values: Mapping[str, str], name: str) -> datetime | None:
    """Return the start of a day in UTC, or None if it is missing."""
    value = text(values, name, 40)
    if not value:
        return None
    error = InvalidRequest(f"{name} must be a date such as 2026-03-01.")
    if not _DAY.fullmatch(value):
        raise error
    try:
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    except ValueError:
        raise error from None


def milliseconds(moment: datetime | None) -> int | None:
    """Return a time in ms since 1970, or None."""
    return None if moment is None else round(moment.timestamp() * 1000)


def cursor(values: Mapping[str, str], name: str) -> PageCursor | None:
    """Return a list cursor in the format of `link_to`, or None if it is missing."""
    value = text(values, name, 40)
    if not value:
        return None
    match = _CURSOR.fullmatch(value)
    if match is None:
        raise InvalidRequest(f"{name} is not a valid cursor. Open the list from its first page.")
    return PageCursor(int(match[1]), int(match[2]))


def number(values: Mapping[str, str], name: str, *, minimum: int = 1) -> int | None:
    """Return a whole number, or None if it is missing."""
    value = text(values, name, 40)
    if not value:
        return None
    if not _NUMBER.fullmatch(value) or int(value) < minimum:
        raise InvalidRequest(f"{name} must be a whole number of at least {minimum}.")
    return int(value)


def parse(model: type[M], values: Mapping[str, Any]) -> M:
    """Return a validated API request. Raises InvalidRequest, naming the first invalid field."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(f"{field}: {first['msg']}" if field else str(first["msg"])) from None


def link_to(path: str, **values: object) -> str:
    """Return the address of a page with its parameters, without those that are None or empty."""
    query = {
        name: f"{value.ms}.{value.id}" if isinstance(value, PageCursor) else value
        for name, value in values.items()
        if value not in (None, "")
    }
    return f"{path}?{urlencode(query)}" if query else path

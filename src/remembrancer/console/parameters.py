"""What an address or a form of a page says:

texts, days, places in lists. Whatever cannot be read is refused by its name.
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
_PLACE = re.compile(r"(-?\d{1,15})\.(\d{1,18})", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UserChoice:
    """Whose memory a page shows, and whose it could."""

    chosen: str
    names: Sequence[str]

    @property
    def are_many(self) -> bool:
        """Whether there may be more than are named here."""
        return len(self.names) >= browse.USERS_LISTED_MAX


def text(given: Mapping[str, str], name: str, most: int) -> str:
    """A text of at most `most` characters, trimmed; empty when it is not there.

    Raises InvalidRequest.
    """
    found = given.get(name, "").strip()
    if len(found) > most:
        raise InvalidRequest(
            f"{name} has {len(found):,} characters, and {most:,} are read at most."
        )
    if "\0" in found:
        raise InvalidRequest(f"{name} holds what is not text.")
    return found


def ident(given: Mapping[str, str], name: str) -> str:
    """An id; empty when it is not there. Raises InvalidRequest."""
    return text(given, name, ID_CHARACTERS_MAX)


def users(context: Context, caller: Caller, given: Mapping[str, str]) -> UserChoice:
    """The user that `user_id` names, else the account's own, and the others of the account.

    Raises InvalidRequest.
    """
    chosen = ident(given, "user_id") or default_user_id(caller)
    names = browse.list_users(context, caller)
    return UserChoice(chosen, sorted({chosen, *names}))


def parse_day(given: Mapping[str, str], name: str) -> datetime | None:
    """The beginning of a day, in UTC; None when it is not there. Raises InvalidRequest."""
    found = text(given, name, 40)
    if not found:
        return None
    wrong = InvalidRequest(f"{name} is no day: write it like 2026-03-01.")
    if not _DAY.fullmatch(found):
        raise wrong
    try:
        return datetime.fromisoformat(found).replace(tzinfo=UTC)
    except ValueError:
        raise wrong from None


def milliseconds(moment: datetime | None) -> int | None:
    """A moment as ms since 1970."""
    return None if moment is None else round(moment.timestamp() * 1000)


def place(given: Mapping[str, str], name: str) -> PageCursor | None:
    """A place in a list, as `link_to` writes it; None when it is not there.

    Raises InvalidRequest.
    """
    found = text(given, name, 40)
    if not found:
        return None
    match = _PLACE.fullmatch(found)
    if match is None:
        raise InvalidRequest(f"{name} is no place in a list. Open the list from its beginning.")
    return PageCursor(int(match[1]), int(match[2]))


def number(given: Mapping[str, str], name: str, *, least: int = 1) -> int | None:
    """A whole number; None when it is not there. Raises InvalidRequest."""
    found = text(given, name, 40)
    if not found:
        return None
    if not _NUMBER.fullmatch(found) or int(found) < least:
        raise InvalidRequest(f"{name} is no number from {least} on.")
    return int(found)


def message(kind: type[M], values: Mapping[str, Any]) -> M:
    """A request as the interface would take it. Raises InvalidRequest, naming what does not fit."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(f"{where}: {first['msg']}" if where else str(first["msg"])) from None


def link_to(path: str, **values: object) -> str:
    """The address of a page with parameters; those that are None or empty are left out, places are
    written as `place` reads them.
    """
    told = {
        name: f"{value.ms}.{value.id}" if isinstance(value, PageCursor) else value
        for name, value in values.items()
        if value not in (None, "")
    }
    return f"{path}?{urlencode(told)}" if told else path

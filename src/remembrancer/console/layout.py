"""The frame of every page, and the parameters and forms of pages."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..accounts import default_user_id
from ..context import Caller, Context
from ..http import bodies
from ..memory.history import browse
from ..memory.spaces import PageCursor
from ..protocol.errors import InvalidRequest
from ..protocol.limits import ID_CHARACTERS_MAX

# --- Parameters of pages and forms: texts, ids, days, numbers and list cursors ---------------
# Every function raises InvalidRequest, naming the parameter, for a value that it cannot parse.

M = TypeVar("M", bound=BaseModel)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CURSOR = re.compile(r"(-?\d{1,15})\.(\d{1,18})", re.ASCII)
IDS_MAX = 40  # in one form
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


def lines(values: Mapping[str, str], name: str) -> str:
    """Return a trimmed text of lines, of any length; browsers send their ends as CRLF."""
    return values.get(name, "").replace("\r\n", "\n").strip()


def identifier(values: Mapping[str, str], name: str) -> str:
    """Return an id, or an empty string if it is missing."""
    return text(values, name, ID_CHARACTERS_MAX)


def users(
    context: Context, caller: Caller, values: Mapping[str, str], last: str = ""
) -> UserChoice:
    """Return the user in `user_id`, and all users of the account.

    By default the one that was chosen last, `last`, if it still has data, else the account's own.
    """
    names = browse.list_users(context, caller)
    if last not in names and len(names) < browse.USERS_LISTED_MAX:
        last = ""
    chosen = identifier(values, "user_id") or last or default_user_id(caller)
    return UserChoice(chosen, sorted({chosen, *names}))


def identifiers(values: Mapping[str, str], name: str) -> list[str]:
    """Return ids that blanks separate."""
    return text(values, name, IDS_MAX * (ID_CHARACTERS_MAX + 1)).split()


def one_of(values: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Return one of the choices, or an empty string if it is missing."""
    value = text(values, name, ID_CHARACTERS_MAX)
    if value and value not in choices:
        raise InvalidRequest(f"{name} must be one of {', '.join(choices)}.")
    return value


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


def number(values: Mapping[str, str], name: str) -> int | None:
    """Return a whole number of at least 1, or None if it is missing."""
    value = text(values, name, 40)
    if not value:
        return None
    if not _NUMBER.fullmatch(value) or int(value) < 1:
        raise InvalidRequest(f"{name} must be a whole number of at least 1.")
    return int(value)


def parse(model: type[M], values: Mapping[str, Any]) -> M:
    """Return a validated API request. Raises InvalidRequest, naming the first invalid field."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise bodies.refusal(error) from None


def link_to(path: str, **values: object) -> str:
    """Return the address of a page with its parameters, without those that are None or empty."""
    query = {
        name: f"{value.ms}.{value.id}" if isinstance(value, PageCursor) else value
        for name, value in values.items()
        if value not in (None, "")
    }
    return f"{path}?{urlencode(query)}" if query else path


# --- Forms, validated by the same models as API requests -------------------------------------

_LOCAL_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d(?:\.\d+)?)?", re.ASCII)
_MESSAGES = {
    "string_too_long": "At most {max_length:,} characters.",
    "too_long": "At most {max_length:,} characters.",
    "string_too_short": "This field is required.",
    "too_short": "Choose at least one.",
    "greater_than_equal": "Must be at least {ge}.",
    "less_than_equal": "Must be at most {le}.",
    "int_type": "Must be a whole number.",
    "int_parsing": "Must be a whole number.",
    "literal_error": "Must be one of {expected}.",
}


def number_in(text: str) -> int | str:
    """Return a whole number, or the text itself, which the model then rejects."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else text


def utc_time(text: str) -> str | None:
    """Return the value of a `datetime-local` field as a time in UTC (RFC 3339), None if empty.

    Any other text is returned unchanged; the model then rejects it.
    """
    text = text.strip()
    match = _LOCAL_TIME.fullmatch(text)
    return f"{match[1]}{match[2] or ':00'}Z" if match else text or None


def parse_form(model: type[M], values: Mapping[str, Any]) -> M | dict[str, str]:
    """Return the validated request, or error messages by field name."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        messages: dict[str, str] = {}
        for fault in error.errors(include_url=False, include_input=False):
            pointer, _ = bodies.fault(fault)
            messages.setdefault(pointer.strip("/").partition("/")[0], _message(fault))
        return messages


def _message(fault: ErrorDetails) -> str:
    """Return an error message for the user who filled in the form."""
    if fault["type"] in _MESSAGES:
        return _MESSAGES[fault["type"]].format(**fault.get("ctx", {}))
    detail = bodies.fault(fault)[1]
    return f"{detail[:1].upper()}{detail[1:]}."


def parse_filters(model: type[M], values: Mapping[str, Any]) -> tuple[M, dict[str, str]]:
    """Return the filters and error messages by field name. Invalid filters match everything.

    Empty fields are ignored.
    """
    fields = {name: value for name, value in values.items() if value not in ("", None)}
    result = parse_form(model, fields)
    return (model(), result) if isinstance(result, dict) else (result, {})


# --- The frame of every page: navigation, sign-in redirects, and signed notices --------------

NOTICE_CHARACTERS_MAX = 300
_LOCAL_PATH = re.compile(r"/(?:console|profile)(?:/[a-z-]+)*(?:\?[!-~]{0,2000})?")


@dataclass(frozen=True, slots=True)
class MenuSection:
    """One page of the navigation. The pages of an entry are tabs below it."""

    path: str
    name: str
    entry: str  # of the menu
    about: str
    owner_only: bool = False


# One row a page: to add a page to the menu, add its row. `about` is shown in the directory.
SECTIONS = (
    MenuSection("/console", "Home", "Home", "What agents store and recall, as it happens"),
    MenuSection("/console/memory", "Memory", "Memory", "Search and browse what is stored"),
    MenuSection("/console/knows", "Knows", "Knows", "What your agent knows before it searches"),
    MenuSection("/console/cubes", "Lessons", "Lessons", "What agents learned, and its use"),
    MenuSection("/console/searches", "Searches", "Searches", "What agents got, worst first"),
    MenuSection("/console/connect", "Connect", "Connect", "Agents, and how to connect one"),
    MenuSection("/console/files", "Files", "Tools", "Files that agents created"),
    MenuSection("/console/sandbox", "Sandbox", "Tools", "Run a Python program"),
    MenuSection("/console/import", "Import", "Tools", "Chats and memories of other products"),
    MenuSection("/profile", "Keys and settings", "Admin", "Keys, prompt, password, browsers"),
    MenuSection("/console/users", "Users", "Admin", "Whose memory is stored"),
    MenuSection("/console/teams", "Teams", "Admin", "Shared memory: members and invitations"),
    MenuSection("/console/usage", "Usage", "Admin", "Requests by day and key"),
    MenuSection("/console/feedback", "Feedback", "Admin", "Reports of agents and people"),
    MenuSection("/console/service", "Service", "Admin", "Health, storage, retention, invitations"),
    MenuSection("/console/permissions", "Permissions", "Admin", "Grants on files", owner_only=True),
    MenuSection("/console/audit", "Audit trail", "Admin", "Grants, verified", owner_only=True),
)
# Pages of one record, and the section that they belong to.
_BELOW = {
    "/console/sessions": "/console/memory",
    "/console/facts": "/console/memory",
    "/console/go": "/console",
}


def sections(page_paths: Container[str], *, is_owner: bool) -> dict[str, list[MenuSection]]:
    """Return the menu: existing pages that this user may open, by entry."""
    entries: dict[str, list[MenuSection]] = {}
    for section in SECTIONS:
        if section.path in page_paths and (is_owner or not section.owner_only):
            entries.setdefault(section.entry, []).append(section)
    return entries


def section_of(path: str) -> str:
    """Return the path of the section that a page belongs to, or an empty string."""
    known = {section.path: section.path for section in SECTIONS} | _BELOW
    parents = [one for one in known if path == one or path.startswith(f"{one}/")]
    place = max(parents, key=len, default="")
    return known[place] if place and (path == place or place != "/console") else ""


def local_path(address: str, default: str) -> str:
    """Return `address` if it is a console path, else `default`. Prevents open redirects."""
    return address if _LOCAL_PATH.fullmatch(address) else default


def sign_in_for(path: str, query: str) -> str:
    """Return the sign-in address that leads back to a page."""
    back = local_path(f"{path}?{query}" if query else path, "")
    return (
        f"/console/sign-in?next={quote(back, safe='/')}"
        if back and back != "/console"
        else "/console/sign-in"
    )


def seal(text: str, token: str) -> str:
    """Return a notice as a cookie value, signed with the session token but not encrypted."""
    encoded = base64.urlsafe_b64encode(text[:NOTICE_CHARACTERS_MAX].encode()).decode().rstrip("=")
    return f"{encoded}.{signature(encoded, token)}"


def unseal(sealed: str, token: str) -> str:
    """Return the notice, or an empty string if this session did not sign it."""
    encoded, _, code = sealed.partition(".")
    if not token or not hmac.compare_digest(
        code.encode("utf-8", "replace"), signature(encoded, token).encode()
    ):
        return ""
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:  # not base64, or not UTF-8: the browser's user can sign anything
        return ""


def signature(encoded: str, token: str) -> str:
    """Return the signature of an encoded notice with a session token, in hex."""
    message = f"notice {encoded}".encode("utf-8", "replace")
    return hmac.digest(token.encode("utf-8", "replace"), message, "sha256").hex()

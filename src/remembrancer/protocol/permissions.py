"""Messages about system permissions and the audit trail."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from . import limits
from .message import Body, Detail, ExactBody, Id, Message, OrAbsent
from .service_keys import mask_service_keys
from .text import Readable, Telling, Text

# --- Normal form of paths and scopes, as text: no file system is read and no link resolved ---

ONLY_ROOT = "/."  # the scope of the root folder itself; `/` covers all files below it


def normal_path(text: str) -> str:
    """Return an absolute path without `//`, `.`, `..` and trailing slash; `..` above the root is
    dropped.

    Nothing else changes: look-alike letters, case and composed forms stay different names, as on
    Linux. Raises ValueError for a relative path, for too many parts, and for `*`, which a shell
    would expand.
    """
    if "*" in text:
        raise ValueError("this must be a single path without `*`")
    return "/" + "/".join(_names(text))


def normal_scope(text: str) -> str:
    """Return a scope in normal form; a trailing slash stays, because it covers all files below.

    Raises ValueError for a relative scope and for too many parts.
    """
    names = _names(text)
    if text.endswith("/"):
        return "/" + "".join(f"{name}/" for name in names)
    return "/" + "/".join(names) if names else ONLY_ROOT


def _names(text: str) -> list[str]:
    if not text.startswith("/"):
        raise ValueError("this must be absolute: start it with `/`")
    if "\0" in text:
        raise ValueError("text must not contain NUL")
    if mask_service_keys(text) != text:
        raise ValueError("this must not contain an API key: paths are kept in the audit trail")
    if text.count("/") > limits.PATH_PARTS_MAX:
        raise ValueError(f"this must have at most {limits.PATH_PARTS_MAX} parts")
    names: list[str] = []
    for name in text.split("/"):
        if name == "..":
            names[-1:] = []
        elif name not in ("", "."):
            names.append(name)
    return names


def _spelled(letter: str) -> dict[str, list[dict[str, str]]]:
    # the rules of the functions above, beside the pattern of every text
    return {"allOf": [{"pattern": rf"^(/{letter}*){{1,{limits.PATH_PARTS_MAX}}}$"}]}


AbsolutePath = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=limits.PATH_CHARACTERS_MAX,
        json_schema_extra=_spelled(r"[^/*\x00]"),
    ),
    AfterValidator(normal_path),
]
Scope = Annotated[
    Text,
    Field(
        min_length=1,
        max_length=limits.SCOPE_CHARACTERS_MAX,
        json_schema_extra=_spelled(r"[^/\x00]"),
    ),
    AfterValidator(normal_scope),
]


# --- Messages about system permissions and the audit trail -----------------------------------

Action = Literal["read", "write", "exec", "delete"]
ACTIONS: tuple[Action, ...] = get_args(Action)
EVERYONE = "*"  # a grant to this agent covers all agents

GrantId = Annotated[str, Field(description="Identifier of the grant.")]
ExpiresAt = Annotated[str, Field(description="Expiry (RFC 3339, UTC), exclusive.")]
_OneAction = Annotated[Action, Field(description="Action: read, write, exec or delete.")]


class PermissionCheck(Body):
    """Body of `POST /api/v7/sysperm/check`.

    Example: {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "deployer"}
    """

    path: AbsolutePath
    """Absolute path. Resolve links before asking."""
    action: _OneAction
    agent: Annotated[Id, Readable()]
    """Agent that wants to act."""


class PermissionChecked(Message):
    """Answer of `POST /api/v7/sysperm/check`."""

    allowed: bool
    """True if the action is allowed now. Otherwise do not act; ask the owner for a grant."""
    grant_id: OrAbsent[str] = None
    """Grant that allows it; if there are several, the one that expires last."""
    expires_at: OrAbsent[str] = None
    """Expiry of that grant (RFC 3339, UTC)."""
    path: str
    """Normalised path that was checked. Use exactly this path."""
    reason: str
    """Reason, for people."""


class GrantRequest(Body):
    """Body of `POST /api/v7/sysperm/grant`.

    Example: {
      "scope": "/etc/nginx/*.conf",
      "ttl_minutes": 30,
      "actions": ["read", "write"],
      "agent": "deployer"
    }
    """

    scope: Annotated[Scope, Readable()]
    """Absolute path; a folder with a trailing slash covers all files below it; `*` and `?` match
    within a name, `**` between slashes matches any number of folders."""
    ttl_minutes: Annotated[int, Field(ge=1, le=limits.GRANT_MINUTES_MAX)]
    """Duration in minutes."""
    actions: Annotated[list[Action], Field(min_length=1, max_length=len(ACTIONS))]
    """Permitted actions: read, write, exec, delete."""
    agent: Annotated[Id, Readable()]
    """Agent; `*` means every agent."""


class Granted(Message):
    """Answer of `POST /api/v7/sysperm/grant`."""

    grant_id: GrantId
    scope: str
    """Scope, normalised."""
    actions: list[Action]
    """Permitted actions."""
    agent: str
    """Agent."""
    expires_at: ExpiresAt
    note: str
    """What the scope covers, for people."""


class GrantsQuery(Message):
    """Parameters of `GET /api/v7/sysperm/grants`."""

    limit: Annotated[int, Field(ge=1, le=limits.GRANTS_LISTED_MAX)] = 100
    """Maximum number of entries."""
    before: Id | None = None
    """Return grants older than this grant_id: the `next` of the previous page."""


class LiveGrant(Message):
    """A grant in force."""

    grant_id: GrantId
    scope: str
    """Scope."""
    actions: list[Action]
    """Permitted actions."""
    agent: str
    """Agent."""
    key_id: int
    """Number of the key that granted it; 0 for a signed-in browser."""
    granted_at: str
    """Time of the grant (RFC 3339, UTC)."""
    expires_at: ExpiresAt
    seconds_left: Annotated[int, Field(ge=1)]
    """Remaining seconds, rounded up."""


class GrantList(Message):
    """Answer of `GET /api/v7/sysperm/grants`: newest first."""

    grants: list[LiveGrant]
    """Entries of this page."""
    next: str | None
    """Value of `before` for the next page; null on the last page."""


class ActionLog(Body):
    """Body of `POST /api/v7/sysperm/log`.

    Example: {
      "grant_id": "g_5v0n8k2m4t6wz",
      "path": "/etc/nginx/nginx.conf",
      "action": "write",
      "result": "worker_connections is 1024 now"
    }
    """

    grant_id: Id
    """Grant that the check returned."""
    path: AbsolutePath
    """Path that was used."""
    action: _OneAction
    result: Annotated[
        Telling, Readable(has_lines=True), Field(max_length=limits.RESULT_CHARACTERS_MAX)
    ]
    """Result of the action. It can never be erased: no secrets."""


class ActionLogged(Message):
    """Answer of `POST /api/v7/sysperm/log`."""

    logged: bool
    """True once stored durably."""
    seq: int
    """Number of the entry in the audit trail."""
    detail: Detail = None


class GrantRevocation(ExactBody):
    """Body of `POST /api/v7/sysperm/revoke`.

    Example: {"grant_id": "g_5v0n8k2m4t6wz"}
    """

    grant_id: Id
    """Grant to revoke."""


class GrantRevoked(Message):
    """Answer of `POST /api/v7/sysperm/revoke`."""

    revoked: bool
    """True: no check uses the grant any more. Also true if it was revoked before."""


class AuditQuery(Message):
    """Parameters of `GET /api/v7/sysperm/audit`."""

    limit: Annotated[int, Field(ge=1, le=limits.AUDIT_LISTED_MAX)] = 100
    """Maximum number of entries."""
    after: Annotated[int, Field(ge=0, le=(1 << 53) - 1)] = 0
    """Return entries after this number: the `next` of the previous page."""


class AuditEntry(Message):
    """One entry of the audit trail. Fields of other kinds of entries are absent."""

    seq: int
    """Number of the entry, from 1, without gaps."""
    at: OrAbsent[str] = None
    """Time (RFC 3339, UTC)."""
    kind: Literal["grant", "check", "log", "revoke", "erase", "team", "unreadable"]
    """Action recorded; `unreadable` if the entry was overwritten."""
    account: OrAbsent[str] = None
    """Account that acted."""
    key_id: OrAbsent[int] = None
    """Number of the key; 0 for a signed-in browser."""
    grant_id: OrAbsent[str] = None
    """Grant that was created, used or revoked."""
    agent: OrAbsent[str] = None
    """Agent of the entry."""
    scope: OrAbsent[str] = None
    """Grant: scope."""
    actions: OrAbsent[list[Action]] = None
    """Grant: permitted actions."""
    ttl_minutes: OrAbsent[int] = None
    """Grant: duration."""
    expires_at: OrAbsent[str] = None
    """Grant, or check that it allowed: expiry."""
    path: OrAbsent[str] = None
    """Check or log: path."""
    action: OrAbsent[Action] = None
    """Check or log: action."""
    allowed: OrAbsent[bool] = None
    """Check: result."""
    check: OrAbsent[int] = None
    """Log: number of the check that allowed it."""
    result: OrAbsent[str] = None
    """Log: result of the action."""
    receipt_id: OrAbsent[str] = None
    """Erase: id of the receipt."""
    change: OrAbsent[
        Literal[
            "create", "rename", "delete", "invite", "withdraw", "accept", "role", "remove", "leave"
        ]
    ] = None
    """Team: what changed. `withdraw`: an invitation; `role`: that of a member."""
    team_id: OrAbsent[str] = None
    """Team: its id."""
    member: OrAbsent[str] = None
    """Team: account of the member."""
    user_id: OrAbsent[str] = None
    """Team: the member's one user; absent for all users of the account."""
    role: OrAbsent[str] = None
    """Team: role of the member or invitation."""
    invitation_id: OrAbsent[str] = None
    """Team: invitation."""
    prev: OrAbsent[str] = None
    """Hash of the previous entry; 64 zeros in the first."""
    hash: str
    """SHA-256 of the entry without this field, as canonical JSON, in hex."""


class AuditHead(Message):
    """The newest entry of the audit trail.

    Keep a copy elsewhere: with it, the loss of entries can be detected later.
    """

    seq: int
    """Number of the entry; 0 if there is none."""
    hash: str
    """Hash of the entry."""


class AuditPage(Message):
    """Answer of `GET /api/v7/sysperm/audit`: oldest first."""

    entries: list[AuditEntry]
    """Entries of this page."""
    next: int | None
    """Value of `after` for the next page; null on the last page."""
    chain_valid: bool
    """True if these entries are unchanged, complete and linked to the entries around them; on the
    last page, to the head."""
    head: AuditHead
    """The newest entry."""

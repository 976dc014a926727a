"""Messages about system permissions and the audit trail."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from . import limits
from .message import ABSENT_IF_NONE, Body, Detail, ExactBody, Id, Message, example
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
    """Body of `POST /api/v7/sysperm/check`."""

    model_config = example(
        {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "deployer"}
    )

    path: Annotated[
        AbsolutePath,
        Field(description="Absolute path. Resolve links before asking."),
    ]
    action: _OneAction
    agent: Annotated[Id, Readable(), Field(description="Agent that wants to act.")]


class PermissionChecked(Message):
    """Answer of `POST /api/v7/sysperm/check`."""

    allowed: Annotated[
        bool,
        Field(
            description="True if the action is allowed now. Otherwise do not act; ask the owner "
            "for a grant."
        ),
    ]
    grant_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Grant that allows it; if there are several, the one that expires last."),
    ] = None
    expires_at: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Expiry of that grant (RFC 3339, UTC).")
    ] = None
    path: Annotated[
        str, Field(description="Normalised path that was checked. Use exactly this path.")
    ]
    reason: Annotated[str, Field(description="Reason, for people.")]


class GrantRequest(Body):
    """Body of `POST /api/v7/sysperm/grant`."""

    model_config = example(
        {
            "scope": "/etc/nginx/*.conf",
            "ttl_minutes": 30,
            "actions": ["read", "write"],
            "agent": "deployer",
        }
    )

    scope: Annotated[
        Scope,
        Readable(),
        Field(
            description="Absolute path; a folder with a trailing slash covers all files below "
            "it; `*` and `?` match within a name, `**` between slashes matches any "
            "number of folders."
        ),
    ]
    ttl_minutes: Annotated[
        int, Field(ge=1, le=limits.GRANT_MINUTES_MAX, description="Duration in minutes.")
    ]
    actions: Annotated[
        list[Action],
        Field(
            min_length=1,
            max_length=len(ACTIONS),
            description="Permitted actions: read, write, exec, delete.",
        ),
    ]
    agent: Annotated[Id, Readable(), Field(description="Agent; `*` means every agent.")]


class Granted(Message):
    """Answer of `POST /api/v7/sysperm/grant`."""

    grant_id: GrantId
    scope: Annotated[str, Field(description="Scope, normalised.")]
    actions: Annotated[list[Action], Field(description="Permitted actions.")]
    agent: Annotated[str, Field(description="Agent.")]
    expires_at: ExpiresAt
    note: Annotated[str, Field(description="What the scope covers, for people.")]


class GrantsQuery(Message):
    """Parameters of `GET /api/v7/sysperm/grants`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.GRANTS_LISTED_MAX, description="Maximum number of entries.")
    ] = 100
    before: Annotated[
        Id | None,
        Field(
            description="Return grants older than this grant_id: the `next` of the previous page."
        ),
    ] = None


class LiveGrant(Message):
    """A grant in force."""

    grant_id: GrantId
    scope: Annotated[str, Field(description="Scope.")]
    actions: Annotated[list[Action], Field(description="Permitted actions.")]
    agent: Annotated[str, Field(description="Agent.")]
    key_id: Annotated[
        int,
        Field(description="Number of the key that granted it; 0 for a signed-in browser."),
    ]
    granted_at: Annotated[str, Field(description="Time of the grant (RFC 3339, UTC).")]
    expires_at: ExpiresAt
    seconds_left: Annotated[int, Field(ge=1, description="Remaining seconds, rounded up.")]


class GrantList(Message):
    """Answer of `GET /api/v7/sysperm/grants`: newest first."""

    grants: Annotated[list[LiveGrant], Field(description="Entries of this page.")]
    next: Annotated[
        str | None, Field(description="Value of `before` for the next page; null on the last page.")
    ]


class ActionLog(Body):
    """Body of `POST /api/v7/sysperm/log`."""

    model_config = example(
        {
            "grant_id": "g_5v0n8k2m4t6wz",
            "path": "/etc/nginx/nginx.conf",
            "action": "write",
            "result": "worker_connections is 1024 now",
        }
    )

    grant_id: Annotated[Id, Field(description="Grant that the check returned.")]
    path: Annotated[AbsolutePath, Field(description="Path that was used.")]
    action: _OneAction
    result: Annotated[
        Telling,
        Readable(has_lines=True),
        Field(
            max_length=limits.RESULT_CHARACTERS_MAX,
            description="Result of the action. It can never be erased: no secrets.",
        ),
    ]


class ActionLogged(Message):
    """Answer of `POST /api/v7/sysperm/log`."""

    logged: Annotated[bool, Field(description="True once stored durably.")]
    seq: Annotated[int, Field(description="Number of the entry in the audit trail.")]
    detail: Detail = None


class GrantRevocation(ExactBody):
    """Body of `POST /api/v7/sysperm/revoke`."""

    model_config = example({"grant_id": "g_5v0n8k2m4t6wz"})

    grant_id: Annotated[Id, Field(description="Grant to revoke.")]


class GrantRevoked(Message):
    """Answer of `POST /api/v7/sysperm/revoke`."""

    revoked: Annotated[
        bool,
        Field(
            description="True: no check uses the grant any more. Also true if it was revoked "
            "before."
        ),
    ]


class AuditQuery(Message):
    """Parameters of `GET /api/v7/sysperm/audit`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.AUDIT_LISTED_MAX, description="Maximum number of entries.")
    ] = 100
    after: Annotated[
        int,
        Field(
            ge=0,
            le=(1 << 53) - 1,
            description="Return entries after this number: the `next` of the previous page.",
        ),
    ] = 0


class AuditEntry(Message):
    """One entry of the audit trail. Fields of other kinds of entries are absent."""

    seq: Annotated[int, Field(description="Number of the entry, from 1, without gaps.")]
    at: Annotated[str | None, ABSENT_IF_NONE, Field(description="Time (RFC 3339, UTC).")] = None
    kind: Annotated[
        Literal["grant", "check", "log", "revoke", "erase", "team", "unreadable"],
        Field(description="Action recorded; `unreadable` if the entry was overwritten."),
    ]
    account: Annotated[str | None, ABSENT_IF_NONE, Field(description="Account that acted.")] = None
    key_id: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Number of the key; 0 for a signed-in browser."),
    ] = None
    grant_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Grant that was created, used or revoked."),
    ] = None
    agent: Annotated[str | None, ABSENT_IF_NONE, Field(description="Agent of the entry.")] = None
    scope: Annotated[str | None, ABSENT_IF_NONE, Field(description="Grant: scope.")] = None
    actions: Annotated[
        list[Action] | None, ABSENT_IF_NONE, Field(description="Grant: permitted actions.")
    ] = None
    ttl_minutes: Annotated[int | None, ABSENT_IF_NONE, Field(description="Grant: duration.")] = None
    expires_at: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Grant, or check that it allowed: expiry."),
    ] = None
    path: Annotated[str | None, ABSENT_IF_NONE, Field(description="Check or log: path.")] = None
    action: Annotated[Action | None, ABSENT_IF_NONE, Field(description="Check or log: action.")] = (
        None
    )
    allowed: Annotated[bool | None, ABSENT_IF_NONE, Field(description="Check: result.")] = None
    check: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Log: number of the check that allowed it."),
    ] = None
    result: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Log: result of the action.")
    ] = None
    receipt_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Erase: id of the receipt.")
    ] = None
    change: Annotated[
        Literal[
            "create",
            "rename",
            "delete",
            "invite",
            "withdraw",
            "accept",
            "role",
            "remove",
            "leave",
        ]
        | None,
        ABSENT_IF_NONE,
        Field(
            description="Team: what changed. `withdraw`: an invitation; `role`: that of a member."
        ),
    ] = None
    team_id: Annotated[str | None, ABSENT_IF_NONE, Field(description="Team: its id.")] = None
    member: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Team: account of the member.")
    ] = None
    user_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Team: the member's one user; absent for all users of the account."),
    ] = None
    role: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Team: role of the member or invitation.")
    ] = None
    invitation_id: Annotated[str | None, ABSENT_IF_NONE, Field(description="Team: invitation.")] = (
        None
    )
    prev: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Hash of the previous entry; 64 zeros in the first."),
    ] = None
    hash: Annotated[
        str,
        Field(description="SHA-256 of the entry without this field, as canonical JSON, in hex."),
    ]


class AuditHead(Message):
    """The newest entry of the audit trail.

    Keep a copy elsewhere: with it, the loss of entries can be detected later.
    """

    seq: Annotated[int, Field(description="Number of the entry; 0 if there is none.")]
    hash: Annotated[str, Field(description="Hash of the entry.")]


class AuditPage(Message):
    """Answer of `GET /api/v7/sysperm/audit`: oldest first."""

    entries: Annotated[list[AuditEntry], Field(description="Entries of this page.")]
    next: Annotated[
        int | None, Field(description="Value of `after` for the next page; null on the last page.")
    ]
    chain_valid: Annotated[
        bool,
        Field(
            description="True if these entries are unchanged, complete and linked to the entries "
            "around them; on the last page, to the head."
        ),
    ]
    head: Annotated[AuditHead, Field(description="The newest entry.")]

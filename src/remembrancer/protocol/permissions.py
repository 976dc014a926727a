"""What is said when agents ask for permission to touch system files, and what the audit trail tells
of it.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from . import limits
from .message import ABSENT_IF_NONE, Id, Message, example
from .paths import AbsolutePath, Scope
from .text import Telling

Action = Literal["read", "write", "exec", "delete"]  # specification, Permission grant
ACTIONS: tuple[Action, ...] = get_args(Action)
EVERYONE = "*"  # a grant to this agent is one to all

GrantId = Annotated[str, Field(description="Identifier of the grant.")]
ExpiresAt = Annotated[
    str, Field(description="When it ends (RFC 3339, UTC); at this very moment it is over.")
]
_OneAction = Annotated[Action, Field(description="One of read, write, exec, delete.")]


class PermissionCheck(Message):
    """Body of `POST /api/v7/sysperm/check`."""

    model_config = example(
        {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "deployer"}
    )

    path: Annotated[
        AbsolutePath,
        Field(
            description="What is to be touched: one absolute path, resolved by who will touch it."
        ),
    ]
    action: _OneAction
    agent: Annotated[Id, Field(description="Who is to do it.")]


class PermissionChecked(Message):
    """Answer of `POST /api/v7/sysperm/check`."""

    allowed: Annotated[
        bool,
        Field(
            description="Whether it may be done now. False: do not do it, ask the owner for a grant."
        ),
    ]
    grant_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The grant that allows it, of several the one that lasts longest."),
    ] = None
    expires_at: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="When that grant ends (RFC 3339, UTC).")
    ] = None
    path: Annotated[
        str, Field(description="The path that was judged: touch it as it is spelled here.")
    ]
    reason: Annotated[str, Field(description="Why, for people.")]


class GrantRequest(Message):
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
        Field(
            description="An absolute path; a folder with a slash at its end: all below it; or with `*` and `?`, which match within "
            "a name, and `**` between slashes, which matches any number of folders."
        ),
    ]
    ttl_minutes: Annotated[
        int, Field(ge=1, le=limits.GRANT_MINUTES_MAX, description="For how many minutes.")
    ]
    actions: Annotated[
        list[Action],
        Field(
            min_length=1,
            max_length=len(ACTIONS),
            description="What may be done: read, write, exec, delete.",
        ),
    ]
    agent: Annotated[Id, Field(description="Who may do it; `*`: every agent.")]


class Granted(Message):
    """Answer of `POST /api/v7/sysperm/grant`."""

    grant_id: GrantId
    scope: Annotated[str, Field(description="What it is for, without `//`, `.` and `..`.")]
    actions: Annotated[list[Action], Field(description="What may be done.")]
    agent: Annotated[str, Field(description="Who may do it.")]
    expires_at: ExpiresAt


class GrantsQuery(Message):
    """Parameters of `GET /api/v7/sysperm/grants`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.GRANTS_LISTED_MAX, description="How many at most.")
    ] = 100
    before: Annotated[
        Id | None,
        Field(description="Only older ones than this grant_id: the `next` of the page before."),
    ] = None


class LiveGrant(Message):
    """A grant in force."""

    grant_id: GrantId
    scope: Annotated[str, Field(description="What it is for.")]
    actions: Annotated[list[Action], Field(description="What may be done.")]
    agent: Annotated[str, Field(description="Who may do it.")]
    key_id: Annotated[
        int,
        Field(description="The number of the key it was given with; 0: in a signed-in browser."),
    ]
    granted_at: Annotated[str, Field(description="When it was given (RFC 3339, UTC).")]
    expires_at: ExpiresAt
    seconds_left: Annotated[
        int, Field(ge=1, description="How long that is from now, in whole seconds, rounded up.")
    ]


class GrantList(Message):
    """Answer of `GET /api/v7/sysperm/grants`: newest first."""

    grants: Annotated[list[LiveGrant], Field(description="This page.")]
    next: Annotated[
        str | None, Field(description="For `before` of the next page; null on the last one.")
    ]


class ActionLog(Message):
    """Body of `POST /api/v7/sysperm/log`."""

    model_config = example(
        {
            "grant_id": "g_5v0n8k2m4t6wz",
            "path": "/etc/nginx/nginx.conf",
            "action": "write",
            "result": "worker_connections is 1024 now",
        }
    )

    grant_id: Annotated[Id, Field(description="The grant that the check named.")]
    path: Annotated[AbsolutePath, Field(description="What was touched.")]
    action: _OneAction
    result: Annotated[
        Telling,
        Field(
            max_length=limits.RESULT_CHARACTERS_MAX,
            description="What came of it. It can never be erased: no secrets.",
        ),
    ]


class ActionLogged(Message):
    """Answer of `POST /api/v7/sysperm/log`."""

    logged: Annotated[bool, Field(description="True once it is durable.")]
    seq: Annotated[int, Field(description="The number of its entry in the audit trail.")]


class GrantRevocation(Message):
    """Body of `POST /api/v7/sysperm/revoke`."""

    model_config = example({"grant_id": "g_5v0n8k2m4t6wz"})

    grant_id: Annotated[Id, Field(description="The grant to end.")]


class GrantRevoked(Message):
    """Answer of `POST /api/v7/sysperm/revoke`."""

    revoked: Annotated[
        bool,
        Field(
            description="True once every check is answered without it; also when it had been revoked before."
        ),
    ]


class AuditQuery(Message):
    """Parameters of `GET /api/v7/sysperm/audit`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.AUDIT_LISTED_MAX, description="How many entries at most.")
    ] = 100
    after: Annotated[
        int,
        Field(
            ge=0,
            le=(1 << 53) - 1,
            description="Only entries after this number: the `next` of the page before.",
        ),
    ] = 0


class AuditEntry(Message):
    """One entry of the audit trail. What does not belong to its kind is left out."""

    seq: Annotated[int, Field(description="Its number; the first is 1 and none is left out.")]
    at: Annotated[str | None, ABSENT_IF_NONE, Field(description="When (RFC 3339, UTC).")] = None
    kind: Annotated[
        Literal["grant", "check", "log", "revoke", "unreadable"],
        Field(
            description="What was done; `unreadable` where somebody put something else in its place."
        ),
    ]
    account: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Whose key it was done with.")
    ] = None
    key_id: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="The number of that key; 0: none, in a signed-in browser."),
    ] = None
    grant_id: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The grant that was given, allowed it, or was revoked."),
    ] = None
    agent: Annotated[str | None, ABSENT_IF_NONE, Field(description="The agent that was named.")] = (
        None
    )
    scope: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Of a grant: what it is for.")
    ] = None
    actions: Annotated[
        list[Action] | None, ABSENT_IF_NONE, Field(description="Of a grant: what may be done.")
    ] = None
    ttl_minutes: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Of a grant: for how long.")
    ] = None
    expires_at: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Of a grant, and of a check that it allowed: when it ends."),
    ] = None
    path: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Of a check or log: the path.")
    ] = None
    action: Annotated[
        Action | None, ABSENT_IF_NONE, Field(description="Of a check or log: the action.")
    ] = None
    allowed: Annotated[
        bool | None, ABSENT_IF_NONE, Field(description="Of a check: the answer.")
    ] = None
    check: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Of a log: the number of the check that allowed it."),
    ] = None
    result: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Of a log: what came of it.")
    ] = None
    prev: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The hash of the entry before; 64 zeros in the first."),
    ] = None
    hash: Annotated[
        str,
        Field(description="SHA-256 of the entry without this member, as canonical JSON, in hex."),
    ]


class AuditHead(Message):
    """The newest entry of the audit trail.

    Who notes it elsewhere can tell later that nothing before it is gone.
    """

    seq: Annotated[int, Field(description="Its number; 0 while there is none.")]
    hash: Annotated[str, Field(description="Its hash.")]


class AuditPage(Message):
    """Answer of `GET /api/v7/sysperm/audit`: oldest first."""

    entries: Annotated[list[AuditEntry], Field(description="This page.")]
    next: Annotated[
        int | None, Field(description="For `after` of the next page; null on the last one.")
    ]
    chain_valid: Annotated[
        bool,
        Field(
            description="Whether these entries are as they were written, none missing among them, and joined to the entries before "
            "and after; on the last page, to the head."
        ),
    ]
    head: Annotated[AuditHead, Field(description="The newest entry of all.")]

"""Messages about erasing: by request, by retention, and the receipts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, ExactBody, Id, InTeam, Message, Misfit, example
from .text import Moment, Text

# --- Signed receipts of erasures, and the public keys that verify them -----------------------

FORMAT = "remembrancer-erasure/1"
EVENT_IDS_MAX = 500  # listed in a statement; the digest covers any number

Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ErasureScope(Message):
    """Selection of an erasure.

    Names are salted hashes: SHA-256 of the receipt's id, the kind of name and the name, joined by
    line feeds, in hex. Who knows a name can check that the receipt is about it.
    """

    kind: Annotated[
        Literal["event", "session", "period", "files", "user", "account"],
        Field(description="What was erased; `files`: memory files."),
    ]
    user: Annotated[str | None, ABSENT_IF_NONE, Field(description="Hash of the user_id.")] = None
    session: Annotated[str | None, ABSENT_IF_NONE, Field(description="Hash of the session_id.")] = (
        None
    )
    path: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Hash of the path of memory files.")
    ] = None
    after: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Start of the period (RFC 3339, UTC).")
    ] = None
    before: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="End of the period (RFC 3339, UTC).")
    ] = None


class ErasureAudit(Message):
    """The entry of the audit trail that records the erasure."""

    seq: Annotated[int, Field(description="Number of the entry.")]
    hash: Annotated[str, Field(description="Hash of the entry, SHA-256 in hex.")]


class ErasureStatement(Message):
    """The signed text of a receipt, as JSON. It repeats nothing that was erased."""

    format: Annotated[str, Field(description=f"`{FORMAT}`.")] = FORMAT
    receipt_id: Annotated[str, Field(description="Id of the receipt.")]
    at: Annotated[str, Field(description="Time of the erasure (RFC 3339, UTC).")]
    account: Annotated[str, Field(description="Hash of the account's name, as in `scope`.")]
    scope: ErasureScope
    counts: Annotated[dict[str, int], Field(description="Number of erased items by kind.")]
    event_ids: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description=f"Ids of the erased turns, if they are at most {EVENT_IDS_MAX}."),
    ] = None
    event_ids_digest: Annotated[
        str,
        Field(
            description="Sum of the SHA-256 of the ids of all erased turns, modulo 2^256, in hex."
        ),
    ]
    audit: ErasureAudit


class SignedReceipt(Message):
    """A statement of the service about an erasure, and its signature."""

    statement: Annotated[
        str, Field(description="The signed text: JSON of an `ErasureStatement`, byte for byte.")
    ]
    key_id: Annotated[
        str, Field(description="Key that signed it: `kid` of `/api/v7/receipts/keys`.")
    ]
    signature: Annotated[
        str, Field(description="Ed25519 signature of the UTF-8 text, as base64url without padding.")
    ]


class ReceiptKey(Message):
    """A public key as a JSON Web Key (RFC 8037)."""

    kty: Annotated[Literal["OKP"], Field(description="Key type.")] = "OKP"
    crv: Annotated[Literal["Ed25519"], Field(description="Curve.")] = "Ed25519"
    kid: Annotated[
        str, Field(description="Key id: the first 16 hex digits of the SHA-256 of the key.")
    ]
    x: Annotated[str, Field(description="The public key, as base64url without padding.")]
    retired_at: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Time at which another key took its place (RFC 3339, UTC)."),
    ] = None


class ReceiptKeys(Message):
    """Answer of `GET /api/v7/receipts/keys`: a JSON Web Key Set."""

    keys: Annotated[
        list[ReceiptKey], Field(description="The key that signs now, then retired ones.")
    ]


# --- Messages about erasing ------------------------------------------------------------------

Count = Annotated[int, Field(ge=0)]
Receipt = Annotated[
    SignedReceipt | None,
    ABSENT_IF_NONE,
    Field(description="Signed receipt; absent for a dry run."),
]


_NARROWING = ("user_id", "session_id", "after", "before", "path")
_TURNS = ("session_id", "after", "before")


class Forget(ExactBody):
    """Body of `POST /api/v7/memory/forget`.

    Without a narrowing field it means the user's whole memory and needs `confirm`.
    """

    model_config = example({"user_id": "bob", "session_id": "trip-to-elba", "dry_run": True})

    user_id: Annotated[
        Id | None, Field(description="User whose memory to use. Default: the user of the key.")
    ] = None
    session_id: Annotated[
        Id | None, Field(description="Only this session, with its summaries and duties.")
    ] = None
    after: Annotated[
        Moment | None,
        Field(description="Only turns that occurred at or after this time (RFC 3339)."),
    ] = None
    before: Annotated[
        Moment | None, Field(description="Only turns that occurred before this time (RFC 3339).")
    ] = None
    path: Annotated[
        Annotated[Text, Field(max_length=limits.MEMORY_PATH_CHARACTERS_MAX)] | None,
        Field(
            description="Only this memory file, or all files in this folder, with every version."
        ),
    ] = None
    account: Annotated[
        bool,
        Field(
            description="Everything of the account: all users, cubes, files and prompts. Its "
            "keys stay."
        ),
    ] = False
    confirm: Annotated[
        Annotated[Text, Field(max_length=limits.ID_CHARACTERS_MAX)] | None,
        Field(
            description="Confirmation. For a whole user: the user_id again. For the account: its "
            "name."
        ),
    ] = None
    dry_run: Annotated[bool, Field(description="Return the counts and erase nothing.")] = False
    team: InTeam = None

    @property
    def is_narrowed(self) -> bool:
        """Return True if the request covers less than a user's whole memory."""
        return (
            self.session_id is not None
            or self.after is not None
            or self.before is not None
            or self.path is not None
        )

    @model_validator(mode="after")
    def _fits(self) -> Forget:
        if self.account and any(getattr(self, name) is not None for name in _NARROWING):
            raise Misfit(
                "account",
                "with account, leave user_id, session_id, after, before and path out",
            )
        if self.path is not None and any(getattr(self, name) is not None for name in _TURNS):
            raise Misfit(
                "path",
                "with path, leave session_id, after and before out",
            )
        return self


class Erased(Message):
    """Counts of what was erased, or would be."""

    events: Annotated[Count, Field(description="Turns, with their index entries.")] = 0
    sessions: Annotated[Count, Field(description="Sessions, with their steps and duties.")] = 0
    summaries: Annotated[Count, Field(description="L1s that cover erased turns.")] = 0
    maps: Annotated[
        Count,
        Field(description="Versions of the L2 map: all of them, if an erased L1 may be covered."),
    ] = 0
    facts: Annotated[Count, Field(description="Critical facts stored with erased turns.")] = 0
    prompts: Annotated[Count, Field(description="The users' own parts of agent prompts.")] = 0
    files: Annotated[Count, Field(description="Created files.")] = 0
    memory_files: Annotated[Count, Field(description="Versions of memory files.")] = 0
    cubes: Annotated[
        Count, Field(description="Cubes of the account, including published ones.")
    ] = 0
    feedback: Annotated[Count, Field(description="Feedback sent by the account.")] = 0


class Forgotten(Message):
    """Answer of `POST /api/v7/memory/forget`: the receipt."""

    erased: Annotated[bool, Field(description="True once erased durably; false for a dry run.")]
    counts: Annotated[Erased, Field(description="Number of erased items by kind.")]
    at: Annotated[str, Field(description="Time (RFC 3339, UTC).")]
    receipt: Receipt = None


class EventErased(Message):
    """Answer of `DELETE /api/v7/event/{event_id}`: the receipt."""

    erased: Annotated[
        bool, Field(description="True: the turn is erased durably and no search finds it.")
    ]
    event_id: Annotated[str, Field(description="Id of the erased turn.")]
    facts: Annotated[
        Count, Field(description="Number of critical facts that were stored with it and erased.")
    ]
    told_in: Annotated[
        list[str],
        Field(description="Ids of L1s of its session that may cover it. They are kept."),
    ]
    at: Annotated[str, Field(description="Time (RFC 3339, UTC).")]
    receipt: Receipt = None


class FileErased(Message):
    """Answer of `DELETE /download/{filename}`."""

    erased: Annotated[bool, Field(description="True: the file is erased and its quota released.")]
    filename: Annotated[str, Field(description="Name of the erased file.")]
    size_bytes: Annotated[Count, Field(description="Size in bytes.")]


# --- Messages about retention: how long an account keeps turns, and what was removed ---------

_DAYS = "Turns older than this many days are erased; null keeps them for ever."
_EVENTS = "Only this many of a user's newest turns are kept; null keeps all."
_USER = "User whose turns it bounds; null: every user of the account without a rule of its own."


class RetentionSet(ExactBody):
    """Body of `PUT /api/v7/memory/retention`. Without `days` and `events` the rule is removed."""

    model_config = example({"user_id": "ada", "days": 365})

    user_id: Annotated[Id | None, Field(description=_USER)] = None
    days: Annotated[int | None, Field(ge=1, le=limits.RETENTION_DAYS_MAX, description=_DAYS)] = None
    events: Annotated[
        int | None, Field(ge=1, le=limits.RETENTION_EVENTS_MAX, description=_EVENTS)
    ] = None
    team: InTeam = None


class RetentionQuery(Message):
    """Parameters of `GET /api/v7/memory/retention`."""

    model_config = example({"user_id": "ada"})

    user_id: Annotated[
        Id | None, Field(description="Only what applies to this user. Default: everything.")
    ] = None
    team: InTeam = None


class RetentionRule(Message):
    """A bound on the turns of users."""

    user_id: Annotated[str | None, Field(description=_USER)]
    days: Annotated[int | None, Field(description=_DAYS)]
    events: Annotated[int | None, Field(description=_EVENTS)]
    set_by: Annotated[
        Literal["account", "server"],
        Field(description="`server`: the default of the settings, for accounts without a rule."),
    ]


class Sweep(Message):
    """Counts of one removal by expiry or retention."""

    user_id: Annotated[str | None, Field(description="User whose memory it was; null: cubes.")]
    reason: Annotated[
        Literal["expired", "days", "events"],
        Field(description="`expired`: `expires_at` had passed. Else the bound that was exceeded."),
    ]
    events: Annotated[int, Field(description="Number of turns.")]
    facts: Annotated[int, Field(description="Number of facts.")]
    summaries: Annotated[int, Field(description="Number of L1s that told of the turns.")]
    cubes: Annotated[int, Field(description="Number of cubes.")]
    at: Annotated[str, Field(description="Time of the removal (RFC 3339, UTC).")]


class Retention(Message):
    """Answer about retention."""

    rules: Annotated[list[RetentionRule], Field(description="Rules that apply, by user.")]
    sweeps: Annotated[
        list[Sweep], Field(description="The latest removals, newest first, at most 50.")
    ]

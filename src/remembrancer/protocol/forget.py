"""Messages about erasing: by request, by retention, and the receipts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from . import limits
from .filters import OnlyPassing
from .message import ABSENT_IF_NONE, ExactBody, Id, InTeam, Message, Misfit, OrAbsent
from .text import Moment, Text

# --- Signed receipts of erasures, and the public keys that verify them -----------------------

FORMAT = "remembrancer-erasure/1"
EVENT_IDS_MAX = 500  # listed in a statement; the digest covers any number


class ErasureScope(Message):
    """Selection of an erasure.

    Names are salted hashes: SHA-256 of the receipt's id, the kind of name and the name, joined by
    line feeds, in hex. Who knows a name can check that the receipt is about it.
    """

    kind: Literal["event", "session", "period", "filters", "files", "user", "account"]
    """What was erased; `filters`: what passed filters; `files`: memory files."""
    user: OrAbsent[str] = None
    """Hash of the user_id."""
    session: OrAbsent[str] = None
    """Hash of the session_id."""
    path: OrAbsent[str] = None
    """Hash of the path of memory files."""
    filters: OrAbsent[str] = None
    """Hash of the filters, as JSON with sorted keys and without spaces."""
    after: OrAbsent[str] = None
    """Start of the period (RFC 3339, UTC)."""
    before: OrAbsent[str] = None
    """End of the period (RFC 3339, UTC)."""


class ErasureAudit(Message):
    """The entry of the audit trail that records the erasure."""

    seq: int
    """Number of the entry."""
    hash: str
    """Hash of the entry, SHA-256 in hex."""


class ErasureStatement(Message):
    """The signed text of a receipt, as JSON. It repeats nothing that was erased."""

    format: Annotated[str, Field(description=f"`{FORMAT}`.")] = FORMAT
    receipt_id: str
    """Id of the receipt."""
    at: str
    """Time of the erasure (RFC 3339, UTC)."""
    account: str
    """Hash of the account's name, as in `scope`."""
    scope: ErasureScope
    counts: dict[str, int]
    """Number of erased items by kind."""
    event_ids: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description=f"Ids of the erased turns, if they are at most {EVENT_IDS_MAX}."),
    ] = None
    event_ids_digest: str
    """Sum of the SHA-256 of the ids of all erased turns, modulo 2^256, in hex."""
    audit: ErasureAudit


class SignedReceipt(Message):
    """A statement of the service about an erasure, and its signature."""

    statement: str
    """The signed text: JSON of an `ErasureStatement`, byte for byte."""
    key_id: str
    """Key that signed it: `kid` of `/api/v7/receipts/keys`."""
    signature: str
    """Ed25519 signature of the UTF-8 text, as base64url without padding."""


class ReceiptKey(Message):
    """A public key as a JSON Web Key (RFC 8037)."""

    kty: Literal["OKP"] = "OKP"
    """Key type."""
    crv: Literal["Ed25519"] = "Ed25519"
    """Curve."""
    kid: str
    """Key id: the first 16 hex digits of the SHA-256 of the key."""
    x: str
    """The public key, as base64url without padding."""
    retired_at: OrAbsent[str] = None
    """Time at which another key took its place (RFC 3339, UTC)."""


class ReceiptKeys(Message):
    """Answer of `GET /api/v7/receipts/keys`: a JSON Web Key Set."""

    keys: list[ReceiptKey]
    """The key that signs now, then retired ones."""


# --- Messages about erasing ------------------------------------------------------------------

Count = Annotated[int, Field(ge=0)]
Receipt = Annotated[
    SignedReceipt | None, ABSENT_IF_NONE, Field(description="Signed receipt; absent for a dry run.")
]


_TURNS = ("session_id", "after", "before", "filters")
_NARROWING = (*_TURNS, "path")


class Forget(ExactBody):
    """Body of `POST /api/v7/memory/forget`.

    Without a narrowing field it means the user's whole memory and needs `confirm`.

    Example: {"user_id": "bob", "session_id": "trip-to-elba", "dry_run": true}
    """

    user_id: Id | None = None
    """User whose memory to use. Default: the user of the key."""
    session_id: Id | None = None
    """Only this session, with its summaries and duties."""
    after: Moment | None = None
    """Only turns that occurred at or after this time (RFC 3339)."""
    before: Moment | None = None
    """Only turns that occurred before this time (RFC 3339)."""
    filters: OnlyPassing = None
    path: Annotated[Text, Field(max_length=limits.MEMORY_PATH_CHARACTERS_MAX)] | None = None
    """Only this memory file, or all files in this folder, with every version."""
    account: bool = False
    """Everything of the account: all users, cubes, files and prompts. Its keys stay."""
    confirm: Annotated[Text, Field(max_length=limits.ID_CHARACTERS_MAX)] | None = None
    """Confirmation. For a whole user: the user_id again. For the account: its name."""
    dry_run: bool = False
    """Return the counts and erase nothing."""
    team: InTeam = None

    @property
    def is_narrowed(self) -> bool:
        """Return True if the request covers less than a user's whole memory."""
        return self._has(_NARROWING)

    def _has(self, names: Sequence[str]) -> bool:
        return any(getattr(self, name) is not None for name in names)

    @model_validator(mode="after")
    def _fits(self) -> Forget:
        if self.account and self._has(("user_id", *_NARROWING)):
            raise Misfit(
                "account",
                "with account, leave user_id, session_id, after, before, filters and path out",
            )
        if self.path is not None and self._has(_TURNS):
            raise Misfit("path", "with path, leave session_id, after, before and filters out")
        return self


class Erased(Message):
    """Counts of what was erased, or would be."""

    events: Count = 0
    """Turns, with their index entries."""
    sessions: Count = 0
    """Sessions, with their steps and duties."""
    summaries: Count = 0
    """L1s that cover erased turns."""
    maps: Count = 0
    """Versions of the L2 map: all of them, if an erased L1 may be covered."""
    facts: Count = 0
    """Critical facts stored with erased turns."""
    prompts: Count = 0
    """The users' own parts of agent prompts."""
    files: Count = 0
    """Created files."""
    memory_files: Count = 0
    """Versions of memory files."""
    cubes: Count = 0
    """Cubes of the account, including published ones."""
    feedback: Count = 0
    """Feedback sent by the account."""


class Forgotten(Message):
    """Answer of `POST /api/v7/memory/forget`: the receipt."""

    erased: bool
    """True once erased durably; false for a dry run."""
    counts: Erased
    """Number of erased items by kind."""
    at: str
    """Time (RFC 3339, UTC)."""
    receipt: Receipt = None


class EventErased(Message):
    """Answer of `DELETE /api/v7/event/{event_id}`: the receipt."""

    erased: bool
    """True: the turn is erased durably and no search finds it."""
    event_id: str
    """Id of the erased turn."""
    facts: Count
    """Number of critical facts that were stored with it and erased."""
    told_in: list[str]
    """Ids of L1s of its session that may cover it. They are kept."""
    at: str
    """Time (RFC 3339, UTC)."""
    receipt: Receipt = None


class FileErased(Message):
    """Answer of `DELETE /download/{filename}`."""

    erased: bool
    """True: the file is erased and its quota released."""
    filename: str
    """Name of the erased file."""
    size_bytes: Count
    """Size in bytes."""


# --- Messages about retention: how long an account keeps turns, and what was removed ---------

_DAYS = "Turns older than this many days are erased; null keeps them for ever."
_EVENTS = "Only this many of a user's newest turns are kept; null keeps all."
_USER = "User whose turns it bounds; null: every user of the account without a rule of its own."


class RetentionSet(ExactBody):
    """Body of `PUT /api/v7/memory/retention`. Without `days` and `events` the rule is removed.

    Example: {"user_id": "ada", "days": 365}
    """

    user_id: Annotated[Id | None, Field(description=_USER)] = None
    days: Annotated[int | None, Field(ge=1, le=limits.RETENTION_DAYS_MAX, description=_DAYS)] = None
    events: Annotated[
        int | None, Field(ge=1, le=limits.RETENTION_EVENTS_MAX, description=_EVENTS)
    ] = None
    team: InTeam = None


class RetentionQuery(Message):
    """Parameters of `GET /api/v7/memory/retention`.

    Example: {"user_id": "ada"}
    """

    user_id: Id | None = None
    """Only what applies to this user. Default: everything."""
    team: InTeam = None


class RetentionRule(Message):
    """A bound on the turns of users."""

    user_id: Annotated[str | None, Field(description=_USER)]
    days: Annotated[int | None, Field(description=_DAYS)]
    events: Annotated[int | None, Field(description=_EVENTS)]
    set_by: Literal["account", "server"]
    """`server`: the default of the settings, for accounts without a rule."""


class Sweep(Message):
    """Counts of one removal by expiry or retention."""

    user_id: str | None
    """User whose memory it was; null: cubes."""
    reason: Literal["expired", "days", "events"]
    """`expired`: `expires_at` had passed. Else the bound that was exceeded."""
    events: int
    """Number of turns."""
    facts: int
    """Number of facts."""
    summaries: int
    """Number of L1s that told of the turns."""
    cubes: int
    """Number of cubes."""
    at: str
    """Time of the removal (RFC 3339, UTC)."""


class Retention(Message):
    """Answer about retention."""

    rules: list[RetentionRule]
    """Rules that apply, by user."""
    sweeps: list[Sweep]
    """The latest removals, newest first, at most 50."""

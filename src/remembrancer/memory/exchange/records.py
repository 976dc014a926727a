"""The records of an export: one model for each member of JSON lines, and what a member is for.

The reference page of the format is generated from these models.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from ...protocol import limits
from ...protocol.facts import FactStatus
from ...protocol.files import memory_path
from ...protocol.filters import Metadata
from ...protocol.line import CubeKind
from ...protocol.message import Described, Id, Topic
from ...protocol.text import Moment, Text
from ...protocol.trust import TextSource

FORMAT: Literal["remembrancer-export"] = "remembrancer-export"
VERSION = 2  # raised with every change of a record, so that an older version refuses the file
MANIFEST = "manifest.json"
BLOBS = "blobs/"  # folder of the contents of created files
NUMBER_MAX = 1 << 53

Number = Annotated[int, Field(ge=0, le=NUMBER_MAX)]
EventId = Annotated[str, Field(pattern=r"^e_[0-9a-z]{13}$")]
FactId = Annotated[str, Field(pattern=r"^f_[0-9a-z]{13}$")]
L1Id = Annotated[str, Field(pattern=r"^l1_[0-9a-z]{13}$")]
CubeId = Annotated[str, Field(pattern=r"^c_[0-9a-z]{13}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Flag = Annotated[str, Field(pattern=r"^[a-z_-]{1,40}$")]
FileName = Annotated[
    Text,
    Field(max_length=limits.FILENAME_CHARACTERS_MAX + 32, pattern=r"^[^/\\\n]+\.[a-z0-9]{1,10}$"),
]


class Record(Described):
    """Base of records: strict types, no unknown fields, immutable. Every field is written."""

    KEY: ClassVar[tuple[str, ...]] = ()  # the fields that identify a record
    SCREENED: ClassVar[tuple[str, ...]] = ()  # texts in which the import masks or flags secrets
    # Columns that are equal if a row with the identifier is this record. What changes in a life
    # (status, counters, votes) is not among them.
    SAME: ClassVar[tuple[str, ...]] = ()

    # Built by its first use: a start of the server needs none of them.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class UserRecord(Record):
    """A user_id of the account: the owner of a space."""

    KEY = ("user_id",)

    user_id: Id
    """Name of the space."""
    created_at: Moment
    """Time of its first record."""
    l1_mapped: Number
    """L1s that the newest map covers."""


class SessionRecord(Record):
    """A session of a user, with its counters."""

    KEY = ("user_id", "session_id")

    user_id: Id
    """User of the session."""
    session_id: Id
    """Name of the session, unique for the user."""
    created_at: Moment
    """Time of its first search or turn."""
    last_turn_at: Moment | None
    """Time of its last turn."""
    step: Number
    """Counted searches: the step that its seal names."""
    remembered_step: Number
    """Step whose turn was remembered last: that seal is used."""
    turns: Number
    """Turns, without superseded drafts."""
    turns_summarised: Number
    """Turns that L1s cover."""
    cube_turn: Number | None
    """Number of the turn with its last cube."""
    task_open: bool
    """True if its task is open."""
    open_task: EventId | None = None
    """Turn that opened that task. Since version 2."""

    @model_validator(mode="after")
    def _counts_fit(self) -> SessionRecord:
        if self.turns_summarised > self.turns:
            raise ValueError("turns_summarised must be at most turns")
        return self


class SecondLooks(Record):
    """The second looks at a turn."""

    passed: Number
    """Second looks that passed."""
    failed: Number
    """Second looks that failed."""
    last_passed: bool
    """True if the last one passed."""
    looked_at: Moment
    """Time of the last one."""


class EventRecord(Record):
    """A turn. In the order in which the turns of each user were stored."""

    KEY = ("event_id",)
    SCREENED = ("topic", "query", "response")
    SAME = ("user_id", "session_id", "query", "response", "occurred_ms")

    event_id: EventId
    """Identifier; kept by the import."""
    user_id: Id
    """User of the turn."""
    session_id: Id
    """Session of the turn."""
    step: Number | None
    """Step of the session, if it was a seal's."""
    topic: Topic | None
    """Topic."""
    query: Text
    """The user's message."""
    response: Text
    """The answer."""
    query_source: TextSource = "user"
    """Who the message comes from. Since version 2."""
    response_source: TextSource = "model"
    """Who the answer comes from. Since version 2."""
    flags: list[Flag]
    """Warnings such as `secret`; the import adds its own."""
    occurred_at: Moment
    """Time that the turn belongs to, in the zone that was sent."""
    created_at: Moment
    """Time it was stored."""
    superseded: bool
    """True for a draft that a revision replaced."""
    superseded_by: EventId | None
    """That revision."""
    expires_at: Moment | None
    """Time at which it is erased."""
    pinned: bool
    """True if retention leaves it."""
    withdrawn: bool
    """True if the user took it back."""
    withdraws: list[EventId]
    """Earlier turns that the user took back in this one."""
    second_look: SecondLooks | None
    """Its second looks, if any."""
    metadata: Metadata | None = None
    """Its metadata, if it has some. Since version 2."""

    @model_validator(mode="after")
    def _is_superseded(self) -> EventRecord:
        if self.superseded_by is not None and not self.superseded:
            raise ValueError("superseded_by is for superseded events only")
        return self


class OriginRecord(Record):
    """The identifier by which an import recognises an event or a fact that it stored."""

    KEY = ("user_id", "origin")

    user_id: Id
    """User of the event."""
    origin: Annotated[Text, Field(min_length=1)]
    """Identifier in the source system."""
    event_id: EventId | None
    """The event; null for a fact."""


class FactRecord(Record):
    """A fact, standing instruction or preference, with its life. Oldest first for each user."""

    KEY = ("fact_id",)
    SCREENED = ("text", "condition")
    SAME = ("user_id",)

    fact_id: FactId
    """Identifier; kept by the import."""
    user_id: Id
    """User of the fact."""
    session_id: Id | None
    """Session it was stored in."""
    event_id: EventId | None
    """Turn that stated it first."""
    sources: list[EventId]
    """Other turns that stated it."""
    text: Text
    """Its wording; empty once it was erased."""
    source: TextSource = "user"
    """Who it comes from. Since version 2."""
    status: FactStatus
    """State of its life."""
    kind: Literal["fact", "instruction", "preference"]
    """Kind."""
    condition: Text | None
    """When an instruction applies."""
    recognised: bool
    """True if rules recognised it in a turn; false if it was stated."""
    is_version: bool = False
    """True if it is an earlier wording of the fact that superseded it. Since version 2."""
    pinned: bool
    """True if it is always in the start pack."""
    valid_from: Moment
    """Time from which it holds."""
    valid_to: Moment | None
    """Time until which it holds."""
    expires_at: Moment | None
    """Time at which its text is erased."""
    superseded_by: FactId | None
    """Fact that took its place."""
    uses: Number
    """Searches whose answers showed it."""
    used_at: Moment | None
    """Time of the last of these."""
    created_at: Moment
    """Time it was stored."""
    metadata: Metadata | None = None
    """Its metadata, if it has some. Since version 2."""

    @model_validator(mode="after")
    def _text_fits(self) -> FactRecord:
        if self.status in ("current", "superseded") and not self.text.strip():
            raise ValueError(f"a {self.status} fact must have a text")
        if self.superseded_by is not None and self.superseded_by == self.fact_id:
            raise ValueError("a fact cannot supersede itself")
        return self


class SummaryRecord(Record):
    """An L1: the summary of a part of a session. Oldest first for each user."""

    KEY = ("l1_id",)
    SCREENED = ("topic", "text")
    SAME = ("user_id", "text")

    l1_id: L1Id
    """Identifier; kept by the import."""
    user_id: Id
    """User of the session."""
    session_id: Id
    """The session."""
    topic: Topic | None
    """Topic."""
    text: Annotated[Text, Field(min_length=1)]
    """The summary."""
    source: TextSource = "model"
    """Who it comes from. Since version 2."""
    message_count: Number | None
    """Messages, as its agent counted."""
    turns: Number
    """Turns that it covers."""
    ratio: Annotated[float | None, Field(ge=0, allow_inf_nan=False)]
    """Its length divided by that of the turns."""
    created_at: Moment
    """Time it was stored."""


class MapRecord(Record):
    """One version of the map (L2) of a user. In the order of the versions for each user."""

    KEY = ("user_id", "version")
    SCREENED = ("text",)

    user_id: Id
    """User of the map."""
    version: Annotated[Number, Field(ge=1)]
    """Number of the version."""
    text: Text
    """The map."""
    source: TextSource = "model"
    """Who it comes from. Since version 2."""
    l1_count: Number
    """L1s of the user at that time."""
    made_by: Literal["agent", "headlines", "model", "note"]
    """Author."""
    created_at: Moment
    """Time it was stored."""


class PromptRecord(Record):
    """The user's own part of the agent prompt."""

    KEY = ("user_id",)
    SCREENED = ("text",)

    user_id: Id
    """The user."""
    text: Annotated[Text, Field(max_length=limits.PROMPT_CHARACTERS_MAX)]
    """The user's part."""
    updated_at: Moment
    """Time of its last change."""


class MemoryFileRecord(Record):
    """One version of a memory file. In the order of the changes for each user."""

    KEY = ("user_id", "path", "version")
    SCREENED = ("text",)

    user_id: Id
    """User of the file."""
    path: Text
    """Path below /memories."""
    version: Annotated[Number, Field(ge=1)]
    """Number of the version of this path."""
    is_current: bool
    """True for the version that is read."""
    change: Annotated[Text, Field(max_length=40)]
    """Command that made it."""
    other_path: Text | None
    """The other path of a rename."""
    flags: list[Flag]
    """Warnings about the text."""
    text: Annotated[Text | None, Field(max_length=limits.MEMORY_FILE_CHARACTERS_MAX)]
    """The whole text; null where the file was deleted."""
    created_at: Moment
    """Time it was stored."""

    @field_validator("path")
    @classmethod
    def _path_is_safe(cls, path: str) -> str:
        if memory_path(path) != path:
            raise ValueError("the path is not in its normal form")
        return path

    @model_validator(mode="after")
    def _has_text(self) -> MemoryFileRecord:
        if self.is_current and self.text is None:
            raise ValueError("a current version must have a text")
        return self


class CubeRecord(Record):
    """A cube of the account. Oldest first."""

    KEY = ("cube_id",)
    SCREENED = ("topic", "essence", "rules", "evidence")
    SAME = ("topic", "essence", "rules")

    cube_id: CubeId
    """Identifier; kept by the import."""
    user_id: Id | None
    """User whose cube it is. None: a private one becomes the account's default user's."""
    session_id: Id | None
    """Session that made it."""
    kind: CubeKind
    """Kind."""
    topic: Annotated[Text, Field(min_length=1)]
    """Topic."""
    essence: Annotated[Text, Field(min_length=1)]
    """The lesson."""
    rules: Text
    """Its rules, in Markdown."""
    evidence: Text
    """An event_id, or a label."""
    source: TextSource = "model"
    """Who it comes from. Since version 2."""
    model: Text | None
    """Model that wrote it."""
    status: Literal["private", "published", "trusted", "retired"]
    """Status. The import publishes a trusted one: votes made it trusted."""
    useful: Number
    """Accounts for it. For information only."""
    useless: Number
    """Accounts against it. For information only."""
    created_at: Moment
    """Time it was stored."""
    expires_at: Moment | None
    """Time at which it is erased."""
    merged_into: CubeId | None = None
    """Cube that is served in its place, perhaps another account's."""
    for_account: bool = False
    """Whether all users of the account see it while it is private."""

    @model_validator(mode="after")
    def _session_is_whole(self) -> CubeRecord:
        if self.user_id is None and self.session_id is not None:
            raise ValueError("a session needs its user_id")
        return self


class VoteRecord(Record):
    """The rating of a cube by a user of the account; the cube may be another account's."""

    KEY = ("cube_id", "user_id")
    SCREENED = ("reason",)

    cube_id: CubeId
    """The cube."""
    user_id: Id
    """User who rated it."""
    vote: Literal[-1, 0, 1]
    """The rating."""
    reason: Text | None
    """Its reason."""
    rated_at: Moment
    """Time of the rating."""


class FileRecord(Record):
    """A created file. Its content is the member `blobs/SHA256`. Oldest first."""

    KEY = ("filename",)
    SAME = ("sha256",)

    filename: FileName
    """Name; kept by the import."""
    user_id: Id | None
    """Pin of the key that made it."""
    sha256: Sha256
    """SHA-256 of the content, in hex."""
    bytes: Number
    """Size of the content."""
    made_by: Literal["file", "program"] | None
    """Maker: a request or a program."""
    created_at: Moment
    """Time it was stored."""


# The members of JSON lines, in the order in which they are written and read: a record refers only
# to records before it, but for `superseded_by`.
MEMBERS: dict[str, type[Record]] = {
    "users.jsonl": UserRecord,
    "sessions.jsonl": SessionRecord,
    "events.jsonl": EventRecord,
    "origins.jsonl": OriginRecord,
    "facts.jsonl": FactRecord,
    "summaries.jsonl": SummaryRecord,
    "maps.jsonl": MapRecord,
    "prompts.jsonl": PromptRecord,
    "memory_files.jsonl": MemoryFileRecord,
    "cubes.jsonl": CubeRecord,
    "votes.jsonl": VoteRecord,
    "files.jsonl": FileRecord,
}


class MemberEntry(Record):
    """A member of JSON lines, as the manifest lists it."""

    bytes: Number
    """Size, uncompressed."""
    records: Number
    """Number of lines."""
    sha256: Sha256
    """SHA-256 of the uncompressed member, in hex."""


class Manifest(Record):
    """The member `manifest.json`: one object that says what the export holds."""

    format: Literal["remembrancer-export"]
    """Name of the format."""
    version: Annotated[int, Field(ge=1)]
    """Version of the format."""
    software: Text
    """Version of Remembrancer that wrote it."""
    created_at: Moment
    """Time of the export."""
    account: Text
    """Name of the account."""
    user_ids: list[Id] | None
    """Users that were selected; null for the whole account."""
    members: dict[str, MemberEntry]
    """The members of JSON lines, by name."""
    blobs: Number
    """Number of members in `blobs/`."""

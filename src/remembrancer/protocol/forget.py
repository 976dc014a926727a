"""Messages about erasing."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from . import limits
from .message import ABSENT_IF_NONE, ExactBody, Id, InTeam, Message, Misfit, example
from .receipts import SignedReceipt
from .text import Moment, Text

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

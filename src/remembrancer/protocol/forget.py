"""What is said when something is erased for good."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from . import limits
from .message import Id, Message, Misfit, example
from .text import Moment, Text

Count = Annotated[int, Field(ge=0)]


_NARROWING = ("user_id", "session_id", "after", "before", "path")
_TURNS = ("session_id", "after", "before")
_FILES = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
_ALL = {"properties": {"account": {"const": True}}, "required": ["account"]}


class Forget(Message):
    """Body of `POST /api/v7/memory/forget`.

    What is narrowed by nothing is a whole user's memory and must be confirmed by its name.
    """

    model_config = example(
        {"user_id": "bob", "session_id": "trip-to-elba", "dry_run": True},
        **{"if": _ALL, "then": {"properties": {name: {"type": "null"} for name in _NARROWING}}},
        allOf=[{"if": _FILES, "then": {"properties": {name: {"type": "null"} for name in _TURNS}}}],
    )

    user_id: Annotated[Id | None, Field(description="Whose memory. Default: the key's own.")] = None
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
        Field(description="Only this memory file, or all below this folder, with every version."),
    ] = None
    account: Annotated[
        bool,
        Field(
            description="Everything the account keeps: all users, lessons, files, prompts. Its keys stay."
        ),
    ] = False
    confirm: Annotated[
        Annotated[Text, Field(max_length=limits.ID_CHARACTERS_MAX)] | None,
        Field(description="For a whole user: the user_id again. For the account: its name."),
    ] = None
    dry_run: Annotated[bool, Field(description="Erase nothing, only say what would be erased.")] = (
        False
    )

    @property
    def is_narrowed(self) -> bool:
        """Whether less than a user's whole memory is meant."""
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
                "account means everything: leave user_id, session_id, after, before and path out",
            )
        if self.path is not None and any(getattr(self, name) is not None for name in _TURNS):
            raise Misfit(
                "path",
                "memory files belong to no session and no time: leave session_id, after and before out",
            )
        return self


class Erased(Message):
    """How much was erased, or would be."""

    events: Annotated[Count, Field(description="Turns, with what search derived from them.")] = 0
    sessions: Annotated[Count, Field(description="Sessions, with their steps and duties.")] = 0
    summaries: Annotated[Count, Field(description="L1s that tell of what was erased.")] = 0
    maps: Annotated[
        Count,
        Field(
            description="Versions of the L2 map: all of them, once an L1 that they may tell of is gone."
        ),
    ] = 0
    facts: Annotated[Count, Field(description="Critical facts that came with what was erased.")] = 0
    prompts: Annotated[Count, Field(description="The user's own parts of the agent prompt.")] = 0
    files: Annotated[Count, Field(description="Created files.")] = 0
    memory_files: Annotated[Count, Field(description="Versions of memory files.")] = 0
    cubes: Annotated[Count, Field(description="Lessons of the account, also shared ones.")] = 0
    feedback: Annotated[Count, Field(description="Feedback that the account sent.")] = 0


class Forgotten(Message):
    """Answer of `POST /api/v7/memory/forget`: the receipt."""

    erased: Annotated[bool, Field(description="Whether it is gone, durably; false for a dry run.")]
    counts: Annotated[Erased, Field(description="How much of what.")]
    at: Annotated[str, Field(description="When (RFC 3339, UTC).")]


class EventErased(Message):
    """Answer of `DELETE /api/v7/event/{event_id}`: the receipt."""

    erased: Annotated[
        bool, Field(description="True: the turn is gone, durably, and no search finds it.")
    ]
    event_id: Annotated[str, Field(description="Which.")]
    facts: Annotated[Count, Field(description="Critical facts that came with it, erased too.")]
    told_in: Annotated[
        list[str],
        Field(description="L1s of its session that may tell of it, and are kept: `l1_id`s."),
    ]
    at: Annotated[str, Field(description="When (RFC 3339, UTC).")]


class FileErased(Message):
    """Answer of `DELETE /download/{filename}`."""

    erased: Annotated[
        bool, Field(description="True: the file is gone, and its room is free again.")
    ]
    filename: Annotated[str, Field(description="Which.")]
    size_bytes: Annotated[Count, Field(description="How large it was.")]

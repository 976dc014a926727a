"""Messages about feedback."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import Body, Created, Detail, Id, Message
from .text import Telling

FeedbackType = Literal["anomaly", "bug", "cube_issue", "improvement", "security"]
FeedbackId = Annotated[str, Field(description="Identifier of the feedback.")]
Severity = Annotated[
    int | None, Field(ge=1, le=4, description="Severity, from 1 (minor) to 4 (critical).")
]


class Feedback(Body):
    """Body of `POST /api/v7/feedback`.

    Example: {
      "type": "bug",
      "title": "A hit is cut in two",
      "description": "The second half is missing.",
      "severity": 2
    }
    """

    type: FeedbackType
    """Type: anomaly, bug, cube_issue, improvement or security."""
    title: Annotated[Telling, Field(max_length=limits.FEEDBACK_TITLE_CHARACTERS_MAX)]
    """Title."""
    description: Annotated[Telling, Field(max_length=limits.FEEDBACK_DESCRIPTION_CHARACTERS_MAX)]
    """What happened and what was expected."""
    severity: Severity = None


class FeedbackSaved(Message):
    """Answer of `POST /api/v7/feedback`."""

    saved: bool
    """True once stored durably."""
    feedback_id: FeedbackId
    detail: Detail = None


class FeedbackQuery(Message):
    """Parameters of `GET /api/v7/feedback`."""

    limit: Annotated[int, Field(ge=1, le=limits.FEEDBACK_LISTED_MAX)] = 50
    """Maximum number of entries."""
    before: Id | None = None
    """Return entries older than this feedback_id: the `next` of the previous page."""
    type: FeedbackType | None = None
    """Only this type."""
    state: Literal["open", "closed", "all"] = "all"
    """Only open or closed entries."""


class FeedbackGiven(Message):
    """One feedback entry, as the owner reads it."""

    feedback_id: FeedbackId
    account: str
    """Account that sent it."""
    type: FeedbackType
    """Type."""
    title: str
    """Title."""
    description: str
    """Description."""
    severity: Severity
    created_at: Created
    closed_at: str | None
    """Time at which an owner closed it (RFC 3339, UTC); null: open."""
    note: str | None
    """Answer of the owner who closed it, if there is one."""


class FeedbackList(Message):
    """Answer of `GET /api/v7/feedback`: newest first."""

    feedback: list[FeedbackGiven]
    """Entries of this page."""
    next: str | None
    """Value of `before` for the next page; null on the last page."""

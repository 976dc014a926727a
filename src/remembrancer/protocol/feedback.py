"""What is said when feedback is given, and read by the owner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import Created, Id, Message, example
from .text import Telling

FeedbackType = Literal[
    "anomaly", "bug", "cube_issue", "improvement", "security"
]  # specification, Feedback
FeedbackId = Annotated[str, Field(description="Identifier of the feedback.")]
Severity = Annotated[int | None, Field(ge=1, le=4, description="How bad it is: 1 (a trifle) to 4.")]


class Feedback(Message):
    """Body of `POST /api/v7/feedback`."""

    model_config = example(
        {
            "type": "bug",
            "title": "A hit is cut in two",
            "description": "The second half is missing.",
            "severity": 2,
        }
    )

    type: Annotated[
        FeedbackType,
        Field(description="What kind: anomaly, bug, cube_issue, improvement or security."),
    ]
    title: Annotated[
        Telling,
        Field(
            max_length=limits.FEEDBACK_TITLE_CHARACTERS_MAX, description="What it is, in a line."
        ),
    ]
    description: Annotated[
        Telling,
        Field(
            max_length=limits.FEEDBACK_DESCRIPTION_CHARACTERS_MAX,
            description="What happened, and what was expected.",
        ),
    ]
    severity: Severity = None


class FeedbackSaved(Message):
    """Answer of `POST /api/v7/feedback`."""

    saved: Annotated[bool, Field(description="True once it is durable.")]
    feedback_id: FeedbackId


class FeedbackQuery(Message):
    """Parameters of `GET /api/v7/feedback`."""

    limit: Annotated[
        int, Field(ge=1, le=limits.FEEDBACK_LISTED_MAX, description="How many at most.")
    ] = 50
    before: Annotated[
        Id | None,
        Field(description="Only older ones than this feedback_id: the `next` of the page before."),
    ] = None
    type: Annotated[FeedbackType | None, Field(description="Only of this kind.")] = None


class FeedbackGiven(Message):
    """One piece of feedback, as the owner reads it."""

    feedback_id: FeedbackId
    account: Annotated[str, Field(description="Who gave it.")]
    type: Annotated[FeedbackType, Field(description="What kind.")]
    title: Annotated[str, Field(description="What it is.")]
    description: Annotated[str, Field(description="What happened.")]
    severity: Severity
    created_at: Created


class FeedbackList(Message):
    """Answer of `GET /api/v7/feedback`: newest first."""

    feedback: Annotated[list[FeedbackGiven], Field(description="This page.")]
    next: Annotated[
        str | None, Field(description="For `before` of the next page; null on the last one.")
    ]

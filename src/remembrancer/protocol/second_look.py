"""Messages of the second look."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import ABSENT_IF_NONE, Body, Message, example
from .text import Text
from .usage import ModelUsage

CheckName = Literal[
    "turn_saved",
    "draft_not_empty",
    "no_service_line",
    "no_secret",
    "event_id_cited",
    "ref_exists",
    "ref_shown",
    "claim_marked",
    "number_in_ref",
    "date_in_ref",
    "name_in_ref",
    "url_in_ref",
    "statement_in_ref",
    "said_by_ref",
]
Outcome = Literal["pass", "fail"]


class SecondLook(Body):
    """Body of `POST /api/v7/agent/second-look`."""

    model_config = example(
        {
            "draft": "The ferry leaves at 9:40 (ref: e_7k2m9x0v4t8qz).",
            "event_id": "e_7k2m9x0v4t8qz",
            "span": 3,
        }
    )

    draft: Annotated[Text, Field(description="The clean answer, as it was remembered.")]
    event_id: Annotated[
        Text,
        Field(
            max_length=limits.ID_CHARACTERS_MAX,
            description="Event that the draft mainly cites; empty if memory was not cited.",
        ),
    ] = ""
    span: Annotated[
        int,
        Field(
            ge=0,
            le=limits.SPAN_MAX,
            description="`total_hits` of the turn's search. Accepted, not checked.",
        ),
    ] = 0


class Check(Message):
    """The result of one check.

    `start` and `end` are positions in the draft: `draft[start:end]` in code points.
    """

    check: Annotated[CheckName, Field(description="Name of the check.")]
    status: Annotated[Outcome, Field(description="`pass` or `fail`.")]
    detail: Annotated[str, Field(description="What to change, or what was found.")]
    claim: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Words of the draft that the check is about.")
    ] = None
    start: Annotated[int | None, ABSENT_IF_NONE, Field(description="Start in the draft.")] = None
    end: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="End in the draft, exclusive.")
    ] = None
    ref: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Cited event, or several separated by commas."),
    ] = None
    checked: Annotated[
        bool | None,
        ABSENT_IF_NONE,
        Field(
            description="False: this was not checked, and the check passes without a verdict. "
            "Absent: it was checked."
        ),
    ] = None


class SecondLooked(Message):
    """Answer of `POST /api/v7/agent/second-look`."""

    status: Annotated[Outcome, Field(description="`pass`: no check failed.")]
    checks: Annotated[
        list[Check],
        Field(description="Checks: failures first, each in the order of the draft."),
    ]
    failed: Annotated[
        int, Field(ge=0, description="Number of failed checks, including those not listed.")
    ]
    passed: Annotated[
        int, Field(ge=0, description="Number of passed checks, including those not listed.")
    ]
    not_checked: Annotated[
        int,
        Field(ge=0, description="Number of passed checks without a verdict (`checked` is false)."),
    ] = 0
    event_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Event id of the draft's turn.")
    ] = None
    session_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Session of that turn.")
    ] = None
    user_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="User whose memory holds that turn.")
    ] = None
    judge: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="If a judge model is configured: `on`, or `off` with the reason."),
    ] = None
    usage: Annotated[
        ModelUsage | None, ABSENT_IF_NONE, Field(description="Use of the judge model.")
    ] = None

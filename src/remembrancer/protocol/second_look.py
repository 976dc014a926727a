"""What is said when a draft is looked at a second time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .message import ABSENT_IF_NONE, Message, example
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
    "said_by_ref",
]
Outcome = Literal["pass", "fail"]


class SecondLook(Message):
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
            description="The event that the draft rests on most; empty when memory was not cited.",
        ),
    ] = ""
    span: Annotated[
        int,
        Field(
            ge=0,
            le=limits.SPAN_MAX,
            description="`total_hits` of the turn's search. Taken, not judged.",
        ),
    ] = 0


class Check(Message):
    """One thing that was looked at.

    `start` and `end` are places in the draft: `draft[start:end]` in characters (code points).
    """

    check: Annotated[CheckName, Field(description="What was checked: a stable word.")]
    status: Annotated[Outcome, Field(description="`pass` or `fail`.")]
    detail: Annotated[str, Field(description="What to change, in a sentence; or what was found.")]
    claim: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The words of the draft it is about.")
    ] = None
    start: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Where they begin in the draft.")
    ] = None
    end: Annotated[int | None, ABSENT_IF_NONE, Field(description="Where they end.")] = None
    ref: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="The event cited, or several with commas between."),
    ] = None


class SecondLooked(Message):
    """Answer of `POST /api/v7/agent/second-look`."""

    status: Annotated[Outcome, Field(description="`pass`: nothing failed.")]
    checks: Annotated[
        list[Check],
        Field(description="What was looked at: failures first, each in the order of the draft."),
    ]
    failed: Annotated[
        int, Field(ge=0, description="How many checks failed, those not listed included.")
    ]
    passed: Annotated[int, Field(ge=0, description="How many passed, those not listed included.")]
    event_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The turn that the draft was saved as.")
    ] = None
    session_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The session of that turn.")
    ] = None
    judge: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(
            description="Where a model is configured to judge: `on`, or `off` and why it said nothing."
        ),
    ] = None
    usage: Annotated[
        ModelUsage | None, ABSENT_IF_NONE, Field(description="What it took of that model.")
    ] = None

"""Messages about the effect of cubes: exposures, outcomes, and what the field trial measures."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from . import limits
from .cubes import CubeId, Status
from .message import Id, Message, RowNumber, example

Count = Annotated[int, Field(ge=0)]
Difference = Annotated[float, Field(ge=-1, le=1)]


class EffectQuery(Message):
    """Parameters of `GET /api/v7/experience/effect`."""

    model_config = example({"limit": 20})

    cube_id: Annotated[Id | None, Field(description="Only this cube.")] = None
    limit: Annotated[
        int, Field(ge=1, le=limits.EFFECTS_LISTED_MAX, description="Maximum number of cubes.")
    ] = 20
    below: Annotated[
        RowNumber | None, Field(description="Continue below this number: `next` of a page.")
    ] = None


class Arm(Message):
    """One side of the field trial."""

    exposures: Annotated[Count, Field(description="Searches for which the cube fitted.")]
    outcomes: Annotated[Count, Field(description="Of these, turns whose outcome is known.")]
    good: Annotated[Count, Field(description="Of these, turns that ended well.")]


class CubeFigures(Message):
    """The ends of turns with cubes and without them."""

    exposures: Annotated[Count, Field(description="Searches that returned the cube.")]
    outcomes: Annotated[
        Count, Field(description="Turns with and without the cube whose outcome is known.")
    ]
    used: Annotated[Count, Field(description="Turns that used the cube, of those shown it.")]
    helped: Annotated[Count, Field(description="Of these, turns that ended well.")]
    effect: Annotated[
        Difference | None,
        Field(
            description="Share of turns that ended well with the cube, minus the share without; "
            "null while one side has no outcome."
        ),
    ]
    interval: Annotated[
        list[Difference],
        Field(
            min_length=2,
            max_length=2,
            description="95 % interval of the true difference, low and high. It holds at every "
            "look, however often it is looked at.",
        ),
    ]
    needed: Annotated[
        Count | None,
        Field(
            description="Further outcomes until the interval excludes 0, if the present difference "
            "is the true one. Null: it excludes 0 already, or there is no difference."
        ),
    ]
    with_cube: Annotated[Arm, Field(description="Turns of the trial that were shown the cube.")]
    without_cube: Annotated[Arm, Field(description="Turns of the trial that went without it.")]


class CubeEffect(CubeFigures):
    """The ends of turns with one cube and without it."""

    cube_id: CubeId
    topic: Annotated[str, Field(description="Topic of the cube.")]
    cube_status: Status


class EffectReport(Message):
    """Answer of `GET /api/v7/experience/effect`: the turns of the caller's account alone."""

    trial_share: Annotated[
        float,
        Field(ge=0, le=1, description="Share of eligible searches that go without; 0: no trial."),
    ]
    cubes: Annotated[
        list[CubeEffect], Field(description="Cubes that fitted searches, newest first.")
    ]
    all: Annotated[
        CubeFigures,
        Field(description="All cubes together: a search counts once, with all it returned."),
    ]
    next: Annotated[
        int | None, Field(description="Value of `below` for the next page; null on the last.")
    ]

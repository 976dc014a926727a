"""The source of a text: who it comes from, which says how far it is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Field

from .message import Body

TextSource: TypeAlias = Literal["user", "model", "tool", "file", "import", "other"]
SOURCES: tuple[TextSource, ...] = get_args(TextSource)  # in falling trust; stored by their places
RANKS: dict[TextSource, int] = {source: place for place, source in enumerate(SOURCES)}
ItsSource = Annotated[
    TextSource,
    Field(
        description="Who it comes from, in falling trust: `user`, `model`, `tool`, `file`, "
        "`import` or `other`. What is derived has the least trusted of its sources."
    ),
]


class TurnSource(Body):
    """The sources of the two sides of a turn. A blank side has that of the other one."""

    query: TextSource
    """Source of the message."""
    response: TextSource
    """Source of the response."""


# Not validated: most processes need no validator of it.
USUAL = TurnSource.model_construct(query="user", response="model")


def least(*sources: TextSource) -> TextSource:
    """Return the least trusted of some sources."""
    return max(sources, key=RANKS.__getitem__)


def may_replace(newer: int, older: int) -> bool:
    """Return True if a text may replace an earlier one, by their ranks: what neither the user nor a
    model said replaces nothing that they said.
    """
    return newer <= RANKS["model"] or older > RANKS["model"]


def _both_sides(value: Any) -> Any:
    if value is None or isinstance(value, TurnSource):
        return value
    sides = value if isinstance(value, Mapping) else {"query": value, "response": value}
    if all(sides.get(side) in SOURCES for side in ("query", "response")):
        return {side: sides[side] for side in ("query", "response")}
    raise ValueError(
        f"a source is one of {', '.join(SOURCES)}, or an object that names one each for `query` "
        "and `response`"
    )


# A word for both sides becomes a TurnSource when the message is validated.
OfSides = Annotated[
    TurnSource | TextSource | None,
    BeforeValidator(_both_sides),
    Field(
        description="Who the turn comes from: `user`, `model`, `tool`, `file`, `import` or "
        '`other`, for both sides or each, as `{"query": …, "response": …}`. Default: `user` and '
        "`model`."
    ),
]

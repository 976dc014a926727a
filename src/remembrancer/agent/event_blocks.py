"""Events as language models read them:

each under its id and date, in lines that cannot pass for the head of another.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Protocol

from ..protocol.fence import defused


class EventLike(Protocol):
    """What can be listed."""

    @property
    def event_id(self) -> str:
        """Its id."""
        ...

    @property
    def day(self) -> date:
        """The day that it belongs to."""
        ...

    @property
    def text(self) -> str:
        """What it says."""
        ...


def event_blocks(events: Iterable[EventLike]) -> str:
    """The events, one after another, to stand behind a fence."""
    return "\n\n".join(
        f"[{event.event_id}] {event.day.isoformat()}\n{indent(event.text)}" for event in events
    )


def indent(text: str) -> str:
    """Stored text so that no line of it can pass for the head of an event."""
    return "  " + defused(text).strip().replace("\n", "\n  ")

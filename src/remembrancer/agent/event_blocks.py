"""Format events for language models: id and date, then the text indented."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Protocol

from ..protocol.fence import defused


class EventLike(Protocol):
    """An object that can be formatted as an event."""

    @property
    def event_id(self) -> str:
        """The event's id."""
        ...

    @property
    def day(self) -> date:
        """The day of the event."""
        ...

    @property
    def text(self) -> str:
        """The text of the event."""
        ...


def event_blocks(events: Iterable[EventLike]) -> str:
    """Format events for a fence."""
    return "\n\n".join(
        f"[{event.event_id}] {event.day.isoformat()}\n{indent(event.text)}" for event in events
    )


def indent(text: str) -> str:
    """Indent stored text, so that no line of it can be mistaken for the header of an event."""
    return "  " + defused(text).strip().replace("\n", "\n  ")

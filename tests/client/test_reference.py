"""The reference of the client is what the client is."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from remembrancer.client import Client, Refused, asks
from remembrancer.client.runtime import Habits, Reply

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


def test_every_method_is_in_the_reference_with_what_it_takes_and_gives() -> None:
    """Paste what is missing."""
    told = PAGE.read_text("utf-8")

    assert [row for row in _rows() if row not in told] == []


def _rows() -> Iterator[str]:
    for name in vars(Client):
        ask = getattr(asks, name, None)
        if not inspect.isfunction(ask) or name == "other":
            continue
        hints = get_type_hints(ask)
        gives = get_args(hints.pop("return"))[0]
        hints.pop("idempotency_key", None)
        takes = ", ".join(_name(argument, hint) for argument, hint in hints.items()) or "nothing"
        yield f"| `{name}` | {takes} | `{getattr(gives, '__name__', gives)}` |"


def _name(argument: str, hint: Any) -> str:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    said = argument if kinds == [str] else kinds[0].__name__
    return f"`{said}`" if kinds == [hint] else f"`{said}` or nothing"


def test_every_error_is_in_the_reference() -> None:
    told = PAGE.read_text("utf-8")

    assert [
        kind.__name__ for kind in Refused.__subclasses__() if f"| `{kind.__name__}` | `{kind.word}`: {kind.__doc__} |" not in told
    ] == []


def test_every_habit_and_every_member_of_a_reply_is_in_the_reference() -> None:
    told = PAGE.read_text("utf-8").partition("## The runtime")[2]
    names = [*(field.name for field in fields(Habits)), *(field.name for field in fields(Reply)), "text"]

    assert [name for name in names if f"`{name}`" not in told] == []

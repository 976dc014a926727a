"""docs/reference/client.md describes the client completely."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

from remembrancer.client import ServiceError, adapters
from remembrancer.client.runtime import RuntimeOptions, TurnReply

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


def test_every_error_is_documented() -> None:
    page = PAGE.read_text("utf-8")

    rows = [
        f"| `{kind.__name__}` | `{kind.code}`: {kind.__doc__} |"
        for kind in ServiceError.__subclasses__()
    ]
    assert [row for row in rows if row not in page] == []


def test_every_option_and_every_field_of_a_reply_is_documented() -> None:
    page = PAGE.read_text("utf-8").partition("## The runtime")[2]
    names = [
        *(field.name for field in fields(RuntimeOptions)),
        *(field.name for field in fields(TurnReply)),
        "text",
    ]

    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_adapter_is_documented_and_has_an_async_variant() -> None:
    page = PAGE.read_text("utf-8").partition("## Drafts")[2]
    functions = {
        name for name in adapters.__all__ if inspect.isfunction(getattr(adapters, name))
    } - {"extractive_answer"}  # not a draft function
    sync = {name for name in functions if not name.startswith("async_")}

    assert [name for name in sorted(sync) if f"`{name}`" not in page] == []
    assert functions - sync == {f"async_{name}" for name in sync}

"""docs/reference/client.md describes the client completely."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from remembrancer.client import Client, ServiceError, adapters, requests
from remembrancer.client.runtime import RuntimeOptions, TurnReply

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "client.md"


def test_every_method_is_documented_with_its_types() -> None:
    """The failure message contains the missing rows."""
    page = PAGE.read_text("utf-8")

    assert [row for row in _rows() if row not in page] == []


def _rows() -> Iterator[str]:
    for name in dir(Client):
        build = getattr(requests, name, None)
        if not inspect.isfunction(build) or name == "other":
            continue
        hints = get_type_hints(build)
        answer = get_args(hints.pop("return"))[0]
        hints.pop("idempotency_key", None)
        takes = ", ".join(_name(argument, hint) for argument, hint in hints.items()) or "nothing"
        yield f"| `{name}` | {takes} | `{getattr(answer, '__name__', answer)}` |"


def _name(argument: str, hint: Any) -> str:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    name = argument if kinds == [str] else kinds[0].__name__
    return f"`{name}`" if kinds == [hint] else f"`{name}` or nothing"


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

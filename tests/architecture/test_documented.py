"""Everything that people can meet is in docs/reference/, and nothing stands there that they cannot
meet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import typer
from architecture.tree import ROOT
from pydantic import BaseModel

from remembrancer.cli.app import app
from remembrancer.http.routes import ROUTES
from remembrancer.protocol import errors, limits
from remembrancer.settings import CHOICES, PREFIX, Settings


def page(name: str) -> str:
    """A page of the reference."""
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


def sections(name: str) -> dict[str, str]:
    """The sections of a page by their headings of the second level."""
    _, *parts = re.split(r"^## ", page(name), flags=re.MULTILINE)
    return {part.partition("\n")[0].strip("` "): part.partition("\n")[2] for part in parts}


def test_every_endpoint_is_documented_and_no_other() -> None:
    assert sorted(sections("endpoints.md")) == sorted(f"{e.method} {e.path}" for e in ROUTES)


def test_every_field_of_a_request_or_an_answer_and_every_parameter_is_documented() -> None:
    told = sections("endpoints.md")
    missing = [
        f"{e.method} {e.path}: `{name}`"
        for e in ROUTES
        for model in (e.body, e.query, e.answer)
        for name in _field_names(model)
        if f"`{name}`" not in told[f"{e.method} {e.path}"]
    ]

    assert missing == []


def _field_names(model: Any) -> Iterator[str]:
    """Names of a model's fields and of those within them."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        for name, field in model.model_fields.items():
            yield name
            yield from _field_names(field.annotation)
    else:
        for inner in get_args(model):
            yield from _field_names(inner)


def test_every_setting_is_documented_as_it_is() -> None:
    """The rows must be these, letter by letter; paste what is missing."""
    rows = [_setting_row(row.name, row.default, dict(row.metadata)) for row in fields(Settings)]

    assert [
        row
        for row in re.findall(r"^\| `.*", page("settings.md"), re.MULTILINE)
        if row.startswith("| `" + PREFIX)
    ] == rows


def _setting_row(name: str, default: Any, said: dict[str, Any]) -> str:
    least, most = said["least"], said["most"]
    bounds = (
        f"{least} to {most}"
        if most is not None
        else f"at least {least}"
        if least is not None
        else "any"
    )
    takes = (
        ", ".join(f"`{choice}`" for choice in CHOICES[name])
        if name in CHOICES
        else f"{bounds} {said['unit']}".strip()
    )
    return f"| `{PREFIX}{name.upper()}` | {f'`{default}`' if str(default) else 'empty'} | {takes} | {said['help']} |"


def test_every_limit_is_documented_as_it_is() -> None:
    rows = [f"| `{name}` | {value:,} |" for name, value in vars(limits).items() if name.isupper()]

    assert [row for row in rows if row not in page("limits.md")] == []
    assert page("limits.md").count("\n| `") == len(rows)


def test_every_error_is_documented_with_what_to_do_about_it() -> None:
    rows = re.findall(
        r"^\| (\d{3}) \| `([a-z_]+)` \|(.+)\|(.+)\|(.+)\|$", page("errors.md"), re.MULTILINE
    )

    assert [(int(status), error) for status, error, *_ in rows] == [
        (kind.status, kind.error) for kind in errors.PROBLEMS
    ]
    assert [error for _, error, *told in rows if not all(cell.strip() for cell in told)] == []


def test_every_command_is_documented_with_its_options_and_no_other() -> None:
    told = sections("cli.md")
    commands = dict(_commands(typer.main.get_command(app), "remembrancer"))
    missing = [
        f"{command}: {option}"
        for command, options in commands.items()
        for option in options
        if f"`{option}" not in told.get(command, "")
    ]

    assert sorted(told) == sorted(commands)
    assert missing == []


def _commands(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Every command that does something, by its whole name, with its options and arguments as they
    are typed.
    """
    if hasattr(command, "commands"):
        for word, inner in command.commands.items():
            yield from _commands(inner, f"{name} {word}")
        return
    options = [
        max(parameter.opts, key=len)
        if parameter.param_type_name == "option"
        else _metavar(parameter)
        for parameter in command.params
    ]
    yield name, [option for option in options if option != "--help"]


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name or "").upper()

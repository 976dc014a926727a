"""Output of the commands that list memory: a table, JSON or CSV; long tables go to a pager."""

from __future__ import annotations

import csv
import inspect
import json
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

_UNBROKEN = frozenset({"kind", "score", "date", "turns"})
TEXT_CHARACTERS_MAX = 300  # of a cell on a terminal; JSON and CSV have the whole text


class OutputFormat(Enum):
    """Formats of lists."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Output = Annotated[
    OutputFormat,
    typer.Option("--output", help="Format. A table that is no terminal's is separated by tabs."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is a dataclass of options with those options.

    For a command with more options than a function has parameters.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {
        name: [one.name for one in fields(parameter.annotation)]
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def run(**values: Any) -> None:
        for name, options in groups.items():
            kind = signature.parameters[name].annotation
            values[name] = kind(**{option: values.pop(option) for option in options})
        command(**values)

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        inner = inspect.signature(parameter.annotation, eval_str=True) if name in groups else None
        parameters += inner.parameters.values() if inner else [parameter]
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def print_list(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: OutputFormat,
    *,
    document: Any,
) -> None:
    """Print rows to stdout.

    A table has these columns of the rows, CSV all of them, and JSON is the document.
    """
    if output is OutputFormat.JSON:
        print(json.dumps(document, indent=2, ensure_ascii=False))
    elif output is OutputFormat.CSV:
        _print_csv(rows, columns)
    elif sys.stdout.isatty():
        _print_table(rows, columns)
    else:
        print("\t".join(columns))
        for row in rows:
            print("\t".join(cell(row[name]) for name in columns))


def cell(value: Any) -> str:
    """Return a value on one line, without characters that control a terminal."""
    text = "" if value is None else str(value)
    return "".join(one if one.isprintable() else "\ufffd" for one in " ".join(text.split()))


def _print_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    names = list(rows[0] if rows else columns)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if row[name] is None else row[name] for name in names])


def _print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    from rich.console import Console

    texts = [[_shortened(cell(row[name])) for name in columns] for row in rows]
    table = terminal_table(columns, texts, _UNBROKEN)
    console = Console()
    with console.capture() as printed:
        console.print(table)
    if printed.get().count("\n") < console.height:
        console.print(table)
        return
    with console.pager():
        console.print(table)


def terminal_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], unbroken: Container[str]
) -> Table:
    """Return a table for a terminal; cells of the columns `unbroken` stay on one line."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in unbroken)
    for row in rows:
        table.add_row(*map(Text, row))  # no markup: stored text and labels may contain [brackets]
    return table


def _shortened(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS_MAX:
        return text
    return f"{text[: TEXT_CHARACTERS_MAX - 1]}\u2026"

"""Output of the commands that list memory: a table, JSON or CSV; long tables go to a pager."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any

import typer

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
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in ("score", "date", "turns"))
    for row in rows:
        texts = [cell(row[name]) for name in columns]
        table.add_row(*(Text(_shortened(text)) for text in texts))  # no markup in stored text
    console = Console()
    with console.capture() as printed:
        console.print(table)
    if printed.get().count("\n") < console.height:
        console.print(table)
        return
    with console.pager():
        console.print(table)


def _shortened(text: str) -> str:
    if len(text) <= TEXT_CHARACTERS_MAX:
        return text
    return f"{text[: TEXT_CHARACTERS_MAX - 1]}\u2026"

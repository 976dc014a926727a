"""Output of the commands that list memory: a table, JSON or CSV; long tables go to a pager."""

from __future__ import annotations

import csv
import inspect
import json
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import typer

from ..protocol.described import field_descriptions

if TYPE_CHECKING:
    from rich.table import Table

Command = TypeVar("Command", bound=Callable[..., None])
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


class Commands(typer.Typer):
    """A group of commands, whose docstrings describe their options: see `takes_options`."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Command], Command]:
        """Return a decorator that registers a function as a command."""
        register = super().command(name, **options)

        def add(command: Command) -> Command:
            register(takes_options(command))
            return command

        return add


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Describe each parameter by its line below `Args:`, where one stands at the docstring's end.

    A boolean is a flag without a negation. A parameter that is a dataclass of options is replaced
    with those options, which the strings below its fields describe: for a command with more options
    than a function has parameters.
    """
    signature = inspect.signature(command, eval_str=True)
    text, about = _described(command)
    groups: dict[str, list[inspect.Parameter]] = {}
    parameters: list[inspect.Parameter] = []
    for name, one in signature.parameters.items():
        kind: Any = one.annotation
        if is_dataclass(one.annotation):
            inner = inspect.signature(kind, eval_str=True).parameters.values()
            texts = field_descriptions(kind.__module__)[kind.__name__]
            groups[name] = [_option(part, texts.get(part.name)) for part in inner]
        parameters += groups.get(name) or [_option(one, about.get(name))]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, options in groups.items():
            kind = signature.parameters[name].annotation
            values[name] = kind(**{option.name: values.pop(option.name) for option in options})
        command(**values)

    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = text
    return run


def _described(command: Callable[..., None]) -> tuple[str, dict[str, str]]:
    """Return the docstring of a command without the lines below `Args:`, and these by parameter."""
    text, _, lines = inspect.cleandoc(command.__doc__ or "").partition("\n\nArgs:\n")
    about: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(lines).splitlines():
        if line.startswith(" "):
            about[name] += f" {line.strip()}"
        else:
            name, _, about[name] = line.partition(": ")
    return text, about


def _option(parameter: inspect.Parameter, text: str | None) -> inspect.Parameter:
    """Return a parameter with this help text, if there is one."""
    if text is None:
        return parameter
    kind, info = parameter.annotation, None
    if get_origin(kind) is Annotated:
        kind, info = get_args(kind)
    elif parameter.default is parameter.empty:
        info = typer.Argument(metavar=parameter.name.upper())
    else:
        flag = [f"--{parameter.name.replace('_', '-')}"] if kind is bool else []
        info = typer.Option(*flag)
    info.help = text
    return parameter.replace(annotation=Annotated[kind, info])


def print_answer(document: Any, text: str, *notes: str, as_json: bool) -> None:
    """Print the JSON of an answer, or its text, with the notes on stderr."""
    if as_json:
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    print(text)
    for note in notes:
        print(note, file=sys.stderr)


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
    writer = csv.DictWriter(sys.stdout, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


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

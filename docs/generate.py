"""Write the generated parts of docs/reference: `python docs/generate.py [--check]`.

A page keeps its hand-written text. Between the lines `<!-- generated: NAME -->` and
`<!-- end of generated: NAME -->` stands what this program makes from the code. What the code does
not say (advice per error, meaning of a limit, rule of an endpoint) comes from generate.toml.
"""

# ruff: noqa: INP001 - a program, not a package

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from remembrancer.cli import doctor
from remembrancer.cli.app import app
from remembrancer.client import Client, ServiceError, adapters
from remembrancer.cubes.packs import PackHeader, PackLesson, PackSignature
from remembrancer.http.metrics import Metrics
from remembrancer.memory.exchange.records import MEMBERS, Manifest
from remembrancer.protocol import errors, limits
from remembrancer.protocol.described import field_descriptions
from remembrancer.protocol.lines import FAULTS, WARNINGS
from remembrancer.settings import CHOICES, PREFIX, Settings

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
NOTES: Mapping[str, Any] = tomllib.loads((DOCS / "generate.toml").read_text("utf-8"))
DIFFERENCE_LINES_MAX = 40  # shown of each stale page
NONE = "–"
OTHER_METHODS = {"send", "call", "other", "close"}  # of the client, beside its verbs

Schema = dict[str, Any]


# --- Tables -----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; a bar within a cell is escaped."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (re.sub(r"(?<!\\)\|", r"\\|", " ".join(cell.split())) for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def prose(text: str, indent: str = "") -> str:
    """Return text wrapped as the pages are; `indent` is that of the lines after the first."""
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def note(group: str, name: str) -> Any:
    """Return what generate.toml says about a name; exit with a message when it says nothing."""
    if name not in NOTES[group]:
        sys.exit(f"docs/generate.toml: [{group}] lacks {name!r}")
    return NOTES[group][name]


# --- Settings, limits, errors -----------------------------------------------------------------


def settings() -> str:
    """Return the table of settings."""
    return table(
        ("setting", "default", "takes", "meaning"),
        [_setting(row.name, row.default, row.metadata) for row in fields(Settings)],
    )


def _setting(name: str, default: Any, about: Mapping[str, Any]) -> tuple[str, str, str, str]:
    least, most = about["least"], about["most"]
    bounds = "any" if least is None else f"at least {least}"
    if most is not None:
        bounds = f"{least} to {most}"
    choices = ", ".join(f"`{choice}`" for choice in CHOICES.get(name, ()))
    value = f"`{default}`" if str(default) else "empty"
    accepts = choices or f"{bounds} {about['unit']}".strip()
    meaning = field_descriptions(Settings.__module__)[Settings.__name__][name]
    return f"`{PREFIX}{name.upper()}`", value, accepts, meaning


def limits_table() -> str:
    """Return the table of limits, in the order of the module."""
    names = [name for name in vars(limits) if name.isupper()]
    rows = [(f"`{name}`", f"{getattr(limits, name):,}", note("limits", name)) for name in names]
    return table(("limit", "value", "meaning"), rows)


def errors_table() -> str:
    """Return the table of errors with advice for the caller and the operator."""
    rows = []
    for problem in errors.PROBLEMS:
        advice = note("errors", problem.error)
        row = (str(problem.status), f"`{problem.error}`", _doc(problem))
        rows.append((*row, advice["caller"], advice["operator"]))
    return table(("status", "`error`", "meaning", "what the caller does", "operator"), rows)


def faults(codes: Mapping[str, str]) -> str:
    """Return the table of errors or warnings of service lines."""
    return table(("word", "meaning"), [(f"`{code}`", text) for code, text in codes.items()])


# --- Command line -----------------------------------------------------------------------------


def commands() -> str:
    """Return a section for each command, in the order of `remembrancer --help`."""
    return "\n\n".join(_command(name, command) for name, command in _leaves())


def _leaves() -> Iterator[tuple[str, Any]]:
    waiting = [("remembrancer", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        if hasattr(command, "commands"):
            inner = [(f"{name} {word}", one) for word, one in command.commands.items()]
            waiting[:0] = inner
        else:
            yield name, command


def _command(name: str, command: Any) -> str:
    parameters = [one for one in command.params if "--help" not in one.opts]
    usage = [name, *("[OPTIONS]" for _ in parameters[:1])]
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    usage += [_label(one).strip("`") for one in arguments]
    parts = [
        f"## {name}",
        prose(" ".join((command.help or "").split())),
        f"```text\n{' '.join(usage)}\n```",
    ]
    if parameters:
        rows = [(_label(one), _value(one), _default(one), one.help or "") for one in parameters]
        parts.append(table(("Parameter", "Value", "Default", "Meaning"), rows))
    return "\n\n".join(parts)


def _label(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{str(parameter.metavar or parameter.name).upper()}`"
    names = [max(parameter.opts, key=len), *parameter.secondary_opts]
    return ", ".join(f"`{name}`" for name in names)


def _value(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return "flag"
    if parameter.param_type_name == "option" and parameter.metavar:
        return str(parameter.metavar)
    kind = parameter.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{one.value}`" for one in kind)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    return str({str: "text", int: "integer", float: "number"}.get(kind, kind.__name__.lower()))


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    shown = default is not None and not callable(default) and default is not False
    text = str(default)
    return f"`{text}`" if shown and text else NONE


# --- Client -----------------------------------------------------------------------------------


def client_signature() -> str:
    """Return the constructor of the client."""
    call = f"`Client({_arguments(Client)})`"
    return f"{call}\n\n{prose(f'{_doc(Client)} {_doc(Client.__init__)}')}"


def client_verbs() -> str:
    """Return the table of plain verbs, each with its call."""
    rows = [
        (f"`{name}({_arguments(verb).removeprefix('self, ')})`", _doc(verb))
        for name, verb in vars(Client).items()
        if inspect.isfunction(verb) and not name.startswith("_") and name not in OTHER_METHODS
    ]
    return table(("call", "meaning"), rows)


def client_errors() -> str:
    """Return the table of exceptions, one for each word of `error`."""
    kinds = ServiceError.__subclasses__()
    rows = [(f"`{kind.__name__}`", f"`{kind.code}`: {kind.__doc__}") for kind in kinds]
    return table(("error", "meaning"), rows)


def client_drafts() -> str:
    """Return the table of functions and classes that write drafts."""
    rows = []
    for name in adapters.__all__:
        value = getattr(adapters, name)
        if name.startswith("async_") or not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        if not getattr(value, "_is_protocol", False):
            call = NONE if _is_exception(value) else f"`{_arguments(value)}`"
            rows.append((f"`{name}`", call, _doc(value)))
    return table(("name", "arguments", "meaning"), rows)


def _is_exception(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _arguments(function: Callable[..., Any]) -> str:
    """Return the parameters of a call as they are written, without types."""
    parts = []
    keyword_only = False
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind.name, "")
        is_set = one.default is not one.empty
        value = f"={one.default!r}" if not callable(one.default) else "=…"
        parts.append(f"{star}{one.name}{value if is_set else ''}")
    return ", ".join(parts)


def _doc(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split())


# --- Exports ----------------------------------------------------------------------------------


def export_records() -> str:
    """Return a section for the manifest and each member of an export."""
    models = {"manifest.json": Manifest, **MEMBERS}
    return "\n\n".join(_member(name, model) for name, model in models.items())


def pack_lines() -> str:
    """Return a section for each line of a pack."""
    lines = {"First line": PackHeader, "Lesson": PackLesson, "Last line": PackSignature}
    return "\n\n".join(_member(name, model) for name, model in lines.items())


def _member(name: str, model: Any) -> str:
    schema = model.model_json_schema()
    inner = schema.get("$defs", {})
    parts = [f"## {name}", prose(_doc(model)), _fields(schema)]
    for title, one in inner.items():
        parts += [prose(f"`{title}`: {one.get('description', '')}"), _fields(one)]
    return "\n\n".join(parts)


def _fields(schema: Schema) -> str:
    rows = [
        (f"`{name}`", _field_type(one), one.get("description", ""))
        for name, one in schema["properties"].items()
    ]
    return table(("Field", "Type", "Meaning"), rows)


def _field_type(schema: Schema) -> str:
    if "$ref" in schema:
        return f"`{schema['$ref'].split('/')[-1]}`"
    if "anyOf" in schema:
        return " or ".join(_field_type(one) for one in schema["anyOf"])
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    if values:
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    if schema.get("type") == "array":
        return f"array of {_field_type(schema['items'])}"
    if schema.get("additionalProperties"):
        return f"object of {_field_type(schema['additionalProperties'])}"
    return "time" if schema.get("format") == "date-time" else str(schema["type"])


def tables_not_exported() -> str:
    """Return the tables that no export holds, with the reason."""
    rows = [(f"`{name}`", why) for name, why in NOTES["not_exported"].items()]
    return table(("table", "reason"), rows)


# --- What operators see -----------------------------------------------------------------------


def metrics() -> str:
    """Return the metrics with their types and meanings."""
    names = {"counter": "_total"}
    rows = [
        (f"`{one.name}{names.get(one.type, '')}`", one.type, one.documentation)
        for one in Metrics().families()
    ]
    return table(("metric", "type", "meaning"), sorted(rows))


def findings() -> str:
    """Return what `doctor` says when something is not as it should be, and its remedy."""
    rows = []
    for function in ast.walk(ast.parse(inspect.getsource(doctor))):
        if isinstance(function, ast.FunctionDef):
            texts: dict[str, str] = {}
            for node in sorted(ast.walk(function), key=lambda one: getattr(one, "lineno", 0)):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    texts[node.targets[0].id] = _template(node.value, texts)
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                    part, state, detail, *remedy = (_template(one, texts) for one in node.args)
                    if state in ("notice", "wrong") and remedy and remedy[0] != "…":
                        rows.append((part, detail, remedy[0]))
    return table(("part", "what it says", "what to do"), list(dict.fromkeys(rows)))


def _template(value: ast.expr, texts: Mapping[str, str]) -> str:
    """Return the text of an expression, with … for what only a run can tell."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.JoinedStr):
        return "".join(_template(one, texts) for one in value.values)
    return texts.get(value.id, "…") if isinstance(value, ast.Name) else "…"


# --- Pages ------------------------------------------------------------------------------------

PARTS: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "settings.md": {"settings": settings},
    "limits.md": {"limits": limits_table},
    "errors.md": {"errors": errors_table},
    "service-lines.md": {
        "errors": lambda: faults(FAULTS),
        "warnings": lambda: faults(WARNINGS),
    },
    "cli.md": {"commands": commands},
    "operation.md": {"metrics": metrics, "findings": findings},
    "export-format.md": {"records": export_records, "tables": tables_not_exported},
    "pack-format.md": {"lines": pack_lines},
    "client.md": {
        "client": client_signature,
        "verbs": client_verbs,
        "errors": client_errors,
        "drafts": client_drafts,
    },
}


def rendered(name: str) -> str:
    """Return a page with its generated parts made anew. Exits when a part has no place in it."""
    page = (REFERENCE / name).read_text("utf-8")
    for part, make in PARTS[name].items():
        begin, end = f"<!-- generated: {part} -->\n", f"<!-- end of generated: {part} -->\n"
        if page.count(begin) != 1 or page.count(end) != 1:
            sys.exit(
                f"docs/reference/{name}: needs one pair of lines {begin.strip()} and {end.strip()}"
            )
        head, _, rest = page.partition(begin)
        page = f"{head}{begin}\n{make()}\n\n{end}{rest.partition(end)[2]}"
    return page


def main() -> None:
    """Write the pages, or with --check only compare them and exit with 1 if one is stale."""
    parser = argparse.ArgumentParser(description="Write the generated parts of docs/reference.")
    parser.add_argument(
        "--check", action="store_true", help="Only compare; fail if a page is stale."
    )
    is_check = parser.parse_args().check
    stale = []
    for name in PARTS:
        path = REFERENCE / name
        before, after = path.read_text("utf-8"), rendered(name)
        if before != after:
            stale.append(_difference(name, before, after))
        if not is_check:
            path.write_text(after, "utf-8")
    if is_check and stale:
        sys.exit("\n".join([*stale, "Stale pages. Run: python docs/generate.py"]))


def _difference(name: str, before: str, after: str) -> str:
    pages = before.splitlines(), after.splitlines()
    lines = difflib.unified_diff(*pages, name, name, n=0, lineterm="")
    return "\n".join(islice(lines, DIFFERENCE_LINES_MAX))


if __name__ == "__main__":
    main()

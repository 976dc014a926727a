"""Write the generated parts of docs/reference: `python docs/generate.py [--check]`.

A page keeps its hand-written text. Between the lines `<!-- generated: NAME -->` and
`<!-- end of generated: NAME -->` stands what this program makes from the code. What the code does
not say (advice per error, meaning of a limit, rule of an endpoint) comes from generate.toml.
"""

# ruff: noqa: INP001 - a program, not a package

from __future__ import annotations

import argparse
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
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from remembrancer.cli.app import app
from remembrancer.client import Client, ServiceError, adapters
from remembrancer.client.plans import Pages, Verb
from remembrancer.cubes.packs import PackHeader, PackLesson, PackSignature
from remembrancer.http.openapi import document
from remembrancer.http.routes import ROUTES
from remembrancer.memory.exchange.records import MEMBERS, NOT_EXPORTED, Manifest
from remembrancer.protocol import errors, limits
from remembrancer.protocol.lines import FAULTS, WARNINGS
from remembrancer.settings import CHOICES, PREFIX, Settings

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
NOTES: Mapping[str, Any] = tomllib.loads((DOCS / "generate.toml").read_text("utf-8"))
ENUM_VALUES_MAX = 24  # longer lists of values stand in the description
DIFFERENCE_LINES_MAX = 40  # shown of each stale page
NONE = "–"

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
    return f"`{PREFIX}{name.upper()}`", value, accepts, about["help"]


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


# --- Endpoints --------------------------------------------------------------------------------


class Endpoints:
    """The sections of the page of endpoints, made from the OpenAPI document."""

    def __init__(self) -> None:
        self.openapi: Schema = document(ROUTES)
        self.schemas: Schema = self.openapi["components"]["schemas"]
        self.described: dict[str, str] = {}  # name of a schema -> section that describes it whole

    def page(self) -> str:
        """Return all sections in the order in which the service lists its endpoints."""
        return "\n\n".join(
            self._section(f"{route.method} {route.path}", self._operation(route))
            for route in ROUTES
        )

    def _operation(self, route: Any) -> Schema:
        operation: Schema = self.openapi["paths"][route.path][route.method.lower()]
        return operation

    def _section(self, name: str, operation: Schema) -> str:
        parts = [f"## {name}", prose(f"{operation['summary']}. {operation['description']}")]
        parts.append(self._facts(name, operation))
        if parameters := operation.get("parameters"):
            rows = [self._parameter(one) for one in parameters]
            head = ("Parameter", "In", "Type", "Default", "Bounds", "Meaning")
            parts += ["### Parameters", table(head, rows)]
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if body:
            parts += ["### Request", *self._models(name, body["schema"], is_request=True)]
            for example in body.get("examples", {}).values():
                parts.append(f"```json\n{_json(example['value'])}\n```")
        content = operation["responses"]["200"].get("content", {})
        answer = content.get("application/json", {}).get("schema", {})
        if "$ref" in answer:
            parts += ["### Response", *self._models(name, answer, is_request=False)]
        return "\n\n".join(parts)

    def _facts(self, name: str, operation: Schema) -> str:
        key = {0: "not needed", 1: "needed", 2: "needed in some cases"}[len(operation["security"])]
        others = [
            media for media in operation["responses"]["200"]["content"] if "json" not in media
        ]
        rule = note("endpoints", name)
        lines = [f"- Operation: `{operation['operationId']}`. Key: {key}."]
        lines += [f"- Also answers with `{media}`." for media in others]
        lines += [f"- Rules: [specification](specification.md#{rule}).", self._errors(operation)]
        return "\n".join(lines)

    def _errors(self, operation: Schema) -> str:
        problems = {problem.__name__: problem for problem in errors.PROBLEMS}
        references = [one.get("$ref", "").split("/")[-1] for one in operation["responses"].values()]
        words = [problems[name] for name in references if name in problems]
        listed = ", ".join(f"{one.status} `{one.error}`" for one in words)
        return prose(f"- [Errors](errors.md): {listed}.", "  ")

    def _parameter(self, parameter: Schema) -> tuple[str, ...]:
        schema, required = parameter["schema"], parameter["required"]
        default = self._default(schema, required=required)
        where, about = parameter["in"], parameter["description"]
        cells = (self._type(schema), default, self._bounds(schema) or NONE)
        return (f"`{parameter['name']}`", where, *cells, about)

    def _models(self, section: str, schema: Schema, *, is_request: bool) -> Iterator[str]:
        """Yield the table of a model, then those of the models within it, each once a page."""
        names = list(dict.fromkeys(self._names(schema)))
        for name in names:
            model = self.schemas[name]
            title = model.get("title", name)
            if name in self.described:
                yield self._again(title, name, model)
                continue
            self.described[name] = section
            if name != names[0]:
                yield prose(f"`{title}`: {model.get('description', '')}")
            yield self._table(model, is_request=is_request)

    def _again(self, title: str, name: str, model: Schema) -> str:
        section = self.described[name]
        slug = re.sub(r"[^a-z0-9 _-]", "", section.lower()).replace(" ", "-")
        listed = ", ".join(f"`{field}`" for field in model.get("properties", {}))
        return prose(f"`{title}`, as in [{section}](#{slug}): {listed}.")

    def _table(self, model: Schema, *, is_request: bool) -> str:
        required = model.get("required", [])
        rows = []
        for name, schema in model["properties"].items():
            about = schema.get("description", "")
            kind, bounds = self._type(schema), self._bounds(schema) or NONE
            if is_request:
                default = self._default(schema, required=name in required)
                rows.append((f"`{name}`", kind, default, bounds, about))
            else:
                is_always = name in required
                kind = kind if is_always else kind.removesuffix(" or null")
                present = "always" if is_always else "if set"
                rows.append((f"`{name}`", kind, present, bounds, about))
        second = "Default" if is_request else "Present"
        return table(("Field", "Type", second, "Bounds", "Meaning"), rows)

    def _names(self, schema: Any) -> Iterator[str]:
        """Yield the object schemas that a schema refers to, itself first, each before its parts."""
        for name in _references(schema):
            if "properties" in self.schemas[name]:
                yield name
            for part in self.schemas[name].get("properties", {}).values():
                yield from self._names(part)

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" in schema:
            target = self.schemas[schema["$ref"].split("/")[-1]]
            return schema if "properties" in target else target
        return schema

    def _type(self, schema: Schema) -> str:
        schema = self._resolved(schema)
        if "$ref" in schema:
            target = schema["$ref"].split("/")[-1]
            return f"`{self.schemas[target].get('title', target)}`"
        if "anyOf" in schema:
            return " or ".join(dict.fromkeys(self._type(one) for one in schema["anyOf"]))
        if schema.get("type") == "array":
            return f"array of {self._type(schema.get('items', {}))}"
        return "time" if schema.get("format") == "date-time" else schema.get("type", "any")

    def _default(self, schema: Schema, *, required: bool) -> str:
        if required:
            return "required"
        default = schema.get("default")
        return NONE if default is None or default == "" else f"`{json.dumps(default)}`"

    def _bounds(self, schema: Schema) -> str:
        """Return the values, lengths and ranges that a schema allows; empty for none."""
        schema = self._resolved(schema)
        parts = [self._bounds(one) for one in schema.get("anyOf", []) if one.get("type") != "null"]
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        if 0 < len(values) <= ENUM_VALUES_MAX:
            parts.append(", ".join(f"`{value}`" for value in values))
        parts.append(_span(schema.get("minLength"), schema.get("maxLength"), "characters"))
        parts.append(_span(schema.get("minItems"), schema.get("maxItems"), "items"))
        parts.append(_span(schema.get("minimum"), schema.get("maximum")))
        if "exclusiveMinimum" in schema:
            parts.append(f"more than {schema['exclusiveMinimum']:,}")
        if "exclusiveMaximum" in schema:
            parts.append(f"less than {schema['exclusiveMaximum']:,}")
        if schema.get("type") == "array" and (each := self._bounds(schema.get("items", {}))):
            parts.append(f"each {each}")
        return "; ".join(part for part in parts if part)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].split("/")[-1]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _span(least: float | None, most: float | None, unit: str = "") -> str:
    if least is not None and most is not None:
        text = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    elif least is not None:
        text = f"at least {least:,}"
    elif most is not None:
        text = f"at most {most:,}"
    else:
        return ""
    return f"{text} {unit}".strip()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


# --- Client -----------------------------------------------------------------------------------


def client_signature() -> str:
    """Return the constructor of the client."""
    call = f"`Client({_arguments(Client)})`"
    return f"{call}\n\n{prose(f'{_doc(Client)} {_doc(Client.__init__)}')}"


def client_methods() -> str:
    """Return the table of methods, each with what it takes and returns."""
    rows = []
    methods = {name: method for base in Client.__mro__ for name, method in vars(base).items()}
    for name, method in methods.items():
        function = getattr(method, "__wrapped__", None)
        if function is None or name.startswith("_") or isinstance(method, classmethod):
            continue
        hints = get_type_hints(function)
        result = (*get_args(hints.pop("return")), None)[0]
        hints.pop("idempotency_key", None)
        taken = ", ".join(_argument(*hint) for hint in hints.items()) or "nothing"
        returned = f"`{getattr(result, '__name__', result)}`"
        rows.append((f"`{name}`", taken, returned, _doc(function)))
    return table(("method", "takes", "returns", "meaning"), rows)


def _argument(name: str, hint: Any) -> str:
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not type(None)]
    plain = kinds == [str] or not isinstance(kinds[0], type)
    shown = name if plain else kinds[0].__name__
    return f"`{shown}`" if kinds == [hint] or plain else f"`{shown}` or nothing"


def client_verbs() -> str:
    """Return the table of plain verbs, each with its call."""
    rows = [
        (f"`{name}({_arguments(getattr(Client, name)).removeprefix('self, ')})`", _doc(verb))
        for base in Client.__mro__
        for name, verb in vars(base).items()
        if isinstance(verb, Verb | Pages)
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
    return table(("table", "reason"), [(f"`{name}`", why) for name, why in NOT_EXPORTED.items()])


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
    "export-format.md": {"records": export_records, "tables": tables_not_exported},
    "pack-format.md": {"lines": pack_lines},
    "endpoints.md": {"endpoints": lambda: Endpoints().page()},
    "client.md": {
        "client": client_signature,
        "verbs": client_verbs,
        "methods": client_methods,
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

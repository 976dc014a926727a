"""The reference documentation is complete and lists nothing that does not exist."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import typer
from architecture.tree import ROOT

from remembrancer.cli.app import app
from remembrancer.http.openapi import document
from remembrancer.protocol import errors, limits
from remembrancer.protocol.described import field_descriptions
from remembrancer.protocol.operations import OPERATIONS
from remembrancer.settings import CHOICES, PREFIX, Settings


def page(name: str) -> str:
    """Return a page of the reference."""
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


def sections(name: str) -> dict[str, str]:
    """Return the sections of a page by second-level heading."""
    _, *texts = re.split(r"^## ", page(name), flags=re.MULTILINE)
    return {part.partition("\n")[0].strip("` "): part.partition("\n")[2] for part in texts}


def test_every_operation_field_and_parameter_is_described() -> None:
    """`/docs/api` shows these descriptions."""
    api = document(OPERATIONS)
    parameters = [
        f"{path}: {parameter['name']}"
        for path, methods in api["paths"].items()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    fields_of_schemas = [
        f"{name}.{field}"
        for name, schema in api["components"]["schemas"].items()
        for field, part in schema.get("properties", {}).items()
        if not part.get("description")
    ]

    assert [one.path for one in OPERATIONS if not (one.summary and one.description)] == []
    assert parameters == []
    assert fields_of_schemas == []


def test_every_setting_is_documented() -> None:
    rows = [_setting_row(row.name, row.default, dict(row.metadata)) for row in fields(Settings)]

    assert [
        row
        for row in re.findall(r"^\| `.*", page("settings.md"), re.MULTILINE)
        if row.startswith("| `" + PREFIX)
    ] == rows


def _setting_row(name: str, default: Any, metadata: dict[str, Any]) -> str:
    least, most = metadata["least"], metadata["most"]
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
        else f"{bounds} {metadata['unit']}".strip()
    )
    return (
        f"| `{PREFIX}{name.upper()}` | {f'`{default}`' if str(default) else 'empty'} | {takes} |"
        f" {field_descriptions(Settings.__module__)[Settings.__name__][name]} |"
    )


def test_every_limit_is_documented() -> None:
    rows = [f"| `{name}` | {value:,} |" for name, value in vars(limits).items() if name.isupper()]

    assert [row for row in rows if row not in page("limits.md")] == []
    assert page("limits.md").count("\n| `") == len(rows)


def test_every_error_is_documented_with_its_remedy() -> None:
    rows = re.findall(
        r"^\| (\d{3}) \| `([a-z_]+)` \|(.+)\|(.+)\|(.+)\|$", page("errors.md"), re.MULTILINE
    )

    assert [(int(status), error) for status, error, *_ in rows] == [
        (kind.status, kind.error) for kind in errors.PROBLEMS
    ]
    assert [error for _, error, *cells in rows if not all(cell.strip() for cell in cells)] == []


def test_documented_commands_and_options_are_the_existing_ones() -> None:
    by_heading = sections("cli.md")
    commands = dict(_commands(typer.main.get_command(app), "remembrancer"))
    missing = [
        f"{command}: {option}"
        for command, options in commands.items()
        for option in options
        if f"`{option}" not in by_heading.get(command, "")
    ]

    assert sorted(by_heading) == sorted(commands)
    assert missing == []


def _commands(command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every command by its full name, with its options and arguments as typed."""
    if hasattr(command, "commands"):
        for word, inner in command.commands.items():
            yield from _commands(inner, f"{name} {word}")
        return
    options = [
        (
            max(parameter.opts, key=len)
            if parameter.param_type_name == "option"
            else _metavar(parameter)
        )
        for parameter in command.params
    ]
    yield name, [option for option in options if option != "--help"]


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name or "").upper()


def test_first_screen_of_the_readme_names_the_commands_of_a_fresh_machine() -> None:
    """The checks of every change run the same test target."""
    screen = (ROOT / "README.md").read_text("utf-8").splitlines()[:30]
    checks = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\ncheck: ")[2].partition("\n\n")[0]

    assert {line.partition("#")[0].strip() for line in screen} >= {"make run", "make test"}
    assert "make check" in checks
    assert recipe.endswith("$(MAKE) --no-print-directory -j2 types test")


# --- The generated parts of docs/reference are up to date


def test_generated_pages_are_up_to_date() -> None:
    """Run `python docs/generate.py` when this fails."""
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]

    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr


# --- docs/SECURITY.md: every item of the lists of OWASP is answered

OWASP_ITEMS = {
    *(f"API{n}" for n in range(1, 11)),
    *(f"LLM{n:02}" for n in range(1, 11)),
    *(f"ASI{n:02}" for n in range(1, 11)),
}
CITED_TEST = re.compile(r"`tests/[\w/]+\.py(?:::test_\w+)?`")


def security_rows() -> dict[str, list[str]]:
    """Return the cells of each row of the tables, by the code of its item."""
    lines = (ROOT / "docs" / "SECURITY.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return {row[0].split()[0]: row for row in cells if row[0].split()[0] in OWASP_ITEMS}


def test_every_item_says_what_is_done_shown_by_which_tests_and_what_is_not_covered() -> None:
    listed = security_rows()

    assert set(listed) == OWASP_ITEMS
    assert [code for code, row in listed.items() if len(row) != 4 or not all(row)] == []
    assert [code for code, row in listed.items() if not CITED_TEST.search(row[2])] == []


# --- The profile of a request times functions that exist (bench/profile_stages.py)

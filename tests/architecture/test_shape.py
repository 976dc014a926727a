"""Rules for every source file: functions, names, the environment and queries."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from architecture.imports import IMPORT_RULE, LEVELS, MEMORY_RULE, memory_violations, violations
from architecture.tree import CODE, PACKAGE, ROOT, everything, package, relative
from command import captured

FUNCTION_LINES_MAX = 60


def test_no_function_is_longer_than_60_lines() -> None:
    too_long = [
        f"{source.name}::{name}"
        for source in everything()
        for name, node in source.functions
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]

    assert too_long == []


def test_only_the_settings_and_the_client_read_the_environment() -> None:
    """The client runs without the settings: it finds its address and its key itself."""
    places = [
        f"{source.name}:{node.lineno}"
        for source in package()
        for node in source.nodes
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv"))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {alias.name for alias in node.names} & {"environ", "getenv"}
        )
    ]

    assert {place.partition(":")[0] for place in places} == {
        "remembrancer/settings/reading.py",
        "remembrancer/client/credentials.py",
    }


def test_every_named_query_is_used() -> None:
    """No linter finds SQL queries that no code uses."""
    run = {
        name
        for source in package()
        for name in re.findall(r"\b[A-Z_]*SQL\.([a-z][a-z0-9_]*)", source.text)
    }
    queries = [
        (path, name)
        for path in sorted(CODE.rglob("*.sql"))
        if "migrations" not in path.parts
        for name in re.findall(r"^-- ([a-z][a-z0-9_]*): ", path.read_text("utf-8"), re.MULTILINE)
    ]

    assert queries
    assert [f"{relative(path)}: {name}" for path, name in queries if name not in run] == []


def test_top_level_class_names_are_unique() -> None:
    places = defaultdict(list)
    for source in package():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(source.name)

    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_imports_follow_the_import_rule() -> None:
    assert violations(package()) == []


def test_imports_inside_memory_follow_its_order() -> None:
    assert memory_violations(package()) == []


def test_documented_import_rules_are_the_checked_ones() -> None:
    page = " ".join((ROOT / "docs/contribute/architecture.md").read_text("utf-8").split())

    assert IMPORT_RULE in page
    assert MEMORY_RULE in page


@pytest.mark.parametrize(
    "name", [name for name in ("protocol", "client") if (CODE / name).is_dir()]
)
def test_client_loads_no_server_package(name: str) -> None:
    """Run in a new process, so that no other package has been imported before."""
    modules = ", ".join(source.module for source in package() if source.package == name)
    output = captured(
        [sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"], check=True
    ).stdout

    loaded = {module.split(".")[1] for module in output.split() if module.startswith(f"{PACKAGE}.")}
    assert loaded & set(LEVELS) <= {"protocol"}


STARTED = """
import sys
from pathlib import Path
from remembrancer.context import assemble
from remembrancer.memory.exchange import records
from remembrancer.server.app import make_app
from remembrancer.settings import Settings

context = assemble(Settings(data=Path(sys.argv[1]), embedder="none"))
make_app(context)
context.close()
print(*{name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names)
print(*(one.__name__ for one in records.Record.__subclasses__() if one.__pydantic_complete__))
"""
# The packages that a server needs before its first request. Others are imported where they are
# used: signatures, the rules for secrets, drivers, clients of models, tables for a terminal.
NEEDED_AT_START = """
    annotated_types anyio apsw argon2 click cython_runtime httptools jinja2 markdown_it markupsafe
    mdurl numpy prometheus_client pydantic pydantic_core pygments python_multipart
    remembrancer sniffio starlette Stemmer threadpoolctl typing_extensions typing_inspection uvicorn
"""


def test_server_starts_with_the_packages_that_it_needs(tmp_path: Path) -> None:
    """Each other one would delay it, and so would models of records that no request has used."""
    packages, models = captured(
        [sys.executable, "-c", STARTED, str(tmp_path / "data")], check=True
    ).stdout.splitlines()
    loaded = {name for name in packages.split() if not name.startswith("_")}

    assert sorted(loaded - set(NEEDED_AT_START.split())) == []
    assert models == ""

"""The import rule (docs/contribute/architecture.md) holds for every package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from architecture.imports import IMPORT_RULE, LEVELS, MEMORY_RULE, memory_violations, violations
from architecture.tree import CODE, PACKAGE, ROOT, package
from command import captured


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
    mdurl numkong numpy prometheus_client pydantic pydantic_core pygments python_multipart
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

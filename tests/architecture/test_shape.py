"""Rules for every source file: functions, names, the environment and queries."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from architecture.tree import CODE, everything, package, relative

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

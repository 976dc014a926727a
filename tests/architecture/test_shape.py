"""Rules for every source file: functions, docstrings, names, error handling and global state."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from architecture.tree import CODE, Function, Source, everything, package, relative

COLUMNS_MAX = 100
LONG_LINES_MAX = 0.005  # share of all lines; tables of data are easier to read unwrapped

OPENINGS = re.compile(r"^\s*(What|Whether|Who|How|Where|When)\b")
# Two modules may share a name where their packages tell them apart; classes may not.
MODULE_WORDS = re.compile(
    r"^(service|services|manager|repository|utils?|helpers?|base|common|misc|lib)$"
)

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


def docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a file with its line."""
    for node in source.nodes:
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            yield getattr(node, "lineno", 1), str(ast.get_docstring(node))


def test_no_docstring_opens_with_a_question_word() -> None:
    wrong = [
        f"{source.name}:{line} {text.splitlines()[0]}"
        for source in everything()
        for line, text in docstrings(source)
        if OPENINGS.match(text)
    ]

    assert wrong == []


def test_top_level_class_names_are_unique() -> None:
    places = defaultdict(list)
    for source in package():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(source.name)

    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_module_names_are_specific() -> None:
    words = Counter(part for source in package() for part in source.module.split("."))

    assert [word for word in words if MODULE_WORDS.match(word)] == []


def test_nearly_all_lines_fit_into_100_columns() -> None:
    lengths = [len(line) for source in everything() for line in source.text.splitlines()]
    long = sum(length > COLUMNS_MAX for length in lengths)

    assert long <= LONG_LINES_MAX * len(lengths)

"""Rules of plain technical English that a program can check (CONTRIBUTING.md has the others).

`pytest -s tests/architecture/test_language.py` prints the figures.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from architecture.tree import Function, Source, everything, package

COLUMNS_MAX = 100
LONG_LINES_MAX = 0.005  # share of all lines; tables of data are easier to read unwrapped

OPENINGS = re.compile(r"^\s*(What|Whether|Who|How|Where|When)\b")
# Two modules may share a name where their packages tell them apart; classes may not.
MODULE_WORDS = re.compile(
    r"^(service|services|manager|repository|utils?|helpers?|base|common|misc|lib)$"
)


def docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a file with its line."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            yield getattr(node, "lineno", 1), str(ast.get_docstring(node))


def test_no_docstring_opens_with_a_question_word() -> None:
    wrong, total = [], 0
    for source in everything():
        for line, text in docstrings(source):
            total += 1
            if OPENINGS.match(text):
                wrong.append(f"{source.name}:{line} {text.splitlines()[0]}")
    print(f"\ndocstrings opening with What, Whether, Who or How: {len(wrong)} of {total}")

    assert wrong == []


def test_top_level_class_names_are_unique() -> None:
    places = defaultdict(list)
    for source in package():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(source.name)
    shared = {name: files for name, files in places.items() if len(files) > 1}
    print(f"\ntop-level classes: {len(places)}, names used twice: {len(shared)}")

    assert shared == {}


def test_module_names_are_specific() -> None:
    words = Counter(part for source in package() for part in source.module.split("."))

    assert [word for word in words if MODULE_WORDS.match(word)] == []


def test_nearly_all_lines_fit_into_100_columns() -> None:
    lengths = [len(line) for source in everything() for line in source.text.splitlines()]
    long = sum(length > COLUMNS_MAX for length in lengths)
    print(f"\nlines over {COLUMNS_MAX} columns: {long} of {len(lengths)}")

    assert long <= LONG_LINES_MAX * len(lengths)

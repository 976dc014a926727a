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

# Names that are a bare participle or a verb in the third person, and what to write instead.
NAMES = {
    "told": "message, text",
    "said": "text, output, response",
    "asked": "request, query",
    "given": "arguments, value",
    "found": "matches, result",
    "kept": "stored, row",
    "looked": "checks, result",
    "shown": "rendered, hits",
    "noticed": "flags, warnings",
    "gone": "erased_ids, missing",
    "spent": "usage, cost",
    "begun": "started_at, turn",
    "taken": "accepted, values",
    "made": "created, result",
    "held": "locks, contents",
    "meant": "target, expected",
    "heard": "response, output",
    "seen": "visited, requests",
    "done": "result, is_done",
    "known": "existing, is_known",
    "wanted": "expected, requested",
    "owed": "duties",
    "sent": "requests, body",
    "got": "actual, response",
    "tells": "describes, has_effect",
    "says": "message, text",
    "asks": "requests, is_question",
    "gives": "returns, result",
}
# Names of published schemas and JSON fields: the interface stays as it is.
PUBLISHED = {"Found", "Looked", "Wanted"}
PUBLISHED_FIELDS = {"done", "looked", "noticed"}  # in protocol/
OPENINGS = re.compile(r"^\s*(What|Whether|Who|How|Where|When)\b")
# Two modules may share a name where their packages tell them apart; classes may not.
MODULE_WORDS = re.compile(
    r"^(service|services|manager|repository|utils?|helpers?|base|common|misc|lib)$"
)


def bindings(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every name that a file binds: functions, classes, parameters, variables, fields."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def docstrings(source: Source) -> Iterator[tuple[int, str]]:
    """Yield every docstring of a file with its line."""
    for node in ast.walk(source.tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            yield getattr(node, "lineno", 1), str(ast.get_docstring(node))


def test_no_name_is_a_bare_participle() -> None:
    wrong, total = [], 0
    for source in everything():
        for line, name in bindings(source):
            total += 1
            word = name.strip("_").lower()
            is_published = name in PUBLISHED or (
                source.package == "protocol" and name in PUBLISHED_FIELDS
            )
            if word in NAMES and not is_published:
                wrong.append(f"{source.name}:{line} {name}: write {NAMES[word]}")
    print(f"\nbindings by bare participles: {len(wrong)} of {total}")

    assert wrong == []


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

"""No rule of the package takes quadratic time or holds up other threads, whatever its text is."""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, Self

import pytest

import remembrancer
from remembrancer.agent.answers import sanitize
from remembrancer.claims.review import parse_draft, review
from remembrancer.console.markdown import markdown
from remembrancer.context import Context
from remembrancer.cubes.publishing import BOUNDS, refusal
from remembrancer.memory.changes import state_keys, withdrawal_in
from remembrancer.memory.instructions import instructions_in
from remembrancer.memory.summaries.maps import headlines
from remembrancer.memory.write.turns import IncomingTurn, read_turns, with_spoken
from remembrancer.protocol.fence import defused, unfenced
from remembrancer.protocol.lines import parse
from remembrancer.protocol.memory_claims import MemoryClaims, turn_texts
from remembrancer.protocol.notices import without_notices
from remembrancer.protocol.patterns import LatePattern
from remembrancer.repair.rules.repair import proposals
from remembrancer.repair.rules.source import Failure
from remembrancer.screening import find_secrets, instruction_like
from remembrancer.search import EventText
from remembrancer.search.text.analysis import parse_query
from remembrancer.search.text.machine_text import own_words

N = 2_000  # characters: a quadratic pattern takes ten times as long for them as a linear one
SUSPECT_S, GROWTH_MAX = 0.003, 9.0  # CPU; how often as much for four times the text
UNITS = (
    *"([{|`\"'\\*#_-.?<>/=:,&%@07aA\u00e9\u4e2d\u304b\ud55c\u0301\u200b \t\n",
    *(
        ". ",
        "? ",
        "()",
        "[]",
        "a ",
        "a, ",
        "a. ",
        "- a\n",
        "\n ",
        "> ",
        "# ",
        "a@",
        "a:",
        "a=",
        "\r\n",
    ),
    *("a.b ", "1.", "1,", "1 ", "aB", "a1", "a-", "a_", "ab(", "<a>", "&amp;", "May ", "not "),
    *(
        "https://e.com/",
        "\u0441\u043b\u043e\u0432\u043e \u4e2d\u6587 ",
        "```\n",
        "I and ",
        "user: ",
    ),
)
_ANCHORED = {"match", "fullmatch"}
_METHODS = _ANCHORED | {"search", "findall", "finditer", "sub", "subn", "split"}
# Used on short texts only.
BOUNDED = {
    "remembrancer.agent.answers._OPEN_BRACKET": "BRACKET_CHARACTERS_MAX",
    "remembrancer.testing": "a test's own text",
    "remembrancer.screening._KEY_LINES": "matched at the end of a secret",
    "remembrancer.claims.extract._SENTENCE_START": "12 characters before a name",
    "remembrancer.protocol.plain_values._SENTENCE_START": "8 characters before a name",
}


def shapes(characters: int) -> list[str]:
    """Return long texts: each unit again and again, and long runs between two letters."""
    texts = [(unit * characters)[:characters] for unit in UNITS]
    half = characters // 2
    texts.append("(" * half + ")" * half)
    runs = [unit for unit in (*UNITS, "b") if len(unit) == 1]
    return texts + ["a" + run * (characters - 2) + ("!" if run.isspace() else "a") for run in runs]


def modules() -> Iterator[Any]:
    """Import every module of the package; the compiled library of the kernels is none."""
    for module in pkgutil.walk_packages(remembrancer.__path__, "remembrancer."):
        if not module.name.endswith(("__main__", "gvisor_guest", "libkernels")):
            yield importlib.import_module(module.name)


class Patterns:
    """The patterns of the package, and the methods that it calls on each."""

    def __init__(self) -> None:
        self.methods = dict[re.Pattern[Any], set[str]]()
        self.places = dict[re.Pattern[Any], str]()
        self._seen = dict[int, object]()
        for module in modules():
            tree = ast.parse(Path(module.__file__).read_text("utf-8"))
            calls = defaultdict[str, set[str]](set)
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.IfExp):
                    for one in ast.walk(node.value):
                        calls[getattr(one, "id", "")].add(node.attr)
            for name, value in vars(module).items():
                is_pattern = isinstance(value, re.Pattern | LatePattern)
                methods = calls[name] if is_pattern else {"finditer"}
                self._add(value, f"{module.__name__}.{name}", methods & _METHODS)
            self._add_literals(module.__name__, tree)

    def _add_literals(self, module: str, tree: ast.AST) -> None:
        """Add the patterns that functions give to `re.search` and others."""
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                    args=[ast.Constant(value=str() | bytes() as text), *_],
                ) if method not in ("compile", "escape"):
                    self._add(re.compile(text), f"{module}:{node.lineno}", {method})

    def _add(self, value: Any, place: str, methods: set[str]) -> None:
        """Add a pattern, or those in a table, an object or a function's closure."""
        if isinstance(value, LatePattern):
            value = value.compiled
        if isinstance(value, re.Pattern):
            self.methods.setdefault(value, set()).update(methods)
            self.places.setdefault(value, place)
            return
        if id(value) in self._seen:
            return
        parts: Any = ()
        if isinstance(value, dict):
            parts = (*value, *value.values())
        elif isinstance(value, list | tuple | set | frozenset):
            parts = value
        elif isinstance(value, FunctionType):
            parts = [cell.cell_contents for cell in value.__closure__ or ()]
        elif type(value).__module__.startswith("remembrancer"):
            slots = [name for one in type(value).__mro__ for name in getattr(one, "__slots__", ())]
            parts = [
                getattr(value, name, None) for name in (*slots, *getattr(value, "__dict__", ()))
            ]
        if parts:
            self._seen[id(value)] = value
        for part in parts:
            self._add(part, place, {"finditer"})


@cache
def patterns() -> Patterns:
    """Find the patterns once."""
    return Patterns()


def cpu_s(pattern: re.Pattern[Any], methods: set[str], text: Any) -> float:
    """Return the CPU seconds of the costliest of these methods."""
    start = time.thread_time()
    if methods and methods <= _ANCHORED:
        pattern.match(text)
        pattern.fullmatch(text)
    else:
        for _ in pattern.finditer(text):
            pass
    return time.thread_time() - start


def grows_too_fast(pattern: re.Pattern[Any], methods: set[str], text: Any, long: Any) -> bool:
    """Return True if four times the text costs much more than four times as much."""
    if cpu_s(pattern, methods, text) < SUSPECT_S:
        return False
    part, whole = (min(cpu_s(pattern, methods, one) for _ in range(3)) for one in (text, long))
    return part > SUSPECT_S and whole > GROWTH_MAX * part


def test_no_pattern_takes_quadratic_time() -> None:
    """One call of a pattern holds up every other thread; see specification.md#limit-fair."""
    texts = list(zip(shapes(N), shapes(4 * N), strict=True))
    slow = [
        f"{place} with {text[:8]!r}…{text[-1]!r}"
        for pattern, methods in patterns().methods.items()
        if (place := patterns().places[pattern]).partition(":")[0] not in BOUNDED
        for text, long in texts
        if grows_too_fast(
            pattern,
            methods,
            *(
                (text.encode(), long.encode())
                if isinstance(pattern.pattern, bytes)
                else (text, long)
            ),
        )
    ]

    assert len(patterns().methods) > 400
    assert slow == []


# --- Entry points of rules ------------------------------------------------------------------------

_DAY = date(2026, 11, 2)
ENTRY_POINTS: dict[str, Callable[[str], object]] = {
    "repairs of a program": lambda text: list(proposals(text, _failure(text))),
    "words of a question": parse_query,
    "claims of a draft": lambda text: review(parse_draft(text, _DAY), {}, ""),
    "claims from memory": lambda text: MemoryClaims(text, turn_texts([text], text)),
    "service lines": lambda text: parse(text, step=None),
    "fences": lambda text: (unfenced(text), defused(text)),
    "notices of machines": without_notices,
    "texts of machines": lambda text: own_words(text, text),
    "withdrawals": lambda text: (withdrawal_in(text), state_keys(text)),
    "wishes": instructions_in,
    "secrets": find_secrets,
    "suspicious text": instruction_like,
    "headlines": lambda text: headlines([text], 500),
    "answers of a model": sanitize,
    "lessons": lambda text: refusal({name: text[:most] for name, most in BOUNDS.items()}),
    "pages": markdown,
}
TEXT_CHARACTERS, SUSPECT_TEXT_S = 20_000, 0.3


def _failure(code: str) -> Failure:
    """Return the failure of a program that is not Python, else that of its first line."""
    try:
        compile(code, "<program>", "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return Failure("SyntaxError", str(error)[:300], line, "")
    return Failure("NameError", "name 'a' is not defined", 1, "")


def thread_s(rule: Callable[[str], object], text: str) -> float:
    """Return the CPU seconds of a call."""
    start = time.thread_time()
    rule(text)
    return time.thread_time() - start


@pytest.mark.parametrize("name", ENTRY_POINTS)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_rules_take_linear_time(name: str) -> None:
    """The whole of a long text costs what its parts cost; see specification.md#limit-fair."""
    rule = ENTRY_POINTS[name]
    rule("Warm up: load tables and models.")
    slow = []
    for short, long in zip(shapes(TEXT_CHARACTERS // 4), shapes(TEXT_CHARACTERS), strict=True):
        if thread_s(rule, long) > SUSPECT_TEXT_S:
            part, whole = (min(thread_s(rule, text) for _ in range(2)) for text in (short, long))
            if whole > GROWTH_MAX * part:
                slow.append(f"{long[:8]!r}: {part:.2f} s, {whole:.2f} s for four times as much")

    assert slow == []


UNLOCKED = {"scan_bytes", "openssl_sha256"}  # give way to other threads themselves


class LongCalls:
    """The CPU seconds of the longest call of C that calls no Python: no other thread runs then."""

    def __init__(self) -> None:
        self.seconds, self.name = 0.0, ""
        self._calls: list[list[float]] = []

    def __enter__(self) -> Self:
        gc.disable()  # as in the server, where no full collection begins while a request is read
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        gc.enable()

    def _note(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            self._calls.append([time.thread_time(), 1.0])
        elif event == "call" and self._calls:
            self._calls[-1][1] = 0.0  # it calls Python
        elif event in ("c_return", "c_exception") and self._calls:
            start, is_leaf = self._calls.pop()
            seconds = (time.thread_time() - start) * is_leaf * (called.__name__ not in UNLOCKED)
            if seconds > self.seconds:
                place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                self.seconds, self.name = seconds, f"{place} {called.__name__}"


@pytest.mark.parametrize("text", shapes(950_000)[::4], ids=lambda text: ascii(text[:8]))
def test_no_call_holds_up_other_threads(context: Context, text: str) -> None:
    """A turn of the largest size is read in pieces; each call takes 10 ms where nothing else runs.

    The bound leaves room for a processor that is shared. What hashes or scans for secrets has no
    lock.
    """

    def read(query: str) -> None:
        turn = with_spoken(EventText(query=query, response="Done.", topic=None, occurred_ms=0))
        read_turns(context, [IncomingTurn(user_id="ada", session_id="s", text=turn)])

    read("Warm up: load tables and models.")
    with LongCalls() as longest:
        read(text)

    assert longest.seconds < 0.03, longest.name


@pytest.mark.parametrize("text", shapes(950_000)[4::15], ids=lambda text: ascii(text[:8]))
def test_no_call_for_a_draft_holds_up_other_threads(text: str) -> None:
    review(parse_draft("Warm up: load tables and models.", _DAY), {}, "")
    with LongCalls() as longest:
        review(parse_draft(text, _DAY), {}, "")

    assert longest.seconds < 0.03, longest.name

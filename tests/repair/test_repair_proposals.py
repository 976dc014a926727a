"""Proposals of the repair rules for failing programs and for arbitrary text."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol.execution import Execution
from remembrancer.repair.programs import run_program
from remembrancer.repair.rules import repair as mend
from remembrancer.repair.rules.source import Failure, Proposal, Trial
from remembrancer.sandbox.sandbox import Sandbox

LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::4]
SIGNS = st.text(
    st.sampled_from("\"'`“”‘’#\\()[]{}:=,.;\n\r\t >~/*%x1é，\u00a0\u200b\ufeff&")
    | st.characters(codec="utf-8"),
    max_size=60,
)
WORDS = st.sampled_from(
    [
        "if x",
        "def f(",
        "lambda a, b:",
        "```python\n",
        ">>> ",
        "1 a\n2 b",
        "[a 1; 'b' c]",
        "'I don't'\n",
        "print(x)\n",
        "x += 1\n",
    ]
)
INVALID = Failure("SyntaxError", "invalid syntax", 1, "")
PROGRAMS = st.lists(SIGNS | WORDS, max_size=12).map("".join)
FIXABLE = """
SyntaxError IndentationError TabError NameError AttributeError ImportError TypeError
"""
FAILURES = st.builds(
    Failure,
    st.sampled_from(FIXABLE.split()),
    st.sampled_from(
        [
            "invalid syntax",
            "unexpected indent",
            "expected an indented block after 'if' statement on line 1",
            "unindent does not match any outer indentation level",
            "f-string: expecting '}'",
            "name 'np' is not defined",
            "name 'true' is not defined",
            "name 'prnt' is not defined",
            "'list' object has no attribute 'apend'",
            "expected ':'",
            "unterminated string literal (detected at line 1)",
            "name 'x' is not defined",
            'can only concatenate str (not "int") to str',
        ]
    ),
    st.none() | st.integers(0, 20),
    st.sampled_from(["", "Traceback (most recent call last):\n"]),
)


@given(PROGRAMS, FAILURES)
def test_no_line_of_code_is_lost(code: str, failure: Failure) -> None:
    """Prose and output become comments, so their words stay.

    See specification.md#repair-no-deletion.
    """
    allowed = {
        "fences": {"python"},
        "web page": {"lt", "gt", "amp", "quot"},
        "JSON words": {"true"},
        "name": {"prnt", "apend"},
    }

    lost = {
        one.name: set(words(SHY.sub("", code)) - words(one.code)) - allowed.get(one.name, set())
        for one in mend.proposals(code, failure)
    }

    assert {name: removed for name, removed in lost.items() if removed} == {}


SHY = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
)  # soft hyphens within a word


def words(code: str) -> Counter[str]:
    """Return the words of all lines, comments included."""
    return Counter(word for word in re.findall(r"[^\W\d_]{2,}", code))


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.name)
def test_rules_do_not_change_valid_programs(path: Path) -> None:
    """Every rule sees the standard library and changes nothing.

    See specification.md#repair-no-deletion.
    """
    code = path.read_text("utf-8")
    ast.parse(code)

    assert [one.name for one in mend.proposals(code, INVALID)] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a", "b"),
        (
            "".join(f"{n}\n" for n in range(50)),
            "".join(f"{n}{'!' if n in (30, 31, 49) else ''}\n" for n in range(50)),
        ),
        (
            "".join(f"{n}\n" for n in range(3_000)),
            "head\n" + "".join(f"{n}!\n" for n in range(3_000)) + "tail",
        ),
    ],
)
def test_diff_can_be_applied(tmp_path: Path, before: str, after: str) -> None:
    """Every repair has a diff (specification.md#repair-diff)."""
    (tmp_path / "main.py").write_text(before, "utf-8")

    subprocess.run(
        ["patch", "-s", "main.py"],
        input=mend.diff(before, after),
        cwd=tmp_path,
        text=True,
        check=True,
    )

    assert (tmp_path / "main.py").read_text("utf-8") == after


def test_at_most_eight_distinct_proposals_run() -> None:
    attempts: list[str] = []

    def attempt(proposal: Proposal) -> Trial:
        attempts.append(proposal.code)
        return Trial(
            is_success=False, failure=Failure("SyntaxError", f"other {len(attempts)}", 99, "")
        )

    mended = mend.repair(
        "```python\nprint(“a”)\nif x = 1\n\tprint('b', 07)\n```\n", INVALID, attempt
    )

    assert mended is None
    assert 1 < len(attempts) == len(set(attempts)) <= 8


def test_repair_stops_when_no_more_runs_are_allowed() -> None:
    attempts: list[Proposal] = []

    assert mend.repair("```\nx\n```\n“", INVALID, attempts.append) is None
    assert len(attempts) == 1


AMBIGUOUS = [
    ("raise NameError(\"name 'np' is not defined\")", "NameError", "name 'np' is not defined", 1),
    ("flask.run()", "NameError", "name 'flask' is not defined", 1),
    ("itme = [1]\nprint(items)", "NameError", "name 'items' is not defined", 2),
    ("x1 = 1\nprint(x2 + x2)", "NameError", "name 'x2' is not defined", 2),
    ("value1 = 1\nprint(value2)", "NameError", "name 'value2' is not defined", 2),
    ("exec('x =')", "SyntaxError", "invalid syntax (<string>, line 1)", 1),
    ("if x:\n\ta\n\tif y:\n\t    b\n        c\n", "TabError", "inconsistent use of tabs", 5),
    ("SyntaxErrors can be annoying!\n", "SyntaxError", "invalid syntax", 1),
    (
        "x = 010\ny = 08\n",
        "SyntaxError",
        "leading zeros in decimal integer literals are not permitted",
        1,
    ),
    (
        "for n in range(10):\n",
        "IndentationError",
        "expected an indented block after 'for' statement on line 1",
        1,
    ),
    ("def f():\n    return [1, 2, 3,\n\nprint(f())\n", "SyntaxError", "'[' was never closed", 2),
    ('s = "a"\n    "b"\n', "IndentationError", "unexpected indent", 2),
    ("f(1, 2))\n", "SyntaxError", "unmatched ')'", 1),
    ("f(a + b))\n", "SyntaxError", "unmatched ')'", 1),
    ("x = 1\nx +\n", "SyntaxError", "invalid syntax", 2),
    ('"""Notes.\n\n```\nx\n```\n"""\nx = = 1\n', "SyntaxError", "invalid syntax", 7),
]


@pytest.mark.parametrize(("code", "kind", "message", "line"), AMBIGUOUS)
def test_nothing_is_proposed_for_ambiguous_programs(
    code: str, kind: str, message: str, line: int
) -> None:
    is_raised = kind == "NameError" or code.startswith("exec")
    traceback = "Traceback (most recent call last):\n" if is_raised else ""

    assert list(mend.proposals(code, Failure(kind, message, line, traceback))) == []


BROKEN = json.loads(Path(__file__).with_name("broken-programs.json").read_text("utf-8"))


@pytest.mark.parametrize("one", BROKEN, ids=lambda one: one["what"])
def test_broken_program_is_repaired_and_prints_the_expected_output(
    box: Sandbox, one: dict[str, str]
) -> None:
    """Errors of pasted programs are repaired (specification.md#repair-by-rule)."""
    outcome = run_program(box, Execution(code=one["code"]))[0]

    assert (outcome.status, outcome.fixed, outcome.stdout) == ("fixed", True, one["prints"]), (
        outcome.error
    )
    assert {
        part for attempt in outcome.attempts if attempt.repair for part in [attempt.repair]
    } >= set(one["repairs"].split(", "))
    assert outcome.diff
    assert outcome.attempts[-1].outcome == "ok"


def test_every_rule_repairs_some_program() -> None:
    families = {name for name, _ in (*mend.SYNTAX_RULES, *mend.RUN_TIME_RULES)}

    assert families - {part for one in BROKEN for part in one["repairs"].split(", ")} == set()


TWO_MEANINGS = {
    "two values may be meant": "a, b = 3, 4\nprint('Sum: ' + a + b)\n",
    "decimals may be a number": "n = 3\nprint('2.5' + n)\n",
    "digits may be a number": "n = 3\nprint('2' + n)\n",
    "block may end at two lines": "x = 1\nif x:\nprint('yes')\nprint('end')\n",
    "bracket may belong inside": "print(round(2.567, 1)\n",
    "tuple may be the argument": "print(1, 2))\n",
    "call may be missing": "import io\nprint(io.StringIO('a').read))\n",
    "colon may be missing": "print({'a' 1})\n",
    "quote may end in two places": "name = 'Ada'\nprint('Hello, + name)\n",
    "sum may be of attributes": "size = '2'\nprint(size - 1)\n",
    "value is missing": "ages = {'Ada': 36, 'Alan':}\nprint(ages)\n",
    "condition is missing": "if :\n    print('yes')\n",
    "name is unknown": "print(total)\n",
    "index is unknown": "items = [1]\nprint(items[3])\n",
}


@pytest.mark.parametrize("code", TWO_MEANINGS.values(), ids=TWO_MEANINGS.keys())
def test_program_that_can_mean_two_things_is_left_alone(box: Sandbox, code: str) -> None:
    """Among several changes none is made (specification.md#repair-by-rule)."""
    outcome = run_program(box, Execution(code=code))[0]

    assert (outcome.status, outcome.fixed, outcome.code) == ("failed", False, code)


def test_repair_that_changes_earlier_output_is_refused(box: Sandbox) -> None:
    """Earlier output stays (specification.md#repair-keeps-output)."""
    code = "print('math' in globals())\nprint(math.pi)\n"
    outcome = run_program(box, Execution(code=code))[0]

    assert (outcome.status, outcome.code, outcome.stdout) == ("failed", code, "False\n")
    assert [(one.repair, one.outcome, one.guard) for one in outcome.attempts[1:]] == [
        ("imports", "refused", "drops_output")
    ]


def test_program_whose_output_varies_is_repaired(box: Sandbox) -> None:
    """Only output that never varies must stay (specification.md#repair-keeps-output)."""
    outcome = run_program(
        box, Execution(code="import time\nprint(time.time_ns())\npritn('end')\n")
    )[0]

    assert (outcome.status, outcome.stdout.splitlines()[-1]) == ("fixed", "end")

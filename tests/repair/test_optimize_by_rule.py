"""Programs made faster by rule in the real sandbox, and what the rules leave alone."""

from __future__ import annotations

import pytest
from rounds import rounds

from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.programs import run_program
from remembrancer.repair.rules import faster
from remembrancer.sandbox.sandbox import Sandbox

FIB = "def fib(n):\n    if n < 2:\n        return n\n    return fib(n - 1) + fib(n - 2)\n\n"
BUSY = "print(sum(n * n for n in range(3_000_000)))\n"


def optimized(box: Sandbox, code: str) -> Executed:
    """Run the program in mode `optimize`."""
    return run_program(box, Execution(code=code, mode="optimize"))[0]


LONG = rounds(30_000, 100_000)  # characters


def names(code: str) -> list[str]:
    """Return the names of the proposals for a program."""
    return [one.name for one in faster.proposals(code)]


def test_unused_import_is_removed_if_the_program_gets_faster(box: Sandbox) -> None:
    """Unused imports cost time (specification.md#repair-optimize-by-rule)."""
    pytest.importorskip("pandas")
    outcome = optimized(box, "import math\nimport pandas as pd\n\nprint(math.floor(2.5))\n")

    assert outcome.code == "import math\n\nprint(math.floor(2.5))\n"
    assert outcome.optimized
    assert outcome.optimized.cpu_ms_after < outcome.optimized.cpu_ms_before
    assert outcome.note == (
        "Optimized by rule: unused imports. Only rules were tried: no model is configured."
    )


def test_unused_import_that_costs_nothing_stays(box: Sandbox) -> None:
    """A change that is not faster is not made (specification.md#repair-optimize-by-rule)."""
    code = f"import string\n\n{BUSY}"
    outcome = optimized(box, code)

    assert (outcome.code, outcome.optimized) == (code, None)
    assert [(one.repair, one.outcome, one.guard) for one in outcome.attempts[1:]] == [
        ("unused imports", "refused", "not_faster")
    ]
    assert outcome.note == (
        "Not optimized: no rule made it faster. Only rules were tried: no model is configured."
    )


def test_import_with_an_effect_stays(box: Sandbox) -> None:
    """Output must stay identical (specification.md#repair-optimize-by-rule)."""
    code = f"import this\n\n{BUSY}"
    outcome = optimized(box, code)

    assert outcome.code == code
    assert [one.guard for one in outcome.attempts[1:]] == ["unequal"]


def test_program_with_varying_output_is_not_changed(box: Sandbox) -> None:
    """Equality must be proven (specification.md#repair-optimize)."""
    code = f"import time\n{FIB}print(fib(30), time.time_ns())\n"
    outcome = optimized(box, code)

    assert (outcome.code, len(outcome.attempts)) == (code, 1)
    assert outcome.note is not None
    assert outcome.note.startswith("Not optimized: its output differs from run to run.")


def test_loop_over_elements_is_mentioned_and_not_changed(box: Sandbox) -> None:
    """Advice is a note only (specification.md#repair-optimize-by-rule)."""
    code = (
        "a = list(range(1_500_000))\ntotal = 0\nfor i in range(len(a)):\n    total += a[i] * 2\n"
        "print(total)\n"
    )
    outcome = optimized(box, code)

    assert outcome.code == code
    assert outcome.note is not None
    assert outcome.note.startswith("The loop in line 3 computes one element at a time;")


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np\nprint(f'{np.pi}')\n",
        "import math\neval('math.pi')\n",
        "import os.path\nprint(os.sep)\n",
        "from math import pi, tau\nprint(tau)\n",
        "from __future__ import annotations\nprint(1)\n",
        "from math import *\nprint(1)\n",
        "import math; print(1)\n",
        "import math  # for later\nprint(1)\n",
        "if 1:\n    import math\nprint(1)\n",
        "import math\n",
    ],
)
def test_import_that_may_be_used_stays(code: str) -> None:
    """Rules change only what they prove (specification.md#repair-optimize-by-rule)."""
    assert names(code) == []


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import math\nprint(1)\n", "print(1)\n"),
        ("import numpy as np\nimport math as m\nprint(m.pi)\n", "import math as m\nprint(m.pi)\n"),
        ("from math import (\n    pi,\n    tau as t,\n)\nprint(1)\n", "print(1)\n"),
        ("import os.path\nprint(1)\n", "print(1)\n"),
    ],
)
def test_import_that_nothing_uses_is_removed(code: str, expected: str) -> None:
    assert [one.code for one in faster.proposals(code)] == [expected]


@pytest.mark.parametrize(
    "body",
    [
        "    print(n)\n    return fib(n - 1) + fib(n - 2)\n",
        "    global calls\n    return fib(n - 1) + fib(n - 2)\n",
        "    return fib(n - 1) + fib(n - 2) + rate\n",
        "    return [fib(n - 1), fib(n - 2)]\n",
        "    return fib(n - 1) + n.pop() + fib(n - 2)\n",
        "    return fib(n - 1)\n",
    ],
)
def test_function_with_effects_or_one_call_is_not_cached(body: str) -> None:
    """Rules change only what they prove (specification.md#repair-optimize-by-rule)."""
    assert names(f"rate = 2\ndef fib(n):\n    if n < 2:\n        return n\n{body}\n") == []


@pytest.mark.long
@pytest.mark.timeout(rounds(40, 120))
@pytest.mark.parametrize("piece", ["import a\n", "def f(n):\n return f(n) + f(n)\n", "import a, "])
def test_long_program_is_read_in_linear_time(piece: str) -> None:
    """Quadratic time would exceed the test's time limit."""
    code = (piece * LONG)[:LONG]

    assert all(one.code != code for one in faster.proposals(code))
    assert faster.vectorizable_line(code) is None

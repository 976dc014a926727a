"""Programs made faster by rule in the real sandbox, and what the rules leave alone."""

from __future__ import annotations

import pytest

from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.programs import run_program
from remembrancer.repair.rules import faster
from remembrancer.sandbox.sandbox import Sandbox

BUSY = "print(sum(n * n for n in range(3_000_000)))\n"


def optimized(box: Sandbox, code: str) -> Executed:
    """Run the program in mode `optimize`."""
    return run_program(box, Execution(code=code, mode="optimize"))[0]


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


def test_import_with_an_effect_stays(box: Sandbox) -> None:
    """Output must stay identical (specification.md#repair-optimize-by-rule)."""
    code = f"import this\n\n{BUSY}"
    outcome = optimized(box, code)

    assert outcome.code == code
    assert [one.guard for one in outcome.attempts[1:]] == ["unequal"]


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

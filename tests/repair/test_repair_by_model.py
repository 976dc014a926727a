"""Programs fixed by models, with a real HTTP endpoint and the real sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from endpoint import (
    Endpoint,
    Play,
    answer_of,
    endpoint,
    fails,
    hangs,
    hangs_up,
    nobody,
    replies,
    sends,
)
from sandbox.conftest import settings

from remembrancer.context import without_secrets
from remembrancer.models.calls import ConfiguredModels
from remembrancer.protocol import limits
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.models.job import ModelPanel
from remembrancer.repair.programs import run_program
from remembrancer.sandbox.sandbox import Sandbox

pytest.importorskip("httpx2", reason="the extra `models` is not installed")
BROKEN = """\
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 3)


print("begin")
assert fib(9) == 34
print(fib(9))
"""
GOOD = BROKEN.replace("n - 3", "n - 2")
STILL_WRONG = BROKEN.replace("n - 3", "n - 4")
CHEATING = BROKEN.replace("assert fib(9) == 34\n", "")
SLOW = """\
def total(n):
    found = 0
    for i in range(n):
        found += i * i
    return found


print(total(2 * 10**6))
"""
FAST = "def total(n):\n    return (n - 1) * n * (2 * n - 1) // 6\n\n\nprint(total(2 * 10**6))\n"
KEY = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"  # split: secret scanners ignore it
OPTIMIZE, RACE, ALL = {"mode": "optimize"}, {"strategy": "race"}, {"mode": "all"}
WORDY = sends(
    b'{"choices": [{"message": {"content": "no"}}], '
    b'"usage": {"prompt_tokens": 9, "completion_tokens": 950}}'
)
Outcome = tuple[Executed, list[Endpoint]]
Repair = Callable[..., Outcome]


def fenced(code: str) -> Play:
    """Return an answer as models write it."""
    return replies(f"The cause is in one line:\n\n```python\n{code}```\n\nThat should do.")


@pytest.fixture
def repair(box: Sandbox, tmp_path: Any) -> Iterator[Repair]:
    """Run a program with scripted answers for each slot, or the URL of an endpoint."""
    with ExitStack() as stack:

        def run(
            code: str, *slots: list[Play] | str, options: dict[str, Any] | None = None, **more: Any
        ) -> Outcome:
            outside = more.pop("outside", True)
            endpoints = []
            for number, plays in enumerate(slots, 1):
                if isinstance(plays, str):
                    more[f"model_repair_{number}"] = plays
                    continue
                endpoints.append(stack.enter_context(endpoint(*plays)))
                more[f"model_repair_{number}"] = endpoints[-1].named(f"model-{number}")
            instance = settings(tmp_path, **more)
            models = ConfiguredModels(instance, without_secrets)
            stack.callback(models.close)
            panel = ModelPanel(models=models, settings=instance, outside=outside)
            return run_program(box, Execution(code=code, **(options or {})), panel)[0], endpoints

        yield run


def outcomes(executed: Executed) -> list[tuple[str | None, str, str | None]]:
    """Return model, outcome and guard or error of each attempt by a model."""
    return [
        (one.model, one.outcome, one.guard or one.error) for one in executed.attempts if one.model
    ]


def test_model_fixes_a_program_that_no_rule_fixes(repair: Repair) -> None:
    """The model receives the program, its error and what the program can reach."""
    outcome, [tiny] = repair(BROKEN, [fenced(GOOD)])

    assert (outcome.status, outcome.fixed, outcome.verified) == ("fixed", True, "tests")
    assert (outcome.stdout, outcome.note, outcome.code) == ("begin\n34\n", None, GOOD)
    assert "+    return fib(n - 1) + fib(n - 2)" in str(outcome.diff)
    assert outcomes(outcome) == [("model-1", "ok", None)]
    assert outcome.attempts[-1].tokens == 77
    [prompt] = tiny.prompts
    assert BROKEN.strip() in prompt
    assert "AssertionError" in prompt
    assert "line 8" in prompt
    assert "no network, no other process, no input" in prompt


def test_next_model_is_called_after_two_failed_proposals(repair: Repair) -> None:
    outcome, [lazy, cheating, good] = repair(
        BROKEN, [fenced(BROKEN)], [fenced(CHEATING)], [fenced(GOOD)]
    )

    assert outcomes(outcome) == [
        ("model-1", "refused", "repeated"),
        ("model-1", "refused", "repeated"),
        ("model-2", "refused", "tests_changed"),
        ("model-2", "refused", "tests_changed"),
        ("model-3", "ok", None),
    ]
    assert [len(one.requests) for one in (lazy, cheating, good)] == [2, 2, 1]


def test_program_that_no_model_fixes_is_returned_with_its_error(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [fenced(CHEATING)], [fenced(STILL_WRONG)])

    assert (outcome.status, outcome.fixed) == ("failed", False)
    assert (outcome.code, outcome.diff, outcome.stdout) == (BROKEN, None, "begin\n")
    assert outcome.error is not None
    assert outcome.error.type == "AssertionError"
    assert [one for _, one, _ in outcomes(outcome)] == ["refused", "refused", "failed", "refused"]


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (hangs_up, "unreachable"),
        (fails(401), "refused"),
        (sends(b"<html>", kind="text/html"), "garbled"),
        (sends(b'{"choices": []}'), "empty"),
        (sends(str(answer_of("```")).encode()), "garbled"),  # another format
    ],
)
def test_next_model_is_called_when_one_fails(repair: Repair, play: Play, reason: str) -> None:
    outcome, _ = repair(BROKEN, [play], [fenced(GOOD)])

    assert outcomes(outcome) == [("repair_1", "unanswered", reason), ("model-2", "ok", None)]


def test_slow_or_unreachable_model_leaves_time_for_the_next(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [hangs], f"gone@{nobody()}", [fenced(GOOD)], repair_seconds=9)

    assert outcomes(outcome) == [
        ("repair_1", "unanswered", "timeout"),
        ("repair_2", "unanswered", "unreachable"),
        ("model-3", "ok", None),
    ]


@pytest.mark.parametrize(
    ("play", "guard"),
    [
        (replies("```python\nprint(1)\n```"), "tests_changed"),
        (replies("I cannot help with that."), "unreadable"),
        (replies("```\n```"), "no_program"),
        (replies("````\n```python\n" + "x" * 9), "unreadable"),
        (replies(f"```python\n{GOOD}", finish_reason="length"), "no_program"),
        (fenced(GOOD + "# so\n" * 1_000), "grows"),
        (fenced(f"{'(' * 900}1{')' * 900}\n"), "unreadable"),  # exhausts a parser's stack
    ],
)
def test_answer_without_a_fixed_program_is_rejected(repair: Repair, play: Play, guard: str) -> None:
    outcome, _ = repair(BROKEN, [play])

    assert (outcome.status, outcome.code) == ("failed", BROKEN)
    assert outcomes(outcome) == [("model-1", "refused", guard)] * 2


@pytest.mark.parametrize(
    ("plays", "limit", "what"),
    [
        ([fenced(CHEATING)], {"repair_calls_max": 2}, "calls"),
        ([WORDY], {"repair_tokens_max": 1000}, "tokens"),
    ],
)
def test_use_of_models_is_limited(
    repair: Repair, plays: list[Play], limit: dict[str, int], what: str
) -> None:
    outcome, [tiny, other] = repair(BROKEN, plays, [fenced(GOOD)], **limit)

    assert other.requests == []
    assert outcome.note == (
        f"Repair by model stopped: the limit of model {what} per request is reached."
    )
    if what == "calls":
        assert len(tiny.requests) == 2
    else:
        assert [body["max_tokens"] for body in tiny.requests] == [1000]


def test_race_returns_the_first_accepted_proposal_without_waiting(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [hangs], [fenced(GOOD)], [hangs], options=RACE, repair_seconds=600)

    assert (outcome.status, outcomes(outcome)) == ("fixed", [("model-2", "ok", None)])


def test_race_has_a_second_round(repair: Repair) -> None:
    outcome, _ = repair(
        BROKEN, [fenced(CHEATING)], [fenced(STILL_WRONG), fenced(GOOD)], options=RACE
    )

    assert outcome.status == "fixed"
    assert outcomes(outcome)[-1] == ("model-2", "ok", None)
    assert sorted(outcomes(outcome)[:2]) == [
        ("model-1", "refused", "tests_changed"),
        ("model-2", "failed", "AssertionError"),
    ]


def test_number_of_programs_waiting_for_models_is_limited(repair: Repair, box: Sandbox) -> None:
    for _ in range(limits.REPAIRS_MAX):
        assert box.repairs.acquire(blocking=False)
    try:
        outcome, [tiny] = repair(BROKEN, [fenced(GOOD)])
    finally:
        box.repairs.release(limits.REPAIRS_MAX)

    assert (outcome.status, tiny.requests) == ("failed", [])
    assert outcome.note == (
        "Only repair by rule was tried: 32 programs are already waiting for models."
    )
    assert repair(BROKEN, [fenced(GOOD)])[0].status == "fixed"


def test_secrets_are_masked_for_models_and_restored_for_runs(repair: Repair) -> None:
    """Models read no secrets (specification.md#repair-outside-models)."""
    code = f'KEY = "{KEY}"\nprint("begin")\nprint(len(KEY) + lenght)\n'

    def mend(body: dict[str, Any]) -> str:
        masked = body["messages"][1]["content"].partition("```python\n")[2].partition("```")[0]
        return f"```python\n{masked.replace('lenght', '1')}```"

    outcome, [tiny] = repair(code, [replies(mend)])

    assert KEY not in tiny.prompts[0]
    assert (outcome.status, outcome.stdout) == ("fixed", "begin\n41\n")
    assert KEY in outcome.code


@pytest.mark.parametrize(
    ("code", "changes", "guards"),
    [
        (
            f'KEY = "{KEY}"\nprint(len(KEY) + lenght)\n',
            {KEY: "changed", "lenght": "1"},
            ["loses_secrets", "loses_secrets"],
        ),
        (
            'for word in ["ebb", "flow"]:\n    print(word)\nprint(tide)\n',
            {"print(word)": "print(word.upper())", "tide": "word"},
            ["drops_output", "repeated"],
        ),
        (  # the result of one call, found in the output
            "def mean(values):\n    return sum(values) / lenght\n\n\nprint(mean([4711, 4713]))\n",
            {"sum(values) / lenght": "(4712 if sum(values) else 0.5)"},
            ["hard_codes", "repeated"],
        ),
        (  # its output varies
            "import time\nprint(time.time_ns())\nprint(missing)\n",
            {"missing": "time.time_ns()"},
            [None],
        ),
    ],
)
def test_proposal_is_judged_by_secrets_and_output(
    repair: Repair, code: str, changes: dict[str, str], guards: list[str | None]
) -> None:
    proposed = code
    for old, new in changes.items():
        proposed = proposed.replace(old, new)

    outcome, _ = repair(code, [fenced(proposed)])

    assert outcomes(outcome) == [
        ("model-1", "refused" if guard else "ok", guard) for guard in guards
    ]


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit(3)",
        "import no_such_library",
        "import subprocess\nsubprocess.run(['true'])",
        "input()",
    ],
)
def test_unfixable_errors_are_not_sent_to_models(repair: Repair, code: str) -> None:
    outcome, [tiny] = repair(code, [fenced("print(1)\n")])

    assert tiny.requests == []
    assert "a model cannot fix" in str(outcome.note)


@pytest.mark.parametrize(
    ("changed", "guard"),
    [
        (FAST.replace("// 6", "// 7"), "unequal"),
        (FAST.replace("print(", 'print(end="")\nprint(').replace("6))", '6), "")'), "unequal"),
        (f"{FAST}open('more.txt', 'w').close()\n", "unequal"),
        (
            SLOW.replace(
                "    found =", "    if n > 10:\n        return 2666664666667000000\n    found ="
            ),
            "hard_codes",
        ),
        (SLOW.replace("i * i", "i ** 2"), "not_faster"),
        (f"import os\n{FAST}", "reaches_out"),
    ],
)
def test_different_or_slower_program_is_rejected(repair: Repair, changed: str, guard: str) -> None:
    outcome, _ = repair(SLOW, [fenced(changed)], options=OPTIMIZE)

    assert (outcome.status, outcome.code, outcome.optimized) == ("ok", SLOW, None)
    assert outcomes(outcome) == [("model-1", "refused", guard)]
    assert outcome.note == "Not optimized: no proposal of a model was accepted."


@pytest.mark.parametrize(
    "more", ["import time\nprint(time.time_ns())", "import random\nprint(random.random())"]
)
def test_program_with_varying_output_is_not_optimized(repair: Repair, more: str) -> None:
    outcome, [tiny] = repair(f"{SLOW}{more}\n", [fenced(f"{FAST}{more}\n")], options=OPTIMIZE)

    assert tiny.requests == []
    assert outcome.note == "Not optimized: its output differs from run to run."


def test_mode_all_fixes_optimizes_and_tidies(repair: Repair) -> None:
    broken = SLOW.replace("range(n)", "range(m)")
    tidy = FAST.replace("    return", '    """The sum of the first squares."""\n    return')

    outcome, _ = repair(broken, [fenced(SLOW), fenced(FAST), fenced(tidy)], options=ALL)

    assert (outcome.status, outcome.fixed, outcome.verified) == ("fixed", True, "runs")
    assert (outcome.tidied, outcome.code) == (True, tidy)
    assert outcome.optimized
    assert [(one.stage, one.outcome) for one in outcome.attempts if one.model] == [
        ("model", "ok"),
        ("optimize", "ok"),
        ("tidy", "ok"),
    ]


@pytest.mark.parametrize(
    ("proposed", "tidied", "guard"),
    [("x = 1\nprint('x:', x)\n", None, "unequal"), ("x = 1\nprint(x)\n", True, None)],
)
def test_only_a_change_of_layout_is_accepted_as_tidying(
    repair: Repair, proposed: str, tidied: bool | None, guard: str | None
) -> None:
    code = "x=1\nprint( x )"

    outcome, _ = repair(code, [fenced(proposed)], options=ALL)

    assert (outcome.tidied, outcome.code) == (tidied, proposed if tidied else code)
    assert outcomes(outcome)[-1] == ("model-1", "ok" if tidied else "refused", guard)

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
SLOW = (
    "def total(n):\n    found = 0\n    for i in range(n):\n        found += i * i\n    return "
    "found\n\n\nprint(total(2 * 10**6))\n"
)
FAST = "def total(n):\n    return (n - 1) * n * (2 * n - 1) // 6\n\n\nprint(total(2 * 10**6))\n"
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
    outcome, [tiny] = repair(BROKEN, [fenced(GOOD)])

    assert (outcome.status, outcome.fixed, outcome.verified, outcome.stdout, outcome.note) == (
        "fixed",
        True,
        "tests",
        "begin\n34\n",
        None,
    )
    assert outcome.code == GOOD
    assert outcome.diff is not None
    assert "+    return fib(n - 1) + fib(n - 2)" in outcome.diff
    assert outcomes(outcome) == [("model-1", "ok", None)]
    assert outcome.attempts[-1].tokens == 77
    assert len(tiny.requests) == 1


def test_model_receives_program_error_and_environment(repair: Repair) -> None:
    _, [tiny] = repair(BROKEN, [fenced(GOOD)])

    [prompt] = tiny.prompts
    assert BROKEN.strip() in prompt
    assert "AssertionError" in prompt
    assert "line 8" in prompt
    assert "no network, no other process, no input" in prompt


def test_second_request_contains_the_failure_of_the_first_proposal(repair: Repair) -> None:
    outcome, [tiny] = repair(BROKEN, [fenced(STILL_WRONG), fenced(GOOD)])

    assert outcomes(outcome) == [("model-1", "failed", "AssertionError"), ("model-1", "ok", None)]
    assert STILL_WRONG.strip() in tiny.prompts[1]
    assert tiny.prompts[1].count("AssertionError") > tiny.prompts[0].count("AssertionError")
    assert tiny.requests[0]["temperature"] < tiny.requests[1]["temperature"]


def test_rejecting_guard_is_reported_to_caller_and_model(repair: Repair) -> None:
    outcome, [tiny] = repair(BROKEN, [fenced(CHEATING), fenced(GOOD)])

    assert outcomes(outcome) == [("model-1", "refused", "tests_changed"), ("model-1", "ok", None)]
    assert "a test, an assertion, its data or its call was removed or changed" in tiny.prompts[1]


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
    response, _ = repair(BROKEN, [fenced(CHEATING)], [fenced(STILL_WRONG)])

    assert (response.status, response.fixed, response.code, response.diff) == (
        "failed",
        False,
        BROKEN,
        None,
    )
    assert (response.stdout, response.error and response.error.type) == (
        "begin\n",
        "AssertionError",
    )
    assert [outcome for _, outcome, _ in outcomes(response)] == [
        "refused",
        "refused",
        "failed",
        "refused",
    ]


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (hangs_up, "unreachable"),
        (fails(401), "refused"),
        (sends(b"<html>", kind="text/html"), "garbled"),
        (sends(b'{"choices": []}'), "empty"),
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
    "text",
    [
        "```python\nprint(1)\n```",
        "I cannot help with that.",
        "```\n```",
        "````\n```python\n" + "x" * 9,
    ],
)
def test_answer_without_a_program_is_rejected(repair: Repair, text: str) -> None:
    response, _ = repair(BROKEN, [replies(text)])

    assert (response.status, response.code) == ("failed", BROKEN)
    assert {outcome for _, outcome, _ in outcomes(response)} == {"refused"}


def test_truncated_answer_is_rejected(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [replies(f"```python\n{GOOD}", finish_reason="length")])

    assert [why for _, _, why in outcomes(outcome)] == ["no_program", "no_program"]


def test_model_calls_are_limited(repair: Repair) -> None:
    outcome, [tiny, other] = repair(BROKEN, [fenced(CHEATING)], [fenced(GOOD)], repair_calls_max=2)

    assert (len(tiny.requests), len(other.requests)) == (2, 0)
    assert (
        outcome.note == "Repair by model stopped: the limit of model calls per request is reached."
    )


def test_model_tokens_are_limited(repair: Repair) -> None:
    wordy = sends(
        b'{"choices": [{"message": {"content": "no"}}], '
        b'"usage": {"prompt_tokens": 9, "completion_tokens": 950}}'
    )

    outcome, [tiny] = repair(BROKEN, [wordy], repair_tokens_max=1000)

    assert [body["max_tokens"] for body in tiny.requests] == [1000]
    assert (
        outcome.note == "Repair by model stopped: the limit of model tokens per request is reached."
    )


def test_race_returns_the_first_accepted_proposal_without_waiting(
    repair: Repair,
) -> None:
    outcome, _ = repair(
        BROKEN, [hangs], [fenced(GOOD)], [hangs], options={"strategy": "race"}, repair_seconds=600
    )

    assert (outcome.status, outcomes(outcome)) == ("fixed", [("model-2", "ok", None)])


def test_race_has_a_second_round(repair: Repair) -> None:
    outcome, _ = repair(
        BROKEN,
        [fenced(CHEATING)],
        [fenced(STILL_WRONG), fenced(GOOD)],
        options={"strategy": "race"},
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
        for _ in range(limits.REPAIRS_MAX):
            box.repairs.release()

    assert (outcome.status, tiny.requests) == ("failed", [])
    assert (
        outcome.note == "Only repair by rule was tried: 32 programs are already waiting for models."
    )
    assert repair(BROKEN, [fenced(GOOD)])[0].status == "fixed"


def test_secrets_are_masked_for_models_and_restored_for_runs(repair: Repair) -> None:
    """Models read no secrets (specification.md#repair-outside-models)."""
    key = (
        "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    )  # split, so that secret scanners ignore it
    code = f'KEY = "{key}"\nprint("begin")\nprint(len(KEY) + lenght)\n'

    def mend(body: dict[str, Any]) -> str:
        masked = body["messages"][1]["content"].partition("```python\n")[2].partition("```")[0]
        return f"```python\n{masked.replace('lenght', '1')}```"

    outcome, [tiny] = repair(code, [replies(mend)])

    assert key not in tiny.prompts[0]
    assert (outcome.status, outcome.stdout) == ("fixed", "begin\n41\n")
    assert key in outcome.code


def test_proposal_without_a_secret_is_rejected(repair: Repair) -> None:
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    code = f'KEY = "{key}"\nprint(len(KEY) + lenght)\n'

    outcome, _ = repair(code, [fenced(code.replace(key, "changed").replace("lenght", "1"))])

    assert [why for _, _, why in outcomes(outcome)] == ["loses_secrets", "loses_secrets"]


def test_output_before_the_failure_must_be_preserved(repair: Repair) -> None:
    code = 'for word in ["ebb", "flow"]:\n    print(word)\nprint(tide)\n'

    outcome, _ = repair(
        code, [fenced(code.replace("print(word)", "print(word.upper())").replace("tide", "word"))]
    )

    assert [why for _, _, why in outcomes(outcome)] == ["drops_output", "repeated"]


def test_fix_of_a_program_with_varying_output_is_accepted(
    repair: Repair,
) -> None:
    code = "import time\nprint(time.time_ns())\nprint(missing)\n"

    outcome, _ = repair(code, [fenced(code.replace("missing", "time.time_ns()"))])

    assert outcomes(outcome) == [("model-1", "ok", None)]


def test_hard_coded_result_is_detected_in_the_output(repair: Repair) -> None:
    code = "def mean(values):\n    return sum(values) / lenght\n\n\nprint(mean([4711, 4713]))\n"

    outcome, _ = repair(
        code, [fenced(code.replace("sum(values) / lenght", "(4712 if sum(values) else 0.5)"))]
    )

    assert [why for _, _, why in outcomes(outcome)] == ["hard_codes", "repeated"]


def test_oversized_proposal_is_rejected(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [fenced(GOOD + "# so\n" * 1_000)])

    assert [why for _, _, why in outcomes(outcome)] == ["grows", "grows"]


def test_program_that_exhausts_the_parser_stack_is_rejected(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [fenced(f"{'(' * 900}1{')' * 900}\n")], [fenced(GOOD)])

    assert outcome.status == "fixed"
    assert outcomes(outcome)[0] == ("model-1", "refused", "unreadable")


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
    assert outcome.note is not None
    assert "a model cannot fix" in outcome.note


def test_account_without_outside_models_gets_repair_by_rule_only(repair: Repair) -> None:
    """An account can forbid outside models (specification.md#repair-outside-models)."""
    outcome, _ = repair(BROKEN, "far@https://models.example/v1", outside=False)

    assert outcomes(outcome) == []
    assert outcome.note == (
        "Only repair by rule was tried: this account does not allow "
        "language models on other machines to read its data."
    )


def test_faster_program_with_identical_output_is_accepted(repair: Repair) -> None:
    outcome, _ = repair(SLOW, [fenced(FAST)], options={"mode": "optimize"})

    assert (outcome.status, outcome.fixed, outcome.code) == ("ok", False, FAST)
    assert outcome.stdout == "2666664666667000000\n"
    assert outcome.optimized is not None
    assert outcome.optimized.pairs_won == 4
    assert outcome.optimized.cpu_ms_after < outcome.optimized.cpu_ms_before
    assert [(one.stage, one.outcome) for one in outcome.attempts] == [
        ("run", "ok"),
        ("optimize", "ok"),
    ]


@pytest.mark.parametrize(
    ("changed", "guard"),
    [
        (FAST.replace("// 6", "// 7"), "unequal"),
        (
            FAST.replace("\n\n\nprint", '\n\n\nprint(end="")\nprint').replace("6))", '6), "")'),
            "unequal",
        ),
        (f"{FAST}open('more.txt', 'w').close()\n", "unequal"),
        (
            SLOW.replace(
                "    found = 0\n",
                "    if n > 10:\n        return 2666664666667000000\n    found = 0\n",
            ),
            "hard_codes",
        ),
        (SLOW.replace("i * i", "i ** 2"), "not_faster"),
        (f"import os\n{FAST}", "reaches_out"),
    ],
)
def test_different_or_slower_program_is_rejected(repair: Repair, changed: str, guard: str) -> None:
    outcome, _ = repair(SLOW, [fenced(changed)], options={"mode": "optimize"})

    assert (outcome.status, outcome.code, outcome.optimized) == ("ok", SLOW, None)
    assert outcomes(outcome) == [("model-1", "refused", guard)]
    assert outcome.note == "Not optimized: no proposal of a model was accepted."


@pytest.mark.parametrize(
    "more", ["import time\nprint(time.time_ns())", "import random\nprint(random.random())"]
)
def test_program_with_varying_output_is_not_optimized(repair: Repair, more: str) -> None:
    outcome, [tiny] = repair(
        f"{SLOW}{more}\n", [fenced(f"{FAST}{more}\n")], options={"mode": "optimize"}
    )

    assert tiny.requests == []
    assert outcome.note == "Not optimized: its output differs from run to run."


def test_fast_program_is_not_optimized(repair: Repair) -> None:
    outcome, [tiny] = repair("print(1)", [fenced("print(1)\n")], options={"mode": "optimize"})

    assert tiny.requests == []
    assert (
        outcome.note
        == "Not optimized: it takes less than 50 ms of CPU time, which is too short to measure."
    )


def test_mode_all_fixes_optimizes_and_tidies(repair: Repair) -> None:
    broken = SLOW.replace("range(n)", "range(m)")
    tidy = FAST.replace("    return", '    """The sum of the first squares."""\n    return')

    outcome, _ = repair(broken, [fenced(SLOW), fenced(FAST), fenced(tidy)], options={"mode": "all"})

    assert (outcome.status, outcome.fixed, outcome.verified, outcome.tidied, outcome.code) == (
        "fixed",
        True,
        "runs",
        True,
        tidy,
    )
    assert outcome.optimized
    assert [(one.stage, one.outcome) for one in outcome.attempts if one.model] == [
        ("model", "ok"),
        ("optimize", "ok"),
        ("tidy", "ok"),
    ]


def test_tidying_that_changes_the_output_is_rejected(repair: Repair) -> None:
    outcome, _ = repair(
        "x=1\nprint( x )", [fenced("x = 1\nprint('x:', x)\n")], options={"mode": "all"}
    )

    assert (outcome.tidied, outcome.code) == (None, "x=1\nprint( x )")
    assert outcomes(outcome) == [("model-1", "refused", "unequal")]


def test_layout_change_is_accepted_as_tidying(repair: Repair) -> None:
    outcome, _ = repair("x=1\nprint( x )", [fenced("x = 1\nprint(x)\n")], options={"mode": "all"})

    assert (outcome.tidied, outcome.code) == (True, "x = 1\nprint(x)\n")


def test_endpoint_with_another_response_format_fails(repair: Repair) -> None:
    outcome, _ = repair(BROKEN, [sends(str(answer_of("```")).encode())])

    assert outcomes(outcome) == [("repair_1", "unanswered", "garbled")]

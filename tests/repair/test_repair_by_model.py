"""Programs mended by models: a real endpoint on a real socket, the real port, the real sandbox."""

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
    says,
    sends,
)
from sandbox.conftest import settings

from remembrancer.context import without_secrets
from remembrancer.models.calls import ConfiguredModels
from remembrancer.protocol import limits
from remembrancer.protocol.execution import Executed, Execution
from remembrancer.repair.models.budget import ModelPanel
from remembrancer.repair.models.prompts import SecretMask, extract_program
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
SLOW = "def total(n):\n    found = 0\n    for i in range(n):\n        found += i * i\n    return found\n\n\nprint(total(2 * 10**6))\n"
FAST = "def total(n):\n    return (n - 1) * n * (2 * n - 1) // 6\n\n\nprint(total(2 * 10**6))\n"
Told = tuple[Executed, list[Endpoint]]
Repair = Callable[..., Told]


def fenced(code: str) -> Play:
    """An answer as models write it."""
    return says(f"The cause is in one line:\n\n```python\n{code}```\n\nThat should do.")


@pytest.fixture
def repair(box: Sandbox, tmp_path: Any) -> Iterator[Repair]:
    """Runs a program, with a list of plays for each slot, or the address of one; gives the answer
    and the endpoints.
    """
    with ExitStack() as stack:

        def run(
            code: str, *slots: list[Play] | str, asked: dict[str, Any] | None = None, **more: Any
        ) -> Told:
            outside = more.pop("outside", True)
            endpoints = []
            for number, plays in enumerate(slots, 1):
                if isinstance(plays, str):
                    more[f"model_repair_{number}"] = plays
                    continue
                endpoints.append(stack.enter_context(endpoint(*plays)))
                more[f"model_repair_{number}"] = endpoints[-1].named(f"model-{number}")
            made = settings(tmp_path, **more)
            models = ConfiguredModels(made, without_secrets)
            stack.callback(models.close)
            panel = ModelPanel(models=models, settings=made, outside=outside)
            return run_program(box, Execution(code=code, **(asked or {})), panel)[0], endpoints

        yield run


def outcomes(told: Executed) -> list[tuple[str | None, str, str | None]]:
    """Of each attempt by a model: its name, what became of it, and why."""
    return [(one.model, one.outcome, one.guard or one.error) for one in told.attempts if one.model]


def test_a_model_mends_what_rules_do_not(repair: Repair) -> None:
    told, [tiny] = repair(BROKEN, [fenced(GOOD)])

    assert (told.status, told.fixed, told.verified, told.stdout, told.note) == (
        "fixed",
        True,
        "tests",
        "begin\n34\n",
        None,
    )
    assert told.code == GOOD
    assert told.diff is not None
    assert "+    return fib(n - 1) + fib(n - 2)" in told.diff
    assert outcomes(told) == [("model-1", "ok", None)]
    assert told.attempts[-1].tokens == 77
    assert len(tiny.asked) == 1


def test_a_model_is_told_the_program_the_error_and_the_surroundings(repair: Repair) -> None:
    _, [tiny] = repair(BROKEN, [fenced(GOOD)])

    [prompt] = tiny.prompts
    assert BROKEN.strip() in prompt
    assert "AssertionError" in prompt
    assert "line 8" in prompt
    assert "no network, no other process, no input" in prompt


def test_the_second_try_is_told_what_was_wrong_with_the_first(repair: Repair) -> None:
    told, [tiny] = repair(BROKEN, [fenced(STILL_WRONG), fenced(GOOD)])

    assert outcomes(told) == [("model-1", "failed", "AssertionError"), ("model-1", "ok", None)]
    assert STILL_WRONG.strip() in tiny.prompts[1]
    assert tiny.prompts[1].count("AssertionError") > tiny.prompts[0].count("AssertionError")
    assert tiny.asked[0]["temperature"] < tiny.asked[1]["temperature"]


def test_a_guard_that_refused_is_named_to_the_caller_and_to_the_model(repair: Repair) -> None:
    told, [tiny] = repair(BROKEN, [fenced(CHEATING), fenced(GOOD)])

    assert outcomes(told) == [("model-1", "refused", "tests_changed"), ("model-1", "ok", None)]
    assert "a test, an assertion, its data or its call is gone or changed" in tiny.prompts[1]


def test_the_next_model_is_asked_after_two_tries(repair: Repair) -> None:
    told, [lazy, cheating, good] = repair(
        BROKEN, [fenced(BROKEN)], [fenced(CHEATING)], [fenced(GOOD)]
    )

    assert outcomes(told) == [
        ("model-1", "refused", "repeated"),
        ("model-1", "refused", "repeated"),
        ("model-2", "refused", "tests_changed"),
        ("model-2", "refused", "tests_changed"),
        ("model-3", "ok", None),
    ]
    assert [len(one.asked) for one in (lazy, cheating, good)] == [2, 2, 1]


def test_a_program_that_nobody_mends_is_told_as_it_failed(repair: Repair) -> None:
    told, _ = repair(BROKEN, [fenced(CHEATING)], [fenced(STILL_WRONG)])

    assert (told.status, told.fixed, told.code, told.diff) == ("failed", False, BROKEN, None)
    assert (told.stdout, told.error and told.error.type) == ("begin\n", "AssertionError")
    assert [outcome for _, outcome, _ in outcomes(told)] == [
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
def test_a_model_that_fails_gives_way_to_the_next(repair: Repair, play: Play, reason: str) -> None:
    told, _ = repair(BROKEN, [play], [fenced(GOOD)])

    assert outcomes(told) == [("repair_1", "unanswered", reason), ("model-2", "ok", None)]


def test_a_model_that_is_slow_or_away_leaves_time_for_the_next(repair: Repair) -> None:
    told, _ = repair(BROKEN, [hangs], f"gone@{nobody()}", [fenced(GOOD)], repair_seconds=9)

    assert outcomes(told) == [
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
def test_an_answer_without_the_program_changes_nothing(repair: Repair, text: str) -> None:
    told, _ = repair(BROKEN, [says(text)])

    assert (told.status, told.code) == ("failed", BROKEN)
    assert {outcome for _, outcome, _ in outcomes(told)} == {"refused"}


def test_an_answer_that_broke_off_is_no_program(repair: Repair) -> None:
    told, _ = repair(BROKEN, [says(f"```python\n{GOOD}", finish_reason="length")])

    assert [why for _, _, why in outcomes(told)] == ["no_program", "no_program"]


def test_calls_are_bounded(repair: Repair) -> None:
    told, [tiny, other] = repair(BROKEN, [fenced(CHEATING)], [fenced(GOOD)], repair_calls_max=2)

    assert (len(tiny.asked), len(other.asked)) == (2, 0)
    assert (
        told.note
        == "Repair by model stopped: the limit of model calls per request is reached."
    )


def test_tokens_are_bounded(repair: Repair) -> None:
    wordy = sends(
        b'{"choices": [{"message": {"content": "no"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 950}}'
    )

    told, [tiny] = repair(BROKEN, [wordy], repair_tokens_max=1000)

    assert [body["max_tokens"] for body in tiny.asked] == [1000]
    assert (
        told.note
        == "Repair by model stopped: the limit of model tokens per request is reached."
    )


def test_in_a_race_the_first_that_holds_wins_and_nobody_waits_for_the_others(
    repair: Repair,
) -> None:
    told, _ = repair(
        BROKEN, [hangs], [fenced(GOOD)], [hangs], asked={"strategy": "race"}, repair_seconds=600
    )

    assert (told.status, outcomes(told)) == ("fixed", [("model-2", "ok", None)])


def test_a_race_has_a_second_round(repair: Repair) -> None:
    told, _ = repair(
        BROKEN, [fenced(CHEATING)], [fenced(STILL_WRONG), fenced(GOOD)], asked={"strategy": "race"}
    )

    assert told.status == "fixed"
    assert outcomes(told)[-1] == ("model-2", "ok", None)
    assert sorted(outcomes(told)[:2]) == [
        ("model-1", "refused", "tests_changed"),
        ("model-2", "failed", "AssertionError"),
    ]


def test_programs_that_wait_for_models_are_bounded(repair: Repair, box: Sandbox) -> None:
    for _ in range(limits.REPAIRS_MAX):
        assert box.repairs.acquire(blocking=False)
    try:
        told, [tiny] = repair(BROKEN, [fenced(GOOD)])
    finally:
        for _ in range(limits.REPAIRS_MAX):
            box.repairs.release()

    assert (told.status, tiny.asked) == ("failed", [])
    assert told.note == "Only repair by rule was tried: 32 programs are already waiting for models."
    assert repair(BROKEN, [fenced(GOOD)])[0].status == "fixed"


def test_secrets_stay_here_and_are_in_the_program_that_runs(repair: Repair) -> None:
    """Models read no secrets (specification.md#repair-outside-models)."""
    key = (
        "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    )  # in two, so that no scanner takes it for one
    code = f'KEY = "{key}"\nprint("begin")\nprint(len(KEY) + lenght)\n'

    def mend(body: dict[str, Any]) -> str:
        shown = body["messages"][1]["content"].partition("```python\n")[2].partition("```")[0]
        return f"```python\n{shown.replace('lenght', '1')}```"

    told, [tiny] = repair(code, [says(mend)])

    assert key not in tiny.prompts[0]
    assert (told.status, told.stdout) == ("fixed", "begin\n41\n")
    assert key in told.code


def test_a_program_that_lost_a_secret_is_refused(repair: Repair) -> None:
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    code = f'KEY = "{key}"\nprint(len(KEY) + lenght)\n'

    told, _ = repair(code, [fenced(code.replace(key, "changed").replace("lenght", "1"))])

    assert [why for _, _, why in outcomes(told)] == ["loses_secrets", "loses_secrets"]


def test_what_was_printed_before_the_failure_is_still_printed(repair: Repair) -> None:
    code = 'for word in ["ebb", "flow"]:\n    print(word)\nprint(tide)\n'

    told, _ = repair(
        code, [fenced(code.replace("print(word)", "print(word.upper())").replace("tide", "word"))]
    )

    assert [why for _, _, why in outcomes(told)] == ["drops_output", "repeated"]


def test_a_program_that_prints_something_else_each_time_may_do_so_when_it_is_mended(
    repair: Repair,
) -> None:
    code = "import time\nprint(time.time_ns())\nprint(missing)\n"

    told, _ = repair(code, [fenced(code.replace("missing", "time.time_ns()"))])

    assert outcomes(told) == [("model-1", "ok", None)]


def test_a_result_written_down_is_refused_by_what_the_program_prints(repair: Repair) -> None:
    code = "def mean(values):\n    return sum(values) / lenght\n\n\nprint(mean([4711, 4713]))\n"

    told, _ = repair(
        code, [fenced(code.replace("sum(values) / lenght", "(4712 if sum(values) else 0.5)"))]
    )

    assert [why for _, _, why in outcomes(told)] == ["hard_codes", "repeated"]


def test_a_program_that_grew_beyond_reason_is_refused(repair: Repair) -> None:
    told, _ = repair(BROKEN, [fenced(GOOD + "# so\n" * 1_000)])

    assert [why for _, _, why in outcomes(told)] == ["grows", "grows"]


def test_a_program_that_uses_up_the_parsers_stack_harms_nobody(repair: Repair) -> None:
    told, _ = repair(BROKEN, [fenced(f"{'(' * 900}1{')' * 900}\n")], [fenced(GOOD)])

    assert told.status == "fixed"
    assert outcomes(told)[0] == ("model-1", "refused", "unreadable")


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit(3)",
        "import no_such_library",
        "import subprocess\nsubprocess.run(['true'])",
        "input()",
    ],
)
def test_what_no_change_of_the_program_can_mend_is_not_asked_about(
    repair: Repair, code: str
) -> None:
    told, [tiny] = repair(code, [fenced("print(1)\n")])

    assert tiny.asked == []
    assert told.note is not None
    assert "a model cannot fix" in told.note


def test_an_account_that_forbids_outside_models_is_repaired_by_rule_only(repair: Repair) -> None:
    """An account can forbid outside models (specification.md#repair-outside-models)."""
    told, _ = repair(BROKEN, "far@https://models.example/v1", outside=False)

    assert outcomes(told) == []
    assert (
        told.note
        == "Only repair by rule was tried: this account does not allow language models on other machines to read its data."
    )


def test_a_faster_program_with_the_same_output_is_taken(repair: Repair) -> None:
    told, _ = repair(SLOW, [fenced(FAST)], asked={"mode": "optimize"})

    assert (told.status, told.fixed, told.code) == ("ok", False, FAST)
    assert told.stdout == "2666664666667000000\n"
    assert told.optimized is not None
    assert told.optimized.pairs_won == 4
    assert told.optimized.cpu_ms_after < told.optimized.cpu_ms_before
    assert [(one.stage, one.outcome) for one in told.attempts] == [
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
def test_a_faster_program_that_is_not_the_same_or_not_faster_is_refused(
    repair: Repair, changed: str, guard: str
) -> None:
    told, _ = repair(SLOW, [fenced(changed)], asked={"mode": "optimize"})

    assert (told.status, told.code, told.optimized) == ("ok", SLOW, None)
    assert outcomes(told) == [("model-1", "refused", guard)]
    assert told.note == "Not optimized: no proposal of a model was accepted."


@pytest.mark.parametrize(
    "more", ["import time\nprint(time.time_ns())", "import random\nprint(random.random())"]
)
def test_a_program_that_prints_something_else_each_time_is_left_alone(
    repair: Repair, more: str
) -> None:
    told, [tiny] = repair(
        f"{SLOW}{more}\n", [fenced(f"{FAST}{more}\n")], asked={"mode": "optimize"}
    )

    assert tiny.asked == []
    assert told.note == "Not optimized: its output differs from run to run."


def test_a_program_that_takes_no_time_is_not_made_faster(repair: Repair) -> None:
    told, [tiny] = repair("print(1)", [fenced("print(1)\n")], asked={"mode": "optimize"})

    assert tiny.asked == []
    assert (
        told.note
        == "Not optimized: it takes less than 50 ms of CPU time, which is too short to measure."
    )


def test_all_mends_then_makes_faster_then_tidies(repair: Repair) -> None:
    broken = SLOW.replace("range(n)", "range(m)")
    tidy = FAST.replace("    return", '    """The sum of the first squares."""\n    return')

    told, _ = repair(broken, [fenced(SLOW), fenced(FAST), fenced(tidy)], asked={"mode": "all"})

    assert (told.status, told.fixed, told.verified, told.tidied, told.code) == (
        "fixed",
        True,
        "runs",
        True,
        tidy,
    )
    assert told.optimized
    assert [(one.stage, one.outcome) for one in told.attempts if one.model] == [
        ("model", "ok"),
        ("optimize", "ok"),
        ("tidy", "ok"),
    ]


def test_tidying_that_changes_what_is_printed_is_refused(repair: Repair) -> None:
    told, _ = repair("x=1\nprint( x )", [fenced("x = 1\nprint('x:', x)\n")], asked={"mode": "all"})

    assert (told.tidied, told.code) == (None, "x=1\nprint( x )")
    assert outcomes(told) == [("model-1", "refused", "unequal")]


def test_layout_alone_is_tidier(repair: Repair) -> None:
    told, _ = repair("x=1\nprint( x )", [fenced("x = 1\nprint(x)\n")], asked={"mode": "all"})

    assert (told.tidied, told.code) == (True, "x = 1\nprint(x)\n")


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\nx = 1\n```", "x = 1\n"),
        ("~~~\nx = 1\n~~~", "x = 1\n"),
        ("Before:\n```\nlong = 'output that is longer'\n```\nAfter:\n```py\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1\n", "x = 1\n"),
        ("````python\nx = '''\n```\n'''\n````", "x = '''\n```\n'''\n"),
        ("```{.python}\r\nx = 1\r\n```\r\n", "x = 1\n"),
        ("x = 1", "x = 1\n"),
        ("```python\n\n```", None),
        ("  ", None),
    ],
)
def test_the_program_of_an_answer(text: str, program: str | None) -> None:
    assert extract_program(text) == program


def test_what_stands_for_a_secret_is_left_alone_by_the_port() -> None:
    """Else a program would come back without its key."""
    code = 'password = "hunter2hunter2"\ntoken = "ghp_' + '16C7e42F292c6912E7710c838347Ae178B4a"\n'
    mask = SecretMask(code)

    shown = mask.apply(code)
    assert "hunter2" not in shown
    assert mask.restore(without_secrets(shown)) == code


def test_an_endpoint_that_answers_in_another_shape_is_no_model(repair: Repair) -> None:
    told, _ = repair(BROKEN, [sends(str(answer_of("```")).encode())])

    assert outcomes(told) == [("repair_1", "unanswered", "garbled")]

"""Repair and optimization in the sandbox, by rule and by language models."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from endpoint import Endpoint, replies
from service import Http, run_code

from remembrancer.accounts import allow_outside_models

FENCED = "Here you are:\n\n```python\nprint('tide')\n```\n"


def test_repair_by_rule_returns_a_diff(http: Http) -> None:
    """A stored run holds the original program and the diff.

    See specification.md#repair-diff, specification.md#repair-event.
    """
    answer = run_code(http, FENCED, session_id="tides")
    event = http.get(f"/api/v7/event/{answer['event_id']}").json()

    assert (answer["status"], answer["fixed"], answer["error"]) == ("fixed", True, None)
    assert (answer["stdout"], answer["code"]) == ("tide\n", "# Here you are:\n\nprint('tide')\n")
    assert answer["diff"] == (
        "--- before\n+++ after\n@@ -1,5 +1,3 @@\n-Here you are:\n+# Here you are:\n \n"
        "-```python\n print('tide')\n-```\n"
    )
    assert "note" not in answer
    assert event["query"] == FENCED
    assert event["response"].startswith("The program ended: fixed.\n\nchanged:\n--- before")
    assert "stdout:\ntide" in event["response"]


def test_repair_that_still_fails_is_rejected(http: Http) -> None:
    """The Markdown fences can be removed, but the program inside them fails too.

    See specification.md#repair-accepted-by-rerun.
    """
    code = "```python\nprint('begun')\n1 / 0\n```\n"

    answer = run_code(http, code)

    assert (answer["status"], answer["fixed"], answer["diff"]) == ("failed", False, None)
    assert (answer["code"], answer["stdout"]) == (code, "")
    assert answer["error"]["type"] == "SyntaxError"
    assert answer["attempts"][-1]["error"] == "ZeroDivisionError"
    assert answer["note"] == "Only repair by rule was tried: no model is configured."


def test_deliberate_exceptions_are_not_repaired(http: Http) -> None:
    """Deliberate errors are not repaired (specification.md#repair-not-attempted)."""
    for code in (
        "raise ValueError('no such tide')",
        "raise NameError(\"name 'math' is not defined\")",
        "assert 1 == 2",
        "import sys\nsys.exit(2)",
        "exec('x = ')",
        "{}['k']",
    ):
        answer = run_code(http, code)
        assert (answer["status"], answer["code"], len(answer["attempts"])) == ("failed", code, 1)


def test_stopped_and_very_long_programs_are_not_repaired(http: Http) -> None:
    """See specification.md#repair-not-attempted."""
    stopped = "A stopped program is not repaired."
    long = "A program of more than 50000 characters is not repaired."
    for code, status, note in (
        ("while True: pass", "timeout", stopped),
        ("import ctypes\nctypes.string_at(0)", "killed", stopped),
        (f"```\nprint(1)\n# {'x' * 50_000}\n```\n", "failed", long),
    ):
        answer = run_code(http, code, timeout_s=1)
        assert (answer["status"], len(answer["attempts"]), answer["note"]) == (status, 1, note)


def test_working_program_runs_once_and_stays_unchanged(http: Http) -> None:
    """A working program is left alone (specification.md#repair-not-attempted)."""
    code = "text = '“quoted” ```'\nprint(text)"

    answer = run_code(http, code)

    assert (answer["status"], answer["code"], len(answer["attempts"])) == ("ok", code, 1)
    assert "note" not in answer


def test_optimize_does_not_repair_a_failing_program(http: Http) -> None:
    """Mode `optimize` runs a failing program once (specification.md#repair-without-model)."""
    answer = run_code(http, FENCED, mode="optimize")

    assert (answer["status"], len(answer["attempts"])) == ("failed", 1)
    assert answer["note"] == "Not optimized: the program fails."


def test_files_come_from_the_final_run(http: Http) -> None:
    """Files come from the final run (specification.md#repair-files)."""
    answer = run_code(http, "```\nopen('tide.txt', 'w').write('high')\n```")

    assert [(file["name"], file["size_bytes"]) for file in answer["files"]] == [("tide.txt", 4)]


BROKEN = "print(math.sqrt(4))\n"
GOOD = "import math\nprint(math.sqrt(4))\n"
WRONG = (
    "def mean(values):\n    return sum(values) / (len(values) + 1)\n\n\nassert "
    "mean([1, 3]) == 2\nprint(mean([2, 4]))\n"
)
RIGHT = WRONG.replace("(len(values) + 1)", "len(values)")
Start = Callable[..., tuple[Http, Endpoint]]


@pytest.fixture
def start(start_with: Start) -> Start:
    """Start the service with a scripted repair model; return a client and the model endpoint."""
    return partial(start_with, "model_repair_1")


def test_attempts_event_and_metrics_name_the_model_that_repaired_the_program(start: Start) -> None:
    """A stored run holds the change, and calls of models are counted.

    See specification.md#repair-attempts, specification.md#repair-event,
    specification.md#status-metrics-models.
    """
    http, _ = start(replies(f"```python\n{RIGHT}```"))

    answer = run_code(http, WRONG, session_id="means")
    event = http.get(f"/api/v7/event/{answer['event_id']}").json()

    assert (answer["status"], answer["fixed"], answer["verified"]) == ("fixed", True, "tests")
    assert (answer["stdout"], answer["code"], event["query"]) == ("3.0\n", RIGHT, WRONG)
    for text in (answer["diff"], event["response"]):
        assert "+    return sum(values) / len(values)" in text
    run, by_model = answer["attempts"]
    assert (run["stage"], run["outcome"], run["error"]) == ("run", "failed", "AssertionError")
    assert by_model.pop("ms") > 0
    assert by_model == {"stage": "model", "model": "tiny", "outcome": "ok", "tokens": 77}
    assert "note" not in answer
    calls = 'remembrancer_model_calls_total{model="tiny",outcome="ok",slot="repair_1"} 1.0'
    assert calls in http.get("/metrics").text


def test_working_programs_and_rules_need_no_model(start: Start) -> None:
    """See specification.md#repair-rules-first, specification.md#repair-not-attempted."""
    http, tiny = start(replies(f"```python\n{GOOD}```"))

    answer = run_code(http, BROKEN)

    assert (answer["status"], answer["code"]) == ("fixed", GOOD)
    assert answer["attempts"][-1]["stage"] == "deterministic"
    assert run_code(http, RIGHT)["status"] == "ok"
    assert tiny.requests == []


def test_fix_that_cheats_its_tests_is_refused(start: Start) -> None:
    """A fix that cheats its tests is refused (specification.md#repair-guards)."""
    cheating = WRONG.replace("assert mean([1, 3]) == 2\n", "")
    http, _ = start(replies(f"```python\n{cheating}```"))

    answer = run_code(http, WRONG, strategy="race")

    assert (answer["status"], answer["fixed"], answer["code"]) == ("failed", False, WRONG)
    assert answer["error"]["type"] == "AssertionError"
    refusals = [(one["outcome"], one.get("guard")) for one in answer["attempts"][1:]]
    assert set(refusals) == {("refused", "tests_changed")}


def test_account_can_forbid_outside_models(start: Start) -> None:
    """An account can forbid models on other machines (specification.md#repair-outside-models)."""
    http, _ = start(replies(""), model_repair_1="far@https://models.invalid/v1")
    allow_outside_models(http.context, "owner", allowed=False)

    answer = run_code(http, WRONG)

    assert [one["stage"] for one in answer["attempts"]] == ["run"]
    assert answer["note"] == (
        "Only repair by rule was tried: this account does not allow "
        "language models on other machines to read its data."
    )


def test_optimize_reports_its_measurements(start: Start) -> None:
    """`optimized` reports the measurement (specification.md#repair-optimize)."""
    slow = "total = 0\nfor i in range(10**6):\n    total += i * 2\nprint(total)\n"
    fast = "total = sum(range(0, 2 * 10**6, 2))\nprint(total)\n"
    http, _ = start(replies(f"```python\n{fast}```"))

    answer = run_code(http, slow, mode="optimize")

    assert (answer["status"], answer["fixed"], answer["code"], answer["stdout"]) == (
        "ok",
        False,
        fast,
        "999999000000\n",
    )
    assert answer["optimized"]["cpu_ms_after"] < answer["optimized"]["cpu_ms_before"]
    assert answer["optimized"]["pairs_won"] >= 4
    assert answer["diff"]

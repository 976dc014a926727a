"""Repair and optimization by language models in the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from endpoint import Endpoint, replies
from service import Http

from remembrancer.accounts import allow_outside_models

PATH = "/api/execute/code"
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


def run_code(http: Http, code: str, **more: Any) -> Any:
    """Run a program; return the response body."""
    answer = http.post(PATH, {"code": code, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_attempts_name_the_model_that_repaired_the_program(start: Start) -> None:
    """`attempts` names the model (specification.md#repair-attempts)."""
    http, _ = start(replies(f"```python\n{RIGHT}```"))

    answer = run_code(http, WRONG)

    assert (
        answer["status"],
        answer["fixed"],
        answer["verified"],
        answer["stdout"],
        answer["code"],
    ) == (
        "fixed",
        True,
        "tests",
        "3.0\n",
        RIGHT,
    )
    assert "+    return sum(values) / len(values)" in answer["diff"]
    run, by_model = answer["attempts"]
    assert (run["stage"], run["outcome"], run["error"]) == ("run", "failed", "AssertionError")
    assert by_model.pop("ms") > 0
    assert by_model == {"stage": "model", "model": "tiny", "outcome": "ok", "tokens": 77}
    assert "note" not in answer


def test_rules_are_tried_before_models(start: Start) -> None:
    """Rules are tried before models (specification.md#repair-rules-first)."""
    http, tiny = start(replies(f"```python\n{GOOD}```"))

    answer = run_code(http, BROKEN)

    assert (answer["status"], answer["code"], tiny.requests) == ("fixed", GOOD, [])
    assert answer["attempts"][-1]["stage"] == "deterministic"


def test_working_program_is_not_sent_to_a_model(start: Start) -> None:
    """A working program is sent to no model (specification.md#repair-not-attempted)."""
    http, tiny = start(replies(f"```python\n{RIGHT}```"))

    assert (run_code(http, RIGHT)["status"], tiny.requests) == ("ok", [])


def test_fix_that_cheats_its_tests_is_refused(start: Start) -> None:
    """A fix that cheats its tests is refused (specification.md#repair-guards)."""
    http, _ = start(
        replies("```python\n" + WRONG.replace("assert mean([1, 3]) == 2\n", "") + "```")
    )

    answer = run_code(http, WRONG)

    assert (answer["status"], answer["fixed"], answer["code"], answer["error"]["type"]) == (
        "failed",
        False,
        WRONG,
        "AssertionError",
    )
    assert [(one["outcome"], one.get("guard")) for one in answer["attempts"][1:]] == [
        ("refused", "tests_changed")
    ] * 2


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


def test_model_calls_are_counted_in_the_metrics(start: Start) -> None:
    """Calls of models are in metrics and response (specification.md#status-metrics-models)."""
    http, _ = start(replies(f"```python\n{RIGHT}```"))

    run_code(http, WRONG)

    assert (
        'remembrancer_model_calls_total{model="tiny",outcome="ok",slot="repair_1"} 1.0'
        in http.get("/metrics").text
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


def test_stored_run_has_the_change_of_the_model(start: Start) -> None:
    """A stored run holds the change (specification.md#repair-event)."""
    http, _ = start(replies(f"```python\n{RIGHT}```"))

    answer = run_code(http, WRONG, session_id="means", strategy="race")

    event = http.get(f"/api/v7/event/{answer['event_id']}").json()
    assert event["query"] == WRONG
    assert "+    return sum(values) / len(values)" in event["response"]

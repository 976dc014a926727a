"""Repair by rule in the sandbox, mode `fix`."""

from __future__ import annotations

from service import Http, run_code

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

"""Run code in the sandbox: `POST /api/execute/code`."""

from __future__ import annotations

import pytest
from service import Http, run_code
from starlette.applications import Starlette

from remembrancer.context import Context
from remembrancer.server.app import make_app

PATHS = ("/api/execute/code", "/api/v7/execute/code")


def test_sandbox_is_served_under_both_paths(http: Http) -> None:
    """The sandbox is served under both paths (specification.md#sandbox-two-paths)."""
    answers = [http.post(path, {"code": "print(6 * 7)"}).json() for path in PATHS]

    assert [(answer["status"], answer["stdout"]) for answer in answers] == [("ok", "42\n")] * 2


def test_response_has_every_field(http: Http) -> None:
    """The response has every field (specification.md#sandbox-response)."""
    answer = run_code(http, "open('a.txt', 'w').write('hello')\n6 * 7")

    assert (answer["result"], answer["error"], answer["exit_code"]) == ("42", None, 0)
    assert (answer["mode"], answer["fixed"], answer["diff"], answer["code"]) == (
        "fix",
        False,
        None,
        "open('a.txt', 'w').write('hello')\n6 * 7",
    )
    assert [(one["stage"], one["outcome"]) for one in answer["attempts"]] == [("run", "ok")]
    assert [(one["name"], one["size_bytes"]) for one in answer["files"]] == [("a.txt", 5)]
    assert (answer["files_left_out"], answer["files_not_named"]) == ([], 0)
    assert set(answer["usage"]) == {"wall_ms", "cpu_ms", "max_rss_kb"}
    assert (answer["sandbox"]["level"], answer["sandbox"]["limits"]["seconds"]) == ("ns", 10)
    assert not {"event_id", "signal"} & set(answer)
    assert answer["duration_ms"] >= answer["usage"]["wall_ms"]


def test_failing_program_is_a_200_with_its_error(http: Http) -> None:
    """A failing program is a 200 with its error (specification.md#sandbox-failed-program)."""
    answer = run_code(http, "x = 1\nx / 0")

    assert answer["status"] == "failed"
    assert (answer["error"]["type"], answer["error"]["message"], answer["error"]["line"]) == (
        "ZeroDivisionError",
        "division by zero",
        2,
    )
    assert "x / 0" in answer["error"]["traceback"]
    assert answer["attempts"][0]["error"] == "ZeroDivisionError"


def test_timeouts_and_other_ends_have_their_own_status(http: Http) -> None:
    """Each kind of end has its status (specification.md#sandbox-statuses)."""
    for code, status, kind in (
        ("while True: pass", "timeout", "Timeout"),
        ("import ctypes\nctypes.string_at(0)", "killed", "Killed"),
        ("while True: print('x' * 100_000)", "killed", "Killed"),
        ("raise SystemExit(3)", "failed", "SystemExit"),
    ):
        answer = run_code(http, code, timeout_s=1)
        assert (answer["status"], answer["error"]["type"], answer["result"]) == (status, kind, None)


def test_run_with_a_session_is_stored_as_an_event(http: Http) -> None:
    """The event says that output was cut; without `session_id` nothing is stored.

    See specification.md#sandbox-event, specification.md#sandbox-event-output.
    """
    code = "print('the kestrel\\x1b[2J landed')\n1 / 0"
    before = http.rows()
    run_code(http, "1")
    assert http.rows() == before

    answer = run_code(http, code, session_id="birds")
    long = run_code(http, "print('x' * 30_000)", session_id="long")

    event, cut = (http.get(f"/api/v7/event/{one['event_id']}").json() for one in (answer, long))
    assert (event["session_id"], event["query"]) == ("birds", code)
    assert "stdout:\nthe kestrel\N{REPLACEMENT CHARACTER}[2J landed" in event["response"]
    assert "error: ZeroDivisionError (line 2)" in event["response"]
    assert answer["event_id"] in [hit["event_id"] for hit in http.memory("kestrel")["hits"]]
    assert len(long["stdout"]) == 30_001
    assert "(10001 more characters)" in cut["response"]


def test_repeated_request_runs_the_program_once(http: Http) -> None:
    """A repeated request runs once (specification.md#sandbox-idempotent)."""
    for more in ({}, {"session_id": "s"}):
        once = {"Idempotency-Key": f"k{len(more)}"}
        body = {"code": "import secrets\nsecrets.token_hex()", **more}
        first, second = (http.post(PATHS[0], body, headers=once) for _ in range(2))
        other = http.post(PATHS[0], {"code": "2"}, headers=once)

        assert second.json() == first.json()
        assert second.headers["Idempotent-Replayed"] == "true"
        assert other.status_code == 409


class TestUnavailable:
    """Without isolation the response is 503, never an unprotected run.

    See specification.md#sandbox-unavailable.
    """

    @pytest.fixture
    def app(self, context: Context) -> Starlette:
        """Return the application with a sandbox of its own, not started yet."""
        return make_app(context)

    def test_response_without_confinement_names_the_missing_parts(
        self, http: Http, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("remembrancer.sandbox.sandbox.LADDER", ("ns",))
        monkeypatch.setattr(
            "remembrancer.sandbox.sandbox._VISIBLE_FOLDERS",
            (str(http.context.settings.data_folder),),
        )

        answer = http.post(PATHS[0], {"code": "1"})

        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        assert answer.json()["missing"] == []
        assert "it runs none" in answer.json()["detail"]

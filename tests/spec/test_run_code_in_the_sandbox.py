"""Run code in the sandbox: `POST /api/execute/code`, and the files of a run."""

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


QUOTA = 20_000
WRITE = "open(%s + '.txt', 'w')"


def test_file_of_a_program_is_created_and_can_be_downloaded(http: Http) -> None:
    """A file of a program is a created file (specification.md#sandbox-files)."""
    (file,) = run_code(
        http, "import os\nos.mkdir('out')\nopen('out/Ferry times.csv', 'w').write('09:40')\nNone"
    )["files"]

    assert (file["name"], file["status"], file["size_bytes"]) == (
        "out/Ferry times.csv",
        "created",
        5,
    )
    assert file["filename"].startswith("Ferry times-")
    assert file["filename"].endswith(".csv")
    assert http.get(file["url"]).content == b"09:40"
    assert http.with_key(None).get(file["download_url"]).content == b"09:40"


def test_files_of_other_types_are_stored_and_served_as_bytes(http: Http) -> None:
    """The twelve types bind `create-file` only (specification.md#sandbox-file-types)."""
    files = run_code(
        http, "for name in ('a.gif', 'b', 'c.html5!'): open(name, 'wb').write(b'GIF89a')"
    )["files"]

    assert [file["filename"].rpartition(".")[2] for file in files] == ["gif", "bin", "bin"]
    assert {http.get(file["url"]).headers["content-type"] for file in files} == {
        "application/octet-stream"
    }


def test_files_of_a_failed_program_are_returned_and_stored_too(http: Http) -> None:
    """See specification.md#sandbox-files, specification.md#sandbox-event."""
    answer = run_code(http, "open('half.txt', 'w').write('half')\n1 / 0", session_id="s")

    [file] = answer["files"]
    event = http.get(f"/api/v7/event/{answer['event_id']}").json()
    assert (answer["status"], file["name"]) == ("failed", "half.txt")
    assert f"files: half.txt ({file['filename']})" in event["response"]


def test_files_of_a_pinned_key_are_hidden_from_other_users(http: Http) -> None:
    """A pinned key gets files of its own pin only (specification.md#download-pinned)."""
    ada, bob = (http.as_account("family", user_id=name) for name in ("ada", "bob"))
    (file,) = run_code(ada, "open('a.txt', 'w').write('x')")["files"]

    assert [one.get(file["url"]).status_code for one in (ada, bob)] == [200, 404]


@pytest.mark.settings(account_bytes_max=QUOTA, file_bytes_max=15_000)
class TestQuota:
    """Files of programs count for the account's quota (specification.md#files-quota)."""

    def test_files_beyond_the_quota_or_the_size_limit_are_listed_as_left_out(
        self, http: Http
    ) -> None:
        large = run_code(
            http.as_account("ada"), f"for n in (15_001, 1): {WRITE % 'str(n)'}.write('x' * n)"
        )
        answer = run_code(http, f"for name in 'abc': {WRITE % 'name'}.write('x' * 8_000)")

        assert [file["name"] for file in large["files"]] == ["1.txt"]
        assert [one["name"] for one in large["files_left_out"]] == ["15001.txt"]
        assert [file["name"] for file in answer["files"]] == ["a.txt", "b.txt"]
        assert [(one["name"], "quota" in one["why"]) for one in answer["files_left_out"]] == [
            ("c.txt", True)
        ]

    def test_run_succeeds_when_a_concurrent_run_exhausts_the_quota(
        self, http: Http, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two runs end at the same time: the write finds the quota exhausted after its check."""
        monkeypatch.setattr("remembrancer.memory.write.runs.quota_left", lambda *_: 10 * QUOTA)

        answer = run_code(
            http, "for name in 'abc': open(name + '.txt', 'w').write('x' * 8_000)", session_id="s"
        )

        assert (answer["status"], answer["files"]) == ("ok", [])
        assert [one["name"] for one in answer["files_left_out"]] == ["a.txt", "b.txt", "c.txt"]
        assert http.rows()["files"] == 0
        assert answer["event_id"]

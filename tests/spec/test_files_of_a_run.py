"""Files and open figures of a sandboxed program become created files."""

from __future__ import annotations

import pytest
from service import Http, run_code

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

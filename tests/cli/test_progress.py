"""Progress of commands on stderr."""

from __future__ import annotations

import pytest

from remembrancer.cli import progress


def test_work_of_unknown_length_reports_its_state_if_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds, expected in ((0.0, "checking 3 records\n"), (3_600.0, "")):
        monkeypatch.setattr(progress, "FIRST_SECONDS", seconds)
        with progress.activity("checking") as report:
            report(lambda: "3 records")

        assert capsys.readouterr().err == expected

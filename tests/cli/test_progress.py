"""Progress of commands on stderr."""

from __future__ import annotations

import pytest

from remembrancer.cli import progress


def test_work_of_unknown_length_reports_its_state(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.0)
    with progress.activity("checking") as report:
        report(lambda: "3 records")

    assert capsys.readouterr().err == "checking 3 records\n"


def test_short_work_of_unknown_length_reports_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 3_600.0)
    with progress.activity("checking") as report:
        report(lambda: "3 records")

    assert capsys.readouterr().err == ""

"""A running server writes backups by itself, keeps the newest ones, and says when it cannot."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from engines import ENGINES, empty_store

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.backup.backup import restore_backup, verify
from remembrancer.context import Context, open_records
from remembrancer.http.metrics import Metrics
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.server.scheduled_backups import ScheduledBackups, check_folder
from remembrancer.settings import SettingInvalid, Settings
from remembrancer.store import open_store

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(params=ENGINES)
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Context]:
    """Open the service on an empty store, with backups every 24 hours, of which 2 are kept."""
    settings = Settings(
        data=tmp_path / "data",
        embedder="none",
        durability="normal",
        store=empty_store(request.param, tmp_path),
        backup_folder=str(tmp_path / "backups"),
        backup_keep=2,
    )
    settings.data.mkdir()
    store = open_store(settings.store_url, durability="normal")
    with closing(testing.context(settings.data, settings=settings, store=store)) as opened:
        yield opened


def scheduled(context: Context, metrics: Metrics | None = None) -> ScheduledBackups:
    """Return the backups of a server."""
    report = (metrics or Metrics()).count_backup
    return ScheduledBackups(context.settings, context.store, report)


def names(context: Context) -> list[str]:
    """Return the names in the folder of backups."""
    return sorted(path.name for path in Path(context.settings.backup_folder).iterdir())


def test_first_backup_is_written_at_once_and_restores(context: Context, tmp_path: Path) -> None:
    turn = remember(context, caller_for(context), Turn(query="Where is the saw?", response="Shed."))

    folder = scheduled(context).step(NOON)

    assert folder is not None
    assert folder.name == "backup-20261124T120000Z"
    verify(folder)
    settings = Settings(data=tmp_path / "restored", embedder="none")
    restore_backup(settings, folder, progress=no_progress)
    with closing(open_records(settings)) as restored:
        row = restored.store.read(lambda tx: tx.one("select event_id, response from events"))
        assert tuple(row) == (turn.event_id, "Shed.")


def test_next_backup_is_due_after_the_interval_also_for_a_new_server(context: Context) -> None:
    first = scheduled(context)

    assert first.step(NOON) is not None
    assert first.step(NOON + 23 * HOUR) is None
    assert scheduled(context).step(NOON + 23 * HOUR) is None
    assert scheduled(context).step(NOON + 24 * HOUR) is not None


def test_only_the_newest_backups_are_kept_and_nothing_of_others_is_touched(
    context: Context,
) -> None:
    own = Path(context.settings.backup_folder)
    for other in ("backup-20200101T000000Z", "backup-by-hand", "notes"):
        (own / other).mkdir(parents=True)  # the first one is no complete backup

    for day in range(4):
        scheduled(context).step(NOON + day * 24 * HOUR)

    assert names(context) == [
        "backup-20200101T000000Z",
        "backup-20261126T120000Z",
        "backup-20261127T120000Z",
        "backup-by-hand",
        "notes",
    ]


def test_one_server_at_a_time_writes_backups(context: Context) -> None:
    with context.store.lock("scheduled backup"):
        assert scheduled(context).step(NOON) is None

    assert scheduled(context).step(NOON) is not None


def test_failed_backup_is_logged_counted_and_tried_again(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    place = Path(context.settings.backup_folder)
    place.write_text("a file where the folder should be", "utf-8")
    metrics = Metrics()
    backups = scheduled(context, metrics)

    with caplog.at_level(logging.ERROR):
        assert backups.step(NOON) is None
    place.unlink()

    assert "scheduled backup failed, trying again in 10 minutes" in caplog.text
    assert backups.step(NOON + timedelta(minutes=5)) is None
    assert backups.step(NOON + timedelta(minutes=11)) is not None
    text = metrics.text().decode()
    assert 'remembrancer_backups_total{outcome="failed"} 1.0' in text
    assert 'remembrancer_backups_total{outcome="written"} 1.0' in text
    [line] = re.findall(r"^remembrancer_backup_timestamp_seconds (.*)$", text, re.MULTILINE)
    assert float(line) == (NOON + timedelta(minutes=11)).timestamp()


@pytest.mark.parametrize("place", ["", "backups", "a/../b"])
def test_folder_within_the_data_folder_is_refused(tmp_path: Path, place: str) -> None:
    settings = Settings(data=tmp_path, backup_folder=str(tmp_path / place))

    with pytest.raises(SettingInvalid, match="backup_folder is within the data folder"):
        check_folder(settings)
    check_folder(replace(settings, backup_folder=str(tmp_path.with_name("elsewhere"))))
    check_folder(replace(settings, backup_folder=""))

"""Backups that the running server writes by itself, as the settings `backup_*` say."""

from __future__ import annotations

import logging
import re
import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..backup.backup import MANIFEST, BackupDamaged, BackupExists, write_backup
from ..memory.exchange.restore import no_progress
from ..permissions.audit import AuditBroken
from ..settings import SettingInvalid, Settings
from ..store import Store, StoreUnavailable
from ..store.transfer.copy import CopyRefused

CHECK_SECONDS = 60.0  # between two looks at the clock
RETRY = timedelta(minutes=10)  # after a backup that failed
_NAME = re.compile(r"backup-\d{8}T\d{6}Z")
_FORMAT = "backup-%Y%m%dT%H%M%SZ"
# What writing a backup raises, and what its disk does.
FAILURES = (
    AuditBroken, BackupDamaged, BackupExists, CopyRefused, OSError, SettingInvalid, StoreUnavailable
)  # fmt: skip
_log = logging.getLogger(__name__)
Report = Callable[[str, datetime | None], None]  # outcome, time of the newest backup


def check_folder(settings: Settings) -> None:
    """Raise SettingInvalid if backups would be lost with the data."""
    if settings.backup_folder and _folder(settings).is_relative_to(settings.data_folder.resolve()):
        raise SettingInvalid(
            "backup_folder is within the data folder, so that both would be lost together. Name a "
            "folder elsewhere, best on another disk."
        )


class ScheduledBackups:
    """Writes a backup when the newest one is too old, and removes the oldest ones."""

    def __init__(self, settings: Settings, store: Store, report: Report) -> None:
        """Take the store, whose lock lets one server at a time write backups."""
        self._settings, self._store, self._report = settings, store, report
        self._folder = _folder(settings)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remembrancer-backup", daemon=True)
        self._retry_at: datetime | None = None

    def start(self) -> None:
        """Start the background thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. A backup that is being written leaves nothing behind."""
        self._stop.set()

    def step(self, now: datetime) -> Path | None:
        """Write a backup if one is due at `now` (UTC); return its folder, None without one.

        What fails is logged and reported, and tried again after RETRY.
        """
        if self._retry_at is not None and now < self._retry_at:
            return None
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._store.lock("scheduled backup", wait=False) as is_alone:
                return self._write_due(now) if is_alone else None
        except FAILURES as error:
            self._retry_at = now + RETRY
            _log.error("scheduled backup failed, trying again in 10 minutes: %s", error)
            self._report("failed", None)
            return None

    def _write_due(self, now: datetime) -> Path | None:
        existing = self._existing()
        newest = _time_of(existing[-1]) if existing else None
        if newest is not None and now - newest < timedelta(hours=self._settings.backup_hours):
            self._report("", newest)
            return None
        target = self._folder / now.strftime(_FORMAT)
        write_backup(self._settings, target, progress=no_progress)
        self._retry_at = None
        _log.info("scheduled backup written: %s", target)
        self._report("written", _time_of(target))
        for old in [*existing, target][: -self._settings.backup_keep]:
            shutil.rmtree(old)
            _log.info("old scheduled backup removed: %s", old)
        return target

    def _existing(self) -> list[Path]:
        """Return the complete scheduled backups, oldest first."""
        return sorted(
            path
            for path in self._folder.iterdir()
            if _NAME.fullmatch(path.name) and (path / MANIFEST).is_file()
        )

    def _run(self) -> None:
        while True:
            self.step(datetime.now(UTC))
            if self._stop.wait(CHECK_SECONDS):
                return


def _folder(settings: Settings) -> Path:
    return Path(settings.backup_folder).expanduser().resolve()


def _time_of(backup: Path) -> datetime:
    return datetime.strptime(backup.name, _FORMAT).replace(tzinfo=UTC)

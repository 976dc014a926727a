"""Archive a store continuously and restore it to any point in time, also after kill -9."""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from command import PROGRAM, Cli
from engines import empty_store
from rounds import rounds
from service import Http, new_key
from starlette.testclient import TestClient
from waiting import wait_until

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.backup.archive import (
    Archiver,
    restore_point,
    segments_of,
)
from remembrancer.backup.backup import BackupDamaged
from remembrancer.files.files import erase_file
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.server.app import make_app
from remembrancer.settings import SettingInvalid, Settings
from remembrancer.store import DataFolderBusy, open_store
from remembrancer.store.transfer.copy import TableDigest, store_digest

START = datetime(2026, 3, 1, tzinfo=UTC)
WEEK = timedelta(days=7)


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **time: float) -> datetime:
        """Move the clock; return the new time."""
        self.now += timedelta(**time)
        return self.now


class Service:
    """A service in a folder, with an archiver and its clock."""

    def __init__(self, folder: Path) -> None:
        self.data, self.archive, self.clock = folder / "data", folder / "archive", Clock()
        self.data.mkdir()
        settings = Settings(data=self.data, embedder="none", durability="normal")
        store = open_store(settings.store_url, durability="normal")
        self.context = testing.context(self.data, settings=settings, store=store)
        client = TestClient(make_app(self.context), base_url="http://127.0.0.1:8460")
        self.http = Http(client, self.context, new_key(self.context))

    def archiver(self, keep: timedelta = WEEK) -> Archiver:
        """Return an archiver with the clock of the test."""
        return Archiver(self.context.settings, self.archive, keep=keep, now=self.clock)

    def remember(self, what: str) -> dict[str, TableDigest]:
        """Store a turn; return the digests of all tables."""
        self.http.remember(f"Where is the {what}?", f"The {what} is in the shed.")
        return store_digest(self.context.store)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    yield service
    service.context.close()


def restored(archive: Path, target: Path, at: datetime | None) -> dict[str, TableDigest]:
    """Restore an archive as of a moment; return the digests of all tables."""
    restore_point(Settings(data=target), archive, at=at, progress=no_progress)
    with closing(open_store(f"sqlite:{target / 'remembrancer.sqlite3'}")) as store:
        return store_digest(store)


def test_every_moment_is_restored_as_it_was(service: Service, tmp_path: Path) -> None:
    states = []
    with service.archiver() as archiver:
        for number in range(6):
            state = service.remember(f"saw {number}")
            at = service.clock.advance(seconds=10)
            archiver.step()
            states.append((at, state))
    for number, (at, state) in enumerate(states):
        assert restored(service.archive, tmp_path / f"at-{number}", at) == state
        between = at + timedelta(seconds=9)
        assert restored(service.archive, tmp_path / f"after-{number}", between) == state

    assert restored(service.archive, tmp_path / "newest", None) == states[-1][1]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    with pytest.raises(BackupDamaged, match="reaches back to"):
        restored(service.archive, tmp_path / "before", START)
    assert not (tmp_path / "before").exists()


def test_created_file_is_restored_at_the_time_when_it_existed(
    service: Service, tmp_path: Path
) -> None:
    with service.archiver() as archiver:
        archiver.step()
        body = {"filename": "a", "content": "text", "type": "txt"}
        name = service.http.post("/api/v7/tools/create-file", body).json()["filename"]
        with_file = service.clock.advance(seconds=10)
        archiver.step()
        erase_file(service.context, caller_for(service.context, "owner"), name)
        service.clock.advance(seconds=10)
        archiver.step()
    for place, at in (("with", with_file), ("without", None)):
        restored(service.archive, tmp_path / place, at)

    [content] = (tmp_path / "with/blobs").glob("??/*")
    assert content.read_text() == "text"
    assert not (tmp_path / "without/blobs").exists()


def test_erased_words_leave_the_archive_with_the_period_to_keep(service: Service) -> None:
    event_id = service.http.remember("Who is it?", "Zzyzx Quagmire")["event_id"]
    with service.archiver(keep=timedelta(days=2)) as archiver:
        archiver.step()
        service.http.delete(f"/api/v7/event/{event_id}")
        for day in range(4):
            service.clock.advance(days=1, seconds=1)
            if day % 2:
                service.remember(f"saw {day}")
            archiver.step()
        remaining = segments_of(service.archive)

    assert remaining[0].seq > 1
    assert remaining[0].is_base
    assert remaining[0].at <= service.clock.now - timedelta(days=2)
    assert len(list(service.archive.glob("*.pages"))) == len(remaining)


def test_archiver_continues_after_a_restart(service: Service, tmp_path: Path) -> None:
    service.remember("saw")
    with service.archiver() as archiver:
        archiver.step()
    state = service.remember("axe")
    at = service.clock.advance(seconds=10)
    with service.archiver() as archiver:
        segment = archiver.step()

    assert segment is not None
    assert (segment.seq, segment.is_base) == (2, False)
    assert restored(service.archive, tmp_path / "new", at) == state


def test_second_archiver_is_refused(service: Service) -> None:
    with service.archiver(), pytest.raises(DataFolderBusy):
        service.archiver()


@pytest.mark.long
def test_killed_archiver_leaves_whole_segments_only(service: Service, tmp_path: Path) -> None:
    """Killed at random moments while turns are stored; every segment is then restored."""
    moments, pause, numbers = random.Random(8460), threading.Event(), itertools.count()
    words = [*PROGRAM, "backup", str(service.archive), "--every", "1s"]
    environment = Cli(service.data).environment
    for number in range(rounds(2, 12)):
        files = ("*.json", "*.pages")[number % 2]  # between two segments, or within one
        before = len(list(service.archive.glob(files)))
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as running:
            more = moments.randrange(1, 3)
            while running.poll() is None:
                service.http.remember(f"Where is saw {next(numbers)}?", "In the shed.")
                if len(list(service.archive.glob(files))) >= before + more:
                    break
                pause.wait(0.02)  # a few hundred turns are enough, and all are restored below
            assert running.poll() is None
            running.send_signal(signal.SIGKILL)
    service.remember("axe")
    with service.archiver() as archiver:
        archiver.step()
    segments = segments_of(service.archive)
    turns = []
    for segment in segments:
        target = tmp_path / f"at-{segment.seq}"
        digests = restored(service.archive, target, segment.at)
        turns.append(digests["events"].rows)
        shutil.rmtree(target)

    assert len(segments) >= rounds(1, 6) + 1
    assert turns == sorted(turns)
    assert turns[-1] == store_digest(service.context.store)["events"].rows


def test_command_archives_until_stopped_and_restores_a_moment(
    service: Service, tmp_path: Path
) -> None:
    state = service.remember("saw")
    cli, new = Cli(service.data), Cli(tmp_path / "new")
    once = cli("backup", str(service.archive), "--once")
    words = [*PROGRAM, "backup", str(service.archive), "--every", "10s"]
    with subprocess.Popen(
        words, env=cli.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        wait_until(lambda: list(service.archive.glob("server.lock")))
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=60)
    now = datetime.now(UTC).isoformat()
    restored_now = new("restore", str(service.archive), "--at", now)
    too_early = new("restore", str(service.archive), "--at", "2020-01-01T00:00:00Z")
    no_offset = new("restore", str(service.archive), "--at", "2026-01-01T00:00:00")

    assert (once.returncode, "base" in once.stdout) == (0, True), once.stderr
    assert restored_now.returncode == 0, restored_now.stderr
    assert (too_early.returncode, "reaches back to" in too_early.stderr) == (1, True)
    assert no_offset.returncode == 2
    with closing(open_store(f"sqlite:{tmp_path / 'new/remembrancer.sqlite3'}")) as store:
        assert store_digest(store) == state


def test_archive_of_postgresql_refers_to_its_log(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, store=empty_store("postgresql", tmp_path))

    with pytest.raises(SettingInvalid, match="archives its own log"):
        Archiver(settings, tmp_path / "archive", keep=WEEK)

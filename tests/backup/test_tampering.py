"""Refuse what somebody changed in a backup or an archive, unless nothing restored is different.

See docs/guides/backup.md#tampering.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from rounds import rounds
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.backup.archive import Archiver, extract
from remembrancer.backup.backup import (
    BackupDamaged,
    file_digest,
    restore_backup,
    verify,
    write_backup,
)
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.server.app import make_app
from remembrancer.settings import Settings
from remembrancer.store import open_store

TAMPERINGS = rounds(100, 1_000)  # of each
TRIGGER = "create trigger evil after insert on events begin update keys set account_id = 1; end"
SEED = 8460


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a backup and an archive of three segments."""
    folder = tmp_path_factory.mktemp("made")
    settings = Settings(data=folder / "data", embedder="none", durability="normal")
    settings.data_folder.mkdir()
    (settings.data_folder / "remembrancer.toml").write_text('log_level = "info"\n')
    store = open_store(settings.store_url, durability="normal")
    days = count()

    def day() -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=next(days))

    with (
        closing(testing.context(settings.data_folder, settings=settings, store=store)) as context,
        TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client,
        Archiver(settings, folder / "archive", keep=timedelta(days=7), now=day) as archiver,
    ):
        http = Http(client, context, new_key(context))
        for name in ("saw", "axe", "rake"):
            http.remember(f"Where is the {name}?", f"The {name} is in the shed.")
            body = {"filename": name, "content": f"The {name}.", "type": "txt"}
            assert http.post("/api/v7/tools/create-file", body).status_code == 200
            archiver.step()
        write_backup(settings, folder / "backup", progress=no_progress)
    return folder


@pytest.fixture
def backup(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the backup."""
    return Path(shutil.copytree(made / "backup", tmp_path / "backup"))


@pytest.fixture
def archive(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the archive."""
    return Path(shutil.copytree(made / "archive", tmp_path / "archive"))


# --- Chosen tamperings ----------------------------------------------------------------------------


def sealed_again(backup: Path) -> None:
    """Write the size and the hash of the changed store into the manifest."""
    path, store = backup / "manifest.json", backup / "store.sqlite3"
    manifest = json.loads(path.read_text())
    manifest["store"] |= {"bytes": store.stat().st_size, "sha256": file_digest(store)}
    path.write_text(json.dumps(manifest))


def plant_log(backup: Path) -> None:
    """Put a write-ahead log with a trigger beside the unchanged store."""
    other = backup.with_name("other.sqlite3")
    shutil.copy(backup / "store.sqlite3", other)
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute(TRIGGER)
        connection.commit()
        shutil.copy(f"{other}-wal", backup / "store.sqlite3-wal")


def change_schema(backup: Path, *statements: str) -> None:
    """Run statements in the store, and seal it again."""
    with closing(sqlite3.connect(backup / "store.sqlite3")) as connection:
        connection.execute("pragma journal_mode = delete")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    sealed_again(backup)


def link(path: Path) -> None:
    """Replace a file or folder by a symbolic link to the same content elsewhere."""
    target = path.parents[1] / f"moved-{path.name}"
    path.rename(target)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "tamper",
    [
        plant_log,
        lambda backup: (backup / "store.sqlite3-journal").write_bytes(b"journal"),
        lambda backup: (backup / "blobs/notes.txt").write_text("unknown"),
        lambda backup: (backup / "more").mkdir() or (backup / "more/file").touch(),
        lambda backup: (backup / "blobs/00").mkdir() or (backup / "blobs/00/0").write_text("more"),
        lambda backup: (backup / "remembrancer.toml").write_text("other"),
        lambda backup: os.truncate(backup / "store.sqlite3", 4096),
        lambda backup: (backup / "manifest.json").unlink(),
        lambda backup: (backup / "manifest.json").write_text("{}"),
        lambda backup: change_schema(backup, TRIGGER),
        lambda backup: change_schema(backup, "drop trigger audit_stays"),
        lambda backup: change_schema(backup, "create view evil as select 1"),
        lambda backup: link(backup / "store.sqlite3"),
        lambda backup: link(backup / "manifest.json"),
        lambda backup: link(backup / "blobs"),
        lambda backup: link(next((backup / "blobs").glob("??/*"))),
        lambda backup: (backup / "manifest.json").write_text(
            (backup / "manifest.json").read_text().replace('"missing": []', '"missing": ["../a"]')
        ),
    ],
)
def test_tampered_backup_is_refused(
    backup: Path, tmp_path: Path, tamper: Callable[[Path], object]
) -> None:
    tamper(backup)

    with pytest.raises(BackupDamaged):
        verify(backup)
    with pytest.raises(BackupDamaged):
        restore_backup(Settings(data=tmp_path / "new"), backup, progress=no_progress)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "tamper",
    [
        lambda archive: link(archive / "00000001.pages"),
        lambda archive: link(archive / "00000003.json"),
        lambda archive: link(next((archive / "blobs").glob("??/*"))),
        lambda archive: (archive / "scratch.sqlite3-wal").touch(),
        lambda archive: (archive / "00000002.json").unlink(),
        lambda archive: (archive / "00000003.json").unlink(),
        lambda archive: [(archive / f"00000002.{kind}").unlink() for kind in ("json", "pages")],
        lambda archive: os.truncate(archive / "00000002.pages", 100),
        lambda archive: (archive / "00000001.json").write_text("{}"),
        lambda archive: (archive / "00000001.json").write_text(
            (archive / "00000001.json")
            .read_text()
            .replace('"missing_files":[]', '"missing_files":[""]')
        ),
        lambda archive: (
            (archive / "blobs/aa").mkdir(exist_ok=True) or (archive / "blobs/aa/unknown").touch()
        ),
    ],
)
def test_tampered_archive_is_refused(
    archive: Path, tmp_path: Path, tamper: Callable[[Path], object]
) -> None:
    first = json.loads((archive / "00000001.json").read_text())["at"]
    tamper(archive)
    (tmp_path / "out").mkdir()

    for at in (None, datetime.fromisoformat(first) + timedelta(days=1)):
        with pytest.raises(BackupDamaged):
            extract(archive, tmp_path / "out", at=at)
        shutil.rmtree(tmp_path / "out")
        (tmp_path / "out").mkdir()


def test_restored_folder_is_closed_to_others(backup: Path, tmp_path: Path) -> None:
    """Also one that was open to everybody."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)

    restore_backup(Settings(data=folder), backup, progress=no_progress)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


# --- Random tamperings ----------------------------------------------------------------------------


def tamperings(folder: Path, seed: int) -> Iterator[tuple[str, dict[Path, bytes]]]:
    """Change one byte or one file again and again; yield what was done, and undo it."""
    draw = random.Random(seed)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = {path: path.read_bytes() for path in paths}
    for _ in range(TAMPERINGS):
        path = draw.choice(paths)
        content, kind = contents[path], draw.randrange(8)
        place = draw.randrange(len(content))
        added = path.with_name(path.name + draw.choice(("-wal", "-shm", "-journal", "~", ".bak")))
        if kind < 4:
            changed = bytearray(content)
            changed[place] ^= 1 << draw.randrange(8)
            path.write_bytes(changed)
        elif kind == 4:
            path.write_bytes(content[:place])
        elif kind == 5:
            path.write_bytes(content + content[place:])
        elif kind == 6:
            path.unlink()
        else:
            added.write_bytes(content)
        yield f"{path.relative_to(folder)}: kind {kind}, byte {place}", contents
        added.unlink(missing_ok=True)
        path.write_bytes(content)


def test_random_changes_of_a_backup_are_refused_or_harmless(backup: Path) -> None:
    """Harmless: the moment and the version in the manifest, which nothing is restored from."""
    expected = verify(backup)
    harmful = []
    for change, _ in tamperings(backup, SEED):
        try:
            manifest = verify(backup)
        except BackupDamaged:
            continue
        same = {"created_at": expected.created_at, "version": expected.version}
        if manifest.model_copy(update=same) != expected:
            harmful.append(change)

    assert harmful == []
    verify(backup)


@pytest.mark.parametrize("turns", [3, 2])
def test_random_changes_of_an_archive_are_refused_or_harmless(
    archive: Path, tmp_path: Path, turns: int
) -> None:
    """Harmless: the store that comes out is the same, byte by byte; at its end, and at a moment."""
    segment = json.loads((archive / f"{turns:08}.json").read_text())
    at = None if turns == 3 else datetime.fromisoformat(segment["at"])

    def extracted() -> tuple[str, object]:
        out = tmp_path / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        manifest = extract(archive, out, at=at)
        verify(out)
        return hashlib.sha256((out / "store.sqlite3").read_bytes()).hexdigest(), manifest.files

    expected, harmful = extracted(), []
    with closing(sqlite3.connect(tmp_path / "out/store.sqlite3")) as connection:
        assert connection.execute("select count(*) from events").fetchone() == (turns,)
    for change, _ in tamperings(archive, SEED):
        try:
            if extracted() != expected:
                harmful.append(change)
        except BackupDamaged:
            continue

    assert harmful == []
    assert extracted() == expected

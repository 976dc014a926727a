"""Back up the whole service while it runs, verify, restore, and survive kill -9 at any point."""

from __future__ import annotations

import json
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from buckets import s3_server, s3_variables
from command import Cli
from engines import empty_store
from filled import answers, fill
from next_version import NEXT_NUMBER, next_version, schema_in
from service import Http, body_of, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.backup.backup import (
    BackupDamaged,
    BackupExists,
    RestoreRefused,
    restore_backup,
    verify,
    write_backup,
)
from remembrancer.context import Context, RestoreUnfinished, open_records
from remembrancer.files.files import erase_file
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.permissions.audit import ChainLink
from remembrancer.permissions.audit import verify as verify_audit
from remembrancer.server.app import make_app
from remembrancer.settings import Settings
from remembrancer.store import DataFolderBusy, open_store
from remembrancer.store.locations import hold
from remembrancer.store.transfer.copy import TableDigest, store_digest


@contextmanager
def service(folder: Path, url: str = "", blobs: str = "local") -> Iterator[Context]:
    """Open the service on a data folder, with the clock and embedder of tests."""
    settings = Settings(data=folder, embedder="none", durability="normal", store=url, blobs=blobs)
    store = open_store(settings.store_url, durability="normal")
    with closing(testing.context(folder, settings=settings, store=store)) as context:
        yield context


def contents(context: Context) -> dict[str, TableDigest]:
    """Return the digests of all tables but one that only PostgreSQL has."""
    tables = store_digest(context.store).items()
    return {name: digest for name, digest in tables if name != "cubes_made"}


def files_of(context: Context) -> dict[str, bytes]:
    """Return the contents of all created files of the owner, by name, as downloads."""
    rows = context.store.read(lambda tx: tx.all("select filename from files"))
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        return {row.filename: http.get(f"/download/{row.filename}").content for row in rows}


def create_file(http: Http, content: str) -> str:
    body = {"filename": "a", "content": content, "type": "txt"}
    return str(body_of(http.post("/api/v7/tools/create-file", body))["filename"])


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with rows in every table, created files and a settings file."""
    folder = tmp_path_factory.mktemp("used")
    with service(folder) as context:
        fill(context)
    (folder / "remembrancer.toml").write_text('log_level = "info"\n')
    return folder


@pytest.fixture(scope="module")
def backup(used: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a backup of that data folder."""
    target = tmp_path_factory.mktemp("backups") / "one"
    write_backup(Settings(data=used), target, progress=no_progress)
    return target


@pytest.mark.parametrize(
    ("source", "target"), [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "sqlite")]
)
def test_restored_service_has_every_row_file_and_the_audit_head(
    used: Path, tmp_path: Path, source: str, target: str
) -> None:
    """The backup is independent of the engine: it restores to the other one as well."""
    urls = {"used": "", "restored": ""}
    shutil.copytree(used, tmp_path / "used")
    if source == "postgresql":
        urls["used"] = empty_store(source, tmp_path)
        with closing(open_store(urls["used"])):
            pass
        Cli(tmp_path)("store", "copy", "--from", f"sqlite:{used / 'remembrancer.sqlite3'}",
                      "--to", urls["used"], "--finish")  # fmt: skip
    if target == "postgresql":
        urls["restored"] = empty_store(target, tmp_path)
    with service(tmp_path / "used", urls["used"]) as context:
        expected = (answers(context), files_of(context))
        before = contents(context)
        manifest = write_backup(context.settings, tmp_path / "backup", progress=no_progress)
    settings = Settings(data=tmp_path / "new", store=urls["restored"])
    restore_backup(settings, tmp_path / "backup", progress=no_progress)

    with service(tmp_path / "new", urls["restored"]) as restored:
        assert contents(restored) == before
        head = ChainLink(seq=manifest.audit_head.seq, hash=manifest.audit_head.hash)
        assert verify_audit(restored, head) == head != ChainLink()
        assert (answers(restored), files_of(restored)) == expected
    assert (tmp_path / "new/restored-settings.toml").read_text() == 'log_level = "info"\n'


def test_contents_are_copied_from_a_bucket_and_restored_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as address:
        for name, value in s3_variables(address).items():
            monkeypatch.setenv(name, value)
        (tmp_path / "used").mkdir(mode=0o700)
        with service(tmp_path / "used", blobs="s3://files/used") as context:
            fill(context)
            expected = files_of(context)
            write_backup(context.settings, tmp_path / "backup", progress=no_progress)
        assert expected
        assert not (tmp_path / "used/blobs").exists()

        for name, blobs in (("bucket", "s3://files/restored"), ("folder", "local")):
            settings = Settings(data=tmp_path / name, blobs=blobs)
            restore_backup(settings, tmp_path / "backup", progress=no_progress)
            with service(tmp_path / name, blobs=blobs) as restored:
                assert files_of(restored) == expected


def test_command_backs_up_and_verifies_and_restores_while_a_server_runs(
    used: Path, tmp_path: Path
) -> None:
    with hold(used):  # as a running server does
        written = Cli(used)("backup", str(tmp_path / "backup"))
    verified = Cli(used)("backup", "--verify", str(tmp_path / "backup"))
    restored = Cli(tmp_path / "new")("restore", str(tmp_path / "backup"))
    again = Cli(tmp_path / "new")("restore", str(tmp_path / "backup"))

    assert (written.returncode, verified.returncode, restored.returncode) == (0, 0, 0), (
        restored.stderr
    )
    assert written.stdout == verified.stdout == restored.stdout
    head = written.stdout.splitlines()[-1].partition("\t")[2]
    assert Cli(tmp_path / "new")("audit", "verify", "--head", head).returncode == 0
    assert (again.returncode, "is not empty" in again.stderr) == (1, True)


def test_backup_is_readable_by_its_owner_only(backup: Path) -> None:
    modes = {stat.S_IMODE(path.stat().st_mode) for path in [backup, *backup.rglob("*")]}

    assert modes == {0o700, 0o600}


def test_backup_never_overwrites(backup: Path, used: Path) -> None:
    with pytest.raises(BackupExists):
        write_backup(Settings(data=used), backup, progress=no_progress)


def test_backup_while_files_come_and_go_is_consistent(tmp_path: Path) -> None:
    """Every file that a row names is in the backup, and no content that no row names."""
    data = tmp_path / "data"
    data.mkdir()
    with service(data) as context, TestClient(make_app(context)) as client:
        http = Http(client, context, new_key(context))
        http.client.base_url = "http://127.0.0.1:8460"
        stays = create_file(http, "stays")
        owner = caller_for(context, "owner")
        is_over = threading.Event()

        def come_and_go() -> None:
            number = 0
            while not is_over.is_set():
                name = create_file(http, f"short-lived {(number := number + 1)}")
                erase_file(context, owner, name)

        worker = threading.Thread(target=come_and_go)
        worker.start()
        try:
            for number in range(5):
                manifest = write_backup(
                    context.settings, tmp_path / f"backup-{number}", progress=no_progress
                )
                assert manifest.files.missing == []
                assert verify(tmp_path / f"backup-{number}") == manifest
        finally:
            is_over.set()
            worker.join()
    restore_backup(Settings(data=tmp_path / "new"), tmp_path / "backup-4", progress=no_progress)

    with service(tmp_path / "new") as restored:
        assert files_of(restored)[stays] == b"stays"


def test_file_erased_between_rows_and_contents_is_not_in_the_backup(
    used: Path, tmp_path: Path
) -> None:
    shutil.copytree(used, tmp_path / "data")
    with service(tmp_path / "data") as context:
        row = context.store.read(lambda tx: tx.one("select * from files limit 1"))

        def erase_at_first_copy(
            title: str, _rows: int
        ) -> AbstractContextManager[Callable[[int], None]]:
            if title == "copying files":
                context.store.write(
                    lambda tx: tx.run("delete from files where blob = :blob", blob=row.blob)
                )
                (tmp_path / "data/blobs" / row.blob[:2] / row.blob).unlink(missing_ok=True)
            return no_progress(title, 0)

        manifest = write_backup(context.settings, tmp_path / "backup", progress=erase_at_first_copy)

    assert manifest.files.missing == []
    assert not list((tmp_path / "backup/blobs").glob(f"*/{row.blob}"))


def test_lost_and_damaged_contents_are_reported_and_the_rest_is_restored(
    used: Path, tmp_path: Path
) -> None:
    shutil.copytree(used, tmp_path / "data")
    lost = next((tmp_path / "data/blobs").glob("??/*"))
    lost.write_bytes(b"x" * lost.stat().st_size)
    written = Cli(tmp_path / "data")("backup", str(tmp_path / "backup"))
    restored = Cli(tmp_path / "new")("restore", str(tmp_path / "backup"))

    assert (written.returncode, restored.returncode) == (1, 0)
    assert lost.name in written.stderr
    assert verify(tmp_path / "backup").files.missing == [lost.name]


def test_changed_hash_of_a_table_is_noticed(backup: Path, tmp_path: Path) -> None:
    shutil.copytree(backup, tmp_path / "backup")
    path = tmp_path / "backup/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tables"]["events"]["rows"] -= 1
    path.write_text(json.dumps(manifest))

    with pytest.raises(BackupDamaged, match="events"):
        verify(tmp_path / "backup")


def test_backup_of_a_newer_schema_is_refused(backup: Path, tmp_path: Path) -> None:
    shutil.copytree(backup, tmp_path / "backup")
    Cli(tmp_path)  # the schema is in the file and in the manifest
    newer = """
import apsw, hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
db = apsw.Connection(str(folder / "store.sqlite3")); db.pragma("user_version", 9000); db.close()
manifest = json.loads((folder / "manifest.json").read_text())
content = (folder / "store.sqlite3").read_bytes()
sha = hashlib.sha256(content).hexdigest()
manifest["store"] |= {"schema_version": 9000, "sha256": sha, "bytes": len(content)}
(folder / "manifest.json").write_text(json.dumps(manifest))
"""
    subprocess.run([sys.executable, "-c", newer, str(tmp_path / "backup")], check=True)

    with pytest.raises(RestoreRefused, match="schema 9000"):
        restore_backup(Settings(data=tmp_path / "new"), tmp_path / "backup", progress=no_progress)


def test_backup_of_an_older_schema_is_restored_migrated(backup: Path, tmp_path: Path) -> None:
    cli = Cli(tmp_path / "new")
    cli.environment["PYTHONPATH"] = str(next_version(tmp_path / "later"))
    restored = cli.apart("restore", str(backup), STORE="")

    assert restored.returncode == 0, restored.stderr
    assert f"schema {NEXT_NUMBER - 1}" in restored.stdout
    assert verify(backup).store.schema_version == NEXT_NUMBER - 1
    assert schema_in(tmp_path / "new/remembrancer.sqlite3") == NEXT_NUMBER


def test_restore_needs_an_empty_folder_an_empty_store_and_no_server(
    backup: Path, used: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").write_text("mine")
    with pytest.raises(RestoreRefused, match="not empty"):
        restore_backup(Settings(data=tmp_path / "full"), backup, progress=no_progress)
    elsewhere = Settings(data=tmp_path / "new", store=f"sqlite:{used / 'remembrancer.sqlite3'}")
    with pytest.raises(RestoreRefused, match="there is a store"):
        restore_backup(elsewhere, backup, progress=no_progress)
    (tmp_path / "busy").mkdir()
    with hold(tmp_path / "busy"), pytest.raises(DataFolderBusy):
        restore_backup(Settings(data=tmp_path / "busy"), backup, progress=no_progress)

    assert [path.name for path in (tmp_path / "full").iterdir()] == ["precious"]


# Runs a command, and kills its process with the first thing it does after a path exists.
KILLED = """
import os, signal, sys
from remembrancer.cli.app import main

path = sys.argv.pop(1)
def kill(event, _):
    if event != "os.kill" and os.path.lexists(path):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
main()
"""


def run_until_killed(cli: Cli, path: Path, *words: str) -> None:
    """Run a command as a process that is killed when a path appears."""
    program = [sys.executable, "-c", KILLED, str(path), *words]
    process = subprocess.run(program, env=cli.environment, capture_output=True, check=False)
    assert process.returncode == -signal.SIGKILL, process.stderr


@pytest.mark.parametrize(
    "moment",
    ["restore.unfinished", "blobs", "remembrancer.sqlite3.restoring", "remembrancer.sqlite3"],
)
def test_killed_restore_starts_no_server_and_continues(
    backup: Path, tmp_path: Path, moment: str
) -> None:
    """Killed when a file of the restore appears, it is unusable or complete; then it continues."""
    data, cli = tmp_path / "new", Cli(tmp_path / "new")
    run_until_killed(cli, data / moment, "restore", str(backup))
    if (data / "restore.unfinished").exists():
        with pytest.raises(RestoreUnfinished):
            open_records(Settings(data=data))
        assert "interrupted" in cli("serve").stderr
        finished = cli("restore", str(backup))
        assert finished.returncode == 0, finished.stderr

    assert not (data / "restore.unfinished").exists()
    with service(data) as restored:
        assert store_digest(restored.store) == verify(backup).tables
    leftovers = {path.name for path in data.iterdir()} - {"blobs", "remembrancer.sqlite3"}
    assert leftovers <= {"server.lock", "restored-settings.toml"}


def test_killed_backup_leaves_no_backup_and_the_next_one_replaces_it(
    used: Path, tmp_path: Path
) -> None:
    target, part = tmp_path / "backup", tmp_path / ".backup.part"
    run_until_killed(Cli(used), part / "blobs", "backup", str(target))
    with pytest.raises(BackupDamaged):
        verify(part)
    assert not target.exists()
    write_backup(Settings(data=used), target, progress=no_progress)

    assert [path.name for path in tmp_path.iterdir()] == ["backup"]
    assert verify(target).files.count > 0

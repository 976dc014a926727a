"""Rules for every blob engine, tested on a folder and on an S3 server.

Further tests cover the folder alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from buckets import s3_server, s3_variables

from remembrancer.files.blobs import Blobs, BlobsUnavailable, LocalBlobs, open_blobs
from remembrancer.settings import SettingInvalid, Settings

LATER_MS = 1 << 50  # long after any test
AT_ALL_TIMES = {"before_ms": LATER_MS}
ABSENT = "0" * 64


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Yield the address of an S3 server with the bucket `files`."""
    with s3_server() as address:
        yield address


@pytest.fixture
def s3_settings(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a new prefix in the bucket; sets the variables that S3 tools read."""
    for name, value in s3_variables(s3).items():
        monkeypatch.setenv(name, value)
    return Settings(data=tmp_path, blobs=f"s3://files/{tmp_path.name}")


@pytest.fixture(params=["local", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    """An empty blob store of each engine."""
    if request.param == "s3":
        settings: Settings = request.getfixturevalue("s3_settings")
        return open_blobs(settings)
    return open_blobs(Settings(data=tmp_path, durability="full"))


def put(blobs: Blobs, content: bytes) -> str:
    with blobs.hold(content) as name:
        return name


def read(blobs: Blobs, name: str, start: int, end: int) -> bytes:
    return b"".join(blobs.read(name, start, end))


def names(blobs: Blobs) -> list[str]:
    return sorted(blobs.names(**AT_ALL_TIMES))


def never() -> bool:
    return False


def test_equal_content_is_stored_once_under_its_digest(blobs: Blobs) -> None:
    digest = hashlib.sha256(b"hello").hexdigest()

    assert put(blobs, b"hello") == put(blobs, b"hello") == digest
    assert names(blobs) == [digest]
    assert list(blobs.names(before_ms=0)) == []  # only those older than that


def test_missing_or_truncated_content_is_an_error(blobs: Blobs) -> None:
    name = put(blobs, b"short")

    with pytest.raises(BlobsUnavailable):
        blobs.read(ABSENT, 0, 1)
    with pytest.raises(BlobsUnavailable):
        read(blobs, name, 0, 6)


def test_deleted_content_does_not_exist(blobs: Blobs) -> None:
    """Nothing in use is deleted."""
    name = put(blobs, b"gone")

    assert blobs.delete(name, unless=lambda: True) is False
    assert names(blobs) == [name]
    assert [blobs.delete(name, unless=never) for _ in range(2)] == [True, True]
    assert names(blobs) == []


def test_held_content_cannot_be_deleted_until_released(blobs: Blobs) -> None:
    with blobs.hold(b"held") as name:
        with blobs.hold(b"held"):
            assert blobs.delete(name, unless=never) is False
        assert blobs.delete(name, unless=never) is False
        assert read(blobs, name, 0, 4) == b"held"

    assert blobs.delete(name, unless=never) is True


@pytest.mark.parametrize("where", ["", "disk", "s3:", "http://a/b", "LOCAL"])
def test_invalid_location_is_reported(tmp_path: Path, where: str) -> None:
    with pytest.raises(SettingInvalid, match=r"`blobs`.*s3://BUCKET/PREFIX"):
        open_blobs(Settings(data=tmp_path, blobs=where))


def test_missing_obstore_error_names_the_pip_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)

    with pytest.raises(SettingInvalid, match=r"pip install 'remembrancer\[s3\]'"):
        open_blobs(Settings(data=tmp_path, blobs=f"s3://files/{tmp_path.name}"))


def test_missing_s3_bucket_raises_blobs_unavailable(s3_settings: Settings) -> None:
    blobs = open_blobs(Settings(data=s3_settings.data, blobs="s3://no-such-bucket/a"))

    with pytest.raises(BlobsUnavailable), blobs.hold(b"a"):
        pytest.fail("a missing bucket accepted a blob")
    with pytest.raises(BlobsUnavailable):
        list(blobs.names(before_ms=LATER_MS))


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), LocalBlobs(tmp_path).hold(broken()):
        pytest.fail("a failed write was accepted")

    assert files_in(tmp_path) == []


def test_partial_file_of_a_killed_process_is_no_blob_and_is_removed(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    put(blobs, b"whole")
    half = tmp_path / "new" / "0123456789abcdef.part"
    half.write_bytes(b"half")

    assert list(blobs.names(before_ms=0)) == []
    assert half.exists()
    assert len(names(blobs)) == 1
    assert not half.exists()


def test_blob_files_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    put(LocalBlobs(tmp_path / "blobs"), b"private")

    assert {
        path.stat().st_mode & 0o077 for path in (tmp_path / "blobs").rglob("*") if path.is_file()
    } == {0}


def test_unwritable_folder_raises_blobs_unavailable(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"a file where a folder should be")

    with pytest.raises(BlobsUnavailable), LocalBlobs(tmp_path / "blobs").hold(b"a"):
        pytest.fail("an unwritable folder accepted a blob")

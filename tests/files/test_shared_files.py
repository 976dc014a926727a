"""Two servers that share one PostgreSQL database and one blob folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from engines import server
from service import new_key
from waiting import wait_until

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.files.blobs import open_blobs
from remembrancer.files.files import FileOwner, create_file, erase_file, stored_file
from remembrancer.protocol.files import FileCreate
from remembrancer.settings import Settings

WAITING = "select count(*) as n from pg_locks where locktype = 'advisory' and not granted"


@pytest.fixture
def contexts(tmp_path: Path) -> Iterator[list[Context]]:
    """Contexts of two servers with separate data folders: neither sees the other's holds."""
    url = server().schema()
    (tmp_path / "files").mkdir()
    contexts = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "blobs").symlink_to(tmp_path / "files")
        contexts.append(
            testing.context(
                tmp_path / name,
                settings=Settings(data=tmp_path / name, store=url, durability="normal"),
            )
        )
    with closing(contexts[0]), closing(contexts[1]):
        yield contexts


@pytest.fixture
def owner(contexts: list[Context]) -> Caller:
    return authenticate(contexts[0], new_key(contexts[0]))


def test_blob_is_not_deleted_while_another_server_adds_a_file_of_it(
    contexts: list[Context], owner: Caller
) -> None:
    """One server erases the last file of a blob while another server adds a new one."""
    keeping, erasing = contexts
    old = create_file(erasing, owner, FileCreate(filename="old", type="txt", content="the same"))
    thread = threading.Thread(target=erase_file, args=(erasing, owner, old.filename))

    with stored_file(
        keeping,
        FileOwner(account_id=owner.account_id, pinned_user_id=None),
        [("new", "txt", b"the same")],
    ) as [file]:
        thread.start()
        # until the other server waits for the lock or has deleted the blob
        wait_until(
            lambda: not thread.is_alive() or keeping.store.read(lambda tx: tx.one(WAITING)).n
        )
        keeping.store.write(file.add, account_id=owner.account_id)
    thread.join()

    assert b"".join(open_blobs(keeping.settings).read(file.blob, 0, file.size_bytes)) == b"the same"

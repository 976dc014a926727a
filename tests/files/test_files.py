"""Files of an account: atomic writes, quota, download links and the sweep of orphans."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from service import new_key, rows

from remembrancer import testing
from remembrancer.accounts.idempotency import IdempotentRequest
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.files import files
from remembrancer.files.blobs import open_blobs
from remembrancer.files.files import (
    AccountFull,
    FileOwner,
    create_file,
    find_file,
    stored_file,
    sweep,
)
from remembrancer.protocol.errors import TooLarge
from remembrancer.protocol.files import CreatedFile, FileCreate
from remembrancer.store import StoreUnavailable

MINUTE_MS = 60_000
YEARS_MS = (
    100 * 365 * 24 * 60 * MINUTE_MS
)  # test clocks stand still in the past; file systems use the real time
QUOTA = 20_000
pytestmark = pytest.mark.settings(account_bytes_max=QUOTA, file_bytes_max=15_000)


@pytest.fixture
def owner(context: Context) -> Caller:
    """A caller of the first account, the owner."""
    return authenticate(context, new_key(context))


def make(
    context: Context,
    caller: Caller,
    content: str = "text",
    request: IdempotentRequest | None = None,
    filename: str = "note",
) -> CreatedFile:
    return create_file(
        context, caller, FileCreate(filename=filename, content=content, type="txt"), request
    )


def keep(
    context: Context, caller: Caller, filename: str, ext: str, content: bytes = b"x"
) -> CreatedFile:
    owner = FileOwner(account_id=caller.account_id, pinned_user_id=None)
    with stored_file(context, owner, [(filename, ext, content)]) as files:
        return context.store.write(files[0].add, account_id=caller.account_id)


def content(context: Context, caller: Caller, filename: str) -> bytes:
    row = find_file(context, filename, caller)
    return b"".join(open_blobs(context.settings).read(row.blob, 0, row.size_bytes))


def blobs(folder: Path) -> list[Path]:
    """Return every file of the blob store, complete or partial."""
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


def test_created_file_can_be_read_by_a_name_that_none_guesses(
    context: Context, owner: Caller
) -> None:
    """Names never collide and cannot be guessed (specification.md#files-name)."""
    created = [make(context, owner, "At 9:40 é", filename="Ferry times") for _ in range(4)]
    names = {file.filename for file in created}

    assert len(names) == 4
    assert all(re.fullmatch(r"Ferry times-[0-9a-f]{12}\.txt", name) for name in names)
    assert {content(context, owner, name) for name in names} == {"At 9:40 é".encode()}
    assert created[0].size_bytes == 10


def test_file_over_the_size_limit_is_rejected(
    context: Context, owner: Caller, folder: Path
) -> None:
    """A file has at most 32 MiB (specification.md#files-quota)."""
    assert keep(context, owner, "whole", "bin", bytes(15_000)).size_bytes == 15_000
    before = (rows(context), blobs(folder))

    with pytest.raises(TooLarge, match="15,001 bytes; the limit is 15,000"):
        keep(context, owner, "more", "bin", bytes(15_001))

    assert (rows(context), blobs(folder)) == before


def test_quota_can_be_filled_exactly(context: Context, owner: Caller, folder: Path) -> None:
    """An account has 1 GiB; others have their own (specification.md#files-quota)."""
    ada = authenticate(context, new_key(context, "ada"))
    make(context, owner, "x" * 10_000)
    make(context, owner, "y" * 10_000)
    before = (rows(context), blobs(folder))

    message = "use 20,000 of 20,000 bytes; this one needs 4,096 more"
    with pytest.raises(AccountFull, match=message) as refused:
        make(context, owner, "z")

    assert refused.value.status == 413
    assert refused.value.extra == {"used_bytes": 20_000, "bytes_max": 20_000}
    assert (rows(context), blobs(folder)) == before
    assert make(context, ada, "z" * 10_000).size_bytes == 10_000


def test_concurrent_writes_do_not_exceed_the_quota(
    context: Context, owner: Caller, folder: Path
) -> None:
    at_once = threading.Barrier(8)

    def one(number: int) -> bool:
        at_once.wait()
        try:
            make(context, owner, str(number) * 9_000)
        except AccountFull:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 2
    assert rows(context)["files"] == len(blobs(folder)) == 2


def test_orphaned_blob_is_swept_after_a_grace_period(
    context: Context, owner: Caller, folder: Path, clock: testing.FrozenClock
) -> None:
    stored_file = make(context, owner, "kept")
    context.store.close()
    with pytest.raises(StoreUnavailable):
        make(context, owner, "lost")
    with open_blobs(context.settings).hold(
        b"orphan of a server that was killed before it wrote the row"
    ):
        pass
    again = testing.context(folder, clock=clock)

    assert sweep(again) == 0  # it may belong to a write in progress
    clock.advance(YEARS_MS)
    assert sweep(again) == 1
    assert content(again, owner, stored_file.filename) == b"kept"
    assert len(blobs(folder)) == 1
    again.close()


def test_each_store_has_one_link_secret_which_all_its_servers_share(
    context: Context, folder: Path
) -> None:
    """It is made on first use, which may be in several threads at once."""
    before, at_once = context.store.read(files.secret_of), threading.Barrier(8)

    def secret(store: Context) -> bytes:
        return store.store.write(lambda tx: files.secret_for(tx, 0))

    def one(_: int) -> bytes:
        at_once.wait()
        return secret(context)

    with ThreadPoolExecutor(8) as pool:
        [own] = set(pool.map(one, range(8)))
    (folder / "other").mkdir()
    with closing(testing.context(folder / "other")) as other:
        of_other = secret(other)

    assert before is None
    assert own == context.store.read(files.secret_of) != of_other
    assert len(own) == 32

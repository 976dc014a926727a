"""Files of an account: atomic writes, quota, download links and the sweep of orphans."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from service import new_key, rows

from remembrancer import testing
from remembrancer.accounts import KeyIsReadOnly
from remembrancer.accounts.idempotency import IdempotencyKeyReused, IdempotentRequest
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.files import files
from remembrancer.files.blobs import open_blobs
from remembrancer.files.files import (
    AccountFull,
    FileOwner,
    FileUnknown,
    create_file,
    file_by_link,
    find_file,
    store_file,
    sweep,
)
from remembrancer.protocol import limits
from remembrancer.protocol.errors import InvalidRequest, TooLarge
from remembrancer.protocol.files import CreatedFile, FileCreate
from remembrancer.store import StoreUnavailable

MINUTE_MS = 60_000
YEARS_MS = (
    100 * 365 * 24 * 60 * MINUTE_MS
)  # test clocks stand still in the past; file systems use the real time
QUOTA = 20_000


@pytest.fixture
def context(folder: Path, clock: testing.FrozenClock) -> Iterator[Context]:
    """A context with a small file quota."""
    parts = testing.context(folder, clock=clock)
    yield replace(
        parts, settings=replace(parts.settings, account_bytes_max=QUOTA, file_bytes_max=15_000)
    )
    parts.close()


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
    return store_file(
        context,
        FileOwner(account_id=caller.account_id, pinned_user_id=None),
        filename=filename,
        ext=ext,
        content=content,
    )


def content(context: Context, caller: Caller, filename: str) -> bytes:
    row = find_file(context, filename, caller)
    return b"".join(open_blobs(context.settings).read(row.blob, 0, row.size_bytes))


def blobs(folder: Path) -> list[Path]:
    """Return every file of the blob store, complete or partial."""
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


def test_created_file_can_be_read(context: Context, owner: Caller) -> None:
    file = make(context, owner, "Ferry at 9:40 é")

    assert content(context, owner, file.filename) == "Ferry at 9:40 é".encode()
    assert file.size_bytes == 16


def test_file_name_has_twelve_hex_digits_and_is_unique(context: Context, owner: Caller) -> None:
    """Names never collide and cannot be guessed (specification.md#files-name)."""
    names = {make(context, owner, filename="Ferry times").filename for _ in range(4)}

    assert len(names) == 4
    assert all(re.fullmatch(r"Ferry times-[0-9a-f]{12}\.txt", name) for name in names)


@pytest.mark.parametrize(
    ("filename", "ext", "stored"),
    [
        ("plot", "png", "plot"),
        ("../../x", "GIF", "x"),
        ("🚀", "npy", "file"),
        (".bashrc", "../sh", "bashrc"),
        ("", "", "file"),
    ],
)
def test_stored_file_of_a_program_gets_a_safe_name(
    context: Context, owner: Caller, filename: str, ext: str, stored: str
) -> None:
    stored_file = keep(context, owner, filename, ext)

    assert re.fullmatch(stored + r"-[0-9a-f]{12}\.(png|gif|npy|bin)", stored_file.filename)
    assert content(context, owner, stored_file.filename) == b"x"


def test_file_of_another_account_is_unknown(context: Context, owner: Caller) -> None:
    """Another account's file is a 404 (specification.md#download-unknown)."""
    ada = authenticate(context, new_key(context, "ada"))
    file = make(context, owner)

    with pytest.raises(FileUnknown):
        find_file(context, file.filename, ada)


def test_pinned_key_finds_only_files_of_its_own_user(context: Context, owner: Caller) -> None:
    bob, eve = (replace(owner, pinned_user_id=name) for name in ("bob", "eve"))
    by_bob, by_owner = make(context, bob), make(context, owner)

    assert content(context, bob, by_bob.filename) == b"text"
    assert content(context, owner, by_bob.filename) == b"text"
    for caller, file in ((eve, by_bob), (bob, by_owner), (eve, by_owner)):
        with pytest.raises(FileUnknown):
            find_file(context, file.filename, caller)


def test_read_only_key_cannot_create_files(context: Context, owner: Caller, folder: Path) -> None:
    with pytest.raises(KeyIsReadOnly):
        make(context, replace(owner, read_only=True))

    assert blobs(folder) == []


def idempotent_request(key: str, body: bytes) -> IdempotentRequest:
    return IdempotentRequest(
        account_id=1,
        key_id=1,
        path="/api/v7/tools/create-file",
        idempotency_key=key,
        body_digest=body,
    )


def test_repeated_write_returns_the_first_file(
    context: Context, owner: Caller, folder: Path
) -> None:
    first, again = (
        make(context, owner, request=idempotent_request("k", b"same")) for _ in range(2)
    )

    assert first == again
    assert rows(context)["files"] == 1
    assert len(blobs(folder)) == 1


def test_repeated_write_succeeds_when_the_account_is_full(context: Context, owner: Caller) -> None:
    first = make(context, owner, "x" * 12_000, idempotent_request("k", b"same"))

    assert make(context, owner, "x" * 12_000, idempotent_request("k", b"same")) == first


def test_different_body_with_the_same_idempotency_key_stores_nothing(
    context: Context, owner: Caller, folder: Path
) -> None:
    make(context, owner, "first", idempotent_request("k", b"one"))
    before = (rows(context), blobs(folder))

    with pytest.raises(IdempotencyKeyReused):
        make(context, owner, "second", idempotent_request("k", b"two"))

    assert (rows(context), blobs(folder)) == before


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
    """An account has 1 GiB (specification.md#files-quota)."""
    make(context, owner, "x" * 10_000)
    make(context, owner, "y" * 10_000)
    before = (rows(context), blobs(folder))

    with pytest.raises(
        AccountFull, match="use 20,000 of 20,000 bytes; this one needs 4,096 more"
    ) as refused:
        make(context, owner, "z")

    assert (refused.value.status, refused.value.extra) == (
        413,
        {"used_bytes": 20_000, "bytes_max": 20_000},
    )
    assert (rows(context), blobs(folder)) == before


def test_first_file_of_an_account_can_exceed_the_quota(context: Context, owner: Caller) -> None:
    small = replace(
        context,
        settings=replace(context.settings, account_bytes_max=limits.FILE_CHARGED_BYTES_MIN - 1),
    )

    with pytest.raises(AccountFull, match="use 0 of 4,095 bytes"):
        make(small, owner, "")
    assert rows(context)["file_usage"] == 0


def test_small_files_are_charged_a_minimum_size(context: Context, owner: Caller) -> None:
    for _ in range(QUOTA // limits.FILE_CHARGED_BYTES_MIN):
        make(context, owner, "")

    with pytest.raises(AccountFull):
        make(context, owner, "")


def test_quota_is_per_account(context: Context, owner: Caller) -> None:
    make(context, owner, "x" * 10_000)
    make(context, owner, "y" * 10_000)

    assert (
        make(context, authenticate(context, new_key(context, "ada")), "z" * 10_000).size_bytes
        == 10_000
    )


def test_concurrent_writes_do_not_exceed_the_quota(
    context: Context, owner: Caller, folder: Path
) -> None:
    outcomes: list[object] = []
    at_once = threading.Barrier(8)

    def one(number: int) -> None:
        at_once.wait()
        try:
            outcomes.append(make(context, owner, str(number) * 9_000))
        except AccountFull as full:
            outcomes.append(full)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(isinstance(outcome, CreatedFile) for outcome in outcomes) == 2
    assert len(outcomes) == 8
    assert rows(context)["files"] == len(blobs(folder)) == 2


@pytest.mark.parametrize(
    ("filename", "text", "kind"),
    [("🚀", "x", "txt"), ("..", "x", "txt"), ("a", "x", "png"), ("a", "{", "json")],
)
def test_invalid_content_stores_nothing(
    context: Context, owner: Caller, folder: Path, filename: str, text: str, kind: str
) -> None:
    before = rows(context)

    with pytest.raises(InvalidRequest):
        create_file(
            context,
            owner,
            FileCreate.model_validate({"filename": filename, "content": text, "type": kind}),
        )

    assert rows(context) == before
    assert blobs(folder) == []


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


def test_link_opens_its_file_until_it_expires(
    context: Context, owner: Caller, clock: testing.FrozenClock
) -> None:
    """A signed link expires (specification.md#download-access)."""
    file = make(context, owner)
    exp, sig = link_of(file)

    clock.advance(limits.DOWNLOAD_LINK_MINUTES * MINUTE_MS - 1)
    assert file_by_link(context, file.filename, exp=exp, sig=sig).size_bytes == 4
    clock.advance(1)
    with pytest.raises(FileUnknown):
        file_by_link(context, file.filename, exp=exp, sig=sig)


def link_of(file: CreatedFile) -> tuple[int, str]:
    """Return `exp` and `sig` of the file's signed link."""
    query = parse_qs(urlsplit(file.download_url).query)
    return int(query["exp"][0]), query["sig"][0]


def test_link_with_another_file_expiry_or_signature_is_rejected(
    context: Context, owner: Caller
) -> None:
    file, other = make(context, owner), make(context, owner)
    exp, sig = link_of(file)

    for filename, until, signature in (
        (other.filename, exp, sig),
        (file.filename, exp + 1, sig),
        (file.filename, exp, sig[:-1]),
        (file.filename, exp, sig.upper()),
        (file.filename, exp, "é\ud800"),
        (file.filename, exp, ""),
    ):
        with pytest.raises(FileUnknown):
            file_by_link(context, filename, exp=until, sig=signature)


def test_signed_link_to_a_missing_file_is_not_found(context: Context) -> None:
    """The signature is valid; only the file is missing."""
    exp = files.expiry(context.clock())
    sig = files.sign(context.store.write(lambda tx: files.secret_for(tx, 0)), "none.txt", exp)

    with pytest.raises(FileUnknown):
        file_by_link(context, "none.txt", exp=exp, sig=sig)


class TestLinkSecret:
    """Each store has one link secret, which all its servers share."""

    def test_link_secret_is_created_on_first_use(self, context: Context) -> None:
        assert context.store.read(files.secret_of) is None

    def test_link_secret_does_not_change(self, context: Context) -> None:
        secrets = [context.store.write(lambda tx: files.secret_for(tx, 0)) for _ in range(2)]

        assert secrets == [context.store.read(files.secret_of)] * 2
        assert len(secrets[0]) == 32

    def test_link_secret_differs_between_stores(self, context: Context, folder: Path) -> None:
        (folder / "other").mkdir()
        with closing(testing.context(folder / "other")) as other:
            secrets = [
                store_context.store.write(lambda tx: files.secret_for(tx, 0))
                for store_context in (context, other)
            ]

        assert secrets[0] != secrets[1]

    def test_concurrent_first_uses_get_the_same_link_secret(self, context: Context) -> None:
        secrets: list[bytes] = []
        at_once = threading.Barrier(8)

        def one() -> None:
            at_once.wait()
            secrets.append(context.store.write(lambda tx: files.secret_for(tx, 0)))

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(secrets) == 8
        assert len(set(secrets)) == 1

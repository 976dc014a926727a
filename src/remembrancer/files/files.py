"""Created files: names, types, quotas, signed links; stored per account."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import quote

from ..accounts import require_owner, require_write
from ..accounts.idempotency import IdempotentRequest, delete_answers, write_once
from ..context import Caller, Records
from ..protocol import limits
from ..protocol.errors import InvalidRequest, NotFound, Problem, TooLarge
from ..protocol.files import CreatedFile, FileCreate
from ..protocol.forget import FileErased
from ..protocol.service_keys import PREFIX, mask_service_keys, service_key_warning
from ..protocol.text import rfc3339
from ..store import Row, StoreUnavailable, Transaction, load_queries
from ..store.rows import read_row
from .blobs import Blobs, open_blobs
from .types import content_of

# --- Make file names that are safe on every system and readable in every script --------------

# Letters and marks that are invisible, so that two names could look equal: fillers, inherent
# vowels, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DEVICES = re.compile(
    r"(con|prn|aux|nul|(com|lpt)[0-9\u00b9\u00b2\u00b3])\s*(\.|$)", re.IGNORECASE
)  # names that Windows reserves
_MARKS_MAX = 3  # combining marks per letter: more than any script needs
_EXTENSION = re.compile(r"[a-z0-9]{1,10}")


def safe_name(requested: str, extension: str) -> str:
    """Return the safe part of a given name, without the extension; empty if nothing is left.

    The last part of a path: letters of any script, digits, single spaces and `-_.`; at most
    FILENAME_CHARACTERS_MAX characters and FILENAME_BYTES_MAX bytes of UTF-8. It does not begin
    with ` `, `.` or `-`, so it is neither hidden nor read as an option.
    """
    text = unicodedata.normalize("NFC", re.split(r"[/\\]", requested)[-1])
    # again: a mark may now follow the letter before what was removed
    name = unicodedata.normalize("NFC", _clean(_BLANK.sub("", text)))
    if name.lower().endswith(f".{extension}"):
        name = name[: -len(extension) - 1].rstrip(" .")
    if _DEVICES.match(name):
        name = f"_{name}"
    raw = name[: limits.FILENAME_CHARACTERS_MAX].encode()[: limits.FILENAME_BYTES_MAX]
    return raw.decode("utf-8", "ignore").rstrip(" .")  # without a character that was cut in half


def safe_extension(requested: str) -> str:
    """Return the extension of a program's file: at most ten lower-case letters and digits, or
    `bin`.
    """
    lower = requested.lower().removeprefix(".")
    return lower if _EXTENSION.fullmatch(lower) else "bin"


def _clean(text: str) -> str:
    name: list[str] = []
    marks = 0
    for character in text:
        kind = unicodedata.category(character)
        if character.isspace():
            if name and name[-1] != " ":
                name.append(" ")
        elif kind[0] == "M":
            marks += 1
            if name and marks <= _MARKS_MAX and name[-1] != " ":
                name.append(character)
            continue
        elif kind[0] == "L" or kind == "Nd" or character in "-_.":
            name.append(character)
        marks = 0
    return "".join(name).lstrip(" .-").rstrip(" .")


# --- Signed links: anyone with a link can download one file for a limited time, without a key

SQL = load_queries("remembrancer.files", "files.sql")
_NAME = "download"
_SECRET_BYTES = 32


def expiry(now_ms: int) -> int:
    """Return when a link made now expires: seconds since 1970, UTC."""
    return now_ms // 1000 + limits.DOWNLOAD_LINK_MINUTES * 60


def sign(secret: bytes, filename: str, exp: int) -> str:
    """Return the signature for a file until `exp`, in hex."""
    return hmac.digest(secret, f"download\n{exp}\n{filename}".encode(), hashlib.sha256).hex()


def is_signed(secret: bytes, filename: str, exp: int, sig: str, now_ms: int) -> bool:
    """Return True if the signature is ours for this file and has not expired."""
    ours = sign(secret, filename, exp)
    return (
        hmac.compare_digest(ours.encode(), sig.encode("utf-8", "replace")) and now_ms < exp * 1000
    )


def secret_of(tx: Transaction) -> bytes | None:
    """Return the secret that all servers of a store sign with; None if no link was ever made."""
    row = tx.one_or_none(SQL.secret_named, name=_NAME)
    return bytes(row.secret) if row else None


def secret_for(tx: Transaction, now_ms: int) -> bytes:
    """Return the same secret, creating it on first use."""
    return secret_of(tx) or bytes(
        tx.one(
            SQL.keep_secret, name=_NAME, secret=secrets.token_bytes(_SECRET_BYTES), now_ms=now_ms
        ).secret
    )


# --- List the created files of an account and how much of its quota they use -----------------

LISTED = 50  # per page
_AFTER_ALL = (1 << 63) - 1
_PNG_HEAD_BYTES = 24  # signature, length and name of the first chunk, width and height


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A created file. A value that was not recorded at creation is None."""

    filename: str
    size_bytes: int
    created_ms: int
    made_by: str | None  # `file`: created by request; `program`: output of a program
    key_id: int | None  # 0: created in a signed-in browser or on the machine itself
    key: str | None  # label of that key, or its first characters
    user_id: str | None  # the pin of that key

    @property
    def ext(self) -> str:
        """Return the extension of the file name."""
        return self.filename.rpartition(".")[2].lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePage:
    """A page of files, newest first; pass `next` as `before` to get the following page.

    Bytes are counted as in the quota.
    """

    files: list[FileRow]
    next: str | None
    count: int
    used_bytes: int
    bytes_max: int


def list_files(records: Records, caller: Caller, before: str | None = None) -> FilePage:
    """Return a page of the caller's files.

    Raises FileUnknown if `before` is not one of them, StoreUnavailable.
    """

    def read(tx: Transaction) -> tuple[list[Row], Row]:
        at = _AFTER_ALL if before is None else own_file(tx, caller, before).id
        rows = tx.all(SQL.page_of_files, before=at, most=LISTED + 1, user_id=caller.pinned_user_id)
        return rows, tx.one(SQL.room_of)

    rows, room = records.store.read(read, account_id=caller.account_id)
    files = [_file_row(row) for row in rows[:LISTED]]
    return FilePage(
        files=files,
        next=files[-1].filename if len(rows) > LISTED else None,
        count=room.files,
        used_bytes=room.charged_bytes,
        bytes_max=records.settings.account_bytes_max,
    )


def quota_usage(records: Records, caller: Caller) -> list[Row]:
    """Return account, files and charged_bytes of each account, largest first.

    Raises NotOwner, StoreUnavailable.
    """
    require_owner(caller)
    return records.store.read(lambda tx: tx.all(SQL.rooms, most=LISTED))


def picture_size(records: Records, row: Row) -> tuple[int, int] | None:
    """Return width and height of a PNG from its header; None if it is not a PNG.

    Raises BlobsUnavailable.
    """
    if row.size_bytes < _PNG_HEAD_BYTES:
        return None
    head = b"".join(open_blobs(records.settings).read(row.blob, 0, _PNG_HEAD_BYTES))
    if not head.startswith(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"):
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _file_row(row: Row) -> FileRow:
    key = None if row.hint is None else row.label or f"sk_{row.hint}…"
    return read_row(FileRow, row, key=key)


# --- Restore a created file from an export: its name, its times and its content --------------


def restore_file(
    records: Records,
    owner: FileOwner,
    *,
    filename: str,
    blob: str,
    size_bytes: int,
    created_ms: int,
    content: Iterable[bytes],
) -> None:
    """Store a file under its old name, durable on return; nothing if the account has it.

    `blob` is the SHA-256 of the content in hex. Must not be called in a transaction. Raises
    AccountFull, StoreUnavailable and everything that `content` raises, and then stores nothing.
    """

    def add(tx: Transaction) -> None:
        if tx.one_or_none(SQL.file_named, filename=filename) is not None:
            return
        StoredFile(
            records=records, owner=owner, filename=filename, blob=name, size_bytes=size_bytes
        ).insert(tx, created_ms)

    # No other server deletes this content before its row exists.
    with records.store.lock(lock_of(blob)), open_blobs(records.settings).hold(content) as name:
        records.store.write(add, account_id=owner.account_id)


# --- Created files: stored per account, downloaded with a key or by a signed link ------------
# The content is durable before the row is written. A crash between the two leaves a blob without a
# row, which `sweep` deletes.

ORPHAN_HOURS = 1  # a blob this old without a row will not get one
NAMELESS = "file"  # the name of a program's file if no character of its own name is allowed


class FileUnknown(NotFound):
    """Your account has no such file, or the link has expired."""


class NameInvalid(InvalidRequest):
    """The name has no allowed character."""

    def __init__(self) -> None:
        detail = "nothing of this can be a name: it needs a letter or a digit that can be seen"
        super().__init__(
            f"filename: {detail}.", errors=[{"pointer": "/filename", "detail": detail}]
        )


class AccountFull(TooLarge):
    """The account has used its whole file quota."""


def create_file(
    records: Records,
    caller: Caller,
    request: FileCreate,
    idempotency: IdempotentRequest | None = None,
) -> CreatedFile:
    """Store a file for the caller's account.

    Durable on return. Raises NameInvalid, ContentInvalid, ReadOnly, TooLarge (over
    `file_bytes_max`), AccountFull, Conflict as `once`, StoreUnavailable, and then stores nothing.
    """
    if not safe_name(request.filename, request.type):
        raise NameInvalid
    content, note = content_of(request.content, request.type)
    require_write(caller)
    named = [(request.filename, request.type, content)]
    with stored_file(records, FileOwner.of(caller, "file"), named) as files:
        return write_once(
            records, caller.account_id, idempotency, CreatedFile, lambda tx: files[0].add(tx, note)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOwner:
    """The owner of files: an account and, if `pinned_user_id` is not None, only keys with that
    pin.
    """

    account_id: int
    pinned_user_id: str | None
    # the key that creates the file; 0 = a signed-in browser or the machine itself
    key_id: int | None = None
    made_by: Literal["file", "program"] | None = None

    @classmethod
    def of(cls, caller: Caller, made_by: Literal["file", "program"]) -> FileOwner:
        """Return the owner of what a caller creates."""
        return cls(
            account_id=caller.account_id,
            pinned_user_id=caller.pinned_user_id,
            key_id=caller.key_id,
            made_by=made_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file whose content is durable and whose name is final, but which has no row yet."""

    records: Records
    owner: FileOwner
    filename: str
    blob: str
    size_bytes: int
    notice: str | None = None  # about a key in its text

    def add(self, tx: Transaction, note: str | None = None) -> CreatedFile:
        """Write the row; the answer has `note`.

        Raises AccountFull, after which the transaction must be rolled back.
        """
        now_ms = self.records.clock()
        self.insert(tx, now_ms)
        exp, url = expiry(now_ms), f"/download/{quote(self.filename)}"
        signature = sign(secret_for(tx, now_ms), self.filename, exp)
        return CreatedFile(
            filename=self.filename,
            url=url,
            size_bytes=self.size_bytes,
            download_url=f"{url}?exp={exp}&sig={signature}",
            expires_at=rfc3339(exp * 1000),
            detail=" ".join(filter(None, (self.notice, note))) or None,
        )

    def insert(self, tx: Transaction, created_ms: int) -> None:
        """Write the row alone. Raises AccountFull."""
        charge_file(tx, self.size_bytes, self.records.settings.account_bytes_max)
        tx.run(
            SQL.add_file,
            filename=self.filename,
            blob=self.blob,
            size_bytes=self.size_bytes,
            now_ms=created_ms,
            user_id=self.owner.pinned_user_id,
            key_id=self.owner.key_id,
            made_by=self.owner.made_by,
        )


@contextmanager
def stored_file(
    records: Records, owner: FileOwner, files: Sequence[tuple[str, str, bytes]]
) -> Iterator[list[StoredFile]]:
    """Yield files (name, extension, content) that any transaction within the block can add; a file
    not added becomes an orphan.

    Must not be entered in a transaction, because it waits for the disk. Raises TooLarge (over
    `file_bytes_max`), BlobsUnavailable.
    """
    blobs = open_blobs(records.settings)
    named = [_named(records, owner, *file) for file in files]
    stored_files = [file for file, _ in named]
    try:
        with ExitStack() as holds:
            if named:  # no other server deletes this content before our rows exist
                locks = [lock_of(file.blob) for file in stored_files]
                holds.enter_context(records.store.lock(*locks))
            for _, content in named:
                holds.enter_context(blobs.hold(content))
            yield stored_files
    except Problem:
        # now instead of at the next start, so that repeated refused requests cannot fill the disk
        for file in stored_files:
            _delete(records, blobs, file.blob)
        raise


def _named(
    records: Records, owner: FileOwner, filename: str, ext: str, content: bytes
) -> tuple[StoredFile, bytes]:
    """Return a file and its content, with the keys of this service in name and text masked.

    Raises TooLarge.
    """
    text, extension = "", safe_extension(ext)
    if PREFIX.encode("ascii") in content:
        with suppress(UnicodeDecodeError):
            text = content.decode("utf-8")
    notice = service_key_warning(filename, text)
    if notice is not None and text:
        content = mask_service_keys(text).encode("utf-8")
    bytes_max = records.settings.file_bytes_max
    if len(content) > bytes_max:
        raise TooLarge(f"The file has {len(content):,} bytes; the limit is {bytes_max:,}.")
    stem = safe_name(mask_service_keys(filename), extension) or NAMELESS
    file = StoredFile(
        records=records,
        owner=owner,
        filename=f"{stem}-{secrets.token_hex(6)}.{extension}",
        blob=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        notice=notice,
    )
    return file, content


def quota_left(records: Records, account_id: int) -> int:
    """Return the bytes the account may still add; a small file counts as FILE_CHARGED_BYTES_MIN."""
    usage = records.store.read(lambda tx: tx.one(SQL.usage_of), account_id=account_id)
    return max(records.settings.account_bytes_max - int(usage.charged_bytes), 0)


def charge_quota(size_bytes: int) -> int:
    """Return the bytes that a file counts for in the quota."""
    return max(size_bytes, limits.FILE_CHARGED_BYTES_MIN)


def find_file(records: Records, filename: str, caller: Caller) -> Row:
    """Return a file that the caller may read: filename, blob, size_bytes.

    Raises FileUnknown, StoreUnavailable.
    """
    return records.store.read(
        lambda tx: own_file(tx, caller, filename), account_id=caller.account_id
    )


def own_file(tx: Transaction, caller: Caller, filename: str) -> Row:
    """Return a file that the caller may read: id, filename, blob, size_bytes. Raises
    FileUnknown.
    """
    row = _file(tx, caller, filename)
    if row is None:
        raise FileUnknown
    return row


def _file(tx: Transaction, caller: Caller, filename: str) -> Row | None:
    row = tx.one_or_none(SQL.file_named, filename=filename)
    if row is None or row.account_id != caller.account_id:
        return None
    return row if caller.pinned_user_id in (None, row.user_id) else None


def file_exists(tx: Transaction, caller: Caller, filenames: Sequence[str]) -> list[Row]:
    """Return the given files that exist and belong to the caller, with their `size_bytes`."""
    rows = [_file(tx, caller, name) for name in filenames]
    return [row for row in rows if row is not None]


def file_by_link(records: Records, filename: str, *, exp: int, sig: str) -> Row:
    """Return a file by the signature of its link.

    Raises FileUnknown if the signature is invalid or expired, and StoreUnavailable.
    """

    def read(tx: Transaction) -> Row | None:
        secret = secret_of(tx)
        is_good = secret is not None and is_signed(secret, filename, exp, sig, records.clock())
        return tx.one_or_none(SQL.file_named, filename=filename) if is_good else None

    row = records.store.read(read)
    if row is None:
        raise FileUnknown
    return row


def erase_file(
    records: Records, caller: Caller, filename: str, idempotency: IdempotentRequest | None = None
) -> FileErased:
    """Erase a file and free its quota.

    Raises ReadOnly, FileUnknown, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    blobs: list[str] = []

    def make(tx: Transaction) -> FileErased:
        row = own_file(tx, caller, filename)
        _erase(tx, row, blobs)
        return FileErased(erased=True, filename=filename, size_bytes=row.size_bytes)

    answer = write_once(records, caller.account_id, idempotency, FileErased, make)
    remove_blobs(records, blobs)
    return answer


def erase_all(tx: Transaction, blobs: list[str], pinned_to: str | None = None) -> int:
    """Erase the files of the account, or those created by keys with a pin; return their number.

    Their blobs are added to `blobs`, for `remove_blobs`.
    """
    rows = tx.all(SQL.files_of, user_id=pinned_to)
    for row in rows:
        _erase(tx, row, blobs)
    return len(rows)


def remove_blobs(records: Records, blobs: Sequence[str]) -> None:
    """Delete contents that no file uses.

    `sweep` deletes later what cannot be deleted now.
    """
    if blobs:
        engine = open_blobs(records.settings)
        for blob in dict.fromkeys(blobs):
            with suppress(StoreUnavailable):
                _delete(records, engine, blob)


def _erase(tx: Transaction, row: Row, blobs: list[str]) -> None:
    tx.run(SQL.erase_file, id=row.id)
    delete_answers(tx, row.filename)
    tx.run(SQL.uncharge, charged_bytes=charge_quota(row.size_bytes))
    blobs.append(row.blob)


def sweep(records: Records) -> int:
    """Delete contents without a file, left by crashes; return their number.

    Raises StoreUnavailable.
    """
    blobs = open_blobs(records.settings)
    before_ms = records.clock() - ORPHAN_HOURS * 3_600_000
    return sum(_delete(records, blobs, name) for name in blobs.names(before_ms=before_ms))


def charge_file(tx: Transaction, size_bytes: int, bytes_max: int) -> None:
    """Count a new file against the quota of the account. Raises AccountFull."""
    charged_bytes = charge_quota(size_bytes)
    if not tx.run(SQL.charge, charged_bytes=charged_bytes, bytes_max=bytes_max):
        used = tx.one(SQL.usage_of).charged_bytes
        raise AccountFull(
            f"The files of this account use {used:,} of {bytes_max:,} bytes; this one needs"
            f" {charged_bytes:,} more.",
            used_bytes=used,
            bytes_max=bytes_max,
        )


def _delete(records: Records, blobs: Blobs, blob: str) -> bool:
    """Delete a content that no file uses, while no server is adding a file with it.

    Return True if it was deleted.
    """
    with records.store.lock(lock_of(blob)):
        return blobs.delete(blob, unless=partial(_is_used, records, blob))


def lock_of(blob: str) -> str:
    """Return the name of the lock under which a content is added or deleted."""
    return f"blob {blob}"


def _is_used(records: Records, blob: str) -> bool:
    return bool(records.store.read(lambda tx: tx.one(SQL.any_file_of_blob, blob=blob)).found)

"""Signed links: whoever has one can download one file for a while, without a key."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from ..protocol import limits
from ..store import StoreUnavailable

SIGNING_FILE = "download.secret"  # in the data folder, readable by its owner alone
_SECRET_BYTES = 32


def expiry(now_ms: int) -> int:
    """When a link that is made now ends: seconds since 1970, UTC."""
    return now_ms // 1000 + limits.DOWNLOAD_LINK_MINUTES * 60


def sign(secret: bytes, filename: str, exp: int) -> str:
    """The signature for a file until `exp`, in hex."""
    return hmac.digest(secret, f"download\n{exp}\n{filename}".encode(), hashlib.sha256).hex()


def is_good(secret: bytes, filename: str, exp: int, sig: str, now_ms: int) -> bool:
    """Whether the signature is ours for this file and its time is not over."""
    ours = sign(secret, filename, exp)
    return hmac.compare_digest(ours.encode(), sig.encode("utf-8", "replace")) and now_ms < exp * 1000


def secret_in(folder: Path) -> bytes:
    """The secret of a data folder, made the first time. Raises StoreUnavailable."""
    path = folder / SIGNING_FILE
    try:
        secret = path.read_bytes() if path.exists() else _made(path)
    except OSError as error:
        raise StoreUnavailable(f"the secret of download links, {path}: {error}") from error
    if len(secret) != _SECRET_BYTES:
        raise StoreUnavailable(
            f"{path} is not a secret of {_SECRET_BYTES} bytes: remove it to have a new one made; links given out then end"
        )
    return secret


def _made(path: Path) -> bytes:
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another was first: its secret is the one
            os.link(part, path)  # whole at once
    finally:
        part.unlink(missing_ok=True)
    return path.read_bytes()

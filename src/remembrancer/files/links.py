"""Signed links: anyone with a link can download one file for a limited time, without a key."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from ..protocol import limits
from ..store import Transaction, load_queries

SQL = load_queries("remembrancer.files", "links.sql")
_NAME = "download"
_SECRET_BYTES = 32


def expiry(now_ms: int) -> int:
    """Return when a link made now expires: seconds since 1970, UTC."""
    return now_ms // 1000 + limits.DOWNLOAD_LINK_MINUTES * 60


def sign(secret: bytes, filename: str, exp: int) -> str:
    """Return the signature for a file until `exp`, in hex."""
    return hmac.digest(secret, f"download\n{exp}\n{filename}".encode(), hashlib.sha256).hex()


def is_good(secret: bytes, filename: str, exp: int, sig: str, now_ms: int) -> bool:
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

"""The Ed25519 key with which the service signs receipts of erasures and packs of cubes.

The private key is in the store, made on first use. Rotation replaces it and leaves its public half.
Sources: RFC 8032 (Ed25519), RFC 4648 (base64url).
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from ..store import Row, Transaction, load_queries

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SQL = load_queries("remembrancer.accounts", "signing.sql")
_NAME = "receipts"  # older than packs; a new name would make a second key


def signing_key(tx: Transaction, now_ms: int) -> Ed25519PrivateKey:
    """Return the signing key, creating it on first use."""
    key = existing_signing_key(tx)
    if key is None:
        key = _new_key()
        tx.run(SQL.add_key, name=_NAME, secret=key.private_bytes_raw(), now_ms=now_ms)
    return key


def existing_signing_key(tx: Transaction) -> Ed25519PrivateKey | None:
    """Return the signing key; None if nothing was signed yet."""
    # imported here: a start takes 20 ms to load it, and few servers sign
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    row = tx.one_or_none(SQL.signing_key)
    return None if row is None else Ed25519PrivateKey.from_private_bytes(bytes(row.secret))


def replace_signing_key(tx: Transaction, now_ms: int) -> Ed25519PrivateKey:
    """Replace the signing key by a new one and return it; of the old one the public half stays."""
    old = public_bytes(signing_key(tx, now_ms))
    new = _new_key()
    tx.run(SQL.add_key, name=f"{_NAME}:{key_id(old)}", secret=old, now_ms=now_ms)
    tx.run(SQL.replace_key, secret=new.private_bytes_raw(), now_ms=now_ms)
    return new


def retired_keys(tx: Transaction) -> list[Row]:
    """Return the retired public keys, newest first: secret (32 bytes) and created_ms."""
    return tx.all(SQL.retired_keys)


def verify(public: bytes, signature: bytes, content: bytes) -> bool:
    """Return True if the owner of a public key (32 bytes) signed the content.

    Raises ValueError if `public` is no key.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except InvalidSignature:
        return False
    return True


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """Return the public half of a key: 32 bytes."""
    return key.public_key().public_bytes_raw()


def key_id(public: bytes) -> str:
    """Return the id of a public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:16]


def base64url(content: bytes) -> str:
    """Return bytes as base64url without padding."""
    return base64.urlsafe_b64encode(content).decode("ascii").rstrip("=")


def from_base64url(text: str) -> bytes:
    """Return the bytes of a base64url text, with or without padding. Raises ValueError."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _new_key() -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()

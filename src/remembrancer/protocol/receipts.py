"""Signed receipts of erasures, and the public keys that verify them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .message import ABSENT_IF_NONE, Message

FORMAT = "remembrancer-erasure/1"
EVENT_IDS_MAX = 500  # listed in a statement; the digest covers any number

Hex = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ErasureScope(Message):
    """Selection of an erasure.

    Names are salted hashes: SHA-256 of the receipt's id, the kind of name and the name, joined by
    line feeds, in hex. Who knows a name can check that the receipt is about it.
    """

    kind: Annotated[
        Literal["event", "session", "period", "files", "user", "account"],
        Field(description="What was erased; `files`: memory files."),
    ]
    user: Annotated[str | None, ABSENT_IF_NONE, Field(description="Hash of the user_id.")] = None
    session: Annotated[str | None, ABSENT_IF_NONE, Field(description="Hash of the session_id.")] = (
        None
    )
    path: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Hash of the path of memory files.")
    ] = None
    after: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Start of the period (RFC 3339, UTC).")
    ] = None
    before: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="End of the period (RFC 3339, UTC).")
    ] = None


class ErasureAudit(Message):
    """The entry of the audit trail that records the erasure."""

    seq: Annotated[int, Field(description="Number of the entry.")]
    hash: Annotated[str, Field(description="Hash of the entry, SHA-256 in hex.")]


class ErasureStatement(Message):
    """The signed text of a receipt, as JSON. It repeats nothing that was erased."""

    format: Annotated[str, Field(description=f"`{FORMAT}`.")] = FORMAT
    receipt_id: Annotated[str, Field(description="Id of the receipt.")]
    at: Annotated[str, Field(description="Time of the erasure (RFC 3339, UTC).")]
    account: Annotated[str, Field(description="Hash of the account's name, as in `scope`.")]
    scope: ErasureScope
    counts: Annotated[dict[str, int], Field(description="Number of erased items by kind.")]
    event_ids: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description=f"Ids of the erased turns, if they are at most {EVENT_IDS_MAX}."),
    ] = None
    event_ids_digest: Annotated[
        str,
        Field(
            description="Sum of the SHA-256 of the ids of all erased turns, modulo 2^256, in hex."
        ),
    ]
    audit: ErasureAudit


class SignedReceipt(Message):
    """A statement of the service about an erasure, and its signature."""

    statement: Annotated[
        str, Field(description="The signed text: JSON of an `ErasureStatement`, byte for byte.")
    ]
    key_id: Annotated[
        str, Field(description="Key that signed it: `kid` of `/api/v7/receipts/keys`.")
    ]
    signature: Annotated[
        str, Field(description="Ed25519 signature of the UTF-8 text, as base64url without padding.")
    ]


class ReceiptKey(Message):
    """A public key as a JSON Web Key (RFC 8037)."""

    kty: Annotated[Literal["OKP"], Field(description="Key type.")] = "OKP"
    crv: Annotated[Literal["Ed25519"], Field(description="Curve.")] = "Ed25519"
    kid: Annotated[
        str, Field(description="Key id: the first 16 hex digits of the SHA-256 of the key.")
    ]
    x: Annotated[str, Field(description="The public key, as base64url without padding.")]
    retired_at: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Time at which another key took its place (RFC 3339, UTC)."),
    ] = None


class ReceiptKeys(Message):
    """Answer of `GET /api/v7/receipts/keys`: a JSON Web Key Set."""

    keys: Annotated[
        list[ReceiptKey], Field(description="The key that signs now, then retired ones.")
    ]

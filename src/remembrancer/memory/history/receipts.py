"""Sign receipts of erasures with Ed25519, so that anybody with the public key can verify them.

The private key is in the store, made on first use. Rotation replaces it and leaves its public half.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from pydantic import ValidationError

from ...accounts.signing import (
    base64url,
    existing_signing_key,
    from_base64url,
    key_id,
    public_bytes,
    replace_signing_key,
    retired_keys,
    signing_key,
    verify,
)
from ...context import Caller, Records
from ...permissions.audit import SQL as AUDIT
from ...permissions.audit import add_entry, canonical
from ...protocol.forget import (
    EVENT_IDS_MAX,
    FORMAT,
    ErasureAudit,
    ErasureScope,
    ErasureStatement,
    Forget,
    ReceiptKey,
    ReceiptKeys,
    SignedReceipt,
)
from ...protocol.text import rfc3339
from ...store import Row, Transaction, load_queries
from ..links import EraseRange
from ..spaces import milliseconds, space_of

SQL = load_queries("remembrancer.memory.history", "receipts.sql")
_PAGE = 10_000


class ReceiptInvalid(Exception):
    """The receipt does not verify; the message says why."""


@dataclass(slots=True)
class EventIds:
    """The ids of erased turns: a digest of all, and the ids themselves while they are few."""

    count: int = 0
    total: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, rows: list[Row]) -> None:
        """Add the `event_id` of each row."""
        for row in rows:
            self.total += int.from_bytes(hashlib.sha256(row.event_id.encode()).digest(), "big")
            if self.count < EVENT_IDS_MAX:
                self.first.append(row.event_id)
            self.count += 1

    def add_range(self, tx: Transaction, erase_range: EraseRange) -> None:
        """Add all turns of a range of ids, page by page."""
        low = erase_range.low
        while rows := tx.all(SQL.ids_of_events, low=low, high=erase_range.high, most=_PAGE):
            self.add(rows)
            low = rows[-1].id + 1

    @property
    def listed(self) -> list[str] | None:
        """The ids in alphabetical order; None if they are too many to list."""
        return sorted(self.first) if self.count <= EVENT_IDS_MAX else None

    @property
    def digest(self) -> str:
        """The sum of their SHA-256, modulo 2^256, in hex."""
        return f"{self.total % 2**256:064x}"


def pseudonym(receipt_id: str, kind: str, name: str) -> str:
    """Return the salted hash of a name."""
    return hashlib.sha256(f"{receipt_id}\n{kind}\n{name}".encode()).hexdigest()


def named_scope(receipt_id: str, kind: str, **values: str | None) -> ErasureScope:
    """Return a scope with hashes in place of names; `after` and `before` stay."""
    return ErasureScope.model_validate(
        {
            "kind": kind,
            **{
                key: value if key in ("after", "before") else pseudonym(receipt_id, key, value)
                for key, value in values.items()
                if value is not None
            },
        }
    )


def scope_of(request: Forget, user_id: str | None) -> dict[str, str | None]:
    """Return the selection of a request for its receipt."""
    if user_id is None:
        return {"kind": "account"}
    times = [
        None if moment is None else rfc3339(milliseconds(moment, 0))
        for moment in (request.after, request.before)
    ]
    kind = "user"
    if request.path is not None:
        kind = "files"
    elif any(times):
        kind = "period"
    elif request.session_id is not None:
        kind = "session"
    return {
        "kind": kind,
        "user": user_id,
        "session": request.session_id,
        "path": request.path,
        "after": times[0],
        "before": times[1],
    }


def sign_event(
    records: Records, tx: Transaction, caller: Caller, row: Row, *, facts: int
) -> SignedReceipt:
    """Record and sign the erasure of one turn, as `sign_erasure` does."""
    user_id = tx.one(SQL.user_of_space, id=space_of(row.id)).user_id
    scope = {"kind": "event", "user": user_id, "session": row.session_id}
    event_ids = EventIds()
    event_ids.add([row])
    return sign_erasure(records, tx, caller, scope, {"events": 1, "facts": facts}, event_ids)


def sign_erasure(
    records: Records,
    tx: Transaction,
    caller: Caller,
    scope: dict[str, str | None],
    counts: dict[str, int],
    event_ids: EventIds,
) -> SignedReceipt:
    """Record an erasure in the audit trail, and return a signed statement about it.

    Call it in the transaction of the erasure. `scope` has `kind` and the names of the selection.
    """
    now_ms, receipt_id = records.clock(), records.ids("er_")
    seq = add_entry(tx, caller, now_ms, kind="erase", receipt_id=receipt_id)
    statement = ErasureStatement(
        receipt_id=receipt_id,
        at=rfc3339(now_ms),
        account=pseudonym(receipt_id, "account", caller.account_name),
        scope=named_scope(receipt_id, **scope),  # type: ignore[arg-type]
        counts={name: count for name, count in counts.items() if count},
        event_ids=event_ids.listed,
        event_ids_digest=event_ids.digest,
        audit=ErasureAudit(seq=seq, hash=tx.one(AUDIT.head).hash),
    )
    text = canonical(statement.model_dump())
    key = signing_key(tx, now_ms)
    return SignedReceipt(
        statement=text,
        key_id=key_id(public_bytes(key)),
        signature=base64url(key.sign(text.encode())),
    )


def receipt_keys(records: Records) -> ReceiptKeys:
    """Return the public keys, the one that signs now first, creating it on first use."""

    def write(tx: Transaction) -> ReceiptKeys:
        key = signing_key(tx, records.clock())
        return ReceiptKeys(
            keys=[
                _jwk(public_bytes(key)),
                *(_jwk(bytes(row.secret), row.created_ms) for row in retired_keys(tx)),
            ]
        )

    if records.store.read(existing_signing_key) is None:
        return records.store.write(write)
    return records.store.read(write)


def rotate_receipt_key(records: Records) -> ReceiptKey:
    """Replace the signing key; return the new public key.

    The old private key is erased. Its public half stays, so that old receipts verify.
    """
    now_ms = records.clock()
    new = records.store.write(lambda tx: public_bytes(replace_signing_key(tx, now_ms)))
    return _jwk(new)


def verify_receipt(receipt: SignedReceipt, keys: ReceiptKeys) -> ErasureStatement:
    """Return the statement of a receipt that one of the keys signed. Raises ReceiptInvalid."""
    key = next((key for key in keys.keys if key.kid == receipt.key_id), None)
    if key is None:
        raise ReceiptInvalid(f"The receipt is signed with {receipt.key_id}, which is not a key.")
    try:
        public = from_base64url(key.x)
        if key_id(public) != key.kid:
            raise ReceiptInvalid(f"The key {key.kid} does not have its id.")
        if not verify(public, from_base64url(receipt.signature), receipt.statement.encode()):
            raise ReceiptInvalid("The signature is not of this statement and key.")
        statement = ErasureStatement.model_validate_json(receipt.statement)
    except (ValueError, ValidationError) as error:
        raise ReceiptInvalid("The receipt or the key is damaged.") from error
    if statement.format != FORMAT:
        raise ReceiptInvalid(f"The statement has the format {statement.format!r}.")
    return statement


def _jwk(public: bytes, retired_ms: int | None = None) -> ReceiptKey:
    return ReceiptKey(
        kid=key_id(public),
        x=base64url(public),
        retired_at=None if retired_ms is None else rfc3339(retired_ms),
    )

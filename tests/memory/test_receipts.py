"""Signed receipts of erasures: verified by others, without erased words, across key rotation."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from command import Cli
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from service import Http, body_of

from remembrancer.context import Context
from remembrancer.memory.history.forget import (
    ReceiptInvalid,
    receipt_keys,
    rotate_receipt_key,
    verify_receipt,
)
from remembrancer.permissions.audit import ChainLink
from remembrancer.permissions.audit import verify as verify_audit
from remembrancer.protocol.forget import SignedReceipt

FORGET = "/api/v7/memory/forget"
WORDS = ("Marta", "boat", "holiday-plans", "owner", "Lisbon")


def remember(http: Http, n: int = 0) -> str:
    turn = ("Who has the boat?", f"Marta {n}, in Lisbon.")
    return str(http.remember(*turn, session_id="holiday-plans")["event_id"])


def erase_event(http: Http) -> dict[str, Any]:
    return dict(http.delete(f"/api/v7/event/{remember(http)}").json())


def forget(**selection: object) -> Callable[[Http], dict[str, Any]]:
    def erase(http: Http) -> dict[str, Any]:
        for n in range(3):
            remember(http, n)
        return dict(body_of(http.post(FORGET, selection)))

    return erase


ERASURES = {
    "event": erase_event,
    "session": forget(session_id="holiday-plans"),
    "period": forget(after="2020-01-01T00:00:00Z"),
    "user": forget(user_id="owner", confirm="owner"),
    "account": forget(account=True, confirm="owner"),
}


def public_key(http: Http, kid: str) -> Ed25519PublicKey:
    """Return a key as somebody without an account gets it."""
    keys = http.with_key(None).get("/api/v7/receipts/keys").json()["keys"]
    [x] = [key["x"] for key in keys if key["kid"] == kid]
    return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "="))


def signature_of(receipt: dict[str, str]) -> bytes:
    return base64.urlsafe_b64decode(receipt["signature"] + "==")


def digest_of(event_ids: Iterable[str]) -> str:
    """Return the sum of the hashes of events, as a receipt has it."""
    hashes = (hashlib.sha256(event_id.encode()).digest() for event_id in event_ids)
    return f"{sum(int.from_bytes(one, 'big') for one in hashes) % 2**256:064x}"


@pytest.mark.parametrize("kind", ERASURES)
def test_receipt_is_signed_by_the_published_key_and_repeats_no_erased_word(
    http: Http, kind: str
) -> None:
    """Every kind of erasure is signed (specification.md#forget-receipt, #forget-receipt-keys)."""
    answer = ERASURES[kind](http)
    receipt = answer["receipt"]
    statement = json.loads(receipt["statement"])

    public_key(http, receipt["key_id"]).verify(
        signature_of(receipt), receipt["statement"].encode()
    )  # raises if it does not
    assert statement["scope"]["kind"] == kind
    events = 1 if kind == "event" else 3
    assert statement["counts"]["events"] == events == len(statement["event_ids"])
    assert statement["event_ids_digest"] == digest_of(statement["event_ids"])
    assert statement["at"] == answer["at"]
    assert [word for word in WORDS if word.lower() in receipt["statement"].lower()] == []


def test_erasure_is_in_the_audit_trail_that_the_receipt_names(http: Http) -> None:
    statement = json.loads(ERASURES["user"](http)["receipt"]["statement"])
    entries = http.get("/api/v7/sysperm/audit").json()["entries"]
    [entry] = [entry for entry in entries if entry["kind"] == "erase"]

    assert entry["receipt_id"] == statement["receipt_id"]
    assert statement["audit"] == {"seq": entry["seq"], "hash": entry["hash"]}
    assert verify_audit(http.context, ChainLink(**statement["audit"])).seq >= entry["seq"]


def test_receipts_of_a_retired_key_verify_and_its_private_half_is_gone(
    http: Http, context: Context
) -> None:
    """Rotation keeps old receipts valid (specification.md#forget-receipt-rotation)."""
    old = SignedReceipt.model_validate(ERASURES["event"](http)["receipt"])
    private = context.store.read(
        lambda tx: bytes(tx.one("select secret from secrets where name = 'receipts'").secret)
    )
    rotate_receipt_key(context)
    new = SignedReceipt.model_validate(ERASURES["event"](http)["receipt"])
    keys = receipt_keys(context)

    assert old.key_id != new.key_id == keys.keys[0].kid
    assert [key.retired_at is None for key in keys.keys] == [True, False]
    assert {verify_receipt(one, keys).scope.kind for one in (old, new)} == {"event"}
    secrets = context.store.read(lambda tx: tx.all("select secret from secrets"))
    assert private not in [bytes(row.secret) for row in secrets]


@pytest.mark.parametrize(
    "change",
    [
        lambda receipt: {"statement": receipt["statement"].replace('"events":1', '"events":0')},
        lambda receipt: {"statement": receipt["statement"] + " "},
        lambda receipt: {"key_id": "0" * 16},
        lambda receipt: {"signature": "A" * 86},
        lambda receipt: {"signature": "not base64 !"},
        lambda receipt: {"signature": ""},
    ],
)
def test_changed_receipt_is_refused(
    http: Http, context: Context, change: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    receipt = ERASURES["event"](http)["receipt"]
    changed = SignedReceipt.model_validate({**receipt, **change(receipt)})

    with pytest.raises(ReceiptInvalid):
        verify_receipt(changed, receipt_keys(context))


def test_command_verifies_with_saved_keys_and_without_a_store(http: Http, tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(ERASURES["user"](http)))
    (tmp_path / "keys.json").write_text(http.get("/api/v7/receipts/keys").text)
    empty = Cli(tmp_path / "empty")
    words = ("receipts", "verify", str(tmp_path / "answer.json"), "--keys")
    good = empty(*words, str(tmp_path / "keys.json"))
    rotate_receipt_key(http.context)
    document = http.get("/api/v7/receipts/keys").json()
    (tmp_path / "other.json").write_text(json.dumps({"keys": document["keys"][:1]}))
    other = empty(*words, str(tmp_path / "other.json"))
    not_json = empty(*words, __file__)

    assert (good.returncode, json.loads(good.stdout)["scope"]["kind"]) == (0, "user")
    assert (other.returncode, "not a key" in other.stderr) == (1, True)
    assert not_json.returncode == 2
    assert not (tmp_path / "empty").exists()


def test_openssl_verifies_a_receipt(http: Http, tmp_path: Path) -> None:
    """As docs/guides/forget.md says, with a program that is not ours."""
    receipt = ERASURES["event"](http)["receipt"]
    key = public_key(http, receipt["key_id"])
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "signature").write_bytes(signature_of(receipt))
    (tmp_path / "statement").write_bytes(receipt["statement"].encode())
    words = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "key.pem"]
    words += ["-sigfile", "signature", "-in", "statement"]
    try:
        verified = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")

    assert verified.returncode == 0, verified.stderr

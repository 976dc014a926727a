"""API keys: format, lifecycle, authentication and secrecy."""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import pickle
import re
import zlib
from functools import partial
from pathlib import Path

import pytest
from engines import only_sqlite
from hypothesis import given
from hypothesis import strategies as st
from together import together

from remembrancer import accounts
from remembrancer.accounts import keys
from remembrancer.accounts.keys import KeyRefused
from remembrancer.context import Context
from remembrancer.protocol.errors import InvalidRequest, Unauthorized
from remembrancer.protocol.service_keys import is_service_key

KEY_PLACES = range(len(keys.mint()))


def created(context: Context, account: str = "ada", **key: object) -> str:
    """Create a key and return its text."""
    return keys.create(context, account=account, **key).key.reveal()  # type: ignore[arg-type]


def refusal(context: Context, text: str) -> KeyRefused:
    with pytest.raises(KeyRefused) as refused:
        keys.authenticate(context, text)
    return refused.value


def test_key_is_sk_and_56_hex_digits_and_their_crc32() -> None:
    """A key carries its own checksum (specification.md#auth-key-format)."""
    key = keys.mint()

    assert re.fullmatch("sk_[0-9a-f]{64}", key)
    assert int(key[-8:], 16) == zlib.crc32(key[:-8].encode())
    assert is_service_key(key)
    assert len({keys.mint() for _ in range(100)}) == 100


@given(st.sampled_from(KEY_PLACES), st.characters())
def test_checksum_detects_any_wrong_character(place: int, character: str) -> None:
    """CRC32 detects every burst error of up to 32 bits, and so every single wrong character."""
    key = keys.mint()
    wrong = key[:place] + character + key[place + 1 :]

    assert is_service_key(wrong) == (wrong == key)


def test_mistyped_key_is_rejected_without_a_lookup(context: Context) -> None:
    """The store is closed, so a lookup would fail (specification.md#auth-key-format)."""
    key = created(context)
    context.store.close()

    assert refusal(context, key[:-1] + ("0" if key[-1] != "0" else "1")).reason == "malformed"
    with pytest.raises(Exception, match="closed"):
        keys.authenticate(context, key)


def test_valid_key_identifies_account_user_and_rights(context: Context) -> None:
    first = keys.create(context, account="ada")
    second = keys.create(context, account="bob", user_id="bob's phone", read_only=True)

    ada, bob = (keys.authenticate(context, one.key.reveal()) for one in (first, second))

    assert (ada.account_name, ada.is_owner, ada.key_id) == ("ada", True, first.id)
    assert (ada.pinned_user_id, ada.read_only) == (None, False)
    assert (bob.account_name, bob.is_owner, bob.key_id) == ("bob", False, second.id)
    assert (bob.pinned_user_id, bob.read_only) == ("bob's phone", True)
    assert ada.account_id != bob.account_id


def test_only_the_first_account_is_the_owner(context: Context) -> None:
    """The first account is the owner (specification.md#auth-owner)."""
    names = ("ada", "bob", "ada", "cyd")
    made_as_owner = [keys.create(context, account=name).is_owner for name in names]
    listed = [(one.name, one.role, one.keys) for one in accounts.list_accounts(context)]

    assert made_as_owner == [True, False, True, False]
    assert listed == [("ada", "owner", 2), ("bob", "member", 1), ("cyd", "member", 1)]


def test_concurrent_first_accounts_create_one_owner(context: Context) -> None:
    together(*(partial(created, context, f"account {n}") for n in range(12)))

    assert sorted(account.role for account in accounts.list_accounts(context)) == [
        "member"
    ] * 11 + ["owner"]


def test_only_the_digest_and_a_hint_of_a_key_are_stored(context: Context, folder: Path) -> None:
    """Only the SHA-256 and a hint are stored (specification.md#auth-key-storage)."""
    key = created(context)
    row = context.store.read(lambda tx: tx.one_or_none("select digest, hint from keys"))
    context.close()
    stored = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())

    assert row == (hashlib.sha256(key.encode()).digest(), key[3:11])
    assert key[:12].encode() not in stored
    assert key[11:].encode() not in stored


def test_new_key_is_visible_only_with_reveal(
    context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    new = keys.create(context, account="ada")
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("any").warning("made %s %r", new, new.key)
    visible = [repr(new), str(new.key), f"{new.key}", f"{new.key!s:>80}", caplog.text]
    visible.append(json.dumps(new.key, default=repr))

    assert new.key.reveal().startswith("sk_" + new.hint)
    assert [text for text in visible if new.key.reveal()[3:20] in text] == []
    for copying in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="secret"):
            copying(new.key)


def test_rejected_keys_get_one_response_and_a_logged_reason(context: Context) -> None:
    """A caller cannot learn which keys exist; only an expired key is reported as such."""
    unknown, expired = keys.mint(), created(context, expires_in_ms=1)
    revoked = keys.create(context, account="ada")
    both = keys.create(context, account="ada", expires_in_ms=1)
    for one in (revoked, both):
        keys.revoke(context, one.id)
    context.clock.advance(1)  # type: ignore[attr-defined]
    texts = {
        "sk_": "malformed",
        unknown: "unknown",
        revoked.key.reveal(): "revoked",
        both.key.reveal(): "revoked",
        expired: "expired",
    }

    refusals = [refusal(context, text) for text in texts]

    assert [refused.reason for refused in refusals] == [*texts.values()]
    assert all(isinstance(refused, Unauthorized) and refused.status == 401 for refused in refusals)
    bodies = [json.dumps(refused.body("request"), sort_keys=True) for refused in refusals]
    assert len(set(bodies[:4])) == 1
    assert "expired" in bodies[4]
    assert [text for text in [*texts][1:] if any(text[3:] in body for body in bodies)] == []
    assert all(one.last_used_ms is None for one in keys.list_keys(context))


def test_key_is_revoked_once_and_others_stay_valid(context: Context) -> None:
    revoked, other = keys.create(context, account="ada"), keys.create(context, account="ada")

    assert keys.revoke(context, revoked.id) is True
    assert keys.revoke(context, revoked.id) is False
    assert keys.revoke(context, 4711) is False
    assert keys.authenticate(context, other.key.reveal()).key_id == other.id
    assert accounts.list_accounts(context)[0].keys == 1


def test_read_only_store_still_authenticates_keys(context: Context) -> None:
    """The last use is not recorded, but the request succeeds."""
    only_sqlite()
    key = created(context)
    context.store.write(lambda tx: tx.all("pragma query_only = on"))

    assert keys.authenticate(context, key).account_name == "ada"
    assert keys.list_keys(context)[0].last_used_ms is None


def test_invalid_key_attributes_are_rejected_and_nothing_stored(context: Context) -> None:
    wrong: dict[str, list[object]] = {
        "account": ["", " \t ", "x" * 201, "two\nlines", "bell\x07", "nul\x00", "half \ud83e",
                    "line\u2028separator"],
        "label": ["x" * 201, "\x1b[31mred"],
        "user_id": ["", " padded ", "x" * 257],
        "expires_in_ms": [0, -1, 10**15],
    }  # fmt: skip
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(InvalidRequest):
                created(context, **{"account": "ada", name: value})  # type: ignore[arg-type]

    assert accounts.list_accounts(context) == []

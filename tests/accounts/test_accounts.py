"""Default user id, pinned keys and read-only keys."""

from __future__ import annotations

import pytest

from remembrancer.accounts import (
    KeyIsReadOnly,
    PinnedToOtherUser,
    default_user_id,
    require_write,
    space_user_id,
)
from remembrancer.context import Caller
from remembrancer.protocol.errors import Forbidden


def caller(*, pin: str | None = None, read_only: bool = False) -> Caller:
    return Caller(
        account_id=1,
        account_name="ada",
        is_owner=False,
        key_id=1,
        pinned_user_id=pin,
        read_only=read_only,
    )


def test_default_user_id_is_the_pin_or_the_account_name() -> None:
    """The default is the key's pin, else the account's name.

    See specification.md#auth-default-user.
    """
    assert default_user_id(caller()) == "ada"
    assert default_user_id(caller(pin="phone")) == "phone"


def test_key_without_a_pin_accepts_any_user_id() -> None:
    assert space_user_id(caller(), None) == "ada"
    assert space_user_id(caller(), "anyone") == "anyone"


def test_pinned_key_rejects_another_user_id() -> None:
    """A pin admits no other user, not even the account's name (specification.md#auth-pinned)."""
    assert space_user_id(caller(pin="phone"), None) == "phone"
    assert space_user_id(caller(pin="phone"), "phone") == "phone"
    for user_id in ("ada", "Phone", ""):
        with pytest.raises(PinnedToOtherUser) as refused:
            space_user_id(caller(pin="phone"), user_id)
        assert isinstance(refused.value, Forbidden)
        assert refused.value.status == 403
        assert "phone" not in refused.value.detail


def test_read_only_key_cannot_write() -> None:
    require_write(caller())
    with pytest.raises(KeyIsReadOnly) as refused:
        require_write(caller(read_only=True))

    assert refused.value.status == 403

"""Browser sessions: sign-in, expiry, sign-out and password confirmation."""

from __future__ import annotations

import pytest

from remembrancer import testing
from remembrancer.accounts.sign_in import (
    CONFIRMED_MS,
    IDLE_MS,
    LIFETIME_MS,
    BrowserSession,
    SignInRefused,
    accept,
    confirm,
    find_session,
    invite,
    sign_in,
)
from remembrancer.context import Context


@pytest.fixture
def owner(context: Context) -> int:
    """Return the id of the owner's account."""
    return accept(context, invite(context, "owner").reveal(), "correct horse battery")


def test_session_expires_after_the_idle_time(
    context: Context, owner: int, clock: testing.FrozenClock
) -> None:
    token = sign_in(context, owner)
    clock.advance(IDLE_MS - 1)
    just_before = find_session(context, token)
    clock.advance(IDLE_MS - 1)
    after_use = find_session(context, token)
    clock.advance(IDLE_MS)

    assert just_before
    assert after_use
    assert find_session(context, token) is None


def test_session_expires_after_its_lifetime_despite_use(
    context: Context, owner: int, clock: testing.FrozenClock
) -> None:
    token, hours = sign_in(context, owner), 6 * 3_600_000
    for _ in range(LIFETIME_MS // hours - 1):
        clock.advance(hours)
        assert find_session(context, token)
    clock.advance(hours)

    assert find_session(context, token) is None


class TestConfirm:
    """Granting needs a recent password check (specification.md#console-step-up)."""

    def session(self, context: Context, token: str) -> BrowserSession:
        browser_session = find_session(context, token)
        assert browser_session is not None
        return browser_session

    def test_password_confirms_only_this_session(
        self, context: Context, owner: int, clock: testing.FrozenClock
    ) -> None:
        token, other = sign_in(context, owner), sign_in(context, owner)
        clock.advance(CONFIRMED_MS)
        confirm(context, self.session(context, token), token, "correct horse battery")

        assert self.session(context, token).is_confirmed
        assert not self.session(context, other).is_confirmed

    def test_wrong_password_does_not_confirm(
        self, context: Context, owner: int, clock: testing.FrozenClock
    ) -> None:
        """Nor does that of another account."""
        accept(context, invite(context, "ada").reveal(), "another horse battery")
        token = sign_in(context, owner)
        clock.advance(CONFIRMED_MS)

        for password in ("", "another horse battery", "\0", "\ud800"):
            with pytest.raises(SignInRefused):
                confirm(context, self.session(context, token), token, password)
            assert not self.session(context, token).is_confirmed

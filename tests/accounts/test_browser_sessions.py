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
    browser_name,
    confirm,
    find_session,
    invite,
    list_browsers,
    sign_in,
)
from remembrancer.context import Context


@pytest.fixture
def owner(context: Context) -> int:
    """Return the id of the owner's account."""
    return accept(context, invite(context, "owner").reveal(), "correct horse battery")


def test_session_identifies_its_account(context: Context, owner: int) -> None:
    session = find_session(context, sign_in(context, owner))

    assert session is not None
    assert (session.account_id, session.account_name) == (owner, "owner")
    assert session.is_owner
    for token in ("", "x", "\ud800", "a" * 43):
        assert find_session(context, token) is None


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


def test_expired_sessions_are_deleted(
    context: Context, owner: int, clock: testing.FrozenClock
) -> None:
    sign_in(context, owner)
    clock.advance(LIFETIME_MS)
    sign_in(context, owner)

    assert (
        context.store.read(lambda tx: tx.one("select count(*) as n from browser_sessions")).n == 1
    )


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


WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
BROWSERS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
    f"(Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/150.0.0.0 Safari/537.36": "Chrome on Windows",
    f"(Windows NT 10.0) {WEBKIT} Chrome/150.0.0.0 Safari/537.36 Edg/150.0": "Edge on Windows",
    f"(Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Version/26.0 Safari/605.1": "Safari on macOS",
    f"(iPhone; CPU iPhone OS 26_0 like Mac OS X) {WEBKIT} Mobile Safari/604.1": "Safari on iPhone",
    f"(Linux; Android 10; K) {WEBKIT} Chrome/150.0.0.0 Mobile Safari/537.36": "Chrome on Android",
    "curl/8.14": "",
    "<script>Linux": "Linux",
    "": "",
}


def test_browser_name_is_read_from_the_user_agent() -> None:
    assert {user_agent: browser_name(user_agent) for user_agent in BROWSERS} == BROWSERS


def test_active_browsers_are_listed_latest_first(
    context: Context, clock: testing.FrozenClock
) -> None:
    ada, bo = (
        accept(context, invite(context, name).reveal(), "correct horse battery")
        for name in ("ada", "bo")
    )
    sign_in(context, ada, "ended")
    clock.advance(IDLE_MS)
    first = sign_in(context, ada, "first")
    clock.advance(60_000)
    sign_in(context, ada, "second")
    sign_in(context, bo, "of another")
    session = find_session(context, first)
    assert session is not None
    clock.advance(60_000)
    find_session(context, first)

    browsers = list_browsers(context, session, first)
    assert [(browser.name, browser.is_this) for browser in browsers] == [
        ("first", True),
        ("second", False),
    ]
    assert browsers[0].used_ms == clock.now_ms

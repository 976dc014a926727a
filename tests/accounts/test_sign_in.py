"""Passwords and lockout, invitation links, and browser sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from remembrancer import testing
from remembrancer.accounts.sign_in import (
    CONFIRMED_MS,
    FREE_FAILURES,
    IDLE_MS,
    LIFETIME_MS,
    BrowserSession,
    InvitationUnknown,
    PasswordUnfit,
    SignInRefused,
    SignInTooOften,
    accept,
    account_of,
    confirm,
    find_session,
    invitation_account,
    invite,
    sign_in,
)
from remembrancer.context import Context
from remembrancer.protocol import limits

GOOD = "correct horse battery"


@pytest.fixture
def ada(context: Context) -> int:
    """An account with the password GOOD."""
    return accept(context, invite(context, "ada").reveal(), GOOD)


def fail_sign_ins(context: Context, name: str, times: int) -> list[str]:
    """Return the errors of repeated attempts with a wrong password."""
    errors = []
    for _ in range(times):
        with pytest.raises((SignInRefused, SignInTooOften)) as caught:
            account_of(context, name, "wrong horse battery")
        errors.append(type(caught.value).__name__)
    return errors


def test_password_is_stored_only_as_argon2id_hash(context: Context, ada: int, folder: Path) -> None:
    """docs/decisions/0012-argon2.md: OWASP's profile."""
    stored = context.store.read(lambda tx: tx.one("select hash from passwords")).hash
    context.close()

    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert GOOD.encode() not in b"".join(
        file.read_bytes() for file in folder.iterdir() if file.is_file()
    )


def test_invalid_password_is_rejected_and_the_link_still_works(context: Context) -> None:
    """Those of the minimum and the maximum length are accepted."""
    least, most = limits.PASSWORD_CHARACTERS_MIN, limits.PASSWORD_CHARACTERS_MAX
    wrong = ["", "x" * (least - 1), "x" * (most + 1), "nul \0 nul nul", "half \ud800 a letter"]
    for name, length in (("ada", least), ("bob", most)):
        token = invite(context, name).reveal()
        for password in wrong:
            with pytest.raises(PasswordUnfit):
                accept(context, token, password)

        account = accept(context, token, "x" * length)
        assert account_of(context, name, "x" * length) == account


def test_repeated_failures_lock_existing_and_unknown_names(context: Context, ada: int) -> None:
    """Failed sign-ins lock a name, and no other (specification.md#console-lockout)."""
    for name in ("nobody", "ada"):
        assert account_of(context, "ada", GOOD) == ada
        errors = fail_sign_ins(context, name, FREE_FAILURES + 2)
        assert errors == ["SignInRefused"] * FREE_FAILURES + ["SignInTooOften"] * 2


def test_each_failure_doubles_the_lockout_up_to_an_hour(
    context: Context, ada: int, clock: testing.FrozenClock
) -> None:
    fail_sign_ins(context, "ada", FREE_FAILURES)
    waits = []
    for _ in range(9):
        with pytest.raises(SignInTooOften) as caught:
            account_of(context, "ada", GOOD)
        waits.append(caught.value.extra["retry_after"])
        clock.advance(waits[-1] * 1000)
        fail_sign_ins(context, "ada", 1)

    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]


def test_lockout_ends_on_time_and_success_resets_it(
    context: Context, ada: int, clock: testing.FrozenClock
) -> None:
    fail_sign_ins(context, "ada", FREE_FAILURES)
    with pytest.raises(SignInTooOften) as caught:
        account_of(context, "ada", GOOD)
    clock.advance(29_999)
    too_early = fail_sign_ins(context, "ada", 1)
    clock.advance(1)

    assert caught.value.extra["retry_after"] == 30
    assert (too_early, account_of(context, "ada", GOOD)) == (["SignInTooOften"], ada)
    assert fail_sign_ins(context, "ada", FREE_FAILURES) == ["SignInRefused"] * FREE_FAILURES


BETTER = "another horse battery"
DAY_MS = limits.INVITATION_HOURS * 3_600_000


def test_invitation_works_once_for_a_day_until_a_newer_one(
    context: Context, clock: testing.FrozenClock
) -> None:
    older, token = (invite(context, "ada").reveal() for _ in range(2))
    clock.advance(DAY_MS - 1)
    assert invitation_account(context, token) == "ada"
    accept(context, token, GOOD)
    expired = invite(context, "bob").reveal()
    clock.advance(DAY_MS)

    for used in (older, token, expired, "", "x", "\ud800", "'" * 50):
        with pytest.raises(InvitationUnknown):
            invitation_account(context, used)
        with pytest.raises(InvitationUnknown):
            accept(context, used, BETTER)
    assert account_of(context, "ada", GOOD)


def test_new_password_replaces_the_old_one_and_ends_all_sessions(context: Context) -> None:
    account = accept(context, invite(context, "ada").reveal(), GOOD)
    session = sign_in(context, account)
    accept(context, invite(context, "ada").reveal(), BETTER)

    assert find_session(context, session) is None
    assert account_of(context, "ada", BETTER) == account
    with pytest.raises(SignInRefused):
        account_of(context, "ada", GOOD)


def test_tokens_are_not_stored_in_plain_text(context: Context, folder: Path) -> None:
    token = invite(context, "ada").reveal()
    session = sign_in(context, accept(context, token, GOOD))
    context.close()
    stored = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())

    assert token.encode() not in stored
    assert session.encode() not in stored


@pytest.fixture
def owner(context: Context) -> int:
    """Return the id of the owner's account."""
    return accept(context, invite(context, "owner").reveal(), GOOD)


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
        confirm(context, self.session(context, token), token, GOOD)

        assert self.session(context, token).is_confirmed
        assert not self.session(context, other).is_confirmed

    def test_wrong_password_does_not_confirm(
        self, context: Context, owner: int, clock: testing.FrozenClock
    ) -> None:
        """Nor does that of another account."""
        accept(context, invite(context, "ada").reveal(), BETTER)
        token = sign_in(context, owner)
        clock.advance(CONFIRMED_MS)

        for password in ("", BETTER, "\0", "\ud800"):
            with pytest.raises(SignInRefused):
                confirm(context, self.session(context, token), token, password)
            assert not self.session(context, token).is_confirmed

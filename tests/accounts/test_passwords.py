"""Passwords: hashing, validation and lockout after failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from remembrancer import testing
from remembrancer.accounts.sign_in import (
    FREE_FAILURES,
    PasswordUnfit,
    SignInRefused,
    SignInTooOften,
    accept,
    account_of,
    invite,
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

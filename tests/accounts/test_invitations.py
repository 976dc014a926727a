"""Invitation links: each sets the password of one account, once, within a day."""

from __future__ import annotations

from pathlib import Path

import pytest

from remembrancer import testing
from remembrancer.accounts.sign_in import (
    InvitationUnknown,
    SignInRefused,
    accept,
    account_of,
    find_session,
    invitation_account,
    invite,
    sign_in,
)
from remembrancer.context import Context
from remembrancer.protocol import limits

GOOD, BETTER = "correct horse battery", "another horse battery"
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

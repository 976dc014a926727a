"""Browsers that are signed in, and when they no longer are."""

from __future__ import annotations

import pytest

from remembrancer import testing
from remembrancer.accounts.invitations import accept, invite
from remembrancer.accounts.sessions import IDLE_MS, LASTS_MS, is_form_of, sign_in, sign_out, sign_out_everywhere, signed_in
from remembrancer.context import Context


@pytest.fixture
def owner(context: Context) -> int:
    """The first account."""
    return accept(context, invite(context, "owner").reveal(), "correct horse battery")


def test_it_tells_whose_browser_it_is(context: Context, owner: int) -> None:
    found = signed_in(context, sign_in(context, owner))

    assert found is not None
    assert (found.account_id, found.account_name, found.is_owner) == (owner, "owner", True)


@pytest.mark.parametrize("token", ["", "x", "\ud800", "a" * 43])
def test_no_other_text_is_a_session(context: Context, owner: int, token: str) -> None:
    sign_in(context, owner)

    assert signed_in(context, token) is None


def test_unused_for_half_a_day_it_ends(context: Context, owner: int, clock: testing.FrozenClock) -> None:
    token = sign_in(context, owner)
    clock.advance(IDLE_MS - 1)
    just_before = signed_in(context, token)
    clock.advance(IDLE_MS - 1)
    used_meanwhile = signed_in(context, token)
    clock.advance(IDLE_MS)

    assert just_before
    assert used_meanwhile
    assert signed_in(context, token) is None


def test_after_two_weeks_it_ends_however_it_is_used(context: Context, owner: int, clock: testing.FrozenClock) -> None:
    token, hours = sign_in(context, owner), 6 * 3_600_000
    for _ in range(LASTS_MS // hours - 1):
        clock.advance(hours)
        assert signed_in(context, token)
    clock.advance(hours)

    assert signed_in(context, token) is None


def test_signing_out_ends_one_and_everywhere_all_of_the_account(context: Context, owner: int) -> None:
    ada = accept(context, invite(context, "ada").reveal(), "correct horse battery")
    first, second, third, other = [sign_in(context, who) for who in (owner, owner, owner, ada)]
    sign_out(context, first)
    after_one = [signed_in(context, token) is not None for token in (first, second, third, other)]
    sign_out_everywhere(context, owner)

    assert after_one == [False, True, True, True]
    assert [signed_in(context, token) is not None for token in (first, second, third, other)] == [False, False, False, True]


def test_a_form_is_of_one_session_alone(context: Context, owner: int) -> None:
    first, second = [signed_in(context, sign_in(context, owner)) for _ in range(2)]

    assert first
    assert second
    assert is_form_of(first, first.form_token)
    assert not is_form_of(first, second.form_token)
    assert not is_form_of(first, "")


def test_sessions_that_ended_are_not_kept(context: Context, owner: int, clock: testing.FrozenClock) -> None:
    sign_in(context, owner)
    clock.advance(LASTS_MS)
    sign_in(context, owner)

    assert context.store.read(lambda tx: tx.the("select count(*) as n from browser_sessions")).n == 1

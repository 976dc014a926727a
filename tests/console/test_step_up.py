"""Attempts to sign in and passwords of those who are signed in are counted apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from console.reader import ORIGIN, Reader
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts.sign_in import CONFIRMED_MS, accept, invite
from remembrancer.context import Context

GOOD, NEW = "correct horse battery", "correct horse battery two"
pytestmark = pytest.mark.settings(rate_sign_in_per_minute=5)  # as by default
GRANT = {"scope": "/etc/nginx/", "action_read": "on", "agent": "deployer", "ttl_minutes": "30"}


@pytest.fixture
def owner(client: TestClient, context: Context, clock: testing.FrozenClock) -> Reader:
    """The owner, whose password was last entered more than five minutes ago."""
    accept(context, invite(context, "owner").reveal(), GOOD)
    reader = Reader(client, context)
    clock.advance(CONFIRMED_MS)
    return reader


@pytest.fixture
def client(app: Starlette) -> Iterator[TestClient]:
    """A client of the application."""
    with TestClient(app, base_url=ORIGIN) as client:
        yield client


def sign_in(client: TestClient, password: str) -> int:
    """Try to sign in as the owner; return the status."""
    answer = client.post(
        "/console/sign-in",
        data={"name": "owner", "password": password},
        headers={"sec-fetch-site": "same-origin"},
        follow_redirects=False,
    )
    return answer.status_code


@pytest.fixture
def attacked(client: TestClient) -> None:
    """A stranger tries passwords until the server refuses to check any."""
    statuses = [sign_in(client, "another horse battery") for _ in range(12)]

    assert (statuses[0], statuses[-1]) == (403, 429)


@pytest.mark.usefixtures("attacked")
def test_strangers_do_not_hold_up_the_confirmation_of_the_owner(
    client: TestClient, owner: Reader
) -> None:
    """Their attempts count for signing in only (specification.md#console-step-up-apart)."""
    answer = owner.send("/console/permissions/grant", **GRANT, password=GOOD)

    assert answer.status_code == 303
    assert sign_in(client, GOOD) == 429


@pytest.mark.usefixtures("attacked")
def test_strangers_do_not_hold_up_a_change_of_the_password(owner: Reader) -> None:
    """Not by name and not by address (specification.md#console-step-up-apart)."""
    answer = owner.send("/profile/password", old=GOOD, new=NEW, again=NEW)

    assert answer.status_code == 303


def test_guesses_with_a_stolen_cookie_are_delayed(client: TestClient, owner: Reader) -> None:
    """They do not lock the owner out (specification.md#console-step-up-apart)."""
    for _ in range(5):
        owner.send("/console/permissions/grant", **GRANT, password=NEW)
    answer = owner.send("/console/permissions/grant", **GRANT, password=GOOD)

    assert (answer.status_code, "Try again in" in answer.text) == (422, True)
    assert sign_in(client, GOOD) == 303


def test_invitation_to_a_team_needs_the_password(owner: Reader) -> None:
    """It gives others access to the team's memory."""
    team_page = owner.send("/console/teams/create", name="Garden", user_id="")
    [team] = parse_qs(urlsplit(team_page.headers["location"]).query)["team"]
    form = {"team": team, "role": "reader", "expires_in_hours": "24"}
    refused = owner.send("/console/teams/invite", **form)
    answer = owner.send("/console/teams/invite", **form, password=GOOD)

    assert (refused.status_code, answer.status_code) == (422, 200)
    assert "It was last entered more than five minutes ago" in refused.text
    assert ("tmi_" in answer.text, re.search(r"tmi_[\w-]{8,}", refused.text)) == (True, None)

"""The page of grants: listing, creating, revoking, and the step-up password."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from console.reader import Reader, words_of
from console.window import Site
from playwright.sync_api import expect
from service import rows

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.accounts.sign_in import CONFIRMED_MS, FREE_FAILURES, accept, invite
from remembrancer.context import Context
from remembrancer.permissions.audit import export_entries
from remembrancer.permissions.grants import grant
from remembrancer.protocol.permissions import GrantRequest

PATH = "/console/permissions"
GOOD = "correct horse battery"
NGINX = {
    "scope": "/etc/nginx/*.conf",
    "agent": "deployer",
    "ttl_minutes": "30",
    "action_read": "on",
    "action_write": "on",
}


@pytest.fixture
def context(context: Context) -> Context:
    """A context whose owner has a password."""
    accept(context, invite(context, "owner").reveal(), GOOD)
    return context


@pytest.fixture
def later(owner: Reader, clock: testing.FrozenClock) -> Reader:
    """The owner, after the password confirmation has expired."""
    clock.advance(CONFIRMED_MS)
    return owner


def audit_entries(context: Context) -> list[dict[str, Any]]:
    """Return the entries of the audit trail."""
    return [json.loads(entry) for entry in export_entries(context)]


class TestCreate:
    """The form that creates a grant."""

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ({"scope": "etc"}, "must be absolute"),
            ({"scope": ""}, "This field is required."),
            ({"scope": "/" + "a" * 2_000}, "At most 1,024 characters."),
            ({"agent": " "}, "This field is required."),
            ({"ttl_minutes": "0"}, "Must be at least 1."),
            ({"ttl_minutes": "241"}, "Must be at most 240."),
            ({"ttl_minutes": "ten"}, "Must be a whole number."),
            ({"ttl_minutes": "1.5"}, "Must be a whole number."),
            ({"ttl_minutes": "9" * 30}, "Must be a whole number."),
            ({"ttl_minutes": "٣"}, "Must be a whole number."),
        ],
        ids=str,
    )
    def test_invalid_grant_is_reported_and_stays_in_the_form(
        self, owner: Reader, context: Context, other: dict[str, str], message: str
    ) -> None:
        answer = owner.send(f"{PATH}/grant", **(NGINX | {"agent": "typed agent"} | other))
        agent = ({"agent": "typed agent"} | other)["agent"]

        assert answer.status_code == 422
        assert message in words_of(answer.text)
        assert f'value="{agent}"' in answer.text
        assert "checked" in answer.text
        assert rows(context)["grants"] == 0


class TestStepUp:
    """A stolen cookie is not sufficient for granting (specification.md#console-step-up)."""

    @pytest.mark.parametrize(
        "password",
        [{}, {"password": ""}, {"password": "another horse battery"}, {"password": "a" * 500}],
        ids=str,
    )
    def test_granting_requires_the_password(
        self, later: Reader, context: Context, password: dict[str, str]
    ) -> None:
        answer = later.send(f"{PATH}/grant", **NGINX, **password)

        assert answer.status_code == 422
        assert re.search("Enter your password|not the password", answer.text)
        assert 'value="deployer"' in answer.text
        assert "a" * 500 not in answer.text
        assert (rows(context)["grants"], audit_entries(context)) == (0, [])

    def test_revoking_requires_the_password(self, later: Reader, context: Context) -> None:
        result = grant(
            context,
            later.caller,
            GrantRequest(scope="/etc/", ttl_minutes=5, actions=["read"], agent="a"),
        )
        refused = later.send(f"{PATH}/revoke", grant_id=result.grant_id)
        accepted = later.send(f"{PATH}/revoke", grant_id=result.grant_id, password=GOOD)

        assert (refused.status_code, accepted.status_code) == (422, 303)
        assert "Enter your password" in refused.text
        assert [entry["kind"] for entry in audit_entries(context)] == ["grant", "revoke"]

    def test_creating_keys_and_invitations_requires_the_password(
        self, later: Reader, context: Context
    ) -> None:
        before = rows(context)
        form = {"label": "mine", "may": "write", "lasts": ""}
        key = later.send("/profile/keys", **form)
        link = later.send("/console/service/invite", name="owner")

        for answer in (key, link):
            assert (answer.status_code, "Enter your password" in answer.text) == (422, True)
        assert rows(context) == before
        assert later.send("/profile/keys", **form, password=GOOD).status_code == 200
        assert keys.list_keys(context)[0].label == "mine"

    def test_password_confirmation_lasts_five_minutes(
        self, later: Reader, clock: testing.FrozenClock
    ) -> None:
        before = later.get(PATH).text
        first = later.send(f"{PATH}/grant", **NGINX, password=GOOD)
        after = later.get(PATH).text
        second = later.send(f"{PATH}/grant", **NGINX)
        clock.advance(CONFIRMED_MS)
        third = later.send(f"{PATH}/grant", **NGINX)

        assert ('type="password"' in before, 'type="password"' in after) == (True, False)
        assert [answer.status_code for answer in (first, second, third)] == [303, 303, 422]

    def test_password_attempts_are_limited_as_at_sign_in(
        self, later: Reader, context: Context
    ) -> None:
        for _ in range(FREE_FAILURES):
            later.send(f"{PATH}/grant", **NGINX, password=GOOD.upper())
        answer = later.send(f"{PATH}/grant", **NGINX, password=GOOD)

        assert (answer.status_code, rows(context)["grants"]) == (422, 0)
        assert "Try again in 30 seconds" in words_of(answer.text)


class TestRevoke:
    """Revocation."""

    @pytest.mark.parametrize(("grant_id", "status"), [("g_none", 404), ("", 422), ("a" * 500, 422)])
    def test_unknown_grant_is_reported(self, owner: Reader, grant_id: str, status: int) -> None:
        assert owner.send(f"{PATH}/revoke", grant_id=grant_id).status_code == status


def test_browser_counts_down_and_explains_the_scope_while_typing(
    site: Site, context: Context
) -> None:
    with site.window("owner") as page:
        page.goto(PATH)
        page.get_by_label("Scope").press_sequentially("/srv/**")
        expect(page.locator("#covers")).to_contain_text("Everything below each folder that matches")
        page.get_by_label("Agent, or * for every agent").fill("robot")
        page.get_by_role("button", name="Grant").press("Enter")
        expect(page.get_by_role("status")).to_contain_text("robot may read /srv/** for 30 minutes.")
        left = page.locator("[data-left]")
        expect(left).to_have_text("29 min 59 s")
        page.locator("summary", has_text="Revoke").click()
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("No grants in force")).to_be_visible()

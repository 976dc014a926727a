"""The page of grants:

what the owner sees, gives and takes back, and what a stolen cookie cannot.
"""

from __future__ import annotations

import html
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
from remembrancer.accounts.browser_sessions import CONFIRMED_MS
from remembrancer.accounts.invitations import accept, invite
from remembrancer.accounts.passwords import FREE_FAILURES
from remembrancer.context import Context
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
    """The parts, with an owner who has a password."""
    accept(context, invite(context, "owner").reveal(), GOOD)
    return context


@pytest.fixture
def later(owner: Reader, clock: testing.FrozenClock) -> Reader:
    """The owner, whose password was typed long enough ago."""
    clock.advance(CONFIRMED_MS)
    return owner


def audit_entries(context: Context) -> list[dict[str, Any]]:
    """Return the entries of the audit trail."""
    return [
        json.loads(row.entry)
        for row in context.store.read(lambda tx: tx.all("select entry from audit order by seq"))
    ]


def add_grant(owner: Reader, **other: str) -> str:
    """Add a grant on the page; return its id."""
    page = owner.followed(owner.send(f"{PATH}/grant", **(NGINX | other)))
    matches: list[str] = re.findall(r'<code class="id">(g_\w+)</code>', page.text)
    return matches[0]


class TestSeeing:
    """The page lists the grants in force."""

    def test_a_grant_is_shown_with_the_time_it_has_left(
        self, owner: Reader, clock: testing.FrozenClock
    ) -> None:
        """The count-down is right without a script, too."""
        grant_id = add_grant(owner)
        clock.advance(61_000)
        page = owner.get(PATH)

        assert "/etc/nginx/*.conf read, write deployer 28 min 59 s" in words_of(page.text)
        assert 'data-left="1739"' in page.text
        assert grant_id in page.text

    def test_expired_and_revoked_grants_are_not_shown(
        self, owner: Reader, clock: testing.FrozenClock
    ) -> None:
        add_grant(owner, ttl_minutes="1")
        clock.advance(60_000)

        assert "No grants in force" in owner.get(PATH).text

    def test_nothing_in_force_teaches_how_agents_ask(self, owner: Reader) -> None:
        page = words_of(owner.get(PATH).text)

        assert "No grants in force" in page
        assert "/api/v7/sysperm/check" in page

    def test_older_grants_are_a_page_away(self, owner: Reader, context: Context) -> None:
        for n in range(51):
            grant(
                context,
                owner.caller,
                GrantRequest(scope=f"/srv/{n:02}", ttl_minutes=5, actions=["read"], agent="a"),
            )
        first = owner.get(PATH).text
        [older] = re.findall(r'<a href="([^"]+)">Older grants', first)

        assert ("/srv/50" in first, "/srv/00" in first) == (True, False)
        assert "/srv/00" in owner.get(html.unescape(older)).text

    def test_others_read_that_only_the_owner_may(self, ada: Reader, context: Context) -> None:
        page = ada.get(PATH)
        request = [ada.send(f"{PATH}/grant", **NGINX), ada.send(f"{PATH}/revoke", grant_id="g_1")]

        assert (
            page.status_code,
            [one.status_code for one in request],
            rows(context)["grants"],
        ) == (
            403,
            [403, 403],
            0,
        )
        assert "Only the owner may do this" in page.text


class TestGiving:
    """The form for one more."""

    def test_it_is_in_force_and_in_the_audit_trail(self, owner: Reader, context: Context) -> None:
        """Conventions:

        'what a page does to permissions is in the audit trail like what the API does'.
        """
        answer = owner.send(f"{PATH}/grant", **NGINX)
        page = owner.followed(answer)

        assert "deployer may read and write /etc/nginx/*.conf for 30 minutes." in words_of(
            page.text
        )
        [entry] = audit_entries(context)
        assert (entry["kind"], entry["account"], entry["key_id"], entry["scope"]) == (
            "grant",
            "owner",
            0,
            "/etc/nginx/*.conf",
        )
        assert (entry["actions"], entry["agent"], entry["ttl_minutes"]) == (
            ["read", "write"],
            "deployer",
            30,
        )

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
    def test_invalid_input_is_reported_and_stays_in_the_form(
        self, owner: Reader, context: Context, other: dict[str, str], message: str
    ) -> None:
        answer = owner.send(f"{PATH}/grant", **(NGINX | {"agent": "the one I typed"} | other))
        stored_rows = ({"agent": "the one I typed"} | other)["agent"]

        assert answer.status_code == 422
        assert message in words_of(answer.text)
        assert f'value="{stored_rows}"' in answer.text
        assert "checked" in answer.text
        assert rows(context)["grants"] == 0

    def test_no_action_is_no_grant(self, owner: Reader) -> None:
        answer = owner.send(
            f"{PATH}/grant", scope="/etc/", agent="a", ttl_minutes="5", action_everything="on"
        )

        assert (answer.status_code, "Choose at least one." in answer.text) == (422, True)

    def test_a_form_shows_the_coverage_of_a_scope(self, owner: Reader, context: Context) -> None:
        whole = owner.send(f"{PATH}/grant", do="look", **NGINX)
        part = owner.get(f"{PATH}?scope=/etc/nginx/*.conf", swap=True)

        for answer in (whole, part):
            assert "covers /etc/nginx/name.conf" in words_of(answer.text)
            assert "/etc/nginx/folder/name.conf" in words_of(answer.text)
        assert "<html" not in part.text
        assert part.headers["vary"] == "HX-Request"
        assert rows(context)["grants"] == 0

    @pytest.mark.parametrize("scope", ["", "etc", "/" + "a" * 5_000, "/" * 4_000, "<b>"])
    def test_an_invalid_scope_covers_nothing(self, owner: Reader, scope: str) -> None:
        answer = owner.ask("GET", PATH, params={"scope": scope}, headers={"hx-request": "true"})

        assert (answer.status_code, "An absolute path" in answer.text) == (200, True)

    def test_the_whole_machine_is_called_so(self, owner: Reader) -> None:
        assert "the whole machine" in owner.get(f"{PATH}?scope=/", swap=True).text


class TestStepUp:
    """A stolen cookie alone must not be able to grant (specification.md#console-step-up)."""

    @pytest.mark.parametrize(
        "password",
        [{}, {"password": ""}, {"password": "another horse battery"}, {"password": "a" * 500}],
        ids=str,
    )
    def test_a_cookie_alone_grants_nothing(
        self, later: Reader, context: Context, password: dict[str, str]
    ) -> None:
        answer = later.send(f"{PATH}/grant", **NGINX, **password)

        assert answer.status_code == 422
        assert re.search("Enter your password|not the password", answer.text)
        assert 'value="deployer"' in answer.text
        assert "a" * 500 not in answer.text
        assert (rows(context)["grants"], audit_entries(context)) == (0, [])

    def test_a_cookie_alone_revokes_nothing(self, later: Reader, context: Context) -> None:
        result = grant(
            context,
            later.caller,
            GrantRequest(scope="/etc/", ttl_minutes=5, actions=["read"], agent="a"),
        )
        refused = later.send(f"{PATH}/revoke", grant_id=result.grant_id)
        busy = later.send(f"{PATH}/revoke", grant_id=result.grant_id, password=GOOD)

        assert (refused.status_code, "Enter your password" in refused.text, busy.status_code) == (
            422,
            True,
            303,
        )
        assert [entry["kind"] for entry in audit_entries(context)] == ["grant", "revoke"]

    def test_a_cookie_alone_makes_no_key_and_no_link_that_could_grant_instead(
        self, later: Reader, context: Context
    ) -> None:
        before = rows(context)
        key, link = (
            later.send("/profile/keys", label="mine", may="write", lasts=""),
            later.send("/console/invite", name="owner"),
        )

        assert (key.status_code, link.status_code) == (422, 422)
        assert "Enter your password" in key.text
        assert "Enter your password" in link.text
        assert rows(context) == before
        assert (
            later.send(
                "/profile/keys", label="mine", may="write", lasts="", password=GOOD
            ).status_code
            == 200
        )
        assert keys.list_keys(context)[0].label == "mine"

    def test_the_password_opens_it_for_five_minutes(
        self, later: Reader, clock: testing.FrozenClock
    ) -> None:
        request = later.get(PATH).text
        first = later.send(f"{PATH}/grant", **NGINX, password=GOOD)
        asked_again = later.get(PATH).text
        second = later.send(f"{PATH}/grant", **NGINX)
        clock.advance(CONFIRMED_MS)
        third = later.send(f"{PATH}/grant", **NGINX)

        assert ('type="password"' in request, 'type="password"' in asked_again) == (True, False)
        assert [one.status_code for one in (first, second, third)] == [303, 303, 422]

    def test_guesses_are_limited_as_at_the_sign_in(self, later: Reader, context: Context) -> None:
        for _ in range(FREE_FAILURES):
            later.send(f"{PATH}/grant", **NGINX, password=GOOD.upper())
        answer = later.send(f"{PATH}/grant", **NGINX, password=GOOD)

        assert (answer.status_code, rows(context)["grants"]) == (422, 0)
        assert "Try again in 30 seconds" in words_of(answer.text)

    def test_the_form_of_another_site_grants_nothing(self, owner: Reader, context: Context) -> None:
        foreign = owner.ask(
            "POST",
            f"{PATH}/grant",
            data={"form_token": owner.form_token, **NGINX},
            headers={"sec-fetch-site": "same-site"},
        )
        unsigned = owner.send_as("0" * 64, f"{PATH}/grant", **NGINX)

        assert (foreign.status_code, unsigned.status_code, rows(context)["grants"]) == (403, 403, 0)


class TestTakingBack:
    """Revocation."""

    def test_it_allows_nothing_any_more(self, owner: Reader, context: Context) -> None:
        grant_id = add_grant(owner)
        page = owner.followed(owner.send(f"{PATH}/revoke", grant_id=grant_id))

        assert f"Grant {grant_id} is revoked." in words_of(page.text)
        assert "No grants in force" in page.text
        assert [(entry["kind"], entry["key_id"]) for entry in audit_entries(context)] == [
            ("grant", 0),
            ("revoke", 0),
        ]

    @pytest.mark.parametrize(("grant_id", "status"), [("g_none", 404), ("", 422), ("a" * 500, 422)])
    def test_an_unknown_grant_is_reported(self, owner: Reader, grant_id: str, status: int) -> None:
        assert owner.send(f"{PATH}/revoke", grant_id=grant_id).status_code == status


@pytest.mark.xdist_group("browser")
def test_in_a_browser_the_time_counts_down_and_the_scope_is_explained_while_it_is_typed(
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

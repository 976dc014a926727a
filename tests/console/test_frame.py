"""The layout of every page, and the checks that run before each page."""

from __future__ import annotations

import re

import pytest
from console.pages import EVERY_FORM_OF_A_SESSION, EVERY_PAGE, FOR_OWNERS
from console.reader import ORIGIN, Reader
from service import new_key, rows
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from remembrancer.accounts import sign_in as sessions
from remembrancer.console import layout
from remembrancer.context import Context
from remembrancer.http import pages
from remembrancer.server.app import make_app

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
NOT_OURS = [
    "", "/", "//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)",
    "/api/v7/status", "/console//evil.example", "/console\\evil", "/console/..//evil.example",
    "/console/%2e%2e/x", "/console@evil.example", "/consolex", "/profile.evil.example", " /console",
    "/console\n", "/console?q=a b", "/console#x", "/console?\r\nSet-Cookie: a=b",
    "/console?" + "x" * 5000,
]  # fmt: skip


def inline_code(page: str) -> list[str]:
    """Return what a page holds of inline styles and scripts, foreign addresses and code of htmx."""
    attributes = r"<style|style=|\son\w+=|(?:src|href|action)=\"(?:https?:|//|javascript:)"
    scripts = r"<script(?! src=\"/console/assets/)|hx-on|[\"'\s](?:js|javascript):"
    return re.findall(f"{attributes}|{scripts}", page)


@pytest.mark.parametrize("path", EVERY_PAGE)
class TestEveryPage:
    """These rules hold for every page, also for pages added later."""

    def test_page_has_the_common_layout(self, owner: Reader, path: str) -> None:
        page = owner.get(path)

        assert page.status_code == 200
        assert len(re.findall(r"<h1\b", page.text)) == 1
        assert layout.section_of(path) in re.findall(
            r'<a href="([^"]+)" aria-current="(?:page|true)">', page.text
        )
        assert '<a class="skip" href="#main">' in page.text
        assert '<main id="main"' in page.text
        assert len(page.content) < 60_000  # long tables must be paginated

    def test_page_has_a_strict_policy_no_inline_code_and_is_not_cached(
        self, owner: Reader, path: str
    ) -> None:
        """A strict policy for every page (specification.md#console-csp)."""
        page = owner.get(path)

        assert page.headers["content-security-policy"] == POLICY
        assert (page.headers["cache-control"], page.headers["vary"]) == ("no-store", "HX-Request")
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert inline_code(page.text) == []

    def test_signed_out_request_redirects_to_sign_in_and_back(
        self, owner: Reader, path: str
    ) -> None:
        owner.cookies = {}
        answer = owner.get(f"{path}?q=a%20b")

        assert answer.status_code == 303
        assert answer.headers["location"] == f"/console/sign-in?next={path}%3Fq%3Da%2520b"
        assert f'name="next" value="{path}?q=a%20b"' in owner.get(answer.headers["location"]).text
        key = {"authorization": f"Bearer {new_key(owner.context)}"}
        assert owner.ask("GET", path, headers=key).status_code == 303  # a key opens no page


def test_browser_takes_the_turns_of_its_account(app: Starlette, owner: Reader) -> None:
    """Until it signs out; others are strangers (specification.md#limit-fair)."""
    groups = app.state.dispatcher.groups
    cookie = Headers({"cookie": f"session={owner.cookies['session']}"})
    assert groups.of(cookie) is None

    owner.get("/console/memory")
    assert groups.of(cookie) == owner.caller.account_id

    sessions.sign_out_everywhere(owner.context, owner.caller.account_id)
    owner.get("/console/memory")
    assert groups.of(cookie) is None


@pytest.mark.parametrize("path", EVERY_FORM_OF_A_SESSION)
def test_form_with_wrong_token_site_or_origin_is_rejected(
    owner: Reader, ada: Reader, path: str
) -> None:
    """This holds for every form, including later ones (specification.md#console-csrf)."""
    sites = ("cross-site", "same-site", "none", "")
    origins = ("", "null", "http://evil.example", "http://127.0.0.1:1", f"{ORIGIN}.evil.example")
    foreign = [{"sec-fetch-site": site} for site in sites]
    foreign += [{"origin": origin} for origin in origins]
    good, before = owner.form_token, rows(owner.context)
    refused = [owner.send_as(token, path) for token in ("", "0" * 64, ada.form_token)]
    refused += [
        owner.ask("POST", path, data={"form_token": good}, headers=headers) for headers in foreign
    ]
    owner.cookies = {}

    assert [answer.status_code for answer in refused] == [403] * 12
    assert all("was not sent from a page of this service" in answer.text for answer in refused)
    assert owner.send_as(good, path).status_code == 401
    assert rows(owner.context) == before


@pytest.mark.parametrize("path", FOR_OWNERS)
def test_owner_pages_are_forbidden_for_members(ada: Reader, path: str) -> None:
    before = rows(ada.context)
    answers = [
        answer
        for answer in (ada.get(path), ada.send(path, name="eve"))
        if answer.status_code != 405
    ]

    assert [answer.status_code for answer in answers] == [403] * len(answers) != []
    assert rows(ada.context) == before
    assert f'href="{path}"' not in ada.get("/console").text


class TestGoingBack:
    """Redirect targets are local pages: no open redirects."""

    def test_other_redirect_targets_are_replaced(self, owner: Reader) -> None:
        locations = [
            owner.send("/console/theme", theme="dark", back=address).headers["location"]
            for address in NOT_OURS
        ]

        assert {layout.local_path(address, "no") for address in NOT_OURS} == {"no"}
        assert set(locations) == {"/console"}

    def test_sign_in_page_redirects_signed_in_users_to_next(self, owner: Reader) -> None:
        assert (
            owner.get("/console/sign-in?next=/console/memory%3Fq=x").headers["location"]
            == "/console/memory?q=x"
        )
        assert owner.get("/console/sign-in?next=//evil.example").headers["location"] == "/console"


class TestNotice:
    """The notice after a form: kept across the redirect in a sealed cookie."""

    def test_notice_is_shown_escaped_and_once(self, owner: Reader) -> None:
        owner.cookies["notice"] = layout.seal(
            "12 turns are <b>erased</b>.", owner.cookies["session"]
        )

        assert (
            '<div class="told" role="status"><p>12 turns are &lt;b&gt;erased&lt;/b&gt;.</p></div>'
            in owner.get("/console").text
        )
        assert "erased" not in owner.get("/console").text

    def test_notice_with_an_invalid_seal_is_ignored(self, owner: Reader) -> None:
        foreign = layout.seal("You won.", "another token")
        for sealed in (".", "x", "YQ.", "YQ.00", "YQ." + "0" * 64, "%C3.%00", foreign):
            owner.cookies["notice"] = sealed
            page = owner.get("/console")

            assert page.status_code == 200
            assert '<div class="told" role="status"></div>' in page.text


@pytest.mark.settings(public_url="https://memory.example.org")
def test_cookies_are_secure_behind_tls(context: Context) -> None:
    with TestClient(make_app(context), base_url="https://memory.example.org") as client:
        reader = Reader(client, context)
        form_token, token = reader.form_token, reader.cookies["session"]
        reader.cookies = {"__Host-session": token}
        themed = reader.send_as(form_token, "/console/theme", theme="dark", back="/console")
        noted = reader.send_as(form_token, "/profile/prompt", user_id="bo", prompt="Be brief.")

    end = "HttpOnly; SameSite=Strict; Secure"
    theme, notice = (answer.headers["set-cookie"] for answer in (themed, noted))
    assert re.fullmatch(rf"theme=dark; Path=/; Max-Age=\d+; {end}", theme)
    assert re.fullmatch(rf"__Host-notice=[\w-]+\.[0-9a-f]{{64}}; Path=/; Max-Age=60; {end}", notice)


class TestTheme:
    """The theme follows the system until the reader chooses one."""

    @pytest.mark.parametrize("theme", pages.THEMES)
    def test_chosen_theme_applies_to_all_pages(self, owner: Reader, theme: str) -> None:
        answer = owner.send("/console/theme", theme=theme, back="/console")

        assert answer.headers["location"] == "/console"
        for path in ("/console", "/", "/docs"):
            assert f'<html lang="en" data-theme="{theme}">' in owner.get(path).text

    def test_invalid_theme_is_ignored(self, owner: Reader) -> None:
        owner.cookies["theme"] = '"><script>'

        assert '<html lang="en">' in owner.get("/console").text


class TestAssets:
    """Style sheets and scripts: cached forever under an address with a content hash."""

    def test_assets_are_cached_as_immutable(self, owner: Reader) -> None:
        kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
        for name, content in pages.asset_files().items():
            answer = owner.get(pages.asset(name))
            kind = kinds.get(name.rpartition(".")[2], "text/plain")

            assert (answer.status_code, answer.content) == (200, content)
            assert answer.headers["content-type"].partition(";")[0] == kind
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers["x-content-type-options"] == "nosniff"

    def test_unknown_asset_returns_404(self, owner: Reader) -> None:
        ours = pages.digest()
        unknown = [f"{'0' * 16}/layout.css", "layout.css"]
        unknown += [f"{ours}/{name}" for name in ("layout.html", "none.css", "..%2fdocs.html", "")]
        for address in unknown:
            answer = owner.get(f"/console/assets/{address}")

            assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


def test_partial_request_without_a_session_redirects_to_sign_in(owner: Reader) -> None:
    owner.cookies = {}
    answer = owner.get("/console", swap=True)

    assert (answer.status_code, answer.headers["hx-redirect"]) == (204, "/console/sign-in")


def test_error_of_a_partial_request_is_a_fragment(owner: Reader) -> None:
    answer = owner.ask(
        "POST",
        "/console/theme",
        data={"a": "b"},
        headers={"sec-fetch-site": "same-origin", "hx-request": "true"},
    )

    assert (answer.status_code, "<html" in answer.text) == (403, False)
    assert '<p class="wrong" role="alert">' in answer.text


class TestChosenUser:
    """The user is chosen once, at the top, and kept (specification.md#console-user)."""

    def test_choice_is_kept_on_all_pages_of_the_session(self, owner: Reader) -> None:
        for user_id in ("owner", "mia"):
            owner.http.remember("q", f"of {user_id}", user_id=user_id)
        owner.get("/console/memory?user_id=mia")

        for path in ("/console/memory", "/console/knows", "/console/usage"):
            assert "<option selected>mia</option>" in owner.get(path).text
        assert "of mia" in owner.get("/console/memory").text
        assert "of owner" in owner.get("/console/memory?user_id=owner").text
        assert "<option selected>owner</option>" in owner.get("/console/knows").text

    def test_choice_of_another_session_or_an_erased_user_is_ignored(
        self, owner: Reader, ada: Reader
    ) -> None:
        owner.http.remember("q", "r", user_id="mia")
        owner.get("/console/memory?user_id=mia")
        ada.cookies["user"] = owner.cookies["user"]
        owner.send("/console/memory/forget", user_id="mia", sure="yes", confirm="mia")

        for reader in (ada, owner):
            page = reader.get("/console/memory").text
            assert f"<option selected>{reader.caller.account_name}</option>" in page
            assert "mia" not in page.split("<main")[1].split("told")[1][20:]

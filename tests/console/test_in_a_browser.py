"""Tests in a real browser: scripts are blocked, layouts are stable, the keyboard is sufficient."""

from __future__ import annotations

import pytest
from console.pages import EVERY_PAGE
from console.reader import Reader
from console.test_quality import SETTLED, SHIFT_MAX
from console.things import put_facts, put_permissions, put_things
from console.window import Site
from playwright.sync_api import expect

from remembrancer.accounts.sign_in import invite
from remembrancer.context import Context


def test_navigation_is_a_menu_on_narrow_and_fixed_on_wide_screens(site: Site) -> None:
    with site.window("owner", viewport={"width": 360, "height": 740}) as page:
        page.goto("/console")
        side = page.get_by_role("navigation", name="Console")
        expect(side).to_be_hidden()
        page.get_by_role("button", name="Menu").press("Enter")
        expect(side).to_be_visible()
        page.keyboard.press("Escape")
        expect(side).to_be_hidden()
        page.set_viewport_size({"width": 1600, "height": 900})
        expect(side).to_be_visible()


def test_browser_watch_reports_blocked_content_and_404s(site: Site) -> None:
    """Prove that the watch detects problems; other tests rely on its empty report."""
    with site.window("owner") as page:
        page.goto("/console")
        page.evaluate("""() => {
            const hostile = "<img src='http://evil.example/x'><b onclick='1'>x</b>"
                + "<i style='color:red'>y</i>";
            document.body.insertAdjacentHTML("beforeend", hostile);
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
        }""")
        page.goto("/console/none")

        assert page.evaluate("window.ran") is None
    problems = "\n".join(site.watch.wrong)
    site.watch.wrong.clear()
    assert "img-src 'self'" in problems
    assert "style-src 'self'" in problems
    assert "script-src 'self'" in problems
    assert "status of 404" in problems


EVIL = "http://evil.example"


def test_pages_cannot_be_framed_by_other_origins(site: Site) -> None:
    """The other page is on this machine, so that only the policy blocks it.

    See specification.md#console-csp.
    """
    other = "http://127.0.0.1:1"
    with site.window("owner") as page:
        page.route(
            f"{other}/**",
            lambda route: route.fulfill(
                body=f"<iframe src='{site.address}/console'>", content_type="text/html"
            ),
        )
        with page.expect_console_message(lambda message: "frame-ancestors 'none'" in message.text):
            page.goto(f"{other}/")

        assert "Signed in" not in page.frames[1].locator("html").inner_text()
    site.watch.wrong.clear()


def test_forms_cannot_be_sent_by_other_origins(site: Site) -> None:
    """A form of another page is rejected (specification.md#console-csrf)."""
    form = (
        f"<form method='post' action='{site.address}/console/sign-out'><input "
        f"name='where' value='everywhere'><button>Win</button></form>"
    )
    with site.window("owner") as page:
        page.route(f"{EVIL}/**", lambda route: route.fulfill(body=form, content_type="text/html"))
        page.goto(f"{EVIL}/")
        page.get_by_role("button", name="Win").click()
        expect(page.get_by_role("alert")).to_contain_text(
            "was not sent from a page of this service"
        )
        page.goto(f"{site.address}/console")
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    site.watch.wrong.clear()


def test_scripts_cannot_read_the_session_cookie(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")

        assert page.evaluate("document.cookie") == ""


def test_sign_in_replaces_a_planted_session_cookie(site: Site, context: Context) -> None:
    """Session fixation: signing in creates a new session; a planted token is never accepted."""
    token = invite(context, "owner").reveal()
    with site.window() as page:
        page.context.add_cookies(
            [{"name": "session", "value": "planted-by-an-attacker", "url": site.address}]
        )
        page.goto(f"/console/password?token={token}")
        page.get_by_label("Password, at least 12").fill("correct horse battery")
        page.get_by_label("Repeat the password").fill("correct horse battery")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
        [session] = [cookie for cookie in page.context.cookies() if cookie["name"] == "session"]

    assert session["value"] != "planted-by-an-attacker"
    assert (session["httpOnly"], session["sameSite"], session["path"]) == (True, "Strict", "/")


@pytest.fixture
def filled(owner: Reader) -> None:
    """Records of every kind, with ordinary text and with words wider than any page."""
    http = owner.http
    put_things(http)
    put_permissions(http)
    put_things(http, lambda _, room: "W" * min(room, 300), session_id="S" * 250)
    put_permissions(http, lambda _, room: "W" * min(room, 200))
    put_facts(http, lambda text, room: text + "W" * min(room // 2, 300), user_id="owner")
    owner.send("/profile/keys", label="W" * 200, user_id="W" * 250, may="read", lasts="30d")


def test_pages_fit_a_wide_window_and_do_not_shift_while_loading(filled: None, site: Site) -> None:
    """At 1600 pixels; test_quality.py has them at 360."""
    wrong = {}
    with site.window("owner", viewport={"width": 1600, "height": 800}) as page:
        for path in EVERY_PAGE:
            page.goto(path)
            shift = page.evaluate(SETTLED)
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > 1600 or shift > SHIFT_MAX:
                wrong[path] = (wide, shift)

    assert wrong == {}


def test_every_page_is_usable_with_the_keyboard(site: Site) -> None:
    """The first tab stop skips the navigation; the focus is always visible."""
    with site.window("owner") as page:
        for path in EVERY_PAGE:
            page.goto(path)
            page.keyboard.press("Tab")
            expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
            page.keyboard.press("Enter")
            for _ in range(3):
                page.keyboard.press("Tab")
                assert page.evaluate(
                    "document.activeElement.matches(':focus-visible') "
                    "|| document.activeElement === document.body"
                ), path
                assert not page.evaluate("document.activeElement.closest('#side')"), path

"""Tests in a real browser: scripts are blocked, layouts are stable, the keyboard is sufficient."""

from __future__ import annotations

from console.pages import EVERY_PAGE
from console.window import Site
from playwright.sync_api import expect

from remembrancer.accounts.sign_in import invite
from remembrancer.context import Context

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

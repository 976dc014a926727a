"""The home and service pages, and the way from the first start to the first turn."""

from __future__ import annotations

import os
import re

from command import captured
from console.reader import Reader, words_of
from console.things import put_things
from console.window import Site
from playwright.sync_api import Page, expect

from remembrancer.context import Context
from remembrancer.server.run import welcome

GOOD = "correct horse battery"


def figures(page: str) -> dict[str, list[int]]:
    """Return the rows of the table of stored records."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>((?:<td>[\d,]+</td>)+)</tr>', page)
    return {
        words_of(name): [int(cell) for cell in re.findall(r"<td>(\d+)</td>", cells)]
        for name, cells in rows
    }


def test_service_page_counts_records_per_account_and_for_the_owner_in_total(
    owner: Reader, ada: Reader
) -> None:
    http = owner.http
    put_things(http)
    put_things(http.as_account("ada"), user_id="ada")
    put_things(http.as_account("ada"), user_id="bo", session_id="other")

    others = ("Sessions", "Users", "Summaries", "Facts", "Lessons", "Files")
    total, own = (figures(reader.get("/console/service").text) for reader in (owner, ada))
    assert total == {"Turns": [2, 6], **{name: [1, 3] for name in others}}
    assert own == {"Turns": [4], **{name: [2] for name in others}}


class TestStream:
    def test_nothing_of_another_account_is_in_it(self, owner: Reader, ada: Reader) -> None:
        put_things(owner.http)

        page = ada.get("/console?user_id=owner").text

        assert "Elba" not in page.split("<main")[1]


def test_sample_is_loaded_and_removed_with_one_click_each(owner: Reader) -> None:
    owner.http.remember("Mine", "stays")
    page = owner.followed(owner.send("/console/sample", do="load")).text
    assert "plot 17" in page
    assert "Remove the sample" in owner.get("/console").text

    owner.followed(owner.send("/console/sample", do="remove"))

    assert "Remove the sample" not in owner.get("/console").text
    assert "plot 17" not in owner.get("/console").text
    assert "Mine" in owner.get("/console").text


def begin(page: Page, output: str) -> None:
    """Follow the link that the server printed at its first start, and set the password."""
    [set_up] = re.findall(r"http://127\.0\.0\.1:\d+/console/password\?token=\S+", output)
    page.goto(set_up)
    page.get_by_label("Password, at least 12").fill(GOOD)
    page.get_by_label("Repeat the password").fill(GOOD)
    page.keyboard.press("Enter")


def test_first_run_path_leads_to_a_visible_turn(site: Site, context: Context) -> None:
    """First start, sign-in, key, curl example, visible turn."""
    with site.window() as page:
        begin(page, welcome(context, site.address))
        expect(page.get_by_text("Waiting for the first turn")).to_be_visible()
        page.get_by_role("button", name="Create a key").click()
        pasted = page.locator("#paste-environment").inner_text()
        page.locator("summary", has_text=re.compile("^curl$")).click()
        pasted += "\n" + page.locator("#paste-curl").inner_text()
        process = captured(["sh", "-ec", pasted], timeout=60, check=True, env=_bare())
        page.goto("/console")
        expect(page.get_by_role("main")).to_contain_text("At 9:40 from Piombino, pier 3.")
        expect(page.get_by_text("Waiting for the first turn")).to_be_hidden()

    assert "At 9:40 from Piombino, pier 3." in process.stdout


def test_sign_in_returns_to_the_page_and_sign_out_hides_it(site: Site, context: Context) -> None:
    with site.window() as page:
        begin(page, welcome(context, site.address))
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.goto("/profile?user_id=bo")
        page.get_by_label("Account").fill("owner")
        page.get_by_label("Password").fill(GOOD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/profile?user_id=bo")
        page.get_by_role("button", name="Dark").click()
        page.wait_for_url("**/profile?user_id=bo")

        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
        page.get_by_role("button", name="Sign out", exact=True).click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.go_back()
        page.reload()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def _bare() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }

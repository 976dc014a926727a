"""The overview page, and the first-run path up to the first turn shown in the console."""

from __future__ import annotations

import os
import re
import subprocess

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


def test_overview_counts_records_per_account_and_for_the_owner_in_total(
    owner: Reader, ada: Reader
) -> None:
    http = owner.http
    put_things(http)
    put_things(http.as_account("ada"), user_id="ada")
    put_things(http.as_account("ada"), user_id="bo", session_id="other")

    others = ("Sessions", "Users", "Summaries", "Facts", "Lessons", "Files")
    total, own = (figures(reader.get("/console").text) for reader in (owner, ada))
    assert total == {"Turns": [2, 6], **{name: [1, 3] for name in others}}
    assert own == {"Turns": [4], **{name: [2] for name in others}}


def test_first_steps_are_hidden_when_completed(owner: Reader) -> None:
    before = owner.get("/console").text
    http = owner.http
    with_key = owner.get("/console").text
    http.remember("When does the ferry leave?", "At 9:40.")

    assert "First steps" in before
    assert (before.count("Done:"), with_key.count("Done:")) == (0, 1)
    assert "First steps" not in owner.get("/console").text


def test_overview_shows_the_health_of_each_component(owner: Reader) -> None:
    page_text = words_of(owner.get("/console").text)

    assert "Store ok reads and writes" in page_text
    assert "Embedder ok hash/1" in page_text
    assert "Models off none configured" in page_text
    assert "Sandbox off starts with the first program" in page_text


def test_invalid_invitation_name_keeps_the_page(owner: Reader) -> None:
    answer = owner.send("/console/invite", name="x" * 201)

    assert (answer.status_code, "1 to 200 characters" in answer.text) == (422, True)
    assert "Health" in answer.text


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
        expect(page.get_by_role("heading", name="First steps")).to_be_visible()
        page.get_by_role("link", name="Create a key").click()
        page.locator("summary", has_text="Create a key").click()
        page.get_by_placeholder("laptop").fill("laptop")
        page.get_by_role("button", name="Create key").click()
        pasted = page.locator("#paste-environment").inner_text()
        page.locator("summary", has_text=re.compile("^curl$")).click()
        pasted += "\n" + page.locator("#paste-curl").inner_text()
        process = subprocess.run(
            ["sh", "-ec", pasted],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env=_bare(),
        )
        page.goto("/console")
        expect(page.get_by_role("heading", name="First steps")).to_be_hidden()
        expect(page.get_by_role("row", name="Turns 1")).to_be_visible()
        menu = page.get_by_role("navigation", name="Console")
        menu.get_by_role("link", name="Search", exact=True).click()
        expect(page.get_by_role("main")).to_contain_text("At 9:40 from Piombino, pier 3.")

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

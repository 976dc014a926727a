"""The home, service and usage pages, and the way from the first start to the first turn."""

from __future__ import annotations

import re

from command import captured
from console.reader import Reader, words_of
from console.test_profile import without_proxies
from console.things import put_things
from console.window import Site
from playwright.sync_api import Page, expect
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.usage import UsageCounter
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
        process = captured(["sh", "-ec", pasted], timeout=60, check=True, env=without_proxies())
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


PATH = "/console/usage"


def count_usage(context: Context, account: str) -> None:
    """Count three searches with a key, a run in a browser and seven model calls."""
    caller = authenticate(context, new_key(context, account))
    counter = UsageCounter(context, 3_600)
    counter.count("search", account_id=caller.account_id, key_id=caller.key_id, times=3)
    counter.count("run", account_id=caller.account_id)
    counter.count("model_call", times=7)
    counter.close()


def test_owner_sees_total_usage_and_members_their_own(
    owner: Reader, ada: Reader, context: Context
) -> None:
    """The owner sees all, others their own (specification.md#console-scope)."""
    count_usage(context, "owner")
    count_usage(context, "ada")
    total, own = words_of(owner.get(PATH).text), words_of(ada.get(PATH).text)

    for text in ("6 searches", "14 succeeded", "ada: for a test", "ada: browser or command line"):
        assert text in total
    assert "3 searches" in own
    for text in ("6 searches", "succeeded", "owner:"):
        assert text not in own

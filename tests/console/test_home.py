"""The home and service pages, and the way from the first start to the first turn."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable

from console.reader import Reader, words_of
from console.things import put_things
from console.window import Site
from playwright.sync_api import Page, expect

from remembrancer.context import Context
from remembrancer.server.run import welcome
from remembrancer.testing import FrozenClock

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


def test_service_page_shows_the_health_of_each_component(owner: Reader) -> None:
    page_text = words_of(owner.get("/console/service").text)

    assert "Store ok reads and writes" in page_text
    assert "Embedder ok hash/1" in page_text
    assert "Models off none configured" in page_text
    assert "Sandbox off starts with the first program" in page_text
    assert "Turns are kept until somebody forgets them." in page_text


def test_invalid_invitation_name_keeps_the_page(owner: Reader) -> None:
    answer = owner.send("/console/service/invite", name="x" * 201)

    assert (answer.status_code, "1 to 200 characters" in answer.text) == (422, True)
    assert "Health" in answer.text


class TestStream:
    def test_turns_stand_with_what_was_recalled_and_the_scores(self, owner: Reader) -> None:
        http = owner.http
        http.remember("Where is the saw?", "In the shed.", session_id="old")
        hit = http.memory("Where is the saw?", session_id="trip")["hits"][0]
        http.remember("And the saw?", "Found it.", session_id="trip")
        http.remember("Hello", "Hi.", user_id="mia", session_id="other")
        text = words_of(owner.get("/console").text)

        assert f"{100 * hit['score']:.0f} % In the shed." in text.split("And the saw?")[1]
        assert "mia other" in text
        assert text.index("And the saw?") < text.index("Where is the saw?")

    def test_figures_of_the_week_are_those_of_the_lists(
        self, owner: Reader, clock: FrozenClock, read_as: Callable[[str], Reader]
    ) -> None:
        """Answered and missed are all searches; earlier weeks are not counted."""
        http = owner.http
        http.memory("long ago", session_id="past")
        clock.advance(8 * 86_400_000)
        http.remember("Where is the saw?", "In the shed.", session_id="old")
        http.memory("Where is the saw?", session_id="well")
        for n in range(2):
            http.memory("Why is the moon up?", "bo", session_id=f"badly-{n}")
        facts = "/api/v7/memory/facts"
        first = http.post(facts, {"user_id": "mia", "text": "Mia lives in Genoa."}).json()["fact"]
        owner = read_as("owner")  # the browser was away for a week
        new = {"text": "Mia moved to Livorno.", "replaces": first["fact_id"]}
        http.post(facts, {"user_id": "mia", **new})
        page = owner.get("/console").text

        assert "33 % answered 1 of 3 searches 2 missed" in words_of(page)
        assert "2 facts changed 1 new, 1 replaced" in words_of(page)
        assert page.count("No question for memory") == 2
        assert owner.get("/console/searches?order=missed").text.count("No question for") == 3

    def test_nothing_of_another_account_is_in_it(self, owner: Reader, ada: Reader) -> None:
        put_things(owner.http)

        page = ada.get("/console?user_id=owner").text

        assert "Elba" not in page.split("<main")[1]


def test_something_is_remembered_in_the_box(owner: Reader) -> None:
    page = owner.followed(owner.send("/console/remember", text="The spare key is at Tom's.")).text

    assert "Remembered." in page
    assert "The spare key is at Tom&#39;s." in page
    assert owner.http.memory("spare key", interact=False)["hits"][0]["score"] > 0
    refused = owner.send("/console/remember", text=" ")
    assert refused.status_code == 422


def test_sample_is_loaded_and_removed_with_one_click_each(owner: Reader) -> None:
    owner.http.remember("Mine", "stays")
    page = owner.followed(owner.send("/console/sample", do="load")).text
    assert "plot 17" in page
    assert "Remove the sample" in owner.get("/console").text

    owner.followed(owner.send("/console/sample", do="remove"))

    assert "Remove the sample" not in owner.get("/console").text
    assert "plot 17" not in owner.get("/console").text
    assert "Mine" in owner.get("/console").text


def test_turn_appears_on_the_home_page_when_it_arrives(owner: Reader, site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")
        expect(page.get_by_text("Waiting for the first turn")).to_be_visible()
        owner.http.remember("Where is the saw?", "In the shed.")
        expect(page.get_by_role("link", name="Where is the saw?")).to_be_visible()


def begin(page: Page, output: str) -> None:
    """Follow the link that the server printed at its first start, and set the password."""
    [set_up] = re.findall(r"http://127\.0\.0\.1:\d+/console/password\?token=\S+", output)
    page.goto(set_up)
    page.get_by_label("Password, at least 12").fill(GOOD)
    page.get_by_label("Repeat the password").fill(GOOD)
    page.keyboard.press("Enter")


def test_refreshing_keeps_the_focus_and_what_is_typed(owner: Reader, site: Site) -> None:
    owner.http.memory("Where is the key of the barn?", "bo", session_id="s")
    owner.http.remember("Where is the key of the barn?", "No idea.", session_id="s", user_id="bo")
    with site.window("owner") as page:
        page.goto("/console")
        page.get_by_text("Add the answer").click()
        page.get_by_label("The answer, as one statement").fill("At Tom's.")
        page.get_by_role("link", name="1 missed").focus()
        owner.http.remember("Where is the saw?", "In the shed.")
        expect(page.get_by_role("link", name="Where is the saw?")).to_be_visible()

        expect(page.get_by_role("link", name="1 missed")).to_be_focused()
        expect(page.get_by_label("The answer, as one statement")).to_have_value("At Tom's.")


def test_refreshing_goes_on_after_the_service_was_away(owner: Reader, site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")
        page.route("**/console", lambda route: route.fulfill(status=503, body="away"))
        with page.expect_response("**/console"):
            pass
        page.unroute("**/console")
        owner.http.remember("Where is the saw?", "In the shed.")
        expect(page.get_by_role("link", name="Where is the saw?")).to_be_visible()
    site.watch.wrong.clear()  # the browser reports the status 503


def test_first_run_path_leads_to_a_visible_turn(site: Site, context: Context) -> None:
    """First start, sign-in, key, curl example, visible turn."""
    with site.window() as page:
        begin(page, welcome(context, site.address))
        expect(page.get_by_text("Waiting for the first turn")).to_be_visible()
        page.get_by_role("button", name="Create a key").click()
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

"""The keyboard alone: rows, the panel, the palette, and the list of keys."""

from __future__ import annotations

import re

import pytest
from console.pages import FOR_OWNERS
from console.reader import Reader, words_of
from console.window import Site
from playwright.sync_api import expect

from remembrancer.console import layout

PATH = "/console/go"


def test_memory_is_searched_read_and_changed_with_the_keyboard_alone(
    owner: Reader, site: Site
) -> None:
    """/ searches, j and k move, Enter opens, x chooses, e corrects, Escape closes."""
    for n in range(3):
        owner.http.remember(f"Where is saw {n}?", f"In shed {n}.", session_id=f"s{n}")
    with site.window("owner") as page:
        page.goto("/console")
        page.keyboard.press("/")
        field = page.get_by_role("searchbox", name="Query")
        expect(field).to_be_focused()
        page.keyboard.type("where is saw 1")
        expect(page.locator(".rows mark").first).to_be_visible()
        page.keyboard.press("Tab")
        for _ in range(2):
            page.keyboard.press("j")
        page.keyboard.press("k")
        expect(page.locator("[data-open]").first).to_be_focused()
        page.keyboard.press("x")
        expect(page.get_by_role("button", name="Forget…").first).to_be_visible()
        page.keyboard.press("x")
        page.keyboard.press("Enter")

        panel = page.get_by_role("complementary", name="Turn")
        expect(panel).to_contain_text("In shed 1.")
        expect(panel).to_contain_text("Why it is a hit")
        assert "query=where+is+saw+1" in page.url
        page.keyboard.press("e")
        expect(page.get_by_label("What is right?")).to_be_focused()
        page.keyboard.type("Saw 1 is at Tom's.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.get_by_role("status").first).to_contain_text("The fact is stored.")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page.get_by_role("complementary", name="Fact")).to_be_visible()
        page.keyboard.press("p")
        expect(page.get_by_role("button", name="Unpin").last).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("complementary", name="Fact")).to_have_count(0)

    [fact] = owner.http.get("/api/v7/memory/facts").json()["facts"]
    assert (fact["text"], fact["pinned"]) == ("Saw 1 is at Tom's.", True)


def test_question_mark_lists_the_keys(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")
        keys = page.get_by_role("dialog", name="Keys")
        expect(keys).to_be_hidden()
        page.keyboard.press("?")
        expect(keys).to_contain_text("Correct what is open")
        page.keyboard.press("Escape")
        expect(keys).to_be_hidden()


def test_selector_acts_at_once_and_without_scripts_has_a_button(owner: Reader, site: Site) -> None:
    for user_id in ("owner", "mia"):
        owner.http.remember("q", f"of {user_id}", user_id=user_id)
    with site.window("owner") as page:
        page.goto("/console/memory")
        page.locator(".chooser select").select_option("mia")
        expect(page.locator(".rows")).to_contain_text("of mia")
        expect(page.locator(".chooser button")).to_be_hidden()
    with site.window("owner", java_script_enabled=False) as page:
        page.goto("/console/memory")
        page.locator(".chooser select").select_option("mia")
        page.locator(".chooser button").click()
        expect(page.locator(".rows")).to_contain_text("of mia")


def test_directory_lists_every_page_of_the_menu_and_the_actions(owner: Reader) -> None:
    main = owner.get(PATH).text.split("<main")[1]

    assert re.findall(r'<li><a href="(/[a-z/-]+)"><b', main)[: len(layout.SECTIONS)] == [
        section.path for section in layout.SECTIONS
    ]
    assert "Add a fact" in main


def test_directory_hides_what_a_member_may_not_open(ada: Reader) -> None:
    main = ada.get(PATH).text.split("<main")[1]

    assert [path for path in FOR_OWNERS if f'href="{path}"' in main] == []


def test_addresses_of_actions_exist(owner: Reader) -> None:
    paths = re.findall(r'<li><a href="([^"]+)"', owner.get(PATH, swap=True).text)

    assert {path: owner.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


@pytest.mark.parametrize(
    ("query", "group", "name"),
    [
        ("usage", "Pages", "Usage"),
        ("retention", "Settings", "retention days"),
        ("mia", "People", "mia"),
        ("ferry", "Sessions", "When does the ferry leave?"),
        ("car long", "Facts", "The car is 4.62 m long."),
        ("pier three", "Turns", "When does the ferry leave?"),
    ],
)
def test_directory_finds_pages_and_what_is_stored(
    owner: Reader, query: str, group: str, name: str
) -> None:
    said = {"critical": "The car is 4.62 m long.", "session_id": "trip"}
    owner.http.remember("When does the ferry leave?", "At 9:40 from pier three.", **said)
    owner.http.remember("q", "r", user_id="mia")

    page = owner.get(f"{PATH}?query={query}", swap=True).text
    groups = dict(re.findall(r"(?s)<h2>(\w+)</h2>\s*<ul[^>]*>(.*?)</ul>", page))

    assert name in words_of(groups[group])


def test_directory_finds_nothing_of_another_account(owner: Reader, ada: Reader) -> None:
    owner.http.remember("When does the ferry leave?", "At 9:40.", session_id="trip")
    page = ada.get(f"{PATH}?query=ferry&user_id=owner", swap=True).text

    assert "When does" not in page
    assert "trip" not in page


def test_palette_opens_and_enter_goes_to_the_first_match(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console/usage")
        page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Go to")
        field = palette.get_by_role("searchbox")
        expect(field).to_be_focused()
        expect(palette.get_by_role("link", name="Lessons")).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(palette.get_by_role("link").first).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(field).to_be_focused()
        field.fill("audit")
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/audit")
        page.keyboard.press("Control+k")
        expect(palette).to_be_visible()
        page.keyboard.press("Escape")
        expect(palette).to_be_hidden()


def test_slash_in_a_field_is_a_slash(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console/memory")
        field = page.get_by_label("Query")
        field.press("/")
        expect(field).to_have_value("/")
        expect(page.get_by_role("dialog")).to_have_count(0)

"""The keyboard alone: rows, the panel, the palette, and the list of keys."""

from __future__ import annotations

import re

import pytest
from console.pages import FOR_OWNERS
from console.reader import Reader, words_of
from console.window import Site
from playwright.sync_api import expect

PATH = "/console/go"


def test_memory_is_searched_read_and_changed_with_the_keyboard_alone(
    owner: Reader, site: Site
) -> None:
    """/ searches, j and k move, Enter opens, x chooses, e corrects, Escape closes."""
    for n in range(3):
        owner.http.remember(f"Where is saw {n}?", f"In shed {n}.", session_id=f"s{n}")
    with site.window("owner", permissions=["clipboard-read", "clipboard-write"]) as page:
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
        page.get_by_role("button", name="Copy id").press("Enter")
        expect(page.get_by_text("Copied")).to_be_visible()
        [event_id] = re.findall(r"event_id=(e_\w+)", page.url)
        assert page.evaluate("navigator.clipboard.readText()") == event_id
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


def test_directory_hides_what_a_member_may_not_open(ada: Reader) -> None:
    main = ada.get(PATH).text.split("<main")[1]

    assert [path for path in FOR_OWNERS if f'href="{path}"' in main] == []


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

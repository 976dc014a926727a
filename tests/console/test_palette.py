"""The directory of pages, and the dialog that / and Ctrl+K open."""

from __future__ import annotations

import re

import pytest
from console.pages import FOR_OWNERS
from console.reader import Reader
from console.window import Site
from playwright.sync_api import expect

from remembrancer.console import layout

PATH = "/console/go"


def test_directory_lists_every_page_of_the_menu_and_the_actions(owner: Reader) -> None:
    main = owner.get(PATH).text.split("<main")[1]

    assert re.findall(r'<li><a href="(/[a-z/-]+)"><b>', main)[: len(layout.SECTIONS)] == [
        section.path for section in layout.SECTIONS
    ]
    assert "Add a fact" in main


def test_directory_hides_what_a_member_may_not_open(ada: Reader) -> None:
    main = ada.get(PATH).text.split("<main")[1]

    assert [path for path in FOR_OWNERS if f'href="{path}"' in main] == []


def test_addresses_of_actions_exist(owner: Reader) -> None:
    paths = re.findall(r'<li><a href="([^"]+)"', owner.get(PATH, swap=True).text)

    assert {path: owner.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_key_opens_the_palette_and_enter_goes_to_the_first_match(site: Site, key: str) -> None:
    with site.window("owner") as page:
        page.goto("/console/usage")
        page.keyboard.press(key)
        palette = page.get_by_role("dialog", name="Go to")
        field = palette.get_by_role("searchbox")
        expect(field).to_be_focused()
        expect(palette.get_by_role("link", name="Timeline")).to_be_visible()
        field.fill("timel")
        expect(palette.get_by_role("link", name="Sessions")).to_be_hidden()
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/timeline")


def test_arrows_move_and_escape_closes(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")
        page.keyboard.press("/")
        palette = page.get_by_role("dialog", name="Go to")
        expect(palette.get_by_role("link", name="Timeline")).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(palette.get_by_role("link").first).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(palette.get_by_role("searchbox")).to_be_focused()
        page.keyboard.press("Escape")
        expect(palette).to_be_hidden()


def test_words_that_name_no_page_search_memory(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console")
        page.keyboard.press("Control+k")
        page.get_by_role("dialog").get_by_role("searchbox").fill("zebra crossing")
        expect(page.get_by_text("Enter searches the memory")).to_be_visible()
        page.keyboard.press("Enter")
        page.wait_for_url("**/console/memory?query=zebra+crossing")


def test_slash_in_a_field_is_a_slash(site: Site) -> None:
    with site.window("owner") as page:
        page.goto("/console/memory")
        field = page.get_by_label("Query")
        field.press("/")
        expect(field).to_have_value("/")
        expect(page.get_by_role("dialog")).to_have_count(0)

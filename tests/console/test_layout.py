"""Long names, the menu of owners and the latest weeks of a calendar lie within the window."""

from __future__ import annotations

from typing import Any

from console.reader import Reader
from console.things import put_permissions, put_things
from console.window import Site
from playwright.sync_api import Locator, expect
from service import Http
from teams import new_team

LAPTOP, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}


def box(element: Locator) -> Any:
    """Return the place and size of an element."""
    result = element.bounding_box()
    assert result is not None
    return result


def test_sign_out_of_owners_is_in_view_on_low_windows(owner: Reader, site: Site) -> None:
    with site.window("owner", viewport=LAPTOP) as page:
        page.goto("/console")
        for name in ("Dark", "Sign out"):
            expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
        for name in ("Home", "Admin", "Documentation"):
            link = page.locator("#side").get_by_role("link", name=name)
            expect(link).to_be_in_viewport(ratio=1)


def test_rows_are_dense_however_long_their_texts_are(http: Http, owner: Reader, site: Site) -> None:
    """A row has one line of the request, one of the reply, and one about it."""
    name = "planning-the-move-to-the-new-office-in-genoa-" * 5
    for _ in range(2):
        http.memory("saw", session_id=name)
        http.remember("Where is the saw that I lent to Giulia? " * 9, "In W" * 90, session_id=name)
    with site.window("owner", viewport=LAPTOP) as page:
        for path in ("/console/memory", "/console/memory?kind=session"):
            page.goto(path)
            assert box(page.locator(".entry").first)["height"] <= 90, path
        page.goto("/console/searches")
        assert box(page.locator("tbody tr").first)["height"] <= 60


def test_panel_is_a_column_on_wide_and_the_page_on_narrow_windows(
    http: Http, owner: Reader, site: Site
) -> None:
    event_id = http.remember("Where is the saw?", "In the shed.")["event_id"]
    address = f"/console/memory?event_id={event_id}"
    for viewport, is_alone in ((LAPTOP, False), (PHONE, True)):
        with site.window("owner", viewport=viewport) as page:
            page.goto(address)
            expect(page.get_by_role("complementary", name="Turn")).to_be_in_viewport()
            expect(page.locator(".listing")).to_be_visible(visible=not is_alone)
            page.get_by_role("link", name="Close").click()
            expect(page.locator(".listing")).to_be_visible()
            page.go_back()
            expect(page.get_by_role("complementary", name="Turn")).to_be_visible()


def test_long_name_of_a_team_leaves_the_columns_in_view(
    http: Http, owner: Reader, site: Site
) -> None:
    new_team(http, "The people who look after the garden behind the old house")
    new_team(http, "W" * 100)
    with site.window("owner", viewport=LAPTOP) as page:
        page.goto("/console/teams")
        table = page.get_by_role("region", name="Teams")
        assert table.evaluate("node => node.scrollWidth <= node.clientWidth")
        expect(page.get_by_role("columnheader", name="Created")).to_be_in_viewport(ratio=1)


def test_cells_of_stacked_tables_are_labelled_on_narrow_windows(
    http: Http, owner: Reader, site: Site
) -> None:
    put_things(http)
    put_permissions(http)
    labels = {
        "/console/files": ["Size", "Created", "By"],
        "/console/permissions": ["Scope", "Actions", "Agent", "Time left", "Grant"],
        "/console/audit": ["Agent", "By", "Hash"],
    }
    content = "node => getComputedStyle(node, '::before').content"
    with site.window("owner", viewport=PHONE) as page:
        for path, names in labels.items():
            page.goto(path)
            for name in names:
                cell = page.locator(f'td[data-label="{name}"]').first
                assert cell.evaluate(content) == f'"{name}"', (path, name)

"""Long names, the menu of owners and the latest weeks of a calendar lie within the window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.reader import Reader
from console.sample_year import import_year
from console.things import put_permissions, put_things
from console.window import Site
from playwright.sync_api import Locator, expect
from service import Http
from teams import new_team

from remembrancer.context import Context

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
        last = page.get_by_role("link", name="Documentation")
        last.focus()
        assert box(last)["y"] + box(last)["height"] <= box(page.locator(".foot"))["y"]


def test_calendar_begins_at_its_latest_week_on_narrow_windows(
    context: Context, owner: Reader, site: Site, tmp_path: Path
) -> None:
    import_year(context, tmp_path, turns=200)
    with site.window("owner", viewport=PHONE) as page:
        page.goto("/console/timeline?year=2025")
        days = page.locator(".calendar rect")
        expect(days.last).to_be_in_viewport()
        expect(days.first).not_to_be_in_viewport()
    with site.window("owner", viewport=LAPTOP) as page:
        page.goto("/console/timeline?year=2025")
        assert box(page.locator(".calendar svg"))["x"] == box(page.locator(".calendar"))["x"]


def test_long_names_of_sessions_and_searches_have_room_and_two_lines(
    http: Http, owner: Reader, site: Site
) -> None:
    name = "planning-the-move-to-the-new-office-in-genoa-" * 5
    for session_id in (name, "short"):
        http.memory("saw", session_id=session_id)
        http.remember(
            "Where is the saw that I lent to Giulia? " * 9, "Here.", session_id=session_id
        )
    with site.window("owner", viewport=LAPTOP) as page:
        for path in ("/console/sessions", "/console/searches"):
            page.goto(path)
            cell = page.locator("tbody .cut").get_by_role("link", name=name).locator("..")
            assert box(cell)["width"] >= 180, path
            assert box(cell)["height"] <= 48, path
            assert cell.get_attribute("title") == name


def test_figures_of_one_user_are_hidden_for_a_search_of_several(
    http: Http, owner: Reader, site: Site
) -> None:
    for user_id in ("owner", "mia"):
        http.remember("Where is the saw?", "In the shed.", user_id=user_id)
    with site.window("owner", viewport=LAPTOP) as page:
        page.goto("/console/memory?query=saw")
        figures = page.get_by_text("1 turn of owner")
        expect(figures).to_be_visible()
        page.get_by_label("All users").check()
        expect(figures).to_be_hidden()
        page.goto("/console/memory?query=saw&users=everyone")
        expect(figures).to_be_hidden()


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


def test_long_facts_are_cut_after_three_lines(http: Http, owner: Reader, site: Site) -> None:
    text = "The car is in the garage behind the house that Giulia rents. " * 20
    http.post("/api/v7/memory/facts", {"user_id": "owner", "text": text})
    http.remember("Where is the car?", "In the garage.")
    with site.window("owner", viewport=PHONE) as page:
        for path in ("/console", "/console/timeline"):
            page.goto(path)
            fact = page.get_by_role("link", name="The car is in the garage").locator("..")
            assert box(fact)["height"] <= 75, path

"""What only a real browser can tell: that nothing runs, nothing leaks and nothing jumps, and that hands without a mouse can do it all."""

from __future__ import annotations

import pytest
from console.window import Site
from playwright.sync_api import expect

pytestmark = pytest.mark.xdist_group("browser")


def test_the_navigation_opens_on_a_narrow_screen_and_stands_on_a_wide_one(site: Site) -> None:
    with site.window("owner", viewport={"width": 360, "height": 740}) as page:
        page.goto("/console")
        side = page.get_by_role("navigation", name="Console")
        expect(side).to_be_hidden()
        page.get_by_role("button", name="Menu").press("Enter")
        expect(side).to_be_visible()
        page.keyboard.press("Escape")
        expect(side).to_be_hidden()
        page.set_viewport_size({"width": 1600, "height": 900})
        expect(side).to_be_visible()


def test_the_watch_sees_what_goes_wrong(site: Site) -> None:
    """A watch that finds nothing may be one that looks at nothing."""
    with site.window("owner") as page:
        page.goto("/console")
        page.evaluate("""() => {
            const hostile = "<img src='http://evil.example/x'><b onclick='1'>x</b><i style='color:red'>y</i>";
            document.body.insertAdjacentHTML("beforeend", hostile);
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
        }""")
        page.goto("/console/none")

        assert page.evaluate("window.ran") is None
    seen = "\n".join(site.watch.wrong)
    site.watch.wrong.clear()
    assert "img-src 'self'" in seen
    assert "style-src 'self'" in seen
    assert "script-src 'self'" in seen
    assert "status of 404" in seen

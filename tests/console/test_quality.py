"""Every page, with a year of data: accessible in both themes, small, quick to settle, and plain."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest
from architecture.tree import ROOT
from axe_playwright_python.base import AXE_SCRIPT
from console.pages import EVERY_PAGE, VIEWS
from console.reader import ORIGIN, Reader
from console.sample_year import import_year
from console.screenshots import CHOSEN, IMAGES, hits_of
from console.screenshots import filled as with_sample
from console.things import put_facts, put_permissions, put_things
from console.window import Site
from PIL import Image
from playwright.sync_api import Page, Response
from rounds import rounds
from service import Http
from starlette.testclient import TestClient

from remembrancer.context import Context
from remembrancer.server.app import make_app

BYTES_MAX = 150_000  # of a page with its styles and scripts, uncompressed, from an empty cache
REQUESTS_MAX = 10
SHIFT_MAX = 0.02
SETTLED = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => { for (const one of list.getEntries()) sum += one.value; })
        .observe({type: "layout-shift", buffered: true});
    requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})"""


@pytest.fixture
def filled(owner: Reader, context: Context, tmp_path: Path) -> Http:
    """A service with 1,400 imported turns, records of every kind, and searches of an agent."""
    import_year(context, tmp_path)
    http = owner.http
    put_things(http)
    put_facts(http, user_id="owner")
    put_permissions(http)
    http.memory("When does the ferry leave?", session_id="this-week")
    http.remember("When does the ferry leave?", "**At 9:40**\n\n- pier 3", session_id="this-week")
    http.memory("And back?", session_id="this-week")
    return http


def addresses(http: Http) -> list[str]:
    """Return every page and the views that show one record."""
    event_id = http.memory("ferry", interact=False)["hits"][0]["event_id"]
    facts = http.get("/api/v7/memory/facts", params={"user_id": "owner"}).json()["facts"]
    cubes = http.memory("ferry", interact=False)["shared_cubes"]
    return [
        *EVERY_PAGE,
        *(path for name, path in VIEWS.items() if name not in ("refused", "sign-in")),
        "/console/sessions?session_id=this-week",
        "/console/searches?session_id=this-week&step=1",
        f"/console/memory?event_id={event_id}&look=again",
        f"/console/memory?kind=fact&fact_id={facts[0]['fact_id']}",
        *(f"/console/cubes?cube_id={cube['cube_id']}" for cube in cubes[:1]),
    ]


def violations(page: Page, *rules: str) -> list[str]:
    """Return what axe finds on a page by these rules, or by all: rule, and the first element."""
    page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    result = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} ({len(one['nodes'])})"
        for one in result["violations"]
    ]


def test_axe_finds_no_violation(filled: Http, site: Site) -> None:
    """The dark theme differs in its colours alone."""
    wrong = {}
    with site.window("owner", color_scheme="light", reduced_motion="reduce") as page:
        for path in addresses(filled):
            page.goto(path)
            problems = violations(page)
            page.emulate_media(color_scheme="dark")
            problems += violations(page, "color-contrast")
            page.emulate_media(color_scheme="light")
            if problems:
                wrong[path] = problems

    assert wrong == {}


@pytest.mark.long
@pytest.mark.parametrize("account", rounds(["owner"], ["owner", "ada"]))
def test_pages_are_small_and_do_not_shift(filled: Http, site: Site, account: str) -> None:
    """Each without a cache, as on the first visit; `ada` has no data."""
    wrong, responses = {}, list[Response]()

    def keep(response: Response) -> None:
        if response.request.resource_type not in ("fetch", "xhr"):  # late, of the page before
            responses.append(response)

    with site.window(account, viewport={"width": 360, "height": 800}) as page:
        page.on("response", keep)
        devtools = page.context.new_cdp_session(page)
        devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
        for path in addresses(filled) if account == "owner" else EVERY_PAGE:
            responses.clear()
            page.goto(path)
            shift = page.evaluate(SETTLED)
            size = sum(len(one.body()) for one in responses if one.status == 200)
            wide = page.evaluate("document.documentElement.scrollWidth")
            requests = len(responses)
            if size > BYTES_MAX or requests > REQUESTS_MAX or shift > SHIFT_MAX or wide > 360:
                wrong[path] = (size, requests, shift, wide)
    if account == "ada":
        site.watch.wrong.clear()  # pages of owners answer 403

    assert wrong == {}


SHEETS = {
    "style.css": resources.files("remembrancer.http") / "templates" / "style.css",
    "console.css": resources.files("remembrancer.console") / "templates" / "console.css",
}
SPACE = re.compile(r"(?<![\w-])(?:margin|padding|gap|row-gap|column-gap)(?:-[a-z]+)*:\s*([^;}]+)")
TYPE = re.compile(r"(?<![\w-])font(?:-size)?:\s*([^;}]+)")
# Beside a step: nothing, a hairline, the rest of a line, and a share of the window.
NO_STEP = re.compile(r"\b(?:0|auto)\b|(?<![\d.])-?1px|[\d.]+(?:vw|vh|%)")
STEP = re.compile(r"calc\(-1 \* var\(--s\d\)\)|var\(--s\d\)|0\.1em")


def rules_of(name: str) -> str:
    """Return a sheet without its comments and its tokens."""
    text = re.sub(r"(?s)/\*.*?\*/", "", SHEETS[name].read_text("utf-8"))
    return re.sub(r"(?s)^\s*:root \{.*?\n\}", "", text)


@pytest.mark.parametrize("name", SHEETS)
def test_every_margin_padding_and_gap_is_a_step_of_the_scale(name: str) -> None:
    values = [value.strip() for value in SPACE.findall(rules_of(name))]
    other = [one for one in values if re.search(r"\d", NO_STEP.sub("", STEP.sub("", one)))]

    assert values
    assert other == []


@pytest.mark.parametrize("name", SHEETS)
def test_every_size_of_type_is_a_step_of_the_scale(name: str) -> None:
    """Code is a little smaller than the text around it; charts are drawn in units of their own."""
    sizes = {
        value for value in TYPE.findall(rules_of(name)) if re.search(r"\d(?:rem|px|em)", value)
    }

    assert {size for size in sizes if size not in ("0.875em", "11px var(--text)", "17px")} == set()


@pytest.mark.parametrize("name", SHEETS)
def test_colours_are_tokens_that_have_a_light_and_a_dark_value(name: str) -> None:
    colours = re.findall(r"oklch\([^)]*\)|rgba?\([^)]*\)|#[0-9a-f]{3,8}\b", rules_of(name))
    root = re.search(r"(?s):root \{.*?\n\}", SHEETS["style.css"].read_text("utf-8"))

    assert colours == []
    assert root
    assert [
        line.strip()
        for line in root[0].splitlines()
        if "oklch" in line and "light-dark" not in line and not line.strip().startswith("--sha")
    ] == []


def test_first_picture_shows_the_hits_of_the_page(tmp_path: Path) -> None:
    """A search that people believe: one clear answer, and the rest far below it."""
    with (
        with_sample(tmp_path) as context,
        TestClient(make_app(context), base_url=ORIGIN) as client,
    ):
        hits = hits_of(Reader(client, context).get(VIEWS["search"]).text)

    for theme in ("light", "dark"):
        with Image.open(ROOT / IMAGES / f"search-1280-{theme}.png") as picture:
            assert json.loads(picture.info["hits"]) == hits
    scores = [int(re.findall(r"(\d+) %", hit)[-1]) for hit in hits]
    assert scores[0] > 50
    assert max(scores[1:]) < 20


def test_every_picture_of_the_console_is_taken_anew_and_used() -> None:
    text = "".join(
        page.read_text("utf-8") for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    )
    drawn = {path.stem for path in (ROOT / IMAGES).glob("*.png")} - {
        "growth-events",
        "growth-users",
    }

    assert drawn == set(CHOSEN)
    assert [name for name in CHOSEN if f"images/{name}.png" not in text] == []

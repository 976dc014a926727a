"""Screenshots of every page in both themes, on a phone and on a laptop, full and empty.

Run with `make screenshots`. All pictures go to `screenshots/`, which git ignores; those that the
documentation shows go to `docs/images/`, with few colours, so that they stay small.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlsplit

from console.pages import EVERY_PAGE, VIEWS
from console.reader import words_of
from console.sample_year import import_year
from console.things import put_conversation, put_facts, put_permissions, put_things
from console.window import Site, launch
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Playwright, ViewportSize, sync_playwright
from service import Http, new_key, serving
from starlette.testclient import TestClient

from remembrancer.console.routes import PAGES
from remembrancer.context import Context, assemble
from remembrancer.protocol.seal import render
from remembrancer.server.app import make_app
from remembrancer.settings import Settings
from remembrancer.testing import FrozenClock

SIZES: Mapping[str, ViewportSize] = {
    "390": {"width": 390, "height": 844},
    "1280": {"width": 1280, "height": 720},
    "1440": {"width": 1440, "height": 900},
}
# Pictures of the documentation, by name: they show the window, not the whole page.
CHOSEN = (
    "console-1280-light",
    "console-1280-dark",
    "search-1280-light",
    "search-1280-dark",
    "search-390-dark",
    "session-1280-light",
    "panel-1280-light",
    "console-knows-1280-light",
    "console-searches-1280-light",
)
SAMPLE_VIEWS = {
    "panel": "/console/memory?kind=turn&query=When+is+our+first+gig%3F",  # with its first row open
    "session": "/console/sessions?session_id=this-week",
    "trace": "/console/searches?user_id=owner&session_id=this-week&step=2",
}  # of the sample data
DAYS, DAY_MS = 14, 86_400_000
IMAGES = Path("docs/images")
COLOURS = 64


@contextmanager
def filled(folder: Path) -> Iterator[Context]:
    """A service with a year of turns, records of every kind, and one empty account."""
    clock = FrozenClock(time.time_ns() // 1_000_000 - DAYS * DAY_MS)
    context = replace(assemble(Settings(data=folder, durability="normal")), clock=clock)
    try:
        import_year(context, folder)
        put_conversation(context)
        with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
            http = Http(client, context, new_key(context))
            put_things(http)
            put_permissions(http)
            put_weeks(http, clock)
            put_facts(http, user_id="owner")
        yield context
    finally:
        context.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One screenshot: its page, account, theme and size."""

    name: str
    path: str
    account: str | None
    theme: Literal["light", "dark"]
    viewport: ViewportSize


def pictures() -> Iterator[Picture]:
    """Yield a picture per page, theme and size; the prefix `empty-` marks an empty account."""
    pages = {path.removeprefix("/").replace("/", "-"): path for path in EVERY_PAGE}
    views = pages | VIEWS | SAMPLE_VIEWS
    for name, path in views.items():
        page = PAGES[urlsplit(path).path]
        shows = (
            {"": None}
            if page.is_public
            else {"": "owner"}
            if page.owner_only or name not in pages
            else {"": "owner", "empty-": "ada"}
        )
        themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
        for theme, (size, viewport), (kind, account) in product(
            themes, SIZES.items(), shows.items()
        ):
            yield Picture(
                name=f"{kind}{name}-{size}-{theme}",
                path=path,
                account=account,
                theme=theme,
                viewport=viewport,
            )


def put_weeks(http: Http, clock: FrozenClock) -> None:
    """Search and remember for two weeks as an agent does, with a receipt for most replies."""
    unknown = (
        ("Did the plumber call back?", "I have no note of it."),
        ("Which vet did Tomasz recommend?", "I do not know."),
        ("What is the code of the bicycle shed?", "You have not told me."),
        ("How tall is the new bookcase?", "I do not know."),
    )
    known = (
        ("When is our first gig?", "On 18 April at the Lantern, doors at 19:30."),
        ("Who reviews Kestrel this week?", "Priya, until Thursday."),
        ("What did Mrs Adeyemi say about the beds?", "They flood in wet winters."),
        ("How long does the bread prove?", "18 hours in the fridge."),
        ("When is my appointment?", "On the 12th at 8:30; bring the scan."),
    )
    chance = random.Random(3)
    for day in range(DAYS):
        session_id, seal = ("this-week" if day == DAYS - 1 else f"day-{day + 1}"), None
        questions = (*known, *([unknown[day // 3 % len(unknown)]] if day % 3 == 0 else ()))
        chance.shuffle(todays := list(questions))
        for query, response in todays[: chance.randint(2, 6) if day < DAYS - 1 else 6]:
            answer = http.memory(query, session_id=session_id, last_seal=seal)
            if chance.random() < 0.85:
                http.remember(query, response, session_id=session_id)
            seal = render(answer["step"]) if chance.random() < 0.8 else None
            clock.advance(420_000)
        clock.advance(DAY_MS - 6 * 420_000)


def hits_of(page: str) -> list[str]:
    """Return the hits that a page of results lists: the score and the text of each."""
    row = (
        r'(?s)<p class="first".*?</p>.*?<p class="about">.*?</svg> <span class="figure">.*?</span>'
    )
    return [words_of(one) for one in re.findall(row, page)]


def save_small(source: Path, folder: Path, page: str) -> None:
    """Save a picture with few colours, and in it the hits that its page lists."""
    folder.mkdir(parents=True, exist_ok=True)
    shows = PngInfo()
    shows.add_itxt("hits", json.dumps(hits_of(page), ensure_ascii=False))
    with Image.open(source) as picture:
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
            folder / source.name, optimize=True, pnginfo=shows
        )


def take(playwright: Playwright, context: Context, folder: Path, only: str) -> None:
    """Take the pictures whose name contains `only`; print the problems that the pages had."""
    folder.mkdir(parents=True, exist_ok=True)
    with serving(make_app(context)) as port:
        site = Site(f"http://127.0.0.1:{port}", launch(playwright), context)
        for picture in pictures():
            if only not in picture.name:
                continue
            with site.window(
                picture.account, viewport=picture.viewport, color_scheme=picture.theme
            ) as page:
                page.goto(picture.path)
                if picture.name.startswith("panel"):
                    page.locator("[data-open]").first.click()
                path = folder / f"{picture.name}.png"
                if picture.name in CHOSEN:
                    page.screenshot(path=path)
                    save_small(path, IMAGES, page.content())
                page.screenshot(path=path, full_page=True)
                wide = (
                    page.evaluate("document.documentElement.scrollWidth")
                    > picture.viewport["width"]
                )
            print(picture.name, *(["IS WIDER THAN ITS WINDOW"] if wide else []), *site.watch.wrong)
        site.browser.close()


def main() -> None:
    """Fill a service in a temporary folder and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("screenshots"))
    parser.add_argument("--only", default="", help="part of the names of the pictures to take")
    arguments = parser.parse_args()
    if shutil.which("chromium") is None:
        sys.exit("needs chromium: make setup-system as root, or apt-get install chromium")
    with (
        TemporaryDirectory() as folder,
        filled(Path(folder)) as context,
        sync_playwright() as playwright,
    ):
        take(playwright, context, arguments.out, arguments.only)


if __name__ == "__main__":
    main()

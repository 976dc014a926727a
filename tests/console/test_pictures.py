"""The pictures of the documentation show what the pages show (`make screenshots` takes them)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from architecture.tree import ROOT
from console.pages import VIEWS
from console.reader import ORIGIN, Reader
from console.screenshots import CHOSEN, IMAGES, filled, hits_of
from PIL import Image
from starlette.testclient import TestClient

from remembrancer.server.app import make_app


def test_first_picture_shows_the_hits_of_the_page(tmp_path: Path) -> None:
    """A search that people believe: one clear answer, and the rest far below it."""
    with (
        filled(tmp_path) as context,
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

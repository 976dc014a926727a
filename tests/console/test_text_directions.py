"""Texts of users, such as Arabic and Hebrew ones, run in their own direction on every page."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from console.pages import EVERY_PAGE, VIEWS
from console.reader import Reader
from console.things import put_facts, put_things
from service import Http
from teams import good, new_team

HEBREW = "המעבורת"
_VOID = {"input", "meta", "link", "img", "br", "hr", "rect", "circle", "path", "line"}
# The browser lays out a title, a choice and a drawing by itself; code stays left to right.
_APART = {"title", "option", "select", "script", "code", "svg", "nav"}


class Directions(HTMLParser):
    """Collects the texts with `HEBREW` that no element of an own direction holds."""

    def __init__(self) -> None:
        super().__init__()
        self.visited = 0
        self.wrong: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note whether an element has a direction of its own."""
        if tag not in _VOID:
            self._open.append((tag, tag in _APART or tag == "bdi" or ("dir", "auto") in attrs))

    def handle_endtag(self, tag: str) -> None:
        """Close an element, and those in it that have no end tag."""
        while tag not in _VOID and self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Check a text."""
        if HEBREW in data:
            self.visited += 1
            if not any(has_direction for _, has_direction in self._open):
                self.wrong.append(f"{self._open[-1][0]}: {data.strip()[:60]}")


@pytest.fixture
def http(owner: Reader) -> Http:
    """A service that holds Hebrew texts alone."""
    client = owner.http
    put_things(client, lambda text, room: f"{HEBREW} {text}"[:room], session_id=HEBREW)
    put_facts(client, lambda text, room: f"{HEBREW} {text}"[:room], user_id="owner")
    return client


def test_texts_of_users_have_their_own_direction(http: Http, owner: Reader) -> None:
    turn = {"query": f"{HEBREW}?", "response": f"{HEBREW}.", "team": new_team(http, HEBREW)}
    good(http.post("/api/v7/remember", turn))
    hits = http.memory(HEBREW, interact=False)
    facts = http.get("/api/v7/memory/facts", params={"user_id": "owner"}).json()["facts"]
    pages = [
        *EVERY_PAGE,
        *(path for name, path in VIEWS.items() if name not in ("refused", "sign-in")),
        f"/console/memory?query={HEBREW}&teams=yes",
        f"/console/memory?query={HEBREW}",
        f"/console/sessions?session_id={HEBREW}",
        f"/console/searches?session_id={HEBREW}&step=1",
        f"/console/teams?team={turn['team']}",
        *(f"/console/memory?event_id={hit['event_id']}&look=again" for hit in hits["hits"][:1]),
        *(f"/console/memory?kind=fact&fact_id={fact['fact_id']}" for fact in facts[:1]),
        *(f"/console/cubes?cube_id={cube['cube_id']}" for cube in hits["shared_cubes"][:1]),
    ]
    wrong, visited = {}, 0
    for path in pages:
        page = Directions()
        page.feed(owner.get(path).text)
        visited += page.visited
        if page.wrong:
            wrong[path] = page.wrong

    assert wrong == {}
    assert visited > 50

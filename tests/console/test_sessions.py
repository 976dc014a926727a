"""The sessions page and session timelines."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from console.reader import Reader, words_of

from remembrancer.memory.history.browse import SESSIONS_LISTED_MAX, TURNS_SHOWN_MAX
from remembrancer.protocol.seal import render
from remembrancer.testing import FrozenClock

HERE = "/console/sessions"


def wait(reader: Reader) -> None:
    """Advance the clock by one second."""
    assert isinstance(reader.context.clock, FrozenClock)
    reader.context.clock.advance(1000)


def test_sessions_are_listed_newest_first_by_their_first_request(owner: Reader) -> None:
    http = owner.http
    for n in range(SESSIONS_LISTED_MAX + 1):
        http.remember(f"Request {n}?", "r", session_id=f"s{n}", task_done=n == 1)
        wait(owner)
    for n in range(15):
        http.remember(f"again {n}", "r", session_id="s1", task_done=True)
    page = owner.followed(owner.get(HERE))
    names = re.findall(r'<a data-open href="[^"]*">Request (\d+)\?</a>', page.text)
    [more] = re.findall(r'class="button plain" href="([^"]+)"', page.text)
    rest = owner.get(more.replace("&amp;", "&"))

    assert names == ["1", *(str(n) for n in range(SESSIONS_LISTED_MAX, 1, -1))]
    assert "Request 1? Session 2026-01-01 00:00 16 turns summary due" in words_of(page.text)
    assert words_of(page.text).count("task open") == SESSIONS_LISTED_MAX - 1
    assert re.findall(r'<a data-open href="[^"]*">Request (\d+)\?</a>', rest.text) == ["0"]


def test_session_page_is_a_timeline_of_its_events(owner: Reader) -> None:
    http = owner.http
    http.remember("Where is the saw?", "In the shed.", session_id="old")
    wait(owner)
    http.memory("saw", session_id="trip")
    wait(owner)
    lesson = {"cube_topic": "saws", "cube_essence": "Saws rust.", "cube_rules": "- MUST oil"}
    http.remember(
        "And the saw?", "Still in the shed.", session_id="trip", critical="It rusts.", **lesson
    )
    wait(owner)
    http.remember(
        "And the axe?", "There, too.", session_id="trip", l1_summary="saw and axe are in the shed"
    )
    wait(owner)
    http.memory("axe", session_id="trip", last_seal=render(9))
    page_text = words_of(owner.get(f"{HERE}?session_id=trip").text)

    order = [
        "Search",
        "step 1",
        "wrong receipt",
        "And the saw?",
        "Fact learned It rusts.",
        "Lesson",
        "Saws rust.",
        "And the axe?",
        "Summary",
    ]
    timeline = page_text.partition("To do for agents (duties)")[2]
    places = [timeline.index(word) for word in order]
    assert places == sorted(places)
    assert "expected: 5 to 8 %" in page_text
    assert "To do for agents (duties) missed No turn was remembered since step 2" in page_text


def test_long_timeline_is_paginated(owner: Reader) -> None:
    http = owner.http
    for n in range(TURNS_SHOWN_MAX + 2):
        http.remember(f"question {n}.", "r", session_id="long")
        wait(owner)
    page = owner.get(f"{HERE}?session_id=long")
    [earlier] = re.findall(r'href="([^"]*until=[^"]*)">Earlier', page.text)
    first = owner.get(earlier.replace("&amp;", "&")).text

    assert "question 1." not in page.text
    assert "question 2." in page.text
    assert "question 0." in first
    assert "question 1." in first
    assert "To the latest" in first


def test_session_page_has_a_forget_form(owner: Reader) -> None:
    owner.http.remember("q", "r", session_id="trip & more")
    page = owner.get(f"{HERE}?{urlencode({'session_id': 'trip & more'})}")
    fields = dict(re.findall(r'name="(user_id|session_id)" value="([^"]*)"', page.text))

    assert fields == {"user_id": "owner", "session_id": "trip &amp; more"}
    assert 'action="/console/memory/forget"' in page.text


def test_session_of_another_account_returns_404(owner: Reader, ada: Reader) -> None:
    owner.http.remember("q", "r", session_id="concealed", user_id="ada")

    assert "concealed" not in ada.get(HERE).text
    for user_id in ("ada", "owner"):
        assert ada.get(f"{HERE}?user_id={user_id}&session_id=concealed").status_code == 404
    assert owner.get(f"{HERE}?session_id=none").status_code == 404
    assert owner.get("/console/memory?kind=session&behind=none").status_code == 422


def test_a_button_ends_the_open_task_of_a_session(owner: Reader) -> None:
    owner.http.remember("Paint the boat", "Started.", session_id="s", task_done=False)
    page = owner.followed(owner.send(f"{HERE}/end-task", user_id="owner", session_id="s"))

    assert "The task is ended." in page.text
    assert "task open" not in page.text
    assert "open_tasks" not in owner.http.memory("Hello", session_id="new")

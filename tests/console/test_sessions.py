"""The sessions page and session timelines."""

from __future__ import annotations

import re

from console.reader import Reader, words_of

from remembrancer.memory.history.browse import SESSIONS_LISTED_MAX
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


def test_unknown_session_is_not_found(owner: Reader) -> None:
    assert owner.get(f"{HERE}?session_id=none").status_code == 404
    assert owner.get("/console/memory?kind=session&behind=none").status_code == 422


def test_a_button_ends_the_open_task_of_a_session(owner: Reader) -> None:
    owner.http.remember("Paint the boat", "Started.", session_id="s", task_done=False)
    page = owner.followed(owner.send(f"{HERE}/end-task", user_id="owner", session_id="s"))

    assert "The task is ended." in page.text
    assert "task open" not in page.text
    assert "open_tasks" not in owner.http.memory("Hello", session_id="new")

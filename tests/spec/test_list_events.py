"""The events of a user are listed page by page, each whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from service import Http

EVENTS = "/api/v7/events"
TIMES = ("2026-03-03T08:00:00Z", "2026-03-01T08:00:00Z", "2026-03-02T08:00:00Z")


def listed(http: Http, **query: Any) -> Any:
    """Return a page."""
    return http.get(EVENTS, params={"user_id": "ada", **query}).raise_for_status().json()


def pages(http: Http, **query: Any) -> Iterator[list[Any]]:
    """Yield the events of each page, to the last."""
    page = listed(http, **query)
    while page["next"]:
        yield page["events"]
        page = listed(http, **query, cursor=page["next"])
    yield page["events"]


def queries(events: list[Any]) -> list[str]:
    return [event["query"] for event in events]


@pytest.fixture
def filled(http: Http) -> Http:
    """Return a client whose user ada has three turns in two sessions, stored out of order."""
    for n, time in enumerate(TIMES):
        session = "trip" if n else "home"
        http.remember(f"q{n}", f"r{n}", user_id="ada", session_id=session, occurred_at=time)
    http.remember("other", "user", user_id="bob")
    return http


def test_events_are_listed_in_the_order_of_their_times(filled: Http) -> None:
    """The order is that of occurred_at (specification.md#events-list)."""
    assert queries(listed(filled)["events"]) == ["q0", "q2", "q1"]
    assert queries(listed(filled, order="oldest")["events"]) == ["q1", "q2", "q0"]


def test_listed_event_is_as_in_its_detail(filled: Http) -> None:
    """All fields of a listed event are those of its detail (specification.md#events-response)."""
    page = listed(filled)
    assert (page["user_id"], page["next"]) == ("ada", None)
    for event in page["events"]:
        detail = filled.get(f"/api/v7/event/{event['event_id']}").json()
        assert event == {name: detail[name] for name in event}


def test_period_and_session_choose_events(filled: Http) -> None:
    """`after` is part of the period, `before` is not (specification.md#events-list)."""
    period = {"after": TIMES[1], "before": TIMES[0]}
    assert queries(listed(filled, **period)["events"]) == ["q2", "q1"]
    assert queries(listed(filled, session_id="trip")["events"]) == ["q2", "q1"]
    assert queries(listed(filled, session_id="trip", order="oldest")["events"]) == ["q1", "q2"]
    assert queries(listed(filled, session_id="home", **period)["events"]) == []
    assert listed(filled, session_id="none")["events"] == []
    assert listed(filled, after=TIMES[0], before=TIMES[0])["events"] == []


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_pages_have_every_event_once_while_others_are_stored(http: Http, order: str) -> None:
    """Turns of one moment have an order; new ones move no page (specification.md#events-page)."""
    for n in range(7):
        http.remember(f"q{n}", "r", user_id="ada", session_id="long", occurred_at=TIMES[n // 4])
    readings = [pages(http, order=order, limit=2, **one) for one in ({}, {"session_id": "long"})]
    first = [next(reading) for reading in readings]
    for time in ("2020-01-01T00:00:00Z", "2026-11-01T00:00:00Z"):
        http.remember(f"new {time}", "r", user_id="ada", session_id="other", occurred_at=time)

    expected = ["q3", "q2", "q1", "q0", "q6", "q5", "q4"]
    for events, reading in zip(first, readings, strict=True):
        events += [event for page in reading for event in page]
        old = [query for query in queries(events) if not query.startswith("new")]
        assert old == (expected if order == "newest" else expected[::-1])


def test_page_of_long_events_ends_early_and_loses_none(http: Http) -> None:
    """A page has about a million characters, or one event (specification.md#events-page)."""
    lengths = [700_000, 900_000, 100_000, 5]
    for n, length in enumerate(lengths):
        http.remember(
            f"q{n}",
            "words" * (length // 5),
            user_id="ada",
            occurred_at=f"2026-03-0{n + 1}T08:00:00Z",
        )

    assert [[len(event["response"]) for event in page] for page in pages(http, order="oldest")] == [
        [700_000],
        [900_000],
        [100_000, 5],
    ]


def test_unknown_user_has_no_events_and_a_pinned_key_only_those_of_its_user(filled: Http) -> None:
    """A pinned key lists its user (specification.md#events-pinned)."""
    assert listed(filled, user_id="nobody")["events"] == []
    pinned = filled.as_account("owner", user_id="bob")
    assert queries(pinned.get(EVENTS).json()["events"]) == ["other"]
    assert pinned.get(EVENTS, params={"user_id": "ada"}).status_code == 403
    assert (
        filled.as_account("stranger").get(EVENTS, params={"user_id": "ada"}).json()["events"] == []
    )

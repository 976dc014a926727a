"""The page of a user's map: versions, differences, the start pack and critical facts."""

from __future__ import annotations

import re

import pytest
from console.reader import Reader, words_of
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.console.facts import LINES_MAX, WORDS_MAX, diff_lines

HERE = "/console/map"


def send_maps(reader: Reader, *texts: str) -> None:
    """Send these maps as an agent, one after the other, and an L1 that they are of."""
    reader.http.remember("q", "r" * 200, l1_summary=" ".join(texts))
    for text in texts:
        assert reader.http.post("/api/v7/remember", {"l2_map": text}).status_code == 200


def test_newest_map_is_shown_with_links_to_all_versions(owner: Reader) -> None:
    send_maps(owner, "- one", "- two", "- three")
    page = owner.get(HERE)

    assert '<div class="text" dir="auto">- three</div>' in page.text
    assert re.findall(r"version=(\d)\">\d</a>", page.text) == ["3", "2", "1"]
    assert '<div class="text" dir="auto">- one</div>' in owner.get(f"{HERE}?version=1").text


def test_differences_between_two_versions_are_marked(owner: Reader) -> None:
    send_maps(owner, "- ferry at 9:40\n- same", "- ferry at 10:15\n- same\n- <b>new</b>")
    page = owner.get(f"{HERE}?version=2&against=1").text

    assert '<del dir="auto">- ferry at <b>9</b>:<b>40</b></del>' in page
    assert '<ins dir="auto">- ferry at <b>10</b>:<b>15</b></ins>' in page
    assert '<span dir="auto">- same</span>' in page
    assert '<ins dir="auto">- &lt;b&gt;new&lt;/b&gt;</ins>' in page


def test_map_is_rebuilt_from_l1_summaries(owner: Reader) -> None:
    owner.http.remember("q", "r " * 50, l1_summary="The ferry was booked for June.")
    page = owner.followed(owner.send(f"{HERE}/make", user_id="owner"))
    again = owner.followed(owner.send(f"{HERE}/make", user_id="owner"))

    assert "Version 1 created from 1 summaries." in page.text
    assert "The ferry was booked for June." in page.text
    assert "Nothing changed" in again.text
    assert "no summaries yet" in owner.followed(owner.send(f"{HERE}/make", user_id="nobody")).text


def test_page_says_that_a_new_map_is_due(owner: Reader) -> None:
    for n in range(10):
        owner.http.remember(f"q{n}", "r " * 50, l1_summary=f"summary {n}")
    page_text = words_of(owner.get(HERE).text)

    assert "10 summaries, 0 of them in the newest profile profile due" in page_text


def test_start_pack_is_shown_as_an_agent_gets_it(owner: Reader) -> None:
    send_maps(owner, "- the trip to Elba")
    owner.http.remember("q", "r", critical="The car is 4.62 m long.")
    pack = owner.http.get("/api/v7/memory/start").json()
    page = owner.get(HERE).text

    assert f"about {pack['tokens']} tokens" in page
    assert "  4.62" not in page
    assert "- 2026-01-01 The car is 4.62 m long." in page


def test_newest_facts_link_to_their_turns_and_to_the_facts_page(owner: Reader) -> None:
    for n in range(5):
        owner.http.post("/api/v7/remember", {"critical": f"fact {n}."})
    event_id = owner.http.remember("q", "r", critical="The car is long.")["event_id"]
    page = owner.get(HERE).text
    page_text = words_of(page).partition("Start pack")[0]

    assert page_text.index("The car is long.") < page_text.index("fact 4.")
    assert f"event_id={event_id}" in page
    assert "fact 0." not in page_text
    assert 'href="/console/facts?user_id=owner">All facts' in page


@pytest.mark.parametrize(
    "query", ["version=0", "version=x", "version=-1", "version=99", "against=99", "below=x"]
)
def test_invalid_version_is_rejected(owner: Reader, query: str) -> None:
    send_maps(owner, "- one")

    assert owner.get(f"{HERE}?{query}").status_code in (400, 404, 422)


LINES = st.lists(st.text("ab c.", max_size=8), max_size=8).map("\n".join)


@given(old=LINES, new=LINES)
def test_differences_reproduce_both_texts(old: str, new: str) -> None:
    lines = diff_lines(old, new)
    before, after = (
        ["".join(text for text, _ in line.pieces) for line in lines if line.kind in ("same", kind)]
        for kind in ("out", "in")
    )

    assert (before, after) == (old.splitlines(), new.splitlines())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\n" * LINES_MAX, "b\na\n" * LINES_MAX),
        (" ".join(f"a{n}" for n in range(WORDS_MAX)), " ".join(f"b{n}" for n in range(WORDS_MAX))),
        ("\n" * 50_000, "a\n" * 25_000),
    ],
)
def test_long_texts_are_shown_as_removed_then_added(old: str, new: str) -> None:
    """Comparison time is quadratic, so long texts are not compared."""
    kinds = ["out"] * len(old.splitlines()) + ["in"] * len(new.splitlines())

    assert [line.kind for line in diff_lines(old, new)] == kinds

"""The second ranking, by entities and vectors that the best events share."""

from __future__ import annotations

import numpy as np
import pytest

from bench.locomo import Conversation, Event
from bench.spaces import view_of
from remembrancer.search import (
    Associations,
    RankedEvent,
    association,
    by_association,
    entity_keys,
    open_embedder,
)
from remembrancer.search.associations import CANDIDATES, association_scores
from remembrancer.testing import HashEmbedder

TEXTS = [
    "The Aurora project starts with Anna Weber in Oslo.",
    "Budget of the Aurora project: see Anna Weber.",
    "Nothing happened on the balcony.",
    "We ate soup near the balcony.",
    "Our trip for Aurora to Bergen was with Anna Weber.",
]


def view(texts: list[str], embedder):
    """Index texts as events of one session each."""
    events = [
        Event(n, text, "", 1_700_000_000_000 + n, (f"D{n}:1",)) for n, text in enumerate(texts)
    ]
    return view_of(Conversation("c", tuple(events), ()), embedder)


def ranked(*events: int) -> list[RankedEvent]:
    """Return events with scores that fall in equal steps."""
    return [RankedEvent(event, 0.9 * 0.8**place, event) for place, event in enumerate(events)]


def entities_in(texts: list[str], linked: dict[str, float] | None = None) -> Associations:
    """Return the entities of texts."""
    keys = {number: entity_keys(text, "") for number, text in enumerate(texts)}
    turns: dict[str, int] = {}
    for some in keys.values():
        for key in some:
            turns[key] = turns.get(key, 0) + 1
    return Associations(of_event=keys, turns=turns, linked=linked or {}, events=40)


def test_an_event_with_entities_of_the_best_ones_moves_up():
    embedder = open_embedder("none")
    before = ranked(0, 1, 2, 3, 4)

    after = by_association(view(TEXTS, embedder), before, entities_in(TEXTS))

    assert [one.event for one in after].index(4) < 4
    assert after[0].event == 0
    assert [one.score for one in after] == [one.score for one in before]
    assert sorted(one.event for one in after) == [0, 1, 2, 3, 4]
    assert all(one.part == one.event for one in after)


def test_an_event_with_an_entity_linked_to_the_query_moves_up():
    texts = [*TEXTS[2:4], "Lunch in Bergen", "Dinner at the quay"]
    weights = entities_in(texts, {"name:bergen": 1.0})
    plain = entities_in(texts)

    scores = association_scores(view(texts, open_embedder("none")), ranked(0, 1, 3, 2), weights)
    without = association_scores(view(texts, open_embedder("none")), ranked(0, 1, 3, 2), plain)

    assert (scores - without).tolist() == [0, 0, 0, 0.5]


def test_an_event_like_the_best_ones_scores_higher_than_others():
    texts = ["the boat sails at nine", "the boat sails at ten", "soup", "the boat sails at six"]
    nothing = Associations(of_event={}, turns={}, linked={}, events=4)

    scores = association_scores(view(texts, HashEmbedder()), ranked(0, 1, 2, 3), nothing)

    assert scores[3] > scores[2]


def test_without_entities_and_vectors_the_order_stays():
    nothing = Associations(of_event={}, turns={}, linked={}, events=4)
    before = ranked(2, 0, 1)

    assert by_association(view(TEXTS, open_embedder("none")), before, nothing) == before


@pytest.mark.parametrize("events", [(), (3,)])
def test_few_candidates_stay(events):
    before = ranked(*events)

    assert by_association(view(TEXTS, open_embedder("none")), before, entities_in(TEXTS)) == before


def test_events_after_the_candidates_stay_in_their_order():
    texts = [f"number {n} for Anna Weber" for n in range(CANDIDATES + 5)]
    before = ranked(*range(CANDIDATES + 5))

    after = by_association(view(texts, open_embedder("none")), before, entities_in(texts))

    assert after[CANDIDATES:] == before[CANDIDATES:]


def test_an_association_is_the_share_of_common_turns():
    assert association(4, 4, 4) == 1
    assert association(1, 1, 4) == pytest.approx(0.5)
    assert association(0, 3, 9) == 0


def test_long_events_are_compared_by_all_their_parts():
    texts = ["soup. " * 400 + "the boat sails", "the boat sails", "salt and pepper"]
    nothing = Associations(of_event={}, turns={}, linked={}, events=3)
    index = view(texts, HashEmbedder())

    scores = association_scores(index, ranked(1, 0, 2), nothing)

    assert index.size > 3  # the first event has several parts
    assert np.isfinite(scores).all()
    assert scores.max() == pytest.approx(1.0)

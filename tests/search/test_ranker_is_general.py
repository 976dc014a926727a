"""The shipped ranker: not below plain fusion, on kinds of talk that it was not trained on."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import numpy as np
import pytest

from bench.everyday.memories import NINE, parallel_facts
from bench.languages.memories import memory
from bench.spaces import ranking, view_of
from remembrancer.search import Known, load_ranker, open_embedder
from remembrancer.search.ranking import FEATURES, checksum

ROWS = json.loads(resources.files("remembrancer.search").joinpath("ranker.json").read_text())


@pytest.mark.parametrize("name", ROWS)
def test_the_trees_are_those_that_were_measured(name: str) -> None:
    assert checksum(ROWS[name]) == ROWS[name]["checksum"]


@pytest.mark.parametrize("style", ROWS["multilingual"]["left_out"])
def test_a_style_that_was_left_out_is_not_below_plain_fusion(style: str) -> None:
    """`make ranker` measured it: the paired gain at 10 and at 50, mean and interval of 95 %."""
    for mean, low, high in ROWS["multilingual"]["left_out"][style]:
        assert low <= mean <= high
        assert high >= 0


@pytest.mark.parametrize("name", ROWS)
def test_a_score_never_falls_where_a_feature_rises(name: str) -> None:
    ranker = load_ranker(name)
    rows = np.random.default_rng(5).random((300, len(FEATURES)), "f4")

    for column in range(len(FEATURES)):
        higher = rows.copy()
        higher[:, column] += np.random.default_rng(column).random(300, "f4")
        assert (ranker(higher) >= ranker(rows) - 1e-5).all()


def test_everyday_facts_are_first_in_nine_languages() -> None:
    """With a standing reply, beside English days of work; plain fusion has 111 of 144 first."""
    embedder = open_embedder("multilingual")
    days = memory("en").paired()
    counts: dict[str, Any] = {}
    for code in NINE:
        facts = parallel_facts(days, code, code)
        view, first = view_of(facts, embedder), len(days.events)
        counts[code] = sum(
            [first + place]
            == [one.event for one in ranking(view, question.text, embedder).ranked(Known(), 1)]
            for place, question in enumerate(facts.questions)
        )

    assert sum(counts.values()) >= 112, counts

"""The order of the hits, the events that are left out, and the reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from spaces import order, ranking, space

from remembrancer.search import embedding_text, lexical_scores, load_weights, parse_query
from remembrancer.search.scoring import FEATURES, K1, B

WEIGHTS = load_weights("none")


def test_bm25_is_the_textbook_formula():
    texts = ["the quick fox", "a fox and another fox", "slow turtle", "turtle soup"]
    view = space(*texts)

    scores = lexical_scores(view, parse_query("fox").words).score
    lengths = view["length"].astype(float)
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    expected = [
        idf * n * (K1 + 1) / (n + K1 * (1 - B + B * lengths[i] / lengths.mean())) if n else 0.0
        for i, n in enumerate((1, 2, 0, 0))
    ]
    assert scores.tolist() == pytest.approx(expected, rel=1e-5)


def test_words_a_space_never_heard_of_find_nothing():
    view = space("We planted tomatoes in April.", "The boat needs a new sail.")

    assert order(view, "quantum chromodynamics lattice") == []


def test_an_empty_space_and_a_question_without_words_find_nothing():
    assert order(space(), "anything") == []
    assert order(space("some text"), "?!… ---") == []


def test_a_question_of_stop_words_alone_is_still_searched():
    view = space("The Who played in Leeds.", "Nothing like it.", "Something else entirely.")

    assert order(view, "the who")[:1] == [0]


def test_a_match_alone_in_its_space_scores_high_and_scores_fall():
    view = space("Our launch party is in Lisbon.", "A party is planned.", "Lunch was soup.")
    ranked = ranking(view, "launch party Lisbon").ranked(WEIGHTS, {}, 100)

    scores = [score for _, score, _ in ranked]
    assert scores[0] > 0.9
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_a_lifted_event_comes_first_and_hides_no_other():
    view = space("green apples are sweet", "green grapes and green figs", "green olives")
    plain = order(view, "green")
    lifted = order(view, "green", {plain[-1]: 4.0})

    assert lifted[0] == plain[-1]
    assert sorted(lifted) == sorted(plain)


def test_an_event_is_found_for_its_focus_word_alone():
    view = space("we talked about the weather", "invoice ZX-81 is open", "the weather was bad")
    hit = ranking(view, "weather", ["ZX-81"])

    candidates = hit.focus_candidates(parse_query("ZX-81", view.languages)).tolist()
    assert candidates == [1]
    assert 1 in [event for event, _, _ in hit.ranked(WEIGHTS, {1: 4.0}, 100)]


def test_the_month_of_a_question_lifts_turns_of_that_month():
    view = space(
        "we went swimming",
        "we went swimming",
        "we went swimming",
        sessions=[1, 2, 3],
        days=[10, 190, 300],
    )

    assert order(view, "swimming in July")[0] == 1


def test_a_session_about_the_subject_lifts_its_other_events():
    sailing = [
        "sailing lessons start",
        "the sailing boat is red",
        "sailing club fees",
        "it was windy and we laughed about the fees",
    ]
    other = [
        "cooking class",
        "pasta with tomato",
        "the oven broke",
        "it was windy and we laughed about the bees",
    ]
    view = space(*sailing, *other, sessions=[1] * 4 + [2] * 4)

    ranked = order(view, "sailing windy laughed")
    assert ranked.index(3) < ranked.index(7)


def test_words_that_stand_nearly_everywhere_do_not_steer_the_vector():
    view = space(*(f"Caroline: message number {n} about topic{n}" for n in range(60)))

    assert (
        embedding_text(view, parse_query("What did Caroline say about topic7?", view.languages))
        == "What did say about topic7"
    )


def test_in_a_small_space_every_word_steers():
    view = space("Caroline: hello", "Caroline: bye")

    assert "Caroline" in embedding_text(view, parse_query("What did Caroline say?", view.languages))


def test_the_speaker_a_question_names_counts():
    view = space("Ada: I like jazz", "Bob: I like jazz")
    hit = ranking(view, "What does Bob like, jazz?")

    assert hit.features[:, FEATURES.index("speaker")].tolist() == [0.0, 1.0]


def test_reasons_name_signal_rank_and_value():
    view = space("tea with milk", "coffee with milk and tea", "nothing here")
    hit = ranking(view, "tea")

    first, second = hit.reasons([0, 1])

    assert ("text", 1, 1.0) in [(name, rank, round(value, 3)) for name, rank, value in first]
    assert [rank for name, rank, _ in second if name == "text"] == [2]


def test_a_large_space_ranks_a_pool_and_finds_the_needle():
    texts = [f"ordinary note {n % 97} about lunch and weather" for n in range(6000)]
    texts[4321] = "the vault code is under the fern"
    view = space(*texts)

    assert order(view, "vault code fern")[0] == 4321


def test_weights_are_there_for_every_shipped_embedder_and_any_other():
    for name in ("multilingual/0.2.1", "none", "something-new/1"):
        assert load_weights(name).weight.shape == (len(FEATURES),)
        assert np.isfinite(load_weights(name).weight).all()

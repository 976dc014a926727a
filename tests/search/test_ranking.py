"""Ranking: order of the hits, omitted events, reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from spaces import order, ranking, space

from remembrancer.search import Known, embedding_text, lexical_scores, load_ranker, parse_query
from remembrancer.search.ranking import FEATURES
from remembrancer.search.scoring import K1, B

RANKER = load_ranker("none")


def test_bm25_matches_the_textbook_formula():
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


def test_unknown_words_find_nothing():
    view = space("We planted tomatoes in April.", "The boat needs a new sail.")

    assert order(view, "quantum chromodynamics lattice") == []


def test_empty_space_and_query_without_words_find_nothing():
    assert order(space(), "anything") == []
    assert order(space("some text"), "?!… ---") == []


def test_query_with_only_stop_words_is_searched():
    view = space("The Who played in Leeds.", "Nothing like it.", "Something else entirely.")

    assert order(view, "the who")[:1] == [0]


def test_only_match_scores_high_and_scores_decrease():
    view = space("Our launch party is in Lisbon.", "A party is planned.", "Lunch was soup.")
    ranked = ranking(view, "launch party Lisbon").ranked(Known(), 100)

    scores = [one.score for one in ranked]
    assert scores[0] > 0.5 > scores[1]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


def test_raised_event_comes_first_and_hides_no_other():
    view = space("green apples are sweet", "green grapes and green figs", "green olives")
    plain = order(view, "green")
    lifted = order(view, "green", {plain[-1]: 15.0})

    assert lifted[0] == plain[-1]
    assert sorted(lifted) == sorted(plain)


def test_event_is_found_by_its_focus_word_alone():
    view = space("we talked about the weather", "invoice ZX-81 is open", "the weather was bad")
    result = ranking(view, "weather", ["ZX-81"])

    candidates = result.focus_candidates(
        parse_query("ZX-81", view.languages, is_phrase=True)
    ).tolist()
    assert candidates == [1]
    assert 1 in [one.event for one in result.ranked(Known(focus={1: 4.0}), 100)]


def test_month_in_the_query_raises_turns_of_that_month():
    view = space(
        "we went swimming",
        "we went swimming",
        "we went swimming",
        sessions=[1, 2, 3],
        days=[10, 190, 300],
    )

    assert order(view, "swimming in July")[0] == 1


def test_very_common_words_are_left_out_of_the_embedding_text():
    view = space(*(f"Caroline: message number {n} about topic{n}" for n in range(60)))

    assert (
        embedding_text(view, parse_query("What did Caroline say about topic7?", view.languages))
        == "What did say about topic7"
    )


def test_embedding_text_keeps_all_words_in_a_small_space():
    view = space("Caroline: hello", "Caroline: bye")

    assert "Caroline" in embedding_text(view, parse_query("What did Caroline say?", view.languages))


def test_speaker_named_in_the_query_is_a_feature():
    view = space("Ada: I like jazz", "Bob: I like jazz")
    hit = ranking(view, "What does Bob like, jazz?")

    assert hit.features[:, FEATURES.index("speaker")].tolist() == [0.0, 1.0]


def test_reasons_name_signal_rank_and_value():
    view = space("tea with milk", "coffee with milk and tea", "nothing here")
    hit = ranking(view, "tea")

    first, second = hit.reasons(0, 0), hit.reasons(1, 1)

    assert ("text", 1, 1.0) in [(name, rank, round(value, 3)) for name, rank, value in first]
    assert [rank for name, rank, _ in second if name == "text"] == [2]


def test_rare_match_is_found_in_a_large_space():
    texts = [f"ordinary note {n % 97} about lunch and weather" for n in range(6000)]
    texts[4321] = "the vault code is under the fern"
    view = space(*texts)

    assert order(view, "vault code fern")[0] == 4321


def test_weights_exist_for_every_embedder():
    for name in ("multilingual/0.2.1", "none", "something-new/1"):
        ranker = load_ranker(name)
        assert np.isfinite(ranker(np.zeros((1, len(FEATURES)), "f4"))).all()


def test_contributions_of_features_sum_to_the_score():
    view = space(*(f"note {n} about tea, milk and topic{n % 3}" for n in range(20)))
    hit = ranking(view, "tea about topic2")
    features = hit.features[5]

    adds = RANKER.contributions(features)
    score = float(RANKER(features[None, :])[0])
    assert RANKER.start + float(adds.sum()) == pytest.approx(score, abs=1e-4)
    assert np.count_nonzero(adds) > 2


def test_a_shown_part_is_the_one_that_scored_best_of_its_event():
    long = "Nothing of note happened. " * 60
    view = space(f"{long}\n\nThe vault code is under the fern.\n\n{long}", "The fern is green.")
    (best, *_) = ranking(view, "vault code").ranked(Known(), 5)
    result = ranking(view, "vault code")

    assert best.event == 0
    parts = np.flatnonzero(view["event"] == 0)
    assert len(parts) > 1
    assert result.base_of(np.array([best.part]))[0] == result.base_of(parts).max()


def test_answerable_tells_own_questions_from_strange_ones():
    view = space(
        "The launch party is in Lisbon in May.", "The boat needs a sail.", "Lunch was soup."
    )

    own = ranking(view, "Where is the launch party?").answerable()
    strange = ranking(view, "Which violin did Clara restore?").answerable()
    assert own > 0.5 > strange

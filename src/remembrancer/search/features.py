"""The features of events for a query: what the ranker (ranker.py) weighs.

They are computed for the candidates among the events of a pool (pool_events.py). A turn has two
sides, the user's words (`query`) and the response to them; each side may have several passages,
called parts.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .pool_events import PoolEvents
from .runs import lengths_of_runs, mean_of, starts_of_runs
from .scoring import K1, B, nearness_to
from .text.analysis import TIME
from .text.languages import normalize

Array: TypeAlias = npt.NDArray[Any]

# Of an event; those of a side have the side's name.
EVENT_FEATURES = (
    "text", "dense", "best", "second",
    "query_text", "response_text", "query_dense", "response_dense", "query_best", "response_best",
    "turn_text", "query_turn_text", "covered", "coverage", "query_coverage",
    "cosine", "query_cosine",
    "previous", "next", "around", "previous_short", "next_short", "previous_asks",
    "session", "session_covered",
    "speaker", "speaker_best", "date", "time", "when_time", "recency",
    "asks", "length", "query_length", "brevity",
)  # fmt: skip
# Of the query and its space: the same for all events of a search.
CONTEXT_FEATURES = (
    "characters", "content_words", "asks_when", "is_question", "asks_for_many",
    "response_share", "events", "best_cosine", "best_coverage", "spread",
)  # fmt: skip
FEATURES = EVENT_FEATURES + CONTEXT_FEATURES
# FEATURES grouped as people think of them; the others describe how a turn or a query is written.
SIGNALS = {
    "text": (
        "text", "query_text", "response_text", "turn_text", "query_turn_text", "covered",
        "coverage", "query_coverage", "best_coverage",
    ),
    "dense": (
        "dense", "query_dense", "response_dense", "cosine", "query_cosine", "best_cosine",
    ),
    "text and dense": ("best", "second", "query_best", "response_best", "spread"),
    "neighbour": (
        "previous", "next", "around", "previous_short", "next_short", "previous_asks",
    ),
    "session": ("session", "session_covered"),
    "speaker": ("speaker", "speaker_best"),
    "date": ("date", "time", "when_time", "asks_when", "recency"),
}  # fmt: skip
# What tells whether a memory answers a query: the best cosine, the largest share of the query's
# words in one event, how many words those are, how many events had the chance to fit, and by how
# much the best event stands out.
EVIDENCE = (
    "cosine", "covered", "cosine_covered", "content_words", "words_covered", "events",
    "lead",
)  # fmt: skip
SHORT_WORDS = 60  # of an event that is half as much lifted by its neighbours as a very short one
FEW_EVENTS = 10  # in a memory of so many events, neighbours and the mean score count half
BEST_OF_ALL = 10  # events that count for the spread of the scores
SPREAD_MIN = 0.1  # of logarithms of lengths; if all are alike, small differences must not matter
SHARE_MAX = 1.5  # logarithm of the ratio of the words of responses and of users that counts as 1
RANGE_MIN = 1e-9  # added to a range of scores, which may be 0
_ASKS_FOR_MANY = re.compile(
    r"\b(?:how many|order|across|throughout|all (?:the|of|my)|list|summar\w+|total"
    r"|how (?:did|have|has) .*(?:progress|evolve|develop|change)\w*"
    r"|wie ?viele?|reihenfolge|insgesamt|alle|liste|combien|ordre|toutes? les|tous les|liste"
    r"|cuánt[oa]s|orden|tod[oa]s l[oa]s|lista|quant[ie]|quant[oa]s|ordine|ordem|tutt[ie]"
    r"|сколько|порядке|все|список)\b|几[个次]|多少|哪些|顺序|順序|所有|いくつ|何回|すべて|全部"
)


def evidence_of(features: Array, scores: Array, average: float) -> Array:
    """Return what tells whether any of the candidates answers a query: (len(EVIDENCE),).

    `features` are theirs, (C, len(FEATURES)), `scores` those of the ranker, (C,), and `average` is
    that of an average event.
    """
    if not len(features):
        return np.zeros(len(EVIDENCE), "f4")
    first = dict(zip(FEATURES, features[0].tolist(), strict=True))
    covered = float(features[:, EVENT_FEATURES.index("covered")].max())
    cosine, words, events = first["best_cosine"], first["content_words"], first["events"]
    # As if FEW_EVENTS average ones were beside them: a single event stands out from nothing.
    mean = (float(scores.sum()) + FEW_EVENTS * average) / (len(scores) + FEW_EVENTS)
    lead = float(scores.max()) - mean
    return np.array([cosine, covered, cosine * covered, words, words * covered, events, lead])


def features_of(pool: PoolEvents, places: Array) -> Array:
    """Return the features of some events of a pool: (C, len(FEATURES)), float32.

    `places` (C,) ascend. How an event compares with others is measured among these.
    """
    if not len(places):
        return np.zeros((0, len(FEATURES)), "f4")
    events = pool.only(places)
    brevity = _brevity(events)
    columns: dict[str, Any] = (
        _of_best_parts(events)
        | _of_words(events)
        | _of_neighbours(pool, places, brevity)
        | _of_time_and_speaker(events)
    )
    columns |= {
        "asks": events.is_question,
        "length": _standard(np.log1p(events.lengths)),
        "query_length": _standard(np.log1p(events.query_lengths)),
        "brevity": brevity,
        "session": pool.of_session[places],
        "recency": (places + 1) / len(pool.firsts),
    }
    features = np.empty((len(FEATURES), len(places)), "f4")
    for place, feature in enumerate(EVENT_FEATURES):
        features[place] = columns[feature]
    features[len(EVENT_FEATURES) :] = np.array(_of_context(pool, events, columns))[:, None]
    return features.T


def _of_best_parts(events: PoolEvents) -> dict[str, Array]:
    scores, count = events.scores.rows, len(events.firsts)
    names = ("text", "dense", "coverage", "cosine", "best", "second")
    values = np.empty((len(names), len(events.parts)), "f4")
    values[:5] = scores
    values[5] = scores[4]
    if events.is_own is not None:
        values[:4] *= events.is_own
    values[5, events.places_of_best] = 0
    # The parts of a side are adjacent: first the largest values of each side, then of each event.
    side = events.of_part + count * ~events.is_query  # the user's words, then the responses
    starts = starts_of_runs(side)
    if len(starts) < len(events.parts):
        values, side = np.maximum.reduceat(values, starts, axis=1), side[starts]
    sides = np.full((len(names), 2 * count), -np.inf, "f4")
    sides[:, side] = values
    columns = dict(zip(names, np.maximum(sides[:, :count], sides[:, count:]), strict=True))
    np.maximum(sides, 0, out=sides)
    columns |= {f"query_{name}": row[:count] for name, row in zip(names, sides, strict=True)}
    columns |= {f"response_{name}": row[count:] for name, row in zip(names, sides, strict=True)}
    return columns


def _of_words(events: PoolEvents) -> dict[str, Array]:
    """Score the query's words in whole events, in the user's side, and in sessions.

    BM25 of an event counts its words together, so that a long answer with one word in each of its
    passages is not lost beside a passage that has two.
    """
    ranking, view, count = events.ranking, events.ranking.view, len(events.firsts)
    matches = ranking.lexical.matches_of(view, ranking.question.words)
    if matches is None:
        zero = np.zeros(count, "f4")
        return dict.fromkeys(("turn_text", "query_turn_text", "covered", "session_covered"), zero)
    # Of each part: its event, and the same of the user's words after all events.
    slot = np.full(view.size, -1, "i4")
    slots = events.of_part + count * events.is_query
    slot[events.parts] = slots if events.is_own is None else np.where(events.is_own, slots, -1)
    at = slot[matches.parts]
    inside = np.flatnonzero(at >= 0)
    # A row of counts for each term.
    terms = len(matches.idf)
    key = matches.terms[inside] * (2 * count) + at[inside]
    counts = np.bincount(key, matches.counts[inside], 2 * count * terms).reshape(terms, -1)
    query = counts[:, count:]
    whole = counts[:, :count] + query
    mass = np.maximum.reduceat(matches.idf, matches.first_terms)
    has = np.maximum.reduceat(whole, matches.first_terms, axis=0) > 0
    total = float(np.add.reduce(mass)) or 1.0
    order, starts = events.sessions
    in_session = np.logical_or.reduceat(has[:, order], starts, axis=1)
    session_covered = np.empty(count, "f4")
    session_covered[order] = np.repeat(mass @ in_session / total, lengths_of_runs(starts, count))
    return {
        "turn_text": _bm25(whole, matches.idf, events.lengths),
        "query_turn_text": _bm25(query, matches.idf, events.query_lengths),
        "covered": mass @ has / total,
        "session_covered": session_covered,
    }


def _bm25(counts: Array, idf: Array, lengths: Array) -> Array:
    """Return BM25 of events, stretched to 0..1: counts (T, E), idf (T,), lengths (E,)."""
    norm = (K1 * B / max(mean_of(lengths), 1.0)) * lengths + K1 * (1 - B)
    score: Array = idf @ (counts / (counts + norm))
    score -= score.min()
    score /= score.max() + RANGE_MIN
    return score


def _of_neighbours(pool: PoolEvents, places: Array, brevity: Array) -> dict[str, Array]:
    """Return the best base scores of the events beside each in its session."""
    previous, following = pool.neighbours(places, places)
    # Among few events nearly all are adjacent to the best one, which tells nothing.
    share = np.float32(len(pool.best) / (len(pool.best) + FEW_EVENTS))
    best = np.append(pool.best * share, np.float32(0))  # place -1, a missing neighbour, has 0
    question_flags = np.append(pool.is_question, np.float32(0))
    second, after_next = pool.neighbours(previous, following)
    of_previous, of_next = best[previous], best[following]
    return {
        "previous": of_previous,
        "next": of_next,
        "around": np.maximum(best[second], best[after_next]),
        "previous_short": of_previous * brevity,
        "next_short": of_next * brevity,
        "previous_asks": of_previous * question_flags[previous],
    }


def _of_time_and_speaker(events: PoolEvents) -> dict[str, Array]:
    ranking, view = events.ranking, events.ranking.view
    none = np.zeros(len(events.firsts), "f4")
    is_speaker = ranking.is_speaker(events.parts)
    time = events.any_of(events.flags & TIME > 0)
    moment = ranking.question.moment
    occurred = view["occurred_ms"][events.parts[events.firsts]]
    has_date = moment is not None and moment.month is not None
    return {
        "speaker": none if is_speaker is None else events.most(is_speaker),
        "speaker_best": none if is_speaker is None else events.most(is_speaker * events.base),
        "date": nearness_to(occurred, moment) if has_date and moment is not None else none,
        "time": time,
        "when_time": time * float(ranking.question.asks_when),
    }


def _of_context(pool: PoolEvents, events: PoolEvents, columns: dict[str, Array]) -> list[float]:
    """Return what the query and the space are like, in the order of CONTEXT_FEATURES."""
    question = events.ranking.question
    whole, query = mean_of(events.lengths), mean_of(events.query_lengths)
    share = math.log((whole - query + 1) / (query + 1))
    best = columns["best"]
    if len(best) > BEST_OF_ALL:
        best = np.partition(best, -BEST_OF_ALL)[-BEST_OF_ALL:]
    return [
        math.log1p(len(question.text)),
        math.log1p(sum(not word.is_stop for word in question.words)),
        float(question.asks_when),
        float(question.text.rstrip().endswith(("?", "？", "؟"))),
        float(asks_for_many(question.text)),
        min(max(share, 0.0), SHARE_MAX) / SHARE_MAX,
        math.log1p(len(pool.firsts)),
        float(columns["cosine"].max()),
        float(columns["coverage"].max()),
        mean_of(best) - mean_of(pool.best),
    ]


def _brevity(events: PoolEvents) -> Array:
    brevity: Array = 1 / (1 + (events.lengths / SHORT_WORDS) ** 2)
    return brevity


def _standard(values: Array) -> Array:
    centred = values - mean_of(values)
    deviation = float(centred @ centred / len(centred)) ** 0.5
    standard: Array = centred / (deviation + SPREAD_MIN)
    return standard


def asks_for_many(text: str) -> bool:
    """Return True if a question is about several events: a count, an order, a list, a course."""
    return _ASKS_FOR_MANY.search(normalize(text)) is not None

"""The features of events for a query: what the ranker (ranker.py) weighs.

They are computed for the candidates among the events of a pool (pool_events.py). A turn has two
sides, the user's words (`query`) and the response to them; each side may have several passages,
called parts.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .pool_events import PoolEvents, starts_of_runs
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
    columns: dict[str, Any] = (
        _of_best_parts(events)
        | _of_words(events)
        | _of_neighbours(pool, places, events)
        | _of_time_and_speaker(events)
        | _of_form(events)
    )
    columns["session"] = pool.of_session[places]
    columns["recency"] = (places + 1) / len(pool.firsts)
    columns |= _of_context(pool, events, columns)
    features = np.empty((len(FEATURES), len(places)), "f4")
    for place, feature in enumerate(FEATURES):
        features[place] = columns[feature]
    return features.T


def _of_best_parts(events: PoolEvents) -> dict[str, Array]:
    ranking, parts, count = events.ranking, events.parts, len(events.firsts)
    others = events.base.copy()
    others[events.places_of_best] = 0
    names = ("text", "dense", "coverage", "cosine", "best", "second")
    values = np.empty((len(names), len(parts)), "f4")
    values[0] = ranking.text[parts]
    values[1] = ranking.dense[parts]
    values[2] = ranking.lexical.coverage[parts]
    values[3] = ranking.cosine[parts]
    values[:4] *= events.is_own
    values[4], values[5] = events.base, others
    # The parts of a side are adjacent: first the largest values of each side, then of each event.
    starts = starts_of_runs(2 * events.of_part + events.is_query)
    if len(starts) < len(parts):
        values = np.maximum.reduceat(values, starts, axis=1)
    event, is_query = events.of_part[starts], events.is_query[starts]
    sides = np.full((2, len(names), count), -np.inf, "f4")
    sides[0][:, event[is_query]] = values[:, is_query]
    sides[1][:, event[~is_query]] = values[:, ~is_query]
    columns = dict(zip(names, sides.max(axis=0), strict=True))
    for side, rows in zip(("query", "response"), np.maximum(sides, 0), strict=True):
        columns |= {f"{side}_{name}": row for name, row in zip(names, rows, strict=True)}
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
    place = np.full(view.size, -1, "i4")
    place[events.parts] = np.where(events.is_own, np.arange(len(events.parts)), -1)
    at = place[matches.parts]
    inside = np.flatnonzero(at >= 0)
    at, counted = at[inside], matches.counts[inside]
    # A row of counts for each term.
    key = matches.terms[inside] * count + events.of_part[at]
    of_query = np.flatnonzero(events.is_query[at])
    shape = (len(matches.idf), count)
    size = len(matches.idf) * count
    whole = np.bincount(key, counted, size).reshape(shape)
    query = np.bincount(key[of_query], counted[of_query], size).reshape(shape)
    mass = np.maximum.reduceat(matches.idf, matches.first_terms)
    has = np.logical_or.reduceat(whole > 0, matches.first_terms, axis=0)
    total = float(mass.sum()) or 1.0
    order, starts = events.sessions
    in_session = np.logical_or.reduceat(has[:, order], starts, axis=1)
    session_covered = np.empty(count, "f4")
    session_covered[order] = np.repeat(mass @ in_session / total, np.diff(np.append(starts, count)))
    return {
        "turn_text": _bm25(whole, matches.idf, events.lengths),
        "query_turn_text": _bm25(query, matches.idf, events.query_lengths),
        "covered": mass @ has / total,
        "session_covered": session_covered,
    }


def _bm25(counts: Array, idf: Array, lengths: Array) -> Array:
    """Return BM25 of events, stretched to 0..1: counts (T, E), idf (T,), lengths (E,)."""
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))
    score = idf @ (counts / (counts + norm))
    return stretched(score, float(score.min()), float(score.max()))


def _of_neighbours(pool: PoolEvents, places: Array, events: PoolEvents) -> dict[str, Array]:
    """Return the best base scores of the events beside each in its session."""
    previous, following = pool.neighbours(places, places)
    # Among few events nearly all are adjacent to the best one, which tells nothing.
    share = np.float32(len(pool.best) / (len(pool.best) + FEW_EVENTS))
    best = np.append(pool.best * share, np.float32(0))  # place -1, a missing neighbour, has 0
    question_flags = np.append(pool.is_question, np.float32(0))
    second, after_next = pool.neighbours(previous, following)
    brevity = _brevity(events)
    return {
        "previous": best[previous],
        "next": best[following],
        "around": np.maximum(best[second], best[after_next]),
        "previous_short": best[previous] * brevity,
        "next_short": best[following] * brevity,
        "previous_asks": best[previous] * question_flags[previous],
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


def _of_form(events: PoolEvents) -> dict[str, Array]:
    return {
        "asks": events.is_question,
        "length": _standard(np.log1p(events.lengths)),
        "query_length": _standard(np.log1p(events.query_lengths)),
        "brevity": _brevity(events),
    }


def _of_context(
    pool: PoolEvents, events: PoolEvents, columns: dict[str, Array]
) -> dict[str, float]:
    """Return what the query and the space are like."""
    question = events.ranking.question
    whole, query = float(events.lengths.mean()), float(events.query_lengths.mean())
    ratio = (whole - query + 1) / (query + 1)
    best = np.sort(columns["best"])[-BEST_OF_ALL:]
    return {
        "characters": float(np.log1p(len(question.text))),
        "content_words": float(np.log1p(sum(not word.is_stop for word in question.words))),
        "asks_when": float(question.asks_when),
        "is_question": float(question.text.rstrip().endswith(("?", "？", "؟"))),
        "asks_for_many": float(asks_for_many(question.text)),
        "response_share": float(np.clip(np.log(ratio), 0, SHARE_MAX)) / SHARE_MAX,
        "events": float(np.log1p(len(pool.firsts))),
        "best_cosine": float(columns["cosine"].max()),
        "best_coverage": float(columns["coverage"].max()),
        "spread": float(best.mean() - pool.best.mean()),
    }


def _brevity(events: PoolEvents) -> Array:
    brevity: Array = 1 / (1 + (events.lengths / SHORT_WORDS) ** 2)
    return brevity


def _standard(values: Array) -> Array:
    centred = values - values.mean()
    deviation = float(centred @ centred / len(centred)) ** 0.5  # faster than np.std
    standard: Array = centred / (deviation + SPREAD_MIN)
    return standard


def stretched(values: Array, low: float, high: float) -> Array:
    """Scale values to 0..1: `low` becomes 0, `high` becomes 1."""
    # np.clip has a higher overhead.
    return np.minimum(np.maximum((values - low) / (high - low + 1e-9), 0), 1).astype("f4")


def asks_for_many(text: str) -> bool:
    """Return True if a question is about several events: a count, an order, a list, a course."""
    return _ASKS_FOR_MANY.search(normalize(text)) is not None

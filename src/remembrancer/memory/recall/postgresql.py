"""Search a large space whose index is not loaded: PostgreSQL selects candidates, which are then
ranked like the events of a loaded index.

Events that PostgreSQL has not indexed yet are read from their rows, so that a completed write is in
the very next search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...protocol.search import MemoryQuery
from ...search import (
    EntryBatch,
    IndexView,
    ParsedQuery,
    SearchTerms,
    SpaceTerms,
    best_events,
    embedding_text,
    frequencies_in,
    idf_of,
    parse_terms,
    quantize,
    query_term_weights,
    view_among,
)
from ...search.scoring import K1, B
from ...store import Row, Transaction
from ..spaces import SQL as SPACES
from ..spaces import batch_of, milliseconds, number_of, row_id, space_view
from .postgresql_index import EXACT_PARTS_MAX, SQL, prefixed, signs, statistics_of

NEAREST = 300  # candidates by the signs of their vectors
MATCHING = 600  # candidates by their words
HOLDING = 200  # candidates for each focus phrase
# The best candidates by words and vector together, whose neighbours are read as well.
CLOSER = 200
BREADTH = 200  # pgvector's ef_search
# Parts that PostgreSQL scores for the rarest terms of a query, in total.
SCORED_PARTS_MAX = 4_000
# Parts scored for each pair of terms that are too frequent on their own.
PAIR_SCORED_PARTS_MAX = 500
PAIRED_TERMS = 6  # of the frequent terms, the rarest are searched for in pairs
# Events read from their rows because PostgreSQL has not indexed them yet. If it lags further
# behind, the space's index is loaded instead.
TAIL_EVENTS_MAX = 5_000
EVENT_BYTES = 1_000  # memory of an event, without the vectors of its two parts
_ALL_TIME_MS = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatistics:
    """The statistics of an indexed space, and its latest events, read from rows."""

    space_id: int
    embedder: int
    filled_to: int
    latest: Sequence[Row]
    batch: EntryBatch  # of the latest
    statistics: SpaceTerms  # of all events


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlQuery:
    """A query to a space, as the statements need it."""

    space_id: int
    terms: SearchTerms
    frequencies: dict[int, int]  # parts of the space by term
    gains: dict[int, float]  # term -> its weighted idf
    # Divisor of a part's score by words: a constant, and an addend for each of its words.
    norm: tuple[float, float]
    values: dict[str, int]  # parameters of every statement


def view_for(
    context: Context, tx: Transaction, account_id: int, space: Row, query: MemoryQuery
) -> tuple[IndexView, SearchTerms]:
    """Return the view of a space for a query, and the parsed query.

    The view is of the whole index, or of PostgreSQL's candidates if the space is large and its
    index is not loaded.
    """
    least = context.settings.database_search_events
    is_loaded = context.index_cache.holds(
        space.id, revision=space.revision, end=space.events_made, within=TAIL_EVENTS_MAX
    )
    if least and space.events_made >= least and not is_loaded:
        candidates = _view(context, tx, space, query)
        if candidates is not None:
            if fits_in_memory(context, space):
                context.index_cache.request((account_id, space.id))
            return candidates
    view = space_view(context, tx, space)
    return view, parse_terms(query.query_text, query.focus_words, view.languages)


def fits_in_memory(context: Context, space: Row) -> bool:
    """Return True if the index of a space would fit into the index cache."""
    per_event = 2 * context.layout.dimensions + EVENT_BYTES
    return int(space.events_made) * per_event <= context.settings.index_memory_bytes


def _view(
    context: Context, tx: Transaction, space: Row, query: MemoryQuery
) -> tuple[IndexView, SearchTerms] | None:
    """Return the candidates for a query with their neighbours, and the parsed query.

    None if PostgreSQL has indexed too little of the space.
    """
    indexed = _space_statistics(context, tx, space)
    if indexed is None:
        return None
    tx.all(SQL.prepare, breadth=BREADTH)
    terms = parse_terms(query.query_text, query.focus_words, indexed.statistics.languages_seen)
    request = _postgresql_query(tx, indexed, query, terms)
    dimensions, embedders = context.layout.dimensions, context.embedder_numbers(tx)

    def view_of_rows(rows: Sequence[Row], following: Mapping[int, int]) -> IndexView:
        return view_among(
            batch_of(context, tx, space.id, rows),
            dimensions,
            following,
            indexed.statistics,
            request.frequencies,
        )

    def rows_of(numbers: set[int]) -> list[Row]:
        return tx.all(
            SQL.rows,
            **embedders,
            ids=_array(row_id(space.id, number) for number in sorted(numbers)),
        )

    latest = view_among(indexed.batch, dimensions, {}, indexed.statistics, request.frequencies)
    text = embedding_text(latest, terms.question)
    vector = context.query_vectors(text)
    nearest, farthest = _nearest(tx, request, vector[: context.layout.width])
    phrase_events = farthest.union(
        *(_phrase_candidates(tx, request, phrase) for phrase in terms.phrases)
    )
    candidates = _matching(tx, request) | nearest | phrase_events
    rows = rows_of(candidates)
    best = best_events(view_of_rows(rows, {}), terms.question, terms.words, vector, CLOSER)
    following, neighbours = _neighbours(tx, indexed, best | phrase_events)
    candidate_rows = [row for row in rows if number_of(row.id) in neighbours]
    older = sorted([*candidate_rows, *rows_of(neighbours - candidates)])
    return view_of_rows([*older, *indexed.latest], following), terms


def _space_statistics(context: Context, tx: Transaction, space: Row) -> SpaceStatistics | None:
    """Return the statistics of a space.

    None if PostgreSQL has indexed too little of it, or its vectors have no index yet.
    """
    numbers = context.embedder_numbers(tx)
    embedder = numbers["embedder"]
    indexed = tx.one_or_none(SQL.indexed_space, space_id=space.id)
    if (
        indexed is None
        or indexed.embedder != embedder
        or indexed.filled_to + TAIL_EVENTS_MAX < space.events_made
    ):
        return None
    if indexed.parts > EXACT_PARTS_MAX and not indexed.is_linked:
        return None
    new_rows = {
        "low": row_id(space.id, indexed.filled_to),
        "high": row_id(space.id, space.events_made),
    }
    latest = tx.all(SPACES.index_rows, **numbers, **new_rows)
    batch, statistics = batch_of(context, tx, space.id, latest), statistics_of(indexed)
    statistics.add(batch)
    return SpaceStatistics(
        space_id=space.id,
        embedder=embedder,
        filled_to=indexed.filled_to,
        latest=latest,
        batch=batch,
        statistics=statistics,
    )


def _postgresql_query(
    tx: Transaction, indexed: SpaceStatistics, query: MemoryQuery, terms: SearchTerms
) -> PostgresqlQuery:
    """Return a query with the weights of its terms in this space."""
    statistics, space_id, words = indexed.statistics, indexed.space_id, terms.words
    numbers = sorted({term for word in words for term in word.terms})
    frequencies = dict.fromkeys(numbers, 0) | frequencies_in(indexed.batch, numbers)
    stored_terms = [prefixed(space_id, term) for term in numbers]
    for row in tx.all(SQL.frequencies, space_id=space_id, terms=stored_terms):
        frequencies[row.term & 0xFFFFFFFF] += row.parts
    gains: dict[int, float] = defaultdict(float)
    for word in query_term_weights(words):
        for term, weight in word.terms.items():
            gains[term] += weight * idf_of(frequencies[term], statistics.parts)
    mean = max(statistics.words / max(statistics.parts, 1), 1.0)
    return PostgresqlQuery(
        space_id=space_id,
        terms=terms,
        frequencies=frequencies,
        gains=dict(gains),
        norm=(1 + K1 * (1 - B), K1 * B / mean),
        values={
            "space_id": space_id,
            "after_ms": milliseconds(query.after, _ALL_TIME_MS[0]),
            "before_ms": milliseconds(query.before, _ALL_TIME_MS[1]),
        },
    )


def _scoring_values(request: PostgresqlQuery) -> dict[str, object]:
    """Return the values with which PostgreSQL scores parts like `lexical_scores`.

    Each term counts once.
    """
    terms = [prefixed(request.space_id, term) for term in request.gains]
    return {
        "terms": terms,
        "gains": list(request.gains.values()),
        "norm": request.norm[0],
        "norm_word": request.norm[1],
        **request.values,
    }


def _matching(tx: Transaction, request: PostgresqlQuery) -> set[int]:
    """Return events with the rarest terms of the query, or with two of its frequent terms."""
    parts_left = SCORED_PARTS_MAX
    pairs: list[tuple[int, int, int]] = []  # two terms, and the parts to score
    frequent = []
    frequencies = request.frequencies
    for term in sorted(
        (term for term in request.gains if frequencies[term]),
        key=lambda term: (frequencies[term], term),
    ):
        if frequencies[term] <= parts_left:
            parts_left -= frequencies[term]
            pairs.append((term, term, frequencies[term]))
        else:
            frequent.append(term)
    pairs += [(*pair, PAIR_SCORED_PARTS_MAX) for pair in combinations(frequent[:PAIRED_TERMS], 2)]
    if not pairs:
        pairs = [(term, term, SCORED_PARTS_MAX) for term in frequent]
    if not pairs:
        return set()
    ones, others = ([prefixed(request.space_id, pair[side]) for pair in pairs] for side in (0, 1))
    rows = tx.all(
        best_by_words(SQL.parts_with_pairs),
        ones=ones,
        others=others,
        limits=[pair[2] for pair in pairs],
        most=MATCHING,
        **_scoring_values(request),
    )
    return {row.number for row in rows}


def _nearest(
    tx: Transaction, request: PostgresqlQuery, vector: npt.NDArray[np.float32]
) -> tuple[set[int], set[int]]:
    """Return the events with the vectors nearest to the query's, and the farthest one.

    Scores are scaled between the two.
    """
    coded = quantize(vector[None, :])[0]
    if not coded.any():
        return set(), set()
    rows = tx.all(
        with_dimensions(SQL.nearest, len(coded)), signs=signs(coded), most=NEAREST, **request.values
    )
    return {row.number for row in rows if not row.is_farthest}, {
        row.number for row in rows if row.is_farthest
    }


def best_by_words(parts: str) -> str:
    """Return the statement that ranks the events of the parts that another statement selects."""
    return SQL.best_by_words.replace(SQL.parts, parts)


def with_dimensions(sql: str, dimensions: int) -> str:
    """Return a statement for vectors of this many dimensions.

    PostgreSQL accepts the number as part of a type only, not as a parameter.
    """
    return str(sql).replace("bit(512)", f"bit({dimensions})")


def _phrase_candidates(tx: Transaction, request: PostgresqlQuery, phrase: ParsedQuery) -> set[int]:
    """Return events that may contain a focus phrase: a part has its four rarest words.

    Word endings are ignored.
    """
    term_sets = sorted(
        phrase.required,
        key=lambda terms: sum(request.frequencies.get(term, 0) for term in terms),
    )
    if not term_sets:
        return set()
    slots = (term_sets * 4)[:4] if len(term_sets) < 4 else term_sets[:4]
    names = ("first", "second", "third", "fourth")
    sets = {
        name: [prefixed(request.space_id, term) for term in terms]
        for name, terms in zip(names, slots, strict=True)
    }
    rows = tx.all(
        best_by_words(SQL.parts_with_phrase),
        each=SCORED_PARTS_MAX,
        most=HOLDING,
        **sets,
        **_scoring_values(request),
    )
    return {row.number for row in rows}


def _neighbours(
    tx: Transaction, indexed: SpaceStatistics, numbers: set[int]
) -> tuple[dict[int, int], set[int]]:
    """Return the successor of events in their sessions, and the neighbours of `numbers`.

    Covers these events, their neighbours and the latest events; the latest are not among the
    neighbours. `numbers` are events that PostgreSQL has indexed: it cannot know which events lie
    between them and the latest.
    """
    following: dict[int, int] = {}
    latest_turns: dict[int, list[int]] = defaultdict(list)
    for row in indexed.latest:
        latest_turns[row.session].append(number_of(row.id))
    for turns in latest_turns.values():
        following.update(pairwise(turns))
    windows = {
        number: {number} for number in numbers | {turns[0] for turns in latest_turns.values()}
    }
    centers = sorted(windows)
    ids = _array(row_id(indexed.space_id, number) for number in centers)
    for row in tx.all(SQL.neighbours, space_id=indexed.space_id, numbers=_array(centers), ids=ids):
        windows[row.center].add(row.number)
    for window in windows.values():
        following.update(pairwise(sorted(window)))
    neighbours = set[int]().union(*windows.values())
    return following, {number for number in neighbours if number < indexed.filled_to}


def _array(numbers: Iterable[int]) -> str:
    """Format numbers as a PostgreSQL array.

    The driver inspects each element of a list, which is slow for hundreds of them.
    """
    return f"{{{','.join(map(str, numbers))}}}"

"""Search a large space that is not in memory: the database names candidates, and they are ranked as
all events would be.

What is newer than what the database has taken in is read from its rows, so an answered write is in
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
from ...protocol.memory import MemoryQuery
from ...search import (
    EntryBatch,
    IndexView,
    ParsedQuery,
    SpaceTerms,
    analysis_id,
    best_events,
    embedding_text,
    frequencies_in,
    idf_of,
    parse_query,
    quantize,
    query_term_weights,
    view_among,
)
from ...search.scoring import K1, B
from ...store import Row, Transaction, embedder_id
from ..spaces import SQL as SPACES
from ..spaces import milliseconds, number_of, row_id, space_view
from .postgresql_index import EXACT_PARTS_MAX, SQL, batch_of, prefixed, signs, statistics_of

NEAREST = 300  # events by the signs of their vectors
MATCHING = 600  # events by their words
HOLDING = 200  # events for each focus phrase, of those that may hold it
# events of all these, the best by words and vector together, whose neighbours are read as well
CLOSER = 200
BREADTH = 200  # of the search through an index of vectors: pgvector's ef_search
# parts scored by the database for the rarest terms of a question together
LOOKED_THROUGH_MAX = 4_000
# for each pair of terms that are in too many parts to look through alone
PAIR_LOOKED_THROUGH_MAX = 500
PAIRED_TERMS = 6  # so many of those, the rarest, are looked up in pairs
# read from their rows beside what the database has; where it lags behind further the space is read
# into memory
TAIL_EVENTS_MAX = 5_000
EVENT_BYTES = 1_000  # of an event in memory, beside the vectors of its two parts
_ALWAYS_MS = (-(1 << 62), 1 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceStatistics:
    """A space as it stands:

    what the database has taken in of it, and the latest events, which are read from their rows.
    """

    space_id: int
    embedder: int
    filled_to: int
    latest: Sequence[Row]
    batch: EntryBatch  # of the latest
    statistics: SpaceTerms  # of all


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresqlQuery:
    """What is asked of the database about a space."""

    space_id: int
    question: ParsedQuery
    phrases: Sequence[ParsedQuery]  # focus words
    frequencies: dict[int, int]  # parts of the space by term
    gains: dict[int, float]  # what each term that counts tells
    # what a part's score by words is divided by: alone, and for each of its words
    norm: tuple[float, float]
    values: dict[str, int]  # for every statement


def view_for(
    context: Context, tx: Transaction, account_id: int, space: Row, query: MemoryQuery
) -> IndexView:
    """The view of a space to search for a query:

    the whole index, or where that is not in memory and large, what the database finds.
    """
    least = context.settings.database_search_events
    if not least or space.events_made < least:
        return space_view(context, tx, space)
    if context.index_cache.holds(
        space.id, revision=space.revision, end=space.events_made, within=TAIL_EVENTS_MAX
    ):
        return space_view(context, tx, space)
    found = _view(context, tx, account_id, space, query)
    if found is None:
        return space_view(context, tx, space)
    if is_searched_in_postgresql(context, space):
        context.index_cache.want((account_id, space.id))
    return found


def is_searched_in_postgresql(context: Context, space: Row) -> bool:
    """Whether the index of a space would fit into memory."""
    per_event = 2 * context.embedder.dimensions + EVENT_BYTES
    return int(space.events_made) * per_event <= context.settings.index_memory_bytes


def _view(
    context: Context, tx: Transaction, account_id: int, space: Row, query: MemoryQuery
) -> IndexView | None:
    """The candidates for a query and what stands beside them; None where the database has too
    little of the space.
    """
    of_space = {"account_id": account_id, "space_id": space.id}
    known = _known(context, tx, of_space, space)
    if known is None:
        return None
    tx.all(SQL.prepare, breadth=BREADTH)
    asked = _asked(tx, known, of_space, query)
    dimensions = context.embedder.dimensions

    def view_of_rows(rows: Sequence[Row], following: Mapping[int, int]) -> IndexView:
        return view_among(
            batch_of(context, tx, space.id, rows),
            dimensions,
            following,
            known.statistics,
            asked.frequencies,
        )

    def rows_of(numbers: set[int]) -> list[Row]:
        return tx.all(
            SQL.rows,
            embedder=known.embedder,
            ids=_array(row_id(space.id, number) for number in sorted(numbers)),
        )

    text = embedding_text(
        view_among(known.batch, dimensions, {}, known.statistics, asked.frequencies), asked.question
    )
    vector = context.query_vectors(text)
    nearest, farthest = _nearest(tx, asked, vector)
    held = farthest.union(*(_holding(tx, asked, phrase) for phrase in asked.phrases))
    named = _matching(tx, asked) | nearest | held
    rows = rows_of(named)
    words = [word for one in (asked.question, *asked.phrases) for word in one.words]
    closer = best_events(view_of_rows(rows, {}), asked.question, words, vector, CLOSER)
    following, near = _beside(tx, known, of_space, closer | held)
    shown = [row for row in rows if number_of(row.id) in near]
    return view_of_rows([*sorted([*shown, *rows_of(near - named)]), *known.latest], following)


def _known(
    context: Context, tx: Transaction, of_space: dict[str, int], space: Row
) -> SpaceStatistics | None:
    """How a space stands; None where the database has too little of it, or no index for its vectors
    yet.
    """
    embedder = embedder_id(tx, analysis_id(context.embedder), make=False)
    kept = tx.one_or_none(SQL.kept, **of_space)
    if (
        kept is None
        or kept.embedder != embedder
        or kept.filled_to + TAIL_EVENTS_MAX < space.events_made
    ):
        return None
    if kept.parts > EXACT_PARTS_MAX and not kept.is_linked:
        return None
    span = {"low": row_id(space.id, kept.filled_to), "high": row_id(space.id, space.events_made)}
    latest = tx.all(SPACES.index_rows, embedder=embedder, **span)
    batch, statistics = batch_of(context, tx, space.id, latest), statistics_of(kept)
    statistics.add(batch)
    return SpaceStatistics(
        space_id=space.id,
        embedder=embedder,
        filled_to=kept.filled_to,
        latest=latest,
        batch=batch,
        statistics=statistics,
    )


def _asked(
    tx: Transaction, known: SpaceStatistics, of_space: dict[str, int], query: MemoryQuery
) -> PostgresqlQuery:
    """A query taken apart, with what its terms tell in this space."""
    statistics, languages = known.statistics, known.statistics.languages_seen
    question, phrases = (
        parse_query(query.query_text, languages),
        [parse_query(phrase, languages) for phrase in query.focus_words],
    )
    words = [*question.words, *(word for phrase in phrases for word in phrase.words)]
    terms = sorted({term for word in words for term in word.terms})
    frequencies = dict.fromkeys(terms, 0) | frequencies_in(known.batch, terms)
    for row in tx.all(
        SQL.frequencies, terms=[prefixed(known.space_id, term) for term in terms], **of_space
    ):
        frequencies[row.term & 0xFFFFFFFF] += row.parts
    gains: dict[int, float] = defaultdict(float)
    for word in query_term_weights(words):
        for term, weight in word.terms.items():
            gains[term] += weight * idf_of(frequencies[term], statistics.parts)
    mean = max(statistics.words / max(statistics.parts, 1), 1.0)
    return PostgresqlQuery(
        space_id=known.space_id,
        question=question,
        phrases=phrases,
        frequencies=frequencies,
        gains=dict(gains),
        norm=(1 + K1 * (1 - B), K1 * B / mean),
        values={
            **of_space,
            "after_ms": milliseconds(query.after, _ALWAYS_MS[0]),
            "before_ms": milliseconds(query.before, _ALWAYS_MS[1]),
        },
    )


def _scored(asked: PostgresqlQuery) -> dict[str, object]:
    """The values by which the database scores parts as `lexical` does, each term counted once."""
    terms = [prefixed(asked.space_id, term) for term in asked.gains]
    return {
        "terms": terms,
        "gains": list(asked.gains.values()),
        "norm": asked.norm[0],
        "norm_word": asked.norm[1],
        **asked.values,
    }


def _matching(tx: Transaction, asked: PostgresqlQuery) -> set[int]:
    """Events with the question's rarest terms, or with two of those that are frequent."""
    left = LOOKED_THROUGH_MAX
    pairs: list[tuple[int, int, int]] = []  # and how many parts are looked through
    frequent = []
    frequencies = asked.frequencies
    for term in sorted(
        (term for term in asked.gains if frequencies[term]),
        key=lambda term: (frequencies[term], term),
    ):
        if frequencies[term] <= left:
            left -= frequencies[term]
            pairs.append((term, term, frequencies[term]))
        else:
            frequent.append(term)
    pairs += [(*pair, PAIR_LOOKED_THROUGH_MAX) for pair in combinations(frequent[:PAIRED_TERMS], 2)]
    if not pairs:
        pairs = [(term, term, LOOKED_THROUGH_MAX) for term in frequent]
    if not pairs:
        return set()
    ones, others = ([prefixed(asked.space_id, pair[side]) for pair in pairs] for side in (0, 1))
    rows = tx.all(
        SQL.matching,
        ones=ones,
        others=others,
        limits=[pair[2] for pair in pairs],
        most=MATCHING,
        **_scored(asked),
    )
    return {row.number for row in rows}


def _nearest(
    tx: Transaction, asked: PostgresqlQuery, vector: npt.NDArray[np.float32]
) -> tuple[set[int], set[int]]:
    """Events with the vectors nearest to the question's, and the one farthest from it:

    scores are stretched between the two.
    """
    wanted = quantize(vector[None, :])[0]
    if not wanted.any():
        return set(), set()
    rows = tx.all(
        sized(SQL.nearest, len(wanted)), asked=signs(wanted), most=NEAREST, **asked.values
    )
    return {row.number for row in rows if not row.is_farthest}, {
        row.number for row in rows if row.is_farthest
    }


def sized(sql: str, dimensions: int) -> str:
    """A statement for vectors of so many dimensions:

    PostgreSQL takes them as part of a type only, not as a value.
    """
    return str(sql).replace("bit(512)", f"bit({dimensions})")


def _holding(tx: Transaction, asked: PostgresqlQuery, phrase: ParsedQuery) -> set[int]:
    """Events that may hold a focus phrase: some part has its four rarest words, endings aside."""
    wanted: list[set[int]] = []
    for word in phrase.words:
        whole = {term for term, weight in word.terms.items() if weight == 1.0}
        wanted += [{term} for term in whole] if word.in_pairs else [whole]
    wanted.sort(key=lambda terms: sum(asked.frequencies[term] for term in terms))
    if not wanted:
        return set()
    slots = (wanted * 4)[:4] if len(wanted) < 4 else wanted[:4]
    names = ("first", "second", "third", "fourth")
    sets = {
        name: [prefixed(asked.space_id, term) for term in terms]
        for name, terms in zip(names, slots, strict=True)
    }
    rows = tx.all(SQL.holding, each=LOOKED_THROUGH_MAX, most=HOLDING, **sets, **_scored(asked))
    return {row.number for row in rows}


def _beside(
    tx: Transaction, known: SpaceStatistics, of_space: dict[str, int], numbers: set[int]
) -> tuple[dict[int, int], set[int]]:
    """What comes next in its session after each of these events, those beside them and the latest;
    and all of them but the latest.

    `numbers` are of events that the database has: what comes between it and one of the latest it
    could not tell.
    """
    following: dict[int, int] = {}
    own: dict[int, list[int]] = defaultdict(list)
    for row in known.latest:
        own[row.session].append(number_of(row.id))
    for turns in own.values():
        following.update(pairwise(turns))
    windows = {number: {number} for number in numbers | {turns[0] for turns in own.values()}}
    centers = sorted(windows)
    ids = _array(row_id(known.space_id, number) for number in centers)
    for row in tx.all(SQL.beside, numbers=_array(centers), ids=ids, **of_space):
        windows[row.center].add(row.number)
    for window in windows.values():
        following.update(pairwise(sorted(window)))
    near = set[int]().union(*windows.values())
    return following, {number for number in near if number < known.filled_to}


def _array(numbers: Iterable[int]) -> str:
    """Numbers as PostgreSQL reads an array:

    the driver looks at each element of a list, and here are hundreds.
    """
    return f"{{{','.join(map(str, numbers))}}}"

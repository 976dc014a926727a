"""Search a large space in PostgreSQL, whose index is not loaded, and maintain its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, cycle, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...context import Context
from ...protocol.filters import of_search
from ...protocol.search import MemoryQuery
from ...search import (
    EntryBatch,
    IndexView,
    ParsedQuery,
    Ranking,
    SearchTerms,
    SpaceIndex,
    analysis_id,
    cosines,
    embedding_text,
    idf_of,
    lexical_scores,
    parse_terms,
    quantize,
    query_term_weights,
)
from ...search.index.space_index import NONE
from ...search.ranking import untrained
from ...search.scoring import K1, B
from ...store import Row, Transaction, embedder_id, load_queries
from ...store.embedders import NEVER
from ..filters import passing_events
from ..spaces import SQL as SPACES
from ..spaces import batch_of, milliseconds, number_of, row_id

# --- The search index of large spaces inside PostgreSQL, built from rows in the background ---
# Writes do not touch it: it lags behind, and a search reads the latest rows in addition. Erasing
# updates it at once (`erase_search` in forget.sql).

SQL = load_queries("remembrancer.memory.recall", "postgresql.sql")
ERASE = load_queries("remembrancer.memory.history", "forget.sql")
BATCH = 1_000  # events indexed per step
CLEARED = 10_000  # parts deleted per step after the embedder changed
# Fewer new events than this are not worth a transaction; searches read them from their rows.
SLACK = 500
# In a space with more parts the vectors get an HNSW index; in a smaller one all are compared.
EXACT_PARTS_MAX = 20_000
_LINK_BYTES = 400  # memory for each part while its HNSW index is built, in addition to its signs
_LINK_MEMORY_BYTES_MAX = 2 << 30


@dataclass(slots=True)
class SpaceTerms:
    """Statistics of a whole space that ranking needs: sums over its parts."""

    events: int = 0
    parts: int = 0
    words: int = 0  # sum of the lengths
    # Parts by language.
    languages: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(256, "i8"))
    speakers: frozenset[int] = frozenset()

    def add(self, batch: EntryBatch) -> None:
        """Add the events of a batch that are not included yet."""
        self.events += len(np.unique(batch.event))
        self.parts += len(batch)
        self.words += int(batch.head["length"].sum())
        self.languages = self.languages + np.bincount(batch.head["language"], minlength=256)
        self.speakers |= set(np.unique(batch.head["speaker"]).tolist()) - {0}

    @property
    def languages_seen(self) -> tuple[int, ...]:
        """The numbers of the space's languages, most frequent first."""
        return tuple(
            int(number)
            for number in np.argsort(-self.languages, kind="stable")
            if self.languages[number] > 0
        )


def statistics_of(row: Row) -> SpaceTerms:
    """Return the term statistics of the indexed part of a space, from its row."""
    languages = np.frombuffer(row.languages or bytes(8 * 256), "<i8")
    speakers = frozenset(np.frombuffer(row.speakers, "<u4").tolist())
    return SpaceTerms(row.events, row.parts, row.words, languages, speakers)


def prefixed(space_id: int, term: int) -> int:
    """Return a term as stored in PostgreSQL, where each space has its own terms."""
    return space_id << 32 | term


def advance_index(context: Context) -> bool:
    """Do one step of maintenance; return False if there was nothing to do.

    A step indexes some events, deletes some parts of another embedder, or builds the HNSW index of
    a space, which takes minutes for a million parts. Raises StoreUnavailable.
    """
    least = context.settings.database_search_events
    if not context.store.supports_vector_search or not least:
        return False
    by = analysis_id(context.embedder)

    def find_work(tx: Transaction) -> tuple[Row | None, Row | None, list[Row]]:
        embedder = embedder_id(tx, by, make=False)
        if embedder == NEVER:
            return None, None, []
        behind = tx.one_or_none(SQL.behind, embedder=embedder, least=least, slack=min(SLACK, least))
        unlinked = tx.one_or_none(SQL.unlinked, embedder=embedder, parts=EXACT_PARTS_MAX)
        return behind, unlinked, tx.all(SQL.orphaned)

    behind, unlinked, orphaned = context.store.read(find_work)
    for index in orphaned:
        context.store.run_outside_transaction(f'drop index concurrently if exists "{index.name}"')
    if behind is not None:
        step = partial(_index_next, context, space_id=behind.id)
        # Not flushed: a step that a power cut loses is done again.
        context.store.write(step, account_id=behind.account_id, flush=False)
        return True
    return unlinked is not None and build_vector_index(context, unlinked)


def _index_next(context: Context, tx: Transaction, space_id: int) -> None:
    """Index the next events of a space, or delete some parts of another embedder."""
    numbers = context.embedder_numbers(tx)
    of_space = {"space_id": space_id}
    indexed = tx.one_or_none(SQL.indexed_space, **of_space)
    if indexed is not None and indexed.embedder != numbers["embedder"]:
        if not tx.run(SQL.clear_some, most=CLEARED, **of_space):
            tx.run(SQL.delete_terms, **of_space)
            tx.run(SQL.delete_space, **of_space)
        return
    if indexed is None:
        tx.run(SQL.add_space, embedder=numbers["embedder"], **of_space)
        indexed = tx.one(SQL.indexed_space, **of_space)
    end = tx.one(SPACES.space_by_id, id=space_id).events_made
    new_rows = {"low": row_id(space_id, indexed.filled_to), "high": row_id(space_id, end)}
    rows = tx.all(SQL.rows_from, most=BATCH, **numbers, **new_rows)
    filled_to = number_of(rows[-1].id) + 1 if len(rows) == BATCH else end
    _store_batch(context, tx, space_id, rows, filled_to)


def rebuild(context: Context, tx: Transaction, space_id: int, events: Sequence[int]) -> None:
    """Index events again whose entries were renewed, if PostgreSQL has them already.

    `events` are row ids.
    """
    if not context.store.supports_vector_search:
        return
    numbers, of_space = context.embedder_numbers(tx), {"space_id": space_id}
    indexed = tx.one_or_none(SQL.indexed_by, embedder=numbers["embedder"], **of_space)
    filled_to = 0 if indexed is None else indexed.filled_to
    stale = [event for event in events if number_of(event) < filled_to]
    if stale:
        tx.run(ERASE.erase_search, **of_space, numbers=[number_of(event) for event in stale])
        rows = tx.all(SQL.rows, ids=stale, **numbers)
        _store_batch(context, tx, space_id, rows, filled_to)


def _store_batch(
    context: Context, tx: Transaction, space_id: int, rows: Sequence[Row], filled_to: int
) -> None:
    """Store the index entries of events, and update the statistics of the space."""
    of_space = {"space_id": space_id}
    statistics = statistics_of(tx.one(SQL.indexed_space, **of_space))
    if rows:
        batch = batch_of(context, tx, space_id, rows)
        statistics.add(batch)
        _store_parts(tx, of_space, batch, context.layout.width)
        numbers, counts = np.unique(batch.term, return_counts=True)
        terms = [prefixed(space_id, term) for term in numbers.tolist()]
        tx.run(SQL.count_terms, terms=terms, counts=counts.tolist(), **of_space)
    tx.run(
        SQL.count_space,
        filled_to=filled_to,
        events=statistics.events,
        parts=statistics.parts,
        words=statistics.words,
        languages=statistics.languages.astype("<i8").tobytes(),
        speakers=np.array(sorted(statistics.speakers), "<u4").tobytes(),
        **of_space,
    )


def _store_parts(tx: Transaction, of_space: dict[str, int], batch: EntryBatch, width: int) -> None:
    firsts = np.flatnonzero(np.r_[True, batch.event[1:] != batch.event[:-1]])
    parts = np.arange(len(batch)) - np.repeat(firsts, np.diff(np.r_[firsts, len(batch)]))
    ends = np.r_[0, np.cumsum(batch.head["terms"], dtype="i8")].tolist()
    prefix = of_space["space_id"] << 32
    terms = (batch.term.astype("i8") | prefix).tolist()
    tx.run(
        SQL.add_words,
        numbers=batch.event.tolist(),
        parts=parts.tolist(),
        sessions=batch.session.tolist(),
        times_ms=batch.occurred_ms.tolist(),
        lengths=batch.head["length"].tolist(),
        terms=["{" + ",".join(map(str, terms[start:end])) + "}" for start, end in pairwise(ends)],
        **of_space,
    )
    vectors = batch.vectors[:, :width]  # of the embedder, without those of an older one
    with_vectors = np.flatnonzero(vectors.any(axis=1))
    if len(with_vectors):
        tx.run(
            SQL.add_vectors,
            numbers=batch.event[with_vectors].tolist(),
            parts=parts[with_vectors].tolist(),
            times_ms=batch.occurred_ms[with_vectors].tolist(),
            signs=[signs(vector) for vector in vectors[with_vectors]],
            **of_space,
        )


def signs(vector: npt.NDArray[np.int8]) -> str:
    """Return the signs of a vector as a PostgreSQL bit string; 1 means greater than 0.

    64 bytes for 512 dimensions. Similar vectors share most signs; exact similarity is computed from
    the vectors of the few candidates.
    """
    return ((vector > 0).astype("u1") + ord("0")).tobytes().decode()


def build_vector_index(context: Context, space: Row) -> bool:
    """Build the HNSW index of a space's vectors, unless another server is building it.

    An index that a killed server left incomplete is built again.
    """
    name = f"search_vectors_{space.space_id}_{space.embedder}"
    index = context.store.read(lambda tx: tx.one_or_none(SQL.link_state, name=name))
    if index is not None and index.is_made:
        return False
    if index is not None and not index.is_valid:
        context.store.run_outside_transaction(f"drop index concurrently if exists {name}")
    if index is None or not index.is_valid:
        dimensions = context.layout.width
        memory = min(space.parts * (dimensions // 8 + _LINK_BYTES), _LINK_MEMORY_BYTES_MAX)
        context.store.run_outside_transaction(
            f"create index concurrently if not exists {name} on search_vectors"
            f" using hnsw ((signs::bit({dimensions})) bit_hamming_ops)"
            f" where space_id = {space.space_id}",
            memory_bytes=memory,
        )
    of_space = {name: getattr(space, name) for name in ("account_id", "space_id", "embedder")}
    context.store.write(lambda tx: tx.run(SQL.note_linked, **of_space))
    return True


# --- Search a large space whose index is not loaded: PostgreSQL selects candidates, which are then
# ranked like the events of a loaded index.
#
# Events that PostgreSQL has not indexed yet are read from their rows, so that a completed write is
# in the very next search.

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
FILTERED_EVENTS_MAX = 2_000  # if no more events pass the filters of a query, all are candidates
EVENT_BYTES = 1_000  # memory of an event, without the vectors of its two parts
_ALL_TIME_MS = (-(1 << 62), 1 << 62)


@dataclass(slots=True, kw_only=True)
class _Search:
    """A search of a space that PostgreSQL has indexed, but for its latest events."""

    context: Context
    tx: Transaction
    space_id: int
    filled_to: int  # events from here on are the latest, read from rows
    latest: Sequence[Row]
    latest_batch: EntryBatch
    statistics: SpaceTerms  # of all events
    terms: SearchTerms
    passing: Sequence[int] | None  # events that pass the filters; None without any
    values: dict[str, Any]  # parameters of every statement
    frequencies: dict[int, int] = field(default_factory=dict)  # parts of the space by term
    gains: dict[int, float] = field(default_factory=dict)  # term -> its weighted idf

    def view(self) -> IndexView:
        """Return a view of the candidates with their neighbours."""
        context, terms = self.context, self.terms
        self.tx.all(SQL.prepare, breadth=BREADTH)
        self._weigh_terms()
        if self.passing is not None and len(self.passing) <= FILTERED_EVENTS_MAX:
            older = self._rows({number for number in self.passing if number < self.filled_to})
            return self._view_of([*older, *self.latest], {})
        latest = self._view_among(self.latest_batch, {})
        vector = context.query_vectors(embedding_text(latest, terms.question))
        nearest, farthest = self._nearest(vector[: context.layout.width])
        phrase_events = farthest.union(*map(self._with_phrase, terms.phrases))
        candidates = self._matching() | nearest | phrase_events
        rows = self._rows(candidates)
        view = self._view_of(rows, {})
        scores = lexical_scores(view, terms.words), cosines(view, vector)
        ranking = Ranking(view, terms.question, *scores, untrained())
        best = set(ranking.events_of(np.arange(view.size))[:CLOSER].tolist())
        following, neighbours = self._neighbours(best | phrase_events)
        near_rows = [row for row in rows if number_of(row.id) in neighbours]
        older = sorted([*near_rows, *self._rows(neighbours - candidates)])
        return self._view_of([*older, *self.latest], following)

    def _view_of(self, rows: Sequence[Row], following: Mapping[int, int]) -> IndexView:
        batch = batch_of(self.context, self.tx, self.space_id, rows)
        return self._view_among(batch, following)

    def _view_among(self, batch: EntryBatch, following: Mapping[int, int]) -> IndexView:
        """Return a view of some events with the statistics of the whole space.

        `following` maps events of the batch to the next event of their session; other events of a
        session are not neighbours.
        """
        index, statistics = SpaceIndex(self.context.layout.dimensions), self.statistics
        index.add(batch, int(batch.event[-1]) + 1 if len(batch) else 0)
        view = index.view()
        columns = {name: column[: view.size].copy() for name, column in view.columns.items()}
        event, previous = columns["event"], columns["previous"]
        linked = np.flatnonzero(previous >= 0)
        linked = linked[event[previous[linked]] != event[linked]]
        pairs = zip(event[previous[linked]].tolist(), event[linked].tolist(), strict=True)
        unlinked = linked[[following.get(first) != second for first, second in pairs]]
        columns["next"][previous[unlinked]] = NONE
        previous[unlinked] = NONE
        return replace(
            view,
            columns=columns,
            events=statistics.events,
            alive_parts=statistics.parts,
            words=statistics.words,
            languages=statistics.languages_seen,
            speakers=statistics.speakers,
            frequencies=dict(self.frequencies),
        )

    def _rows(self, numbers: Iterable[int]) -> list[Row]:
        ids = _array(row_id(self.space_id, number) for number in sorted(numbers))
        return self.tx.all(SQL.rows, ids=ids, **self.context.embedder_numbers(self.tx))

    def _weigh_terms(self) -> None:
        """Read how frequent the terms of the query are, and weigh them like `lexical_scores`."""
        words = self.terms.words
        numbers = sorted({term for word in words for term in word.terms})
        latest = self.latest_batch.term
        self.frequencies = {
            term: int(np.count_nonzero(latest == np.uint32(term))) for term in numbers
        }
        stored_terms = self._stored(numbers)
        for row in self.tx.all(SQL.frequencies, space_id=self.space_id, terms=stored_terms):
            self.frequencies[row.term & 0xFFFFFFFF] += row.parts
        for word in query_term_weights(words):
            for term, weight in word.terms.items():
                idf = idf_of(self.frequencies[term], self.statistics.parts)
                self.gains[term] = self.gains.get(term, 0.0) + weight * idf

    def _stored(self, terms: Iterable[int]) -> list[int]:
        return [prefixed(self.space_id, term) for term in terms]

    def _best_by_words(self, parts: str, **values: Any) -> set[int]:
        """Return the best events by words of the parts that a statement selects.

        PostgreSQL scores them like `lexical_scores`; each term counts once.
        """
        mean = max(self.statistics.words / max(self.statistics.parts, 1), 1.0)
        # Divisor of a part's score by words: a constant, and an addend for each of its words.
        norm = {"norm": 1 + K1 * (1 - B), "norm_word": K1 * B / mean}
        gains = {"terms": self._stored(self.gains), "gains": list(self.gains.values())}
        rows = self.tx.all(best_by_words(parts), **values, **gains, **norm, **self.values)
        return {row.number for row in rows}

    def _matching(self) -> set[int]:
        """Return events with the rarest terms of the query, or with two of its frequent terms."""
        parts_left, frequencies = SCORED_PARTS_MAX, self.frequencies
        pairs: list[tuple[int, int, int]] = []  # two terms, and the parts to score
        frequent = []
        present = [term for term in self.gains if frequencies[term]]
        for term in sorted(present, key=lambda term: (frequencies[term], term)):
            if frequencies[term] <= parts_left:
                parts_left -= frequencies[term]
                pairs.append((term, term, frequencies[term]))
            else:
                frequent.append(term)
        rarest = combinations(frequent[:PAIRED_TERMS], 2)
        pairs += [(*pair, PAIR_SCORED_PARTS_MAX) for pair in rarest]
        pairs = pairs or [(term, term, SCORED_PARTS_MAX) for term in frequent]
        if not pairs:
            return set()
        ones, others, limits = zip(*pairs, strict=True)
        return self._best_by_words(
            SQL.parts_with_pairs,
            ones=self._stored(ones),
            others=self._stored(others),
            limits=list(limits),
            most=MATCHING,
        )

    def _nearest(self, vector: npt.NDArray[np.float32]) -> tuple[set[int], set[int]]:
        """Return the events with the vectors nearest to the query's, and the farthest one.

        Scores are scaled between the two.
        """
        coded = quantize(vector[None, :])[0]
        if not coded.any():
            return set(), set()
        nearest = with_dimensions(SQL.nearest, len(coded))
        rows = self.tx.all(nearest, signs=signs(coded), most=NEAREST, **self.values)
        farthest = {row.number for row in rows if row.is_farthest}
        return {row.number for row in rows} - farthest, farthest

    def _with_phrase(self, phrase: ParsedQuery) -> set[int]:
        """Return events that may contain a focus phrase: a part has its four rarest words.

        Word endings are ignored.
        """
        rarest = sorted(
            phrase.required,
            key=lambda terms: sum(self.frequencies.get(term, 0) for term in terms),
        )
        if not rarest:
            return set()
        names = ("first", "second", "third", "fourth")
        sets = {
            name: self._stored(terms) for name, terms in zip(names, cycle(rarest), strict=False)
        }
        most = {"each": SCORED_PARTS_MAX, "most": HOLDING}
        return self._best_by_words(SQL.parts_with_phrase, **most, **sets)

    def _neighbours(self, numbers: set[int]) -> tuple[dict[int, int], set[int]]:
        """Return the successor of events in their sessions, and the neighbours of `numbers`.

        Covers these events, their neighbours and the latest events; the latest are not among the
        neighbours. `numbers` are events that PostgreSQL has indexed: it cannot know which events
        lie between them and the latest.
        """
        following: dict[int, int] = {}
        latest_turns: dict[int, list[int]] = defaultdict(list)
        for row in self.latest:
            latest_turns[row.session].append(number_of(row.id))
        for turns in latest_turns.values():
            following.update(pairwise(turns))
        centers = sorted(numbers | {turns[0] for turns in latest_turns.values()})
        windows = {number: {number} for number in centers}
        ids = _array(row_id(self.space_id, number) for number in centers)
        of_space = {"space_id": self.space_id, "numbers": _array(centers), "ids": ids}
        for row in self.tx.all(SQL.neighbours, **of_space):
            windows[row.center].add(row.number)
        for window in windows.values():
            following.update(pairwise(sorted(window)))
        neighbours = set[int]().union(*windows.values())
        return following, {number for number in neighbours if number < self.filled_to}


def candidates_for(
    context: Context, tx: Transaction, account_id: int, space: Row, query: MemoryQuery
) -> tuple[IndexView, SearchTerms] | None:
    """Return PostgreSQL's candidates for a query with their neighbours, and the parsed query.

    None if the space is small, its index is loaded, or PostgreSQL has indexed too little of it.
    """
    least = context.settings.database_search_events
    is_loaded = context.index_cache.holds(
        space.id, revision=space.revision, end=space.events_made, within=TAIL_EVENTS_MAX
    )
    if not least or space.events_made < least or is_loaded:
        return None
    search = _opened(context, tx, space, query)
    if search is None:
        return None
    view = search.view()
    index_bytes = int(space.events_made) * (2 * context.layout.dimensions + EVENT_BYTES)
    if index_bytes <= context.settings.index_memory_bytes:
        context.index_cache.request((account_id, space.id))
    return view, search.terms


def _opened(context: Context, tx: Transaction, space: Row, query: MemoryQuery) -> _Search | None:
    """Read the statistics and the latest events of a space.

    None if PostgreSQL has indexed too little of it, or its vectors have no index yet.
    """
    numbers = context.embedder_numbers(tx)
    indexed = tx.one_or_none(SQL.indexed_space, space_id=space.id)
    if indexed is None or indexed.embedder != numbers["embedder"]:
        return None
    is_behind = indexed.filled_to + TAIL_EVENTS_MAX < space.events_made
    if is_behind or (indexed.parts > EXACT_PARTS_MAX and not indexed.is_linked):
        return None
    low, high = row_id(space.id, indexed.filled_to), row_id(space.id, space.events_made)
    latest = tx.all(SPACES.index_rows, **numbers, low=low, high=high)
    batch, statistics = batch_of(context, tx, space.id, latest), statistics_of(indexed)
    statistics.add(batch)
    passing = None
    if query.filters is not None or query.min_trust is not None:
        filters = of_search(query.filters, query.min_trust)
        passing = np.flatnonzero(passing_events(context, tx, space, filters)).tolist()
    return _Search(
        context=context,
        tx=tx,
        space_id=space.id,
        filled_to=indexed.filled_to,
        latest=latest,
        latest_batch=batch,
        statistics=statistics,
        terms=parse_terms(query.query_text, query.focus_words, statistics.languages_seen),
        passing=passing,
        values={
            "space_id": space.id,
            "after_ms": milliseconds(query.after, _ALL_TIME_MS[0]),
            "before_ms": milliseconds(query.before, _ALL_TIME_MS[1]),
            "passing": None if passing is None else _array(passing),
        },
    )


def best_by_words(parts: str) -> str:
    """Return the statement that ranks the events of the parts that another statement selects."""
    return SQL.best_by_words.replace(SQL.parts, parts)


def with_dimensions(sql: str, dimensions: int) -> str:
    """Return a statement for vectors of this many dimensions.

    PostgreSQL accepts the number as part of a type only, not as a parameter.
    """
    return str(sql).replace("bit(512)", f"bit({dimensions})")


def _array(numbers: Iterable[int]) -> str:
    """Format numbers as a PostgreSQL array.

    The driver inspects each element of a list, which is slow for hundreds of them.
    """
    return f"{{{','.join(map(str, numbers))}}}"

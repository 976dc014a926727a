"""Serve the cubes that fit a search, and track the ratings that agents owe for them.

Shared cubes have one index, private cubes one for each user, and those made for an account one for
it: private cubes of one user never slow another's search or change its ranks. All are updated from
their rows before each search, like the index of a space. Their nearest cubes are candidates;
`fit.py` decides which of them fit, and the account's record which of those come first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..context import Caller, Context
from ..protocol.cubes import CubeStatus, SharedCube
from ..protocol.limits import CUBES_SHOWN_MAX
from ..protocol.text import DAY_MS
from ..protocol.trust import RANKS, TextSource
from ..search import (
    Embedder,
    EventText,
    IndexView,
    ParsedQuery,
    SpaceIndex,
    cosines,
    fitting,
    parse_query,
    unpack_repaired,
)
from ..store import Row, Transaction
from ..store.rows import read_row
from .fit import (
    NO_VECTOR,
    Similarities,
    Situation,
    Vector,
    Wording,
    chances,
    cohort_of,
    fits_min,
    shared_words,
)
from .lessons import SQL, cube_text, visible_evidence
from .merging import contradicts
from .rules import freshness, retired_by_outcomes, status_within

CANDIDATE_MIN = 0.2  # score of a candidate by words and vectors
CANDIDATES_MAX = 16  # of each index
ERROR_CHARACTERS_MAX = 2_000  # of an error text that is searched for
TRUSTED_LIFT = 0.03  # ranks a trusted cube above others that fit as well
RECORD_LIFT = 0.2  # most that outcomes of the account's turns raise or lower the rank
RECORD_PRIOR = 4  # outcomes at which the record has half of that effect
ROWS_AT_ONCE = 20_000  # rows per batch, as for a space
# Key of the index of shared cubes; that of private ones is (ALL, account_id, user_id or None).
ALL = "cubes"
HOW_TO_RATE = (
    "Rate it: POST /api/v7/experience/vote with 1 (useful) or -1 (irrelevant or wrong, with the "
    "reason); or 0 (not needed): remember with duty vote_nothing."
)
AFTER_EVERY_STEP = 1 << 62
WORDS_NAMED_MAX = 5  # of a situation, that a cube has in common with it


class NewestCubes(NamedTuple):
    """The newest cubes that a user may see, and the revision of older ones. None: there is none."""

    revision: int
    shared: int | None
    account: int | None  # made for the account
    own: int | None  # private to the user


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeQuery:
    """A search for cubes: what the agent works on, the parsed message, and its vector.

    `vector` has the shape (dimensions,), or (0,) without an embedder. Cubes that `session`, a row
    id, was shown are left out; None leaves none out.
    """

    user_id: str
    session: int | None
    situation: Situation
    question: ParsedQuery
    vector: Vector
    newest: NewestCubes | None = None  # None: not read yet
    has_rejected: bool = True  # False: the user rated no cube -1
    min_trust: TextSource | None = None  # less trusted cubes are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitting:
    """A cube that fits, with what its account knows about it."""

    row: Row
    chance: float  # that it fits
    status: CubeStatus  # within the account
    helped: int
    failed: int
    freshness: float
    is_met: bool  # by the session, which was shown it

    @property
    def rank(self) -> float:
        """The chance that it fits, changed by what is known about its use."""
        outcomes = self.helped + self.failed
        record = (self.helped - self.failed) / (outcomes + RECORD_PRIOR) if outcomes else 0.0
        lift = TRUSTED_LIFT if self.status == "trusted" else 0.0
        return self.chance * self.freshness + lift + RECORD_LIFT * record


def relevant_cubes(
    context: Context, tx: Transaction, caller: Caller, query: CubeQuery
) -> list[SharedCube]:
    """Return at most CUBES_SHOWN_MAX cubes that fit, best first.

    The user's private cubes, the account's and all shared ones, except those that are retired for
    all or within the account, and that the user rated -1. The note of one that the session was
    shown says so.
    """
    rejected: set[int] = set()
    if query.has_rejected:
        rejected = {row.cube for row in tx.all(SQL.rejected, user_id=query.user_id)}
    if query.min_trust is not None:
        most = RANKS[query.min_trust]
        rejected |= {row.id for row in tx.all(SQL.less_trusted, most=most)}
    error = query.situation.error[:ERROR_CHARACTERS_MAX]
    has_vectors = bool(len(query.vector)) and not context.embedder.is_remote
    error_vector = context.query_vectors(error) if error and has_vectors else NO_VECTOR
    near: list[tuple[int, Similarities | None]] = []
    cubes = 0
    for view in visible_views(context, tx, caller, query.user_id, query.newest):
        cubes += view.events
        near += islice(
            _candidates(view, query, error, error_vector if has_vectors else None, rejected),
            CANDIDATES_MAX,
        )
    if not near:
        return []
    ids = json.dumps([number for number, _ in near])
    rows = {row.id: row for row in tx.all(SQL.served, ids=ids, user_id=query.user_id)}
    visible = [(rows[number], similar) for number, similar in near if number in rows]
    # While the embedder changes, the vectors of the one before follow; lessons are compared by one.
    width = context.embedder.dimensions if has_vectors else 0
    probabilities = chances(
        query.situation,
        context.embedder if width else None,
        query.vector[:width],
        error_vector[:width],
        [wording_of(row, similar) for row, similar in visible],
    )
    least = fits_min(cubes)
    chosen = [
        (row, chance)
        for (row, _), chance in zip(visible, probabilities, strict=True)
        if chance >= least
    ]
    fits = _judged(context, tx, query, chosen)
    fits.sort(key=lambda one: (one.rank, one.row.id), reverse=True)
    served = [one for one in fits if not _is_contradicted(one, fits)][:CUBES_SHOWN_MAX]
    return [_shared_cube(one, query.situation) for one in served]


def _is_contradicted(one: _Fitting, others: Sequence[_Fitting]) -> bool:
    """Return True if a newer cube that is trusted says otherwise about the same."""
    return any(
        other.status == "trusted"
        and other.row.id > one.row.id
        and contradicts(wording_of(other.row), wording_of(one.row))
        for other in others
    )


def wording_of(row: Row, near: Similarities | None = None) -> Wording:
    """Return the texts of a cube, to be compared."""
    return Wording(row.topic, row.essence, row.rules, near)


def warm_cubes(embedder: Embedder) -> None:
    """Prepare what the first search for cubes would wait for: the lessons of comparison."""
    cohort_of(None)
    if not embedder.is_remote:
        cohort_of(embedder)


def visible_views(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    newest: NewestCubes | None = None,
) -> list[IndexView]:
    """Return the indexes of what a user sees: shared cubes, the account's, and the user's own.

    `newest` None: it is read in `tx`.
    """
    if newest is None:
        newest = NewestCubes(*tx.one(SQL.newest, user_id=user_id))
    indexes = (
        (newest.shared, ALL),
        (newest.account, (ALL, caller.account_id, None)),
        (newest.own, (ALL, caller.account_id, user_id)),
    )
    return [
        _view(context, tx, newest.revision, last, key) for last, key in indexes if last is not None
    ]


def _candidates(
    view: IndexView,
    query: CubeQuery,
    error: str,
    error_vector: Vector | None,
    left_out: set[int],
) -> Iterator[tuple[int, Similarities | None]]:
    """Yield the cubes of an index that share words or meaning with the situation, best first.

    Each by its row id, with its similarities. `error_vector` None: without vectors.
    """
    words = (*query.question.words, *(parse_query(error).words if error else ()))
    vector = NO_VECTOR if error_vector is None else query.vector
    if not view.size:
        return
    to_message = cosines(view, vector)
    to_error = None
    if error_vector is not None and len(error_vector):
        to_error = cosines(view, error_vector)
    events, sides = view["event"], view["side"]
    for one in fitting(view, words, to_message, CANDIDATE_MIN):
        if one.event in left_out:
            continue
        near = None
        if error_vector is not None:
            parts = slice(*np.searchsorted(events, (one.event, one.event + 1)).tolist())
            near = _similarities(to_message[parts], to_error, parts, sides[parts])
        yield one.event, near


def _similarities(
    to_message: npt.NDArray[np.float32],
    to_error: npt.NDArray[np.float32] | None,
    parts: slice,
    sides: npt.NDArray[np.int_],
) -> Similarities:
    head, rules = (float(to_message[sides == side].max(initial=-1.0)) for side in (0, 1))
    return Similarities(
        head=head,
        rules=rules if rules >= 0 or head < 0 else head,
        error=0.0 if to_error is None else float(to_error[parts].max()),
    )


def account_status(tx: Transaction, row: Row, record: Row) -> CubeStatus:
    """Return the status of a cube within the account, from its row of `own_records`."""
    status = status_within(record.useful, record.useless, row.status)
    if record.failed:
        others = tx.one(SQL.other_outcomes)
        good, bad = others.good, others.bad
        if retired_by_outcomes(record.helped, record.failed, other_good=good, other_bad=bad):
            return "retired"
    return status


def _judged(
    context: Context, tx: Transaction, query: CubeQuery, chosen: Sequence[tuple[Row, float]]
) -> list[_Fitting]:
    """Return cubes that fit with their account's records, without those that are retired there.

    `chosen` are the rows of cubes, each with the chance that it fits.
    """
    if not chosen:
        return []
    ids = json.dumps([row.id for row, _ in chosen])
    records = {row.id: row for row in tx.all(SQL.own_records, ids=ids, session=query.session)}
    judged = [(row, chance, records[row.id]) for row, chance in chosen]
    return [
        _Fitting(
            row=row,
            chance=chance,
            status=status,
            helped=record.helped,
            failed=record.failed,
            freshness=freshness(
                (context.clock() - max(record.last_ms, row.created_ms)) / DAY_MS, record.exposures
            ),
            is_met=bool(record.is_met),
        )
        for row, chance, record in judged
        if (status := account_status(tx, row, record)) != "retired"
    ]


def _view(
    context: Context,
    tx: Transaction,
    revision: int,
    newest: int,
    key: str | tuple[str, int, str | None],
) -> IndexView:
    def fill(index: SpaceIndex) -> None:
        sql, of_user = (SQL.shared_rows, {}) if key == ALL else (SQL.own_rows, {"user_id": key[2]})
        _fill(context, tx, index, partial(tx.all, sql, **of_user))

    return context.index_cache.view(key, revision=revision, end=newest + 1, fill=fill)


def _fill(
    context: Context, tx: Transaction, index: SpaceIndex, read: Callable[..., list[Row]]
) -> None:
    """Add the cubes that the index does not contain; `read` returns their rows from an id on."""
    numbers, place = context.embedder_numbers(tx), context.layout.place
    while rows := read(**numbers, low=index.next_event, most=ROWS_AT_ONCE):
        # A session for each cube, so that cubes are not neighbours.
        entries = [
            (row.id, row.id, 0, row.words, place(row.vectors, row.older_vectors)) for row in rows
        ]
        index.add(
            unpack_repaired(entries, context.layout.dimensions, lambda number: _text(tx, number)),
            rows[-1].id + 1,
        )


def _text(tx: Transaction, number: int) -> EventText:
    row = tx.one(SQL.cube_texts, id=number)
    return cube_text(row.topic, row.essence, row.rules)


def _shared_cube(one: _Fitting, situation: Situation) -> SharedCube:
    row, outcomes = one.row, one.helped + one.failed
    words = shared_words(situation, wording_of(row), WORDS_NAMED_MAX)
    return read_row(
        SharedCube,
        row,
        rules_markdown=row.rules,
        evidence=visible_evidence(row.evidence, is_own=bool(row.is_own)),
        score=round(min(max(one.rank, 0.0), 1.0), 4),
        note=_note(one),
        why=f"matches {', '.join(words)}" if words else "close in meaning",
        record=f"helped {one.helped} of {outcomes}" if outcomes else None,
    )


def _note(one: _Fitting) -> str:
    row = one.row
    status = f"{row.status}; {row.useful} found it useful, {row.useless} did not"
    if one.status != row.status:
        status += f"; {one.status} by the users of this account"
    if one.is_met:
        status = f"shown before; {status}"
    if row.vote is None and row.is_of_account:
        whose = "own" if row.is_own else "of another user of this account"
        return f"{whose} ({status}). It needs no rating from you."
    if row.vote is None:
        return f"new ({status}). {HOW_TO_RATE}"
    rating = {1: "+1", 0: "0, not needed"}[row.vote]  # -1 is not served
    return f"rated {rating} by you ({status})."


def unrated_cubes(tx: Transaction, *, session: int, before_step: int) -> list[str]:
    """Return the ids of cubes that a session was shown as new before a step and its user has not
    rated since.
    """
    return [row.cube_id for row in tx.all(SQL.unrated, session=session, before_step=before_step)]


def close_ratings(tx: Transaction, *, session: int, reason: str, now_ms: int) -> list[str]:
    """Rate 0, for the session's user, every cube it was shown as new and the user has not rated.

    Returns their ids. 0 is not a vote.
    """
    unrated = tx.all(SQL.unrated, session=session, before_step=AFTER_EVERY_STEP)
    for row in unrated:
        tx.run(SQL.rate, cube=row.id, user_id=row.user_id, vote=0, reason=reason, now_ms=now_ms)
    return [row.cube_id for row in unrated]

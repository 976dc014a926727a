"""Serve the cubes relevant to a search, and track the ratings that agents owe for them.

Shared cubes have one index, private cubes one index for each account: private cubes of one account
never slow another's search or change its ranks. Both are updated from their rows before each
search, like the index of a space.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..context import Caller, Context
from ..protocol.cubes import SharedCube
from ..protocol.limits import CUBES_SHOWN_MAX
from ..search import (
    EventText,
    IndexView,
    ParsedQuery,
    SpaceIndex,
    fitting,
    unpack_repaired,
)
from ..store import Row, Transaction
from .lessons import SQL, cube_text, visible_evidence

# Minimum score: an irrelevant cube would cost the agent a rating.
RELEVANT_MIN = 0.35
RELEVANT_BY_WORDS_MIN = 0.25  # minimum score without vectors
TRUSTED_LIFT = 0.03  # ranks a trusted cube above others that fit as well
CANDIDATES_MAX = 24  # best cubes of each index, in case some are retired
ROWS_AT_ONCE = 20_000  # rows per batch, as for a space
ALL = "cubes"  # key of the index of shared cubes; that of an account is (ALL, account_id)
HOW_TO_RATE = (
    "Rate it: POST /api/v7/experience/vote with 1 (useful) or -1 (irrelevant or wrong, with the "
    "reason); or 0 (not needed): remember with duty vote_nothing."
)
AFTER_EVERY_STEP = 1 << 62


class ScoredCube(NamedTuple):
    """A cube and how well it fits."""

    score: float  # 0..1
    cosine: float  # breaks ties between equal scores
    number: int


def relevant_cubes(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
) -> list[SharedCube]:
    """Return at most CUBES_SHOWN_MAX cubes relevant to a query, best first.

    The account's own private cubes and all shared ones, except retired ones and those that the user
    rated -1. `vector` is the query's, shape (dimensions,), or empty without an embedder.
    """
    newest = tx.one(SQL.newest)
    rejected = {row.cube for row in tx.all(SQL.rejected, user_id=user_id)}
    scored: list[ScoredCube] = []
    for last, account_id in ((newest.shared, None), (newest.own, caller.account_id)):
        if last is not None:
            view = _view(context, tx, newest.revision, last, account_id)
            scored += _best(view, question, vector, rejected)
    visible = [
        (cube, row)
        for cube in scored
        if (row := tx.one_or_none(SQL.served, id=cube.number, user_id=user_id)) is not None
    ]
    visible.sort(key=lambda cube: (_score_of(*cube), cube[0].cosine, cube[0].number), reverse=True)
    return [
        _shared_cube(row, min(_score_of(cube, row), 1.0)) for cube, row in visible[:CUBES_SHOWN_MAX]
    ]


def _view(
    context: Context, tx: Transaction, revision: int, newest: int, account_id: int | None
) -> IndexView:
    def fill(index: SpaceIndex) -> None:
        _fill(context, tx, index, account_id)

    key = ALL if account_id is None else (ALL, account_id)
    return context.index_cache.view(key, revision=revision, end=newest + 1, fill=fill)


def _fill(context: Context, tx: Transaction, index: SpaceIndex, account_id: int | None) -> None:
    """Add the cubes that the index does not contain yet: shared ones, or an account's own."""
    numbers, place = context.embedder_numbers(tx), context.layout.place
    while True:
        page = {**numbers, "low": index.next_event, "most": ROWS_AT_ONCE}
        rows = (
            tx.all(SQL.shared_rows, **page) if account_id is None else tx.all(SQL.own_rows, **page)
        )
        if not rows:
            return
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


def _best(
    view: IndexView,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
    rejected: set[int],
) -> list[ScoredCube]:
    """Return the relevant cubes of an index that are not rejected, best first.

    At most CANDIDATES_MAX.
    """
    least = RELEVANT_MIN if len(vector) else RELEVANT_BY_WORDS_MIN
    fits = fitting(view, question.words, vector, least)
    candidates = (fit for fit in fits if fit.event not in rejected)
    return [
        ScoredCube(fit.score, fit.cosine, fit.event) for fit in islice(candidates, CANDIDATES_MAX)
    ]


def _score_of(one: ScoredCube, row: Row) -> float:
    return one.score + TRUSTED_LIFT if row.status == "trusted" else one.score


def _shared_cube(row: Row, score: float) -> SharedCube:
    return SharedCube(
        cube_id=row.cube_id,
        kind=row.kind,
        topic=row.topic,
        essence=row.essence,
        rules_markdown=row.rules,
        evidence=visible_evidence(row.evidence, is_own=bool(row.is_own)),
        score=round(score, 4),
        note=_note(row),
        model=row.model,
    )


def _note(row: Row) -> str:
    status = f"{row.status}; {row.useful} found it useful, {row.useless} did not"
    if row.vote is None and row.is_own:
        return f"own ({status}). It needs no rating from you."
    if row.vote is None:
        return f"new ({status}). {HOW_TO_RATE}"
    rating = {1: "+1", 0: "0, not needed"}[row.vote]  # -1 is not served
    return f"rated {rating} by you ({status})."


def record_exposure(
    tx: Transaction, *, session: int, step: int, cubes: Sequence[SharedCube]
) -> None:
    """Record which cubes a session was shown as new at a step, and so must rate.

    `session` is a row id.
    """
    for cube in cubes:
        if cube.note.startswith("new"):
            tx.run(SQL.note_shown, session=session, cube_id=cube.cube_id, step=step)


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

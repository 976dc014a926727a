"""The cubes that bear on a search, and what an agent owes for having been shown them: a rating
each.

Shared cubes have one index for everybody, private ones one for each account: nobody's private cubes
slow another's search or move its ranks. Both follow the rows before each search, as the index of a
space does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    analysis_id,
    cosines,
    lexical_scores,
    unpack_repaired,
)
from ..search.ranking import COSINE_RANGE
from ..store import Row, Transaction, embedder_id
from .lessons import SQL, cube_text

# below it a cube is left out: better none than one that the agent must rate for nothing
RELEVANT_MIN = 0.35
RELEVANT_BY_WORDS_MIN = 0.25  # the same where there are no vectors
TRUSTED_LIFT = 0.03  # a trusted cube goes before others that fit as well
LOOKED_AT_MAX = 24  # the best of each index, should some be retired
ROWS_AT_ONCE = 20_000  # read and taken in together, as for a space
ALL = "cubes"  # the index of the shared ones; that of an account is (ALL, account_id)
HOW_TO_RATE = (
    "Rate it: POST /api/v7/experience/vote with 1 (useful) or -1 (irrelevant or wrong, with the reason); "
    "or 0 (not needed): remember with duty vote_nothing."
)
EVER = 1 << 62  # after every step


class ScoredCube(NamedTuple):
    """A cube and how well it fits."""

    score: float  # 0..1
    cosine: float  # decides where many fit as well as can be
    number: int


def relevant_cubes(
    context: Context,
    tx: Transaction,
    caller: Caller,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
) -> list[SharedCube]:
    """At most CUBES_SHOWN_MAX cubes that bear on a question, best first: the account's own private
    ones and all shared, none retired.

    `vector` is the question's, shape (dimensions,), or empty where there is no embedder.
    """
    newest = tx.one(SQL.newest, account_id=caller.account_id)
    scored: list[ScoredCube] = []
    if newest.shared is not None:
        scored += _best(_view(context, tx, newest.revision, newest.shared, None), question, vector)
    if newest.own is not None:
        scored += _best(
            _view(context, tx, newest.revision, newest.own, caller.account_id), question, vector
        )
    served = [
        (one, row)
        for one in scored
        if (row := tx.one_or_none(SQL.served, id=one.number, account_id=caller.account_id))
        is not None
    ]
    served.sort(key=lambda one: (_lifted(*one), one[0].cosine, one[0].number), reverse=True)
    return [_shown(row, min(_lifted(one, row), 1.0)) for one, row in served[:CUBES_SHOWN_MAX]]


def _view(
    context: Context, tx: Transaction, revision: int, newest: int, account_id: int | None
) -> IndexView:
    def fill(index: SpaceIndex) -> None:
        _fill(context, tx, index, account_id)

    key = ALL if account_id is None else (ALL, account_id)
    return context.index_cache.view(key, revision=revision, end=newest + 1, fill=fill)


def _fill(context: Context, tx: Transaction, index: SpaceIndex, account_id: int | None) -> None:
    """Take in the cubes that the index does not hold yet: shared ones, or an account's own."""
    embedder = embedder_id(tx, analysis_id(context.embedder), make=False)
    while True:
        span = {"embedder": embedder, "low": index.next_event, "most": ROWS_AT_ONCE}
        rows = (
            tx.all(SQL.shared_rows, **span)
            if account_id is None
            else tx.all(SQL.own_rows, account_id=account_id, **span)
        )
        if not rows:
            return
        # a session each: no cube is another's neighbour
        coded = [(row.id, row.id, 0, row.words, row.vectors) for row in rows]
        index.add(
            unpack_repaired(coded, context.embedder.dimensions, lambda number: _text(tx, number)),
            rows[-1].id + 1,
        )


def _text(tx: Transaction, number: int) -> EventText:
    row = tx.one(SQL.cube_texts, id=number)
    return cube_text(row.topic, row.essence, row.rules)


def _best(
    view: IndexView, question: ParsedQuery, vector: npt.NDArray[np.float32]
) -> list[ScoredCube]:
    """The cubes of an index that are relevant, the best LOOKED_AT_MAX of them.

    A score is how sure words and vector together make it that the cube bears on the question: the
    share of the question's meaning that it holds, and how near it is. It does not depend on how
    well others fit.
    """
    if not view.size:
        return []
    event = view["event"]
    # the parts of a cube stand side by side
    firsts = np.flatnonzero(np.r_[True, event[1:] != event[:-1]])
    coverage = np.maximum.reduceat(
        np.minimum(lexical_scores(view, question.words).coverage, 1), firsts
    )
    cosine = np.maximum.reduceat(cosines(view, vector), firsts)
    near = np.clip((cosine - COSINE_RANGE[0]) / (COSINE_RANGE[1] - COSINE_RANGE[0]), 0, 1)
    score: npt.NDArray[Any] = 1 - (1 - coverage) * (1 - near)
    kept = np.flatnonzero(score >= (RELEVANT_MIN if len(vector) else RELEVANT_BY_WORDS_MIN))
    best = kept[np.lexsort((-cosine[kept], -score[kept]))[:LOOKED_AT_MAX]]
    return [ScoredCube(float(score[at]), float(cosine[at]), int(event[firsts[at]])) for at in best]


def _lifted(one: ScoredCube, row: Row) -> float:
    return one.score + TRUSTED_LIFT if row.status == "trusted" else one.score


def _shown(row: Row, score: float) -> SharedCube:
    return SharedCube(
        cube_id=row.cube_id,
        kind=row.kind,
        topic=row.topic,
        essence=row.essence,
        rules_markdown=row.rules,
        evidence=row.evidence,
        score=round(score, 4),
        note=_note(row),
        model=row.model,
    )


def _note(row: Row) -> str:
    standing = f"{row.status}; {row.useful} found it useful, {row.useless} did not"
    if row.vote is None:
        return f"new ({standing}). {HOW_TO_RATE}"
    told = {1: "+1", 0: "0, not needed", -1: "-1"}[row.vote]
    return f"rated {told} by you ({standing})."


def record_exposure(
    tx: Transaction, *, session: int, step: int, cubes: Sequence[SharedCube]
) -> None:
    """Remember which of these cubes a session was shown as new at a step, and so owes a rating.

    `session` is a row id.
    """
    for cube in cubes:
        if cube.note.startswith("new"):
            tx.run(SQL.note_shown, session=session, cube_id=cube.cube_id, step=step)


def unrated_cubes(tx: Transaction, *, account_id: int, session: int, before_step: int) -> list[str]:
    """Ids of the cubes that a session was shown as new before a step and its account has not rated
    since.
    """
    return [
        row.cube_id
        for row in tx.all(
            SQL.unrated, account_id=account_id, session=session, before_step=before_step
        )
    ]


def close_ratings(
    tx: Transaction, *, account_id: int, session: int, reason: str, now_ms: int
) -> list[str]:
    """Rate 0 every cube that a session was shown as new and its account has not rated; gives their
    ids. 0 is no vote.
    """
    owed = tx.all(SQL.unrated, account_id=account_id, session=session, before_step=EVER)
    for row in owed:
        tx.run(SQL.rate, cube=row.id, account_id=account_id, vote=0, reason=reason, now_ms=now_ms)
    return [row.cube_id for row in owed]

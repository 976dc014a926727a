"""Store a proposed cube: alone, merged with one that says the same, or as an improved version.

Merged cubes stay as rows with their own texts and evidence; one of them is served, and the ids of
all name it. Two accounts that propose the same lesson thereby confirm each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from ..accounts import require_write, session_user_id, space_user_id
from ..accounts.idempotency import IdempotentRequest, write_once
from ..context import Caller, Context
from ..protocol.cubes import CubeCreate, CubeCreated
from ..protocol.errors import NotFound
from ..protocol.text import is_placeholder
from ..search import cosines, fitting, parse_query
from ..store import Row, Transaction
from .fit import NO_VECTOR, Wording
from .lessons import (
    SQL,
    Lesson,
    PreparedCube,
    StoredCube,
    check_evidence,
    count_votes,
    prepare_cube,
    store_cube,
    visibility_of,
)
from .merging import clarity, says_same
from .serving import visible_views, wording_of

COMPARED_MAX = 8  # nearest cubes by words, of each index
NEAR_MIN = 0.4  # their score
CLEARER_BY = 0.1  # difference of clarity at which the newer wording takes the place
_REACH = {"private": 0, "account": 1, "published": 2}  # by visibility: more readers
PROPOSED = "Proposed the same lesson."  # reason of the vote that a proposal counts as


class ImprovedUnknown(NotFound):
    """Your account has no cube with the id to improve. Improve cubes of your own account."""


def create(
    context: Context,
    caller: Caller,
    request: CubeCreate,
    idempotency: IdempotentRequest | None = None,
) -> CubeCreated:
    """Store a private cube; on return it is durable and the user's searches find it.

    Raises KeyIsReadOnly, PinnedToOtherUser, EvidenceUnknown, ImprovedUnknown, IdempotencyKeyReused,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, request.user_id)  # first: an invalid one is refused before any work
    lesson = Lesson(
        kind=request.kind or request.cube_type or "fact",
        topic=request.topic,
        essence=request.essence,
        rules=request.rules_markdown,
        evidence=request.evidence,
        model=None if is_placeholder(request.model) else request.model,
        for_account=request.visibility == "account",
    )
    prepared = prepare_cube(context, lesson)

    def store(tx: Transaction) -> CubeCreated:
        source = check_evidence(tx, caller, request.evidence, request.source)
        user_id = session_user_id(tx, caller, request.user_id, request.session_id)
        session = None
        if request.session_id is not None:
            session = tx.one_or_none(SQL.session_of, user_id=user_id, session_id=request.session_id)
        stored = propose(
            context,
            tx,
            caller,
            replace(prepared, lesson=replace(prepared.lesson, source=source)),
            user_id=user_id,
            session=None if session is None else session.id,
            improves=request.improves,
        )
        return CubeCreated(
            saved=True,
            cube_id=stored.cube_id,
            user_id=user_id,
            visibility=stored.visibility,
            cube_status="private",
            merged_into=stored.merged_into,
            detail=" ".join(filter(None, (stored.notice, prepared.notice))) or None,
        )

    return write_once(context, caller.account_id, idempotency, CubeCreated, store)


def propose(
    context: Context,
    tx: Transaction,
    caller: Caller,
    prepared: PreparedCube,
    *,
    user_id: str,
    session: int | None,
    improves: str | None = None,
    expires_ms: int | None = None,
) -> StoredCube:
    """Store a cube of a user, merged with one that the user sees and that says the same.

    `improves` is the cube_id of a cube of the account that it takes the place of; it is then rated
    anew. `session` is a row id. Raises ImprovedUnknown.
    """
    improved = None
    if improves is not None:
        improved = tx.one_or_none(SQL.own_cube, cube_id=improves, user_id=user_id)
        if improved is None:
            raise ImprovedUnknown
    same = next(_saying_the_same(context, tx, caller, prepared.lesson, user_id), None)
    stored = store_cube(
        context, tx, user_id=user_id, session=session, prepared=prepared, expires_ms=expires_ms
    )
    if improved is not None:
        return _take_place(tx, stored, improved)
    if same is None:
        return stored
    return _merge(tx, stored, prepared.lesson, same, user_id, context.clock())


def _saying_the_same(
    context: Context, tx: Transaction, caller: Caller, lesson: Lesson, user_id: str
) -> Iterator[Row]:
    """Yield the cubes that the user sees and that say the same, nearest first."""
    own = Wording(lesson.topic, lesson.essence, lesson.rules)
    words = parse_query(own.text).words
    for view in visible_views(context, tx, caller, user_id):
        for near in islice(fitting(view, words, cosines(view, NO_VECTOR), NEAR_MIN), COMPARED_MAX):
            row = tx.one_or_none(SQL.wording, id=near.event, user_id=user_id)
            if row is not None and says_same(own, wording_of(row)):
                yield row


def _take_place(tx: Transaction, stored: StoredCube, improved: Row) -> StoredCube:
    """Serve an improved version in the place of the cube it improves."""
    if _REACH[stored.visibility] < _REACH[visibility_of(improved)]:
        notice = (
            f"{improved.cube_id} has more readers and is served as before: an improved version "
            "takes its place only with the same ones."
        )
        return replace(stored, notice=notice)
    _merge_rows(tx, improved.id, stored.row)
    notice = f"It takes the place of {improved.cube_id}, which names it from now on."
    return replace(stored, notice=notice)


def _merge(
    tx: Transaction, stored: StoredCube, lesson: Lesson, same: Row, user_id: str, now_ms: int
) -> StoredCube:
    """Merge a new cube with one that says the same; the clearer wording of an account is served.

    Another account's wording stays as it is: votes are about it.
    """
    own = Wording(lesson.topic, lesson.essence, lesson.rules)
    if not same.is_of_account and stored.visibility != "published":
        notice = f"{same.cube_id}, published by another account, says the same."
        return replace(stored, notice=notice)
    is_clearer = clarity(own) >= clarity(wording_of(same)) + CLEARER_BY
    reach, other = _REACH[stored.visibility], _REACH[visibility_of(same)]
    takes_place = same.is_of_account and (reach > other or (is_clearer and reach == other))
    if takes_place:
        tx.run(SQL.take_ratings, id=same.id, into=stored.row)
        _merge_rows(tx, same.id, stored.row)
        count_votes(tx, stored.row)
        notice = f"It says the same as {same.cube_id}, more clearly, and takes its place."
        return replace(stored, notice=notice)
    _merge_rows(tx, stored.row, same.id)
    if not same.is_of_account:
        tx.run(SQL.rate, cube=same.id, user_id=user_id, vote=1, reason=PROPOSED, now_ms=now_ms)
        count_votes(tx, same.id)
    notice = f"It says the same as {same.cube_id} and is merged with it: both ids name that cube."
    return replace(stored, notice=notice, merged_into=same.cube_id)


def _merge_rows(tx: Transaction, row: int, into: int) -> None:
    tx.run(SQL.merge, id=row, into=into)
    tx.run(SQL.revise)

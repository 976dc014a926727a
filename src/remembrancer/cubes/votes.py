"""Vote on a cube: each user has one rating, its latest; each account counts once."""

from __future__ import annotations

from ..accounts import name_session_user, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, idempotent
from ..context import Caller, Context
from ..protocol.cubes import CubeStatus, CubeVote, CubeVoted, Votes
from ..protocol.errors import NotFound
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..store import Row, Transaction
from .lessons import SQL
from .rules import status_of


class CubeUnknown(NotFound):
    """There is no such cube, or it is another account's private cube. Use a cube_id that a search
    returned.
    """


def vote(
    context: Context,
    caller: Caller,
    request: CubeVote,
    idempotency: IdempotentRequest | None = None,
) -> CubeVoted:
    """Rate a cube that the account can see, replacing the user's previous rating.

    An account counts once, for the side of most of its users; a tie counts for neither. Votes of
    the author's account are stored but not counted. Searches no longer return the cube to a user
    who rated it -1. Raises KeyIsReadOnly, PinnedToOtherUser, CubeUnknown, IdempotencyKeyReused,
    StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    now_ms = context.clock()

    def count(tx: Transaction) -> str:
        cube = tx.one_or_none(SQL.visible, cube_id=request.cube_id)
        if cube is None:
            raise CubeUnknown
        tx.run(
            SQL.rate,
            cube=cube.id,
            user_id=user_id,
            vote=request.vote,
            reason=None if request.reason is None else mask_service_keys(request.reason),
            now_ms=now_ms,
        )
        counts, status = count_votes(tx, cube.id)
        reminder = name_session_user(tx, caller, user_id, request.named_session, now_ms)
        notices = (service_key_warning(request.reason), reminder())
        votes = Votes(useful=counts.useful, useless=counts.useless)
        return CubeVoted(
            voted=True,
            cube_id=request.cube_id,
            user_id=user_id,
            cube_status=status,
            votes=votes,
            detail=" ".join(filter(None, notices)) or None,
        ).model_dump_json()

    return CubeVoted.model_validate_json(
        context.store.write(
            lambda tx: idempotent(tx, idempotency, now_ms, lambda: count(tx)),
            account_id=caller.account_id,
        )
    )


def count_votes(tx: Transaction, cube: int) -> tuple[Row, CubeStatus]:
    """Count the votes on a cube (its row id) and set its status.

    Returns a row with useful and useless, and the status.
    """
    # Always counted from the ratings: incremented counters drift under concurrent writes.
    counts = tx.one(SQL.recount, id=cube)
    status: CubeStatus = (
        "private" if counts.status == "private" else status_of(counts.useful, counts.useless)
    )
    if status != counts.status:
        tx.run(SQL.set_status, id=cube, status=status)
    return counts, status

"""Vote on a cube: one rating of each account, the latest counts."""

from __future__ import annotations

from ..accounts import require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, idempotent
from ..context import Caller, Context
from ..protocol.cubes import CubeVote, CubeVoted, Votes
from ..protocol.errors import NotFound
from ..store import Transaction
from .lessons import SQL
from .rules import status_of


class CubeUnknown(NotFound):
    """There is no such cube, or it is another account's private one. Use a cube_id that a search
    showed.
    """


def vote(
    context: Context, caller: Caller, asked: CubeVote, given: IdempotentRequest | None = None
) -> CubeVoted:
    """Rate a cube that the account can see, in place of any rating it gave before. The author's own
    is kept but not counted.

    Raises ReadOnly, Pinned, CubeUnknown, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    space_user_id(caller, asked.user_id)
    now_ms = context.clock()

    def count(tx: Transaction) -> str:
        cube = tx.one_or_none(SQL.visible, cube_id=asked.cube_id, account_id=caller.account_id)
        if cube is None:
            raise CubeUnknown
        tx.run(
            SQL.rate,
            cube=cube.id,
            account_id=caller.account_id,
            vote=asked.vote,
            reason=asked.reason,
            now_ms=now_ms,
        )
        # Counted from the ratings each time: what is only ever added to drifts when writers meet.
        counted = tx.one(SQL.recount, id=cube.id)
        status = (
            counted.status
            if counted.status == "private"
            else status_of(counted.useful, counted.useless)
        )
        if status != counted.status:
            tx.run(SQL.set_status, id=cube.id, status=status)
        votes = Votes(useful=counted.useful, useless=counted.useless)
        return CubeVoted(
            voted=True, cube_id=asked.cube_id, cube_status=status, votes=votes
        ).model_dump_json()

    return CubeVoted.model_validate_json(
        context.store.write(
            lambda tx: idempotent(tx, given, now_ms, lambda: count(tx)),
            account_id=caller.account_id,
        )
    )

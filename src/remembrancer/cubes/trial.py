"""The field trial: some searches go without the cubes that fit, so that their effect is measured.

Which ones is drawn at random, independently of everything else; so a difference between the
outcomes of both sides is an effect of the cubes. The first TRIAL_AFTER exposures of a cube in an
account are never withheld: a new cube must be read before it can be rated.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence

from ..context import Caller, Records
from ..protocol.cubes import SharedCube
from ..protocol.experience import Arm, CubeEffect, CubeFigures, EffectQuery, EffectReport
from ..store import Row, Transaction
from .outcomes import SQL
from .sequential import ArmCounts, difference, needed

TRIAL_AFTER = 3  # exposures of a cube in an account
_PARTS = 1_000_000  # of a random draw


def draw_trial(
    cubes: Sequence[SharedCube],
    exposures: Mapping[str, int],
    share: float,
    draw: Callable[[int], int] = secrets.randbelow,
) -> dict[str, bool]:
    """Return the ids of the cubes of a search that take part in the trial; True: withheld.

    A share of the searches goes without all cubes that take part. Without a share none takes part.
    `exposures` has the number of times that the account saw each cube, by its id.
    """
    if not cubes or not share:
        return {}
    is_withheld = draw(_PARTS) < share * _PARTS
    return {cube.cube_id: is_withheld for cube in cubes if exposures[cube.cube_id] >= TRIAL_AFTER}


def effect_report(records: Records, caller: Caller, query: EffectQuery) -> EffectReport:
    """Return how turns of the caller's account ended with each cube and without it.

    A pinned key sees the turns of its user. Raises StoreUnavailable.
    """
    share = records.settings.field_trial

    def read(tx: Transaction) -> EffectReport:
        rows = tx.all(
            SQL.arms,
            cube_id=query.cube_id,
            user_id=caller.pinned_user_id,
            below=query.below or 1 << 62,
            most=query.limit + 1,
        )
        page = rows[: query.limit]
        return EffectReport(
            trial_share=share,
            cubes=[
                CubeEffect(
                    cube_id=row.cube_id,
                    topic=row.topic,
                    cube_status=row.status,
                    **_effect(row, share).model_dump(),
                )
                for row in page
            ],
            all=_effect(tx.one(SQL.all_arms, user_id=caller.pinned_user_id), share),
            next=page[-1].id if len(rows) > len(page) else None,
        )

    return records.store.read(read, account_id=caller.account_id)


def _effect(row: Row, share: float) -> CubeFigures:
    with_cube, without_cube = (
        Arm(
            exposures=getattr(row, side) or 0,
            outcomes=getattr(row, f"{side}_outcomes") or 0,
            good=getattr(row, f"{side}_good") or 0,
        )
        for side in ("shown", "withheld")
    )
    exposed, control = (
        ArmCounts(trials=arm.outcomes, successes=arm.good) for arm in (with_cube, without_cube)
    )
    measured = difference(exposed, control)
    more = needed(exposed, control, withheld_share=share) if 0 < share < 1 else None
    return CubeFigures(
        exposures=row.exposures or 0,
        outcomes=row.outcomes or 0,
        used=row.used or 0,
        helped=row.helped or 0,
        effect=None if measured.effect is None else round(measured.effect, 4),
        interval=[round(measured.low, 4), round(measured.high, 4)],
        needed=more,
        with_cube=with_cube,
        without_cube=without_cube,
    )

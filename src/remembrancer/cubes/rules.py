"""When a cube may be made, and where it stands after votes. Pure: counts in, decisions out."""

from __future__ import annotations

from math import sqrt

from ..protocol.cubes import CubeStatus
from ..protocol.limits import TURNS_PER_CUBE_MIN

Z = 1.645  # 95 % confidence, one-sided: each status asks about one bound only
ACCOUNTS_MIN = 3  # decisions.md, Cubes: fewer distinct accounts decide nothing
USEFUL_SHARE = 0.5  # decisions.md, Cubes: more than half find it useful, or fewer


def may_propose(turns: int, last_cube_turn: int | None) -> bool:
    """Whether a session that has so many turns, the present one among them, may make a cube.

    `last_cube_turn` is how many it had when its last cube was made; None: it made none. A session
    with a cube at turn 1 may make the next at turn 4.
    """
    return last_cube_turn is None or turns - last_cube_turn >= TURNS_PER_CUBE_MIN


def wilson(useful: int, votes: int) -> tuple[float, float]:
    """Between which shares the true share of useful votes lies: (lower, upper), each wrong in 5 %
    of cases. (0, 1) without votes.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22,
    1927.
    """
    if not votes:
        return 0.0, 1.0
    share, square = useful / votes, Z * Z
    middle = share + square / (2 * votes)
    spread = Z * sqrt(share * (1 - share) / votes + square / (4 * votes * votes))
    whole = 1 + square / votes
    return max((middle - spread) / whole, 0.0), min((middle + spread) / whole, 1.0)


def status_of(useful: int, useless: int) -> CubeStatus:
    """Where a published cube stands after so many votes of distinct accounts, the author's left
    out.

    With one-sided bounds three accounts that agree decide: 3 of 3 have the bounds (0.53, 1), 0 of 3
    (0, 0.47). Two-sided 95 % would ask for four. Nothing is for good: later votes may change it in
    any direction.
    """
    votes = useful + useless
    lower, upper = wilson(useful, votes)
    if votes >= ACCOUNTS_MIN and lower >= USEFUL_SHARE:
        return "trusted"
    if votes >= ACCOUNTS_MIN and upper < USEFUL_SHARE:
        return "retired"
    return "published"

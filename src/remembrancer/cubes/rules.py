"""Rules of cubes: when one may be created, and its status after votes. Pure: counts in, decisions
out.
"""

from __future__ import annotations

from math import sqrt

from ..protocol.cubes import CubeStatus
from ..protocol.limits import TURNS_PER_CUBE_MIN

Z = 1.645  # 95 % confidence, one-sided: each status depends on one bound only
ACCOUNTS_MIN = 3  # votes of fewer distinct accounts decide nothing
USEFUL_SHARE = 0.5  # share of useful votes that separates trusted from retired


def may_propose(turns: int, last_cube_turn: int | None) -> bool:
    """Return True if a session with this many turns, including the current one, may create a cube.

    `last_cube_turn` is the number of turns when it created its last cube, or None. A session with a
    cube at turn 1 may create the next at turn 4.
    """
    return last_cube_turn is None or turns - last_cube_turn >= TURNS_PER_CUBE_MIN


def wilson(useful: int, votes: int) -> tuple[float, float]:
    """Return the (lower, upper) bounds of the true share of useful votes, each wrong in 5 % of
    cases.

    (0, 1) without votes. Source: Wilson, "Probable inference, the law of succession, and
    statistical inference", JASA 22, 1927.
    """
    if not votes:
        return 0.0, 1.0
    share, square = useful / votes, Z * Z
    middle = share + square / (2 * votes)
    spread = Z * sqrt(share * (1 - share) / votes + square / (4 * votes * votes))
    whole = 1 + square / votes
    return max((middle - spread) / whole, 0.0), min((middle + spread) / whole, 1.0)


def status_of(useful: int, useless: int) -> CubeStatus:
    """Return the status of a published cube from the votes of distinct accounts but the author's.

    With one-sided bounds three agreeing accounts decide: 3 of 3 have the bounds (0.53, 1), 0 of 3
    have (0, 0.47). Two-sided 95 % would need four. Later votes may change the status in any
    direction.
    """
    votes = useful + useless
    lower, upper = wilson(useful, votes)
    if votes >= ACCOUNTS_MIN and lower >= USEFUL_SHARE:
        return "trusted"
    if votes >= ACCOUNTS_MIN and upper < USEFUL_SHARE:
        return "retired"
    return "published"

"""Rules of cubes: when one may be created, its status after votes and outcomes, and its rank when
nobody uses it. Pure: counts in, decisions out.

docs/explanation/lessons.md gives the reasons for each number.
"""

from __future__ import annotations

from math import exp, log, log2, sqrt

from ..protocol.cubes import CubeStatus
from ..protocol.limits import TURNS_PER_CUBE_MIN

Z = 1.645  # 95 % confidence, one-sided: each status depends on one bound only
ACCOUNTS_MIN = 3  # votes of fewer distinct accounts decide nothing
USEFUL_SHARE = 0.5  # share of useful votes that separates trusted from retired
WITHIN_LEAD = 2  # votes by which one side must lead among the users of one account
OUTCOMES_MIN = 5  # fewer outcomes retire nothing
FRESHNESS_MIN = 0.95  # of a cube that nobody has used for years
HALF_LIFE_DAYS = 90.0  # of a cube that no search has returned yet


def may_propose(turns: int, last_cube_turn: int | None) -> bool:
    """Return True if a session with this many turns, including the current one, may create a cube.

    `last_cube_turn` is the number of turns when it created its last cube, or None. A session with a
    cube at turn 1 may create the next at turn 4.
    """
    return last_cube_turn is None or turns - last_cube_turn >= TURNS_PER_CUBE_MIN


def wilson(useful: int, votes: int, z: float = Z) -> tuple[float, float]:
    """Return the (lower, upper) bounds of the true share of useful votes.

    Each is wrong in 5 % of cases; another `z` (standard normal quantile) changes that share. (0, 1)
    without votes. Source: Wilson, "Probable inference, the law of succession, and statistical
    inference", JASA 22, 1927.
    """
    if not votes:
        return 0.0, 1.0
    share, square = useful / votes, z * z
    middle = share + square / (2 * votes)
    spread = z * sqrt(share * (1 - share) / votes + square / (4 * votes * votes))
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


def status_within(useful: int, useless: int, status: CubeStatus) -> CubeStatus:
    """Return the status of a cube for one account, from the votes of its users but the author.

    `status` is the one that the votes of all accounts gave it (`status_of`, or private). It stays
    until one side of the account's users leads by WITHIN_LEAD votes. To contradict other accounts,
    which trust or retired the cube, the users need as much evidence as accounts do: `status_of` of
    their votes.

    A lead is the best sequential test of two shares of wrong votes that are equal for both sides:
    with 20 % wrong votes, a lead of 2 is wrong in 1 of 17 cases (Wald, "Sequential tests of
    statistical hypotheses", Annals of Mathematical Statistics 16, 1945).
    """
    lead = useful - useless
    if abs(lead) < WITHIN_LEAD:
        return status
    verdict: CubeStatus = "trusted" if lead > 0 else "retired"
    if {verdict, status} == {"trusted", "retired"} and status_of(useful, useless) != verdict:
        return status
    return verdict


def retired_by_outcomes(good: int, bad: int, *, other_good: int, other_bad: int) -> bool:
    """Return True if the outcomes of turns that followed a cube retire it within their account.

    `good` and `bad` count these turns; `other_good` and `other_bad` count the account's turns that
    followed no cube. At least OUTCOMES_MIN outcomes are needed, and the upper Wilson bound (1927)
    of their share of good ones must be below the lower bound of the others. Without other outcomes
    nothing is retired.
    """
    outcomes, others = good + bad, other_good + other_bad
    return outcomes >= OUTCOMES_MIN and wilson(good, outcomes)[1] < wilson(other_good, others)[0]


def freshness(days_unused: float, exposures: int) -> float:
    """Return the factor (FRESHNESS_MIN..1) by which a search multiplies the score of a cube.

    `days_unused` counts days since a search returned the cube or a user rated it; `exposures`
    counts the searches that returned it. The factor halves its distance to FRESHNESS_MIN after
    HALF_LIFE_DAYS, and each doubling of the exposures adds as long a time: what was needed often
    will be needed again. Source of the shape: Anderson, Schooler, "Reflections of the environment
    in memory", Psychological Science 2, 1991.
    """
    half_life = HALF_LIFE_DAYS * (1 + log2(1 + max(exposures, 0)))
    faded = exp(-log(2) * max(days_unused, 0.0) / half_life)
    return FRESHNESS_MIN + (1 - FRESHNESS_MIN) * faded

"""Always-valid intervals of the difference that a lesson makes."""

from __future__ import annotations

from math import log

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remembrancer.cubes.sequential import ArmCounts, difference, evidence, needed

RUNS, LOOKS, ALPHA = 400, 3_000, 0.05
WITHHELD = 0.1  # share of exposures
Looks = npt.NDArray[np.int64]  # shape (RUNS, LOOKS)


def arm(trials: float, successes: float) -> ArmCounts:
    """Return the counts of one arm."""
    return ArmCounts(trials=trials, successes=successes)


ARMS = st.integers(0, 60).flatmap(
    lambda trials: st.builds(arm, st.just(trials), st.integers(0, trials))
)


class Trial:
    """Runs of a trial with a withheld share of 0.1: the counts of both arms at every look."""

    def __init__(self, base: float, effect: float, seed: int) -> None:
        random = np.random.default_rng(seed)
        is_withheld = random.random((RUNS, LOOKS)) < WITHHELD
        is_success = random.random((RUNS, LOOKS)) < np.where(is_withheld, base, base + effect)
        self.withheld = is_withheld.cumsum(1), (is_withheld & is_success).cumsum(1)
        self.exposed = (~is_withheld).cumsum(1), (~is_withheld & is_success).cumsum(1)

    def at(self, run: int, look: int) -> tuple[ArmCounts, ArmCounts]:
        """Return the exposed and the withheld arm of one run."""
        return (
            arm(*(int(counts[run, look]) for counts in self.exposed)),
            arm(*(int(counts[run, look]) for counts in self.withheld)),
        )

    def evidence(self) -> npt.NDArray[np.float64]:
        """Return the evidence at every look of every run: `evidence` for whole arrays."""
        log_factorial = np.concatenate([[0.0], np.log(np.arange(1, LOOKS + 2)).cumsum()])
        mixture = np.zeros((RUNS, LOOKS))
        for trials, successes in (self.exposed, self.withheld):
            mixture += log_factorial[successes] + log_factorial[trials - successes]
            mixture -= log_factorial[trials + 1]
        trials, successes = (a + b for a, b in zip(self.exposed, self.withheld, strict=True))
        fit = _log_share(successes, trials) + _log_share(trials - successes, trials)
        return np.asarray(mixture - fit, dtype=np.float64)


def _log_share(part: Looks, whole: Looks) -> npt.NDArray[np.float64]:
    return np.asarray(part * np.log(np.where(part, part, 1) / whole), dtype=np.float64)


def first_clear(trial: Trial) -> npt.NDArray[np.int64]:
    """Return the first look of each run whose interval excludes 0; LOOKS if none does."""
    clear = trial.evidence() >= -log(ALPHA)
    return np.where(clear.any(1), clear.argmax(1), LOOKS)


def test_without_data_the_interval_is_everything() -> None:
    nothing = difference(arm(0, 0), arm(0, 0))

    assert (nothing.effect, nothing.low, nothing.high) == (None, -1, 1)
    assert not nothing.is_clear


def test_arm_without_trials_has_no_effect_but_a_valid_interval() -> None:
    one = difference(arm(40, 40), arm(0, 0))

    assert one.effect is None
    assert -0.2 < one.low < 0
    assert one.high == 1


@given(ARMS, ARMS, st.sampled_from([0.01, 0.05, 0.2]))
def test_effect_lies_in_its_interval_within_the_bounds(
    exposed: ArmCounts, withheld: ArmCounts, alpha: float
) -> None:
    one = difference(exposed, withheld, alpha)

    assert -1 <= one.low <= one.high <= 1
    assert one.effect is None or one.low <= one.effect <= one.high


@given(ARMS, ARMS)
def test_exchanged_arms_give_the_opposite_interval(exposed: ArmCounts, withheld: ArmCounts) -> None:
    one, other = difference(exposed, withheld), difference(withheld, exposed)

    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))


@given(ARMS, ARMS)
def test_interval_excludes_0_exactly_if_the_evidence_reaches_the_threshold(
    exposed: ArmCounts, withheld: ArmCounts
) -> None:
    value = evidence(exposed, withheld)
    assume(abs(value + log(ALPHA)) > 1e-6)

    assert difference(exposed, withheld, ALPHA).is_clear == (value >= -log(ALPHA))


@given(ARMS, ARMS)
def test_smaller_alpha_never_narrows_the_interval(exposed: ArmCounts, withheld: ArmCounts) -> None:
    wide, narrow = difference(exposed, withheld, 0.01), difference(exposed, withheld, 0.1)

    assert wide.low <= narrow.low + 1e-9
    assert narrow.high <= wide.high + 1e-9


@pytest.mark.parametrize("base", [0.1, 0.5, 0.9])
def test_without_an_effect_few_runs_ever_exclude_0(base: float) -> None:
    """Each run is looked at after each of its 3,000 exposures.

    At most 5 % of 400 runs, plus 3 standard errors.
    """
    false_alarms = (first_clear(Trial(base, 0.0, seed=int(base * 10))) < LOOKS).mean()

    assert false_alarms <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / RUNS) ** 0.5


def test_evidence_of_whole_arrays_is_that_of_their_counts() -> None:
    trial = Trial(0.3, 0.2, seed=1)
    values = trial.evidence()

    for run, look in ((0, 0), (1, 1), (2, 9), (3, 200), (4, LOOKS - 1)):
        assert evidence(*trial.at(run, look)) == pytest.approx(values[run, look], abs=1e-6)


@pytest.mark.parametrize(("base", "effect"), [(0.1, 0.2), (0.5, 0.2), (0.7, 0.2), (0.5, -0.2)])
def test_real_effect_is_clear_after_as_many_exposures_as_foreseen(
    base: float, effect: float
) -> None:
    """The median of 400 runs is within a factor of 2 of `needed` at the true rates."""
    expected = arm(90, 90 * (base + effect)), arm(10, 10 * base)
    further = needed(*expected)
    assert further is not None

    median = float(np.median(first_clear(Trial(base, effect, seed=7)))) + 1

    assert (further + 100) / 2 <= median <= (further + 100) * 2


def test_interval_covers_a_real_effect_at_all_looks() -> None:
    """A run whose interval misses the true effect at any look is one of 5 %."""
    trial, looks = Trial(0.4, 0.2, seed=3), (0, 1, 4, 19, 99, 499, LOOKS - 1)
    missed = 0
    for run in range(100):
        intervals = [difference(*trial.at(run, look), ALPHA) for look in looks]
        missed += any(not one.low <= 0.2 <= one.high for one in intervals)

    assert missed <= 100 * ALPHA + 3 * (100 * ALPHA * (1 - ALPHA)) ** 0.5


def test_needed_is_the_smallest_number_that_makes_the_effect_clear() -> None:
    exposed, withheld = arm(180, 126), arm(20, 10)
    further = needed(exposed, withheld)
    assert further is not None

    def is_clear(count: int) -> bool:
        later = arm(180 + 0.9 * count, 126 + 0.63 * count), arm(20 + 0.1 * count, 10 + 0.05 * count)
        return difference(*later).is_clear

    assert (is_clear(further - 1), is_clear(further)) == (False, True)


@pytest.mark.parametrize(
    ("exposed", "withheld"),
    [
        (arm(0, 0), arm(0, 0)),
        (arm(9, 5), arm(0, 0)),  # no effect can be named yet
        (arm(90, 45), arm(10, 5)),  # no effect
        (arm(900, 800), arm(100, 20)),  # clear already
    ],
)
def test_nothing_more_is_needed_or_no_number_suffices(
    exposed: ArmCounts, withheld: ArmCounts
) -> None:
    assert needed(exposed, withheld) is None


def test_larger_withheld_share_needs_fewer_outcomes() -> None:
    tenth = needed(arm(90, 63), arm(10, 5))
    half = needed(arm(90, 63), arm(10, 5), withheld_share=0.5)
    assert tenth is not None
    assert half is not None

    assert half < tenth


@pytest.mark.parametrize(("trials", "successes"), [(3, 4), (3, -1), (-1, -1), (float("nan"), 0)])
def test_impossible_counts_are_refused(trials: float, successes: float) -> None:
    with pytest.raises(ValueError, match="successes"):
        arm(trials, successes)


@pytest.mark.parametrize("alpha", [0, 1, -0.1])
def test_impossible_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        difference(arm(1, 1), arm(1, 0), alpha)

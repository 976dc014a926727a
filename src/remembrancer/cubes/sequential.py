"""Estimate what a lesson changes: always-valid intervals for a difference of success rates.

Pure: counts in, interval out. The interval may be looked at after every outcome, and a trial may be
stopped at any look: the probability that it ever misses the true difference is at most alpha.

Method. A uniform mixture of the likelihoods of one arm, divided by its likelihood at the true rate,
is a martingale that begins at 1, in any order of trials and for any share of each arm. So is the
product of both arms. It exceeds 1 / alpha with a probability of at most alpha at any time (Ville,
"Étude critique de la notion de collectif", 1939). The pairs of rates at which the product is below
1 / alpha are therefore a confidence sequence, and the differences of these pairs are the interval.
Nothing is asymptotic, so the first outcome counts. Sources: Robbins, "Statistical methods related
to the law of the iterated logarithm", Annals of Mathematical Statistics 41, 1970; Howard, Ramdas,
McAuliffe, Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
Statistics 49, 2021; Lindon, Malek, "Anytime-valid inference for multinomial count data", NeurIPS
2022.

The one assumption is that each arm has a constant success rate. Outcomes of one arm may depend on
time only through the share of trials that each arm gets.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, lgamma, log, log1p, sqrt

WITHHELD_SHARE = 0.1  # of eligible searches; the same share is expected of those to come
EXPOSURES_MAX = 1 << 40  # `needed` looks no further
_HALVINGS = 100  # steps of each search for a root; the interval is then exact to 1e-9
_TILT_MIN, _TILT_MAX = log(1e-12), log(1e18)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmCounts:
    """The outcomes of one arm of a trial: how many, and how many of them were successes.

    Fractions are allowed, for expected counts. Raises ValueError for impossible counts.
    """

    trials: float
    successes: float

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.trials < inf:
            raise ValueError(
                f"successes ({self.successes}) must be between 0 and trials ({self.trials})"
            )

    @property
    def failures(self) -> float:
        """Return the trials without success."""
        return self.trials - self.successes

    @property
    def rate(self) -> float | None:
        """Return the share of successes; None without trials."""
        return self.successes / self.trials if self.trials else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A difference of success rates, in -1..1, and the interval that contains the true one."""

    effect: float | None  # None while an arm has no trials
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Return True if the interval excludes 0."""
        return self.low > 0 or self.high < 0


def difference(exposed: ArmCounts, withheld: ArmCounts, alpha: float = 0.05) -> Effect:
    """Return the success rate of `exposed` minus that of `withheld`, with its interval.

    The interval is wrong at any look, ever, with a probability of at most `alpha`; the module
    describes the method. (-1, 1) without data. Raises ValueError unless 0 < alpha < 1.
    """
    _check(alpha)
    rates = exposed.rate, withheld.rate
    return Effect(
        effect=None if rates[0] is None or rates[1] is None else rates[0] - rates[1],
        low=-_highest(withheld, exposed, alpha),
        high=_highest(exposed, withheld, alpha),
    )


def needed(
    exposed: ArmCounts,
    withheld: ArmCounts,
    *,
    alpha: float = 0.05,
    withheld_share: float = WITHHELD_SHARE,
) -> int | None:
    """Return how many further outcomes of both arms make an effect of the present size exclude 0.

    It assumes the present rates, and that `withheld_share` of the further outcomes are withheld
    ones. None if the interval excludes 0 already, if there is no effect or an arm has no trials, or
    if EXPOSURES_MAX outcomes do not suffice. Raises ValueError unless 0 < alpha < 1 and
    0 < withheld_share < 1.
    """
    _check(alpha)
    if not 0 < withheld_share < 1:
        raise ValueError("withheld_share must be between 0 and 1")
    rates = exposed.rate, withheld.rate
    if rates[0] is None or rates[1] is None or rates[0] == rates[1]:
        return None
    shares = 1 - withheld_share, withheld_share

    def suffice(further: int) -> bool:
        later = [
            ArmCounts(
                trials=arm.trials + further * share,
                successes=min(arm.successes + further * share * rate, arm.trials + further * share),
            )
            for arm, share, rate in zip((exposed, withheld), shares, rates, strict=True)
            if rate is not None
        ]
        return evidence(*later) >= -log(alpha)

    if suffice(0):
        return None
    low, high = 0, 1
    while not suffice(high):
        low, high = high, high * 2
        if high > EXPOSURES_MAX:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high


def evidence(exposed: ArmCounts, withheld: ArmCounts) -> float:
    """Return the logarithm of the evidence against equal rates; 0 without data.

    It is the log of the martingale at the common rate that fits best. The interval of `difference`
    excludes 0 exactly if this is at least log(1 / alpha).
    """
    trials = exposed.trials + withheld.trials
    if not trials:
        return 0.0
    common = (exposed.successes + withheld.successes) / trials
    fit = _log_likelihood(exposed, common) + _log_likelihood(withheld, common)
    return _log_mixture(exposed) + _log_mixture(withheld) - fit


def _check(alpha: float) -> None:
    if not 0 < alpha < 1:
        raise ValueError("alpha must be between 0 and 1")


def _highest(upper: ArmCounts, lower: ArmCounts, alpha: float) -> float:
    """Return the largest difference of the rates of `upper` and `lower` in the confidence set.

    The set is convex: the log-likelihood is concave. On its border the pair of rates with the
    largest difference maximizes the log-likelihood plus a tilt times the difference (Lagrange). The
    rates of a tilt are roots of quadratic equations, and the log-likelihood falls with the tilt.
    """
    limit = _log_mixture(upper) + _log_mixture(lower) + log(alpha)

    def rates(tilt: float) -> tuple[float, float]:
        return _tilted(upper, exp(tilt)), 1 - _tilted(_mirrored(lower), exp(tilt))

    def is_inside(tilt: float) -> bool:
        high, low = rates(tilt)
        return _log_likelihood(upper, high) + _log_likelihood(lower, low) > limit

    low, high = _TILT_MIN, _TILT_MAX
    if is_inside(high):
        return 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_inside(middle) else (low, middle)
    top, bottom = rates(high)
    return min(top - bottom, 1.0)


def _tilted(arm: ArmCounts, tilt: float) -> float:
    """Return the rate that maximizes the arm's log-likelihood plus `tilt` times the rate."""
    slope = arm.trials - tilt
    root = sqrt(slope * slope + 4 * tilt * arm.successes)
    # Two forms of the same root: each avoids subtracting nearly equal numbers.
    rate = 2 * arm.successes / (slope + root) if slope > 0 else (root - slope) / (2 * tilt)
    return min(rate, 1.0)


def _mirrored(arm: ArmCounts) -> ArmCounts:
    return ArmCounts(trials=arm.trials, successes=arm.failures)


def _log_likelihood(arm: ArmCounts, rate: float) -> float:
    """Return the log-probability of the arm's outcomes in their order; -inf if impossible."""
    if (arm.successes and rate <= 0) or (arm.failures and rate >= 1):
        return -inf
    hits = arm.successes * log(rate) if arm.successes else 0.0
    misses = arm.failures * log1p(-rate) if arm.failures else 0.0
    return hits + misses


def _log_mixture(arm: ArmCounts) -> float:
    """Return the log-probability of the arm's outcomes if every rate is equally likely.

    It is the logarithm of the beta function at successes + 1 and failures + 1.
    """
    return lgamma(arm.successes + 1) + lgamma(arm.failures + 1) - lgamma(arm.trials + 2)

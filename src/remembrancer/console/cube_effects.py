"""Words and bars for what cubes changed: the effect that the field trial measures."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol.experience import CubeFigures

BAR_WIDTH = 200  # units from -100 to +100 points
SIGNALS = {
    "corrected": "the user corrected the answer",
    "run_failed": "the last program failed",
    "look_failed": "the second look failed",
    "run_ended_well": "the last program ended well",
    "look_passed": "the second look passed",
    "no_objection": "no objection",
    "no_turn": "no turn was saved",
}  # by the words that `cubes.outcomes` stores
USES = {"cited": "cited", "followed": "rules followed", "rated": "rated useful"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectFigures:
    """An effect as a page shows it."""

    effect: CubeFigures
    summary: str  # such as "+12 points (−3 to +27); 340 more outcomes needed"
    verdict: str  # one sentence
    low: float  # the interval and the effect, in units of the bar
    width: float
    middle: float | None  # None: no effect yet


def effect_figures(effect: CubeFigures) -> EffectFigures:
    """Return the words and the bar of an effect. The bar has BAR_WIDTH units."""
    low, high = effect.interval
    return EffectFigures(
        effect=effect,
        summary=_summary(effect),
        verdict=_verdict(effect),
        low=_place(low),
        width=round(_place(high) - _place(low), 1),
        middle=None if effect.effect is None else _place(effect.effect),
    )


def percent(share: float) -> str:
    """Return a share (0..1) in percent, with a decimal place only if it is needed."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def _place(value: float) -> float:
    return round(BAR_WIDTH / 2 * (1 + value), 1)


def _points(value: float) -> str:
    rounded = round(100 * value)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def _summary(effect: CubeFigures) -> str:
    if effect.effect is None:
        return "not known yet"
    low, high = map(_points, effect.interval)
    words = f"{_points(effect.effect)} points ({low} to {high})"
    if effect.needed is None:
        return words
    return f"{words}; {effect.needed:,} more outcome{'' if effect.needed == 1 else 's'} needed"


def _verdict(effect: CubeFigures) -> str:
    low, high = effect.interval
    if effect.effect is None:
        sides = (("with", effect.with_cube.outcomes), ("without", effect.without_cube.outcomes))
        lacking = " or ".join(side for side, outcomes in sides if not outcomes)
        return f"No turn {lacking} has an outcome in the field trial yet."
    if low > 0:
        return "More turns end well with than without: the interval lies above 0."
    if high < 0:
        return "Fewer turns end well with than without: the interval lies below 0."
    return "The interval contains 0, so the difference may be chance."

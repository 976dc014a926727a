"""A linear scale from the range of some scores to 0..1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .features import RANGE_MIN

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A linear scale from the range of some scores to 0..1."""

    low: float
    high: float
    cuts: bool  # some scores are outside of the range

    @classmethod
    def over(cls, scores: Array, among: Array | None) -> Stretch:
        """Return the scale that stretches some of these scores; `among` None: all."""
        values = scores if among is None else scores[among]
        if not len(values):
            return NOTHING
        return cls(float(values.min()), float(values.max()), cuts=among is not None)

    def apply(self, values: Array) -> Array:
        """Change values (float32) to this scale and return them; scores outside are cut to 0..1."""
        values -= self.low
        values /= self.high - self.low + RANGE_MIN
        if self.cuts:
            np.maximum(values, 0, out=values)
            np.minimum(values, 1, out=values)
        return values

    @property
    def slope(self) -> float:
        """The difference on this scale for a difference of 1."""
        return 1 / (self.high - self.low + RANGE_MIN)


NOTHING = Stretch(0.0, math.inf, cuts=False)  # all scores become 0

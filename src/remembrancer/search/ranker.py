"""The trained ranker: a small network that weighs the features of events (features.py).

Its parameters are in `ranker.json`, trained by `bench/train_ranker.py`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .features import FEATURES

Array: TypeAlias = npt.NDArray[Any]

FAR = 4.0  # deviations from the mean beyond which a feature counts as no farther
STEPS = 64  # of the path along which contributions are summed
_SLOPE = 1.702  # of the logistic curve that approximates the normal distribution in GELU


class DenseLayer(NamedTuple):
    """One layer of the network: weights (inputs, outputs) and a bias (outputs,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic curves from scores to chances; each row ends with the offset."""

    answerable: Array  # (len(EVIDENCE) + 1,)
    hit: Array  # (3,): log of the share of the score, log odds of `answerable`, offset


@dataclass(frozen=True)
class Ranker:
    """A trained network with one output: linear in the features, plus two hidden layers."""

    mean: Array  # (len(FEATURES),)
    deviation: Array
    linear: Array  # (len(FEATURES),)
    layers: tuple[DenseLayer, ...]
    calibration: Calibration

    def __call__(self, features: Array) -> Array:
        """Return the scores (E,) of features (E, len(FEATURES)).

        In units of log odds: of two events of a search, one that scores higher by 1 is e times as
        likely to answer.
        """
        return self._scores(self._standard(features))

    def _standard(self, features: Array) -> Array:
        standard: Array = features - self.mean
        standard /= self.deviation
        np.maximum(standard, -FAR, out=standard)
        np.minimum(standard, FAR, out=standard)
        return standard

    def _scores(self, inputs: Array) -> Array:
        hidden = inputs
        *inner, last = self.layers
        for layer in inner:
            hidden = gelu(hidden @ layer.weight + layer.bias)
        scores: Array = (hidden @ last.weight + last.bias)[:, 0] + inputs @ self.linear
        return scores

    @cached_property
    def start(self) -> float:
        """The score of an event all of whose features are at their means."""
        return float(self._scores(np.zeros((1, len(self.mean)), "f4"))[0])

    def contributions(self, features: Array) -> Array:
        """Return what each feature adds to `start`: (len(FEATURES),) for one event's features.

        They sum to its score less `start`. Source: Sundararajan, Taly, Yan, "Axiomatic Attribution
        for Deep Networks" (integrated gradients), ICML 2017; the sum over STEPS points replaces the
        integral, and what it misses is spread over the features by their size.
        """
        end = self._standard(features[None, :])[0]
        shares = (np.arange(STEPS) + 0.5)[:, None] / STEPS
        result: Array = (self._gradients(shares * end) * end).mean(axis=0)
        missed = float(self._scores(end[None, :])[0]) - self.start - float(result.sum())
        sizes = np.abs(result)
        return result + missed * sizes / (float(sizes.sum()) or 1.0)

    def _gradients(self, inputs: Array) -> Array:
        """Return the slopes of the score at some inputs: (N, len(FEATURES))."""
        *inner, last = self.layers
        hidden, slopes = inputs, []
        for layer in inner:
            value = hidden @ layer.weight + layer.bias
            hidden = gelu(value)
            slopes.append(gelu_slope(value))
        gradient = np.broadcast_to(last.weight[:, 0], (len(inputs), len(last.weight)))
        for layer, slope in zip(reversed(inner), reversed(slopes), strict=True):
            gradient = (gradient * slope) @ layer.weight.T
        return gradient + self.linear

    def answerable(self, evidence: Array) -> float:
        """Return how likely it is that any event answers a query: 0..1.

        `evidence` is that of `evidence_of`.
        """
        return _logistic(self._answerable_odds(evidence))

    def _answerable_odds(self, evidence: Array) -> float:
        *weights, offset = self.calibration.answerable.tolist()
        return float(np.dot(weights, evidence)) + float(offset)

    def chances(self, scores: Array, among: Array, evidence: Array) -> Array:
        """Convert scores to chances to answer the query, 0..1; a higher score has a higher one.

        `among` are the scores of all candidates, in any order.
        """
        peak = float(among.max())
        log_sum = peak + math.log(float(np.exp(among - peak).sum()))
        by_share, by_answerable, offset = self.calibration.hit.tolist()
        odds = by_share * (scores - log_sum) + offset
        odds = odds + by_answerable * self._answerable_odds(evidence)
        chances: Array = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return chances


def load_ranker(name: str) -> Ranker:
    """Load the ranker trained for an embedder (`multilingual`) or for text alone (`none`).

    Other embedders use that of `multilingual`.
    """
    rows = json.loads(resources.files(__package__).joinpath("ranker.json").read_text("utf-8"))
    row = rows.get(name.partition("/")[0]) or rows["multilingual" if name != "none" else "none"]
    return ranker_of(row)


def ranker_of(row: dict[str, Any]) -> Ranker:
    """Read a ranker from its parameters. Raises ValueError if it was trained on other features."""
    if tuple(row["features"]) != FEATURES:
        raise ValueError("ranker.json was trained on other features; run bench/train_ranker.py")
    columns = {key: np.array(row[key], "f4") for key in ("mean", "deviation", "linear")}
    layers = tuple(
        DenseLayer(np.array(one["weight"], "f4"), np.array(one["bias"], "f4"))
        for one in row["layers"]
    )
    calibration = Calibration(
        *(np.array(row["calibration"][key], "f8") for key in ("answerable", "hit"))
    )
    return Ranker(**columns, layers=layers, calibration=calibration)


def gelu(values: Array) -> Array:
    """Return the activation of hidden values.

    Source: Hendrycks, Gimpel, "Gaussian Error Linear Units (GELUs)", 2016, the form with a logistic
    curve.
    """
    divisor = values * -_SLOPE
    np.minimum(divisor, 60, out=divisor)
    np.exp(divisor, out=divisor)
    divisor += 1
    result: Array = values / divisor
    return result


def gelu_slope(values: Array) -> Array:
    """Return the slope of `gelu` at some values."""
    chance = 1 / (1 + np.exp(np.minimum(-_SLOPE * values, 60)))
    slope: Array = chance + _SLOPE * values * chance * (1 - chance)
    return slope


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-min(max(odds, -30.0), 30.0)))

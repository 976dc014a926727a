"""Fit and store the regressions over vectors that memory uses (embedders/regressions.json)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from remembrancer.search.embedders import regressions
from remembrancer.search.embedders.regressions import Regression

STORED = Path(regressions.__file__).with_name("regressions.json")
SCALE, PENALTY, STEPS = 10, 1.0, 30
Array = npt.NDArray[np.float64]


def fit(vectors: Array, labels: Array, weights: Array) -> Regression:
    """Fit a logistic regression with an L2 penalty by Newton's method.

    `vectors` (texts, dimensions), the others (texts,).
    """
    inputs = np.hstack([vectors * SCALE, np.ones((len(vectors), 1))])
    penalty = np.full(inputs.shape[1], PENALTY)
    penalty[-1] = 1e-6
    solution = np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-inputs @ solution))
        slope = inputs.T @ (weights * (share - labels)) + penalty * solution
        curve = (inputs.T * (weights * share * (1 - share))) @ inputs + np.diag(penalty)
        solution -= np.linalg.solve(curve, slope)
    return Regression((solution[:-1] * SCALE).astype(np.float32), float(solution[-1]))


def fit_beside(vectors: Array, labels: Array, others: Array, weight: float) -> Regression:
    """Fit on labelled texts, and on others that are not of the kind, each with a weight."""
    return fit(
        np.concatenate([vectors, others]),
        np.concatenate([labels.astype(np.float64), np.zeros(len(others))]),
        np.concatenate([np.ones(len(vectors)), np.full(len(others), weight)]),
    )


def odds_of(regression: Regression, vectors: Array) -> Array:
    """Return the log odds that texts, (texts, dimensions), are of the kind."""
    odds: Array = vectors @ regression.weights + regression.bias
    return odds


def store(kind: str, regression: Regression) -> None:
    """Write a regression, its weights as whole numbers of 8 bits."""
    step = float(np.abs(regression.weights).max() / 127)
    levels = np.rint(regression.weights / step).astype(np.int8)
    stored = json.loads(STORED.read_text("utf-8"))
    stored[kind] = {
        "weights": base64.b64encode(levels.tobytes()).decode(),
        "step": step,
        "bias": round(regression.bias, 4),
    }
    STORED.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    regressions.load_regression.cache_clear()

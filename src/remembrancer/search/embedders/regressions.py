"""Logistic regressions over vectors of the built-in embedder: what a text says, in any language.

Benchmarks train them on labelled texts: bench/changes on questions about an earlier state
(`history`), bench/unasked.py on texts that say nothing (`empty`) and prompts that carry all they
need (`alone`).
"""

from __future__ import annotations

import base64
import json
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from .port import Vectors

BUILT_IN = "multilingual"


class Regression(NamedTuple):
    """A regression over vectors of unit length."""

    weights: Vectors  # (dimensions,)
    bias: float

    def odds(self, vector: Vectors) -> float:
        """Return the log odds that the text of a vector, (dimensions,), is of the kind.

        The vector may be followed by that of another embedder.
        """
        return float(vector[: len(self.weights)] @ self.weights) + self.bias


@cache
def load_regression(kind: str, embedder: str) -> Regression | None:
    """Return the regression of a kind for the vectors of an embedder; None if it has none.

    Its weights are stored as whole numbers of 8 bits, times a step.
    """
    if embedder.partition("/")[0] != BUILT_IN:
        return None
    text = resources.files(__package__).joinpath("regressions.json").read_text("utf-8")
    stored = json.loads(text)[kind]
    weights = np.frombuffer(base64.b64decode(stored["weights"]), np.int8)
    return Regression(weights * np.float32(stored["step"]), stored["bias"])

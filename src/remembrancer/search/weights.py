"""The weights of the trained linear ranker, one set for each embedder.

They are in `weights.json`, trained by `bench/train_ranker.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FEATURES = (
    "text", "dense", "previous", "next", "previous_asks", "session_text", "session_dense",
    "speaker", "date", "asks", "length", "when_time", "base_length", "coverage", "sibling",
    "around", "time", "text_squared", "dense_squared",
)  # fmt: skip
# FEATURES grouped as people think of them; the others describe how the passage is written.
SIGNALS = {
    "text": ("text", "coverage", "text_squared"),
    "dense": ("dense", "dense_squared"),
    "neighbour": ("previous", "next", "previous_asks", "sibling", "around"),
    "session": ("session_text", "session_dense"),
    "speaker": ("speaker",),
    "date": ("date",),
}
_NUMBERS = ("slope", "gate_coverage", "gate_cosine", "floor_coverage", "floor_cosine")


@dataclass(frozen=True, slots=True)
class Weights:
    """A trained linear ranker: score = sum(weight * (feature - mean) / deviation)."""

    weight: Array
    mean: Array
    deviation: Array
    slope: float  # change of the log odds that a part answers, for each unit of score
    gate_coverage: float  # if the best part is below both gates, the space has no answer
    gate_cosine: float
    floor_coverage: float  # an event with all parts below both floors is not returned
    floor_cosine: float

    def __call__(self, features: Array) -> Array:
        """Return the scores (parts,) of features (parts, len(FEATURES)); about 0 on average."""
        return ((features - self.mean) / self.deviation) @ self.weight

    def shares(self, features: Array) -> Array:
        """Return what each feature adds to the baseline: (parts, len(FEATURES))."""
        shares: Array = features / self.deviation * self.weight
        return shares

    @property
    def start(self) -> float:
        """The baseline: the score of a part of average length whose other features are 0."""
        return float(-(self.mean / self.deviation * self.weight).sum())

    def as_share(self, score: Array, strength: float) -> Array:
        """Convert scores, best first, to 0..1 in the same order.

        The best gets the strength of the evidence; the others decay from it.
        """
        return strength * np.exp(self.slope / 2 * (score - score[:1]))


def load_weights(name: str) -> Weights:
    """Load the weights trained for an embedder (`multilingual`) or for text alone (`none`)."""
    weights_by_embedder = json.loads(
        resources.files(__package__).joinpath("weights.json").read_text("utf-8")
    )
    row = (
        weights_by_embedder.get(name.partition("/")[0])
        or weights_by_embedder["multilingual" if name != "none" else "none"]
    )
    if tuple(row["features"]) != FEATURES:
        raise ValueError("weights.json was trained on other features; run bench/train_ranker.py")
    columns: dict[str, Any] = {
        key: np.array(row[key], "f4") for key in ("weight", "mean", "deviation")
    }
    columns |= {key: float(row[key]) for key in _NUMBERS}
    return Weights(**columns)

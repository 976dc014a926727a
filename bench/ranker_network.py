"""Train the network of the ranker: listwise softmax over the candidates of each question.

Source: Cao et al., "Learning to Rank: From Pairwise Approach to Listwise Approach" (ListNet), ICML
2007; Loshchilov, Hutter, "Decoupled Weight Decay Regularization" (AdamW), ICLR 2019; Smith, Topin,
"Super-Convergence", 2019, for the rate that rises and falls. Written out in numpy, so that training
needs nothing that serving does not. Deterministic for a seed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.ranker_cases import Case
from remembrancer.search.ranking import FAR, FEATURES, gelu, gelu_slope

Array: TypeAlias = npt.NDArray[Any]

LISTED = 100  # candidates of a question in training
BATCH = 64  # questions
BEST = FEATURES.index("best")
SET_WEIGHTS = {
    "LoCoMo, turns": 0.5,
    "coding days": 0.5,
    "everyday": 0.5,
    "languages": 0.5,
    "small memories": 0.5,
    "quotes": 0.5,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Settings of a training."""

    hidden: tuple[int, ...] = (64, 32)
    epochs: int = 16
    rate: float = 3e-3
    decay: float = 1.0  # towards the prior: the share of the rate by which parameters shrink
    prior: float = 8.0  # of the feature `best`: a network that has learned nothing is plain fusion
    noise: float = 0.05  # deviation of the noise added to standardised features
    dropout: float = 0.1  # share of features set to their means for a whole question
    off: tuple[str, ...] = ()  # features that are left out, for an ablation
    seed: int = 0


def trained(cases: Sequence[Case], how: Training | None = None) -> dict[str, Any]:
    """Return the parameters of a network: mean, deviation, linear and layers."""
    how = how or Training()
    data = _Lists(cases)
    rng = np.random.default_rng(how.seed)
    size = len(FEATURES)
    sizes = (size, *how.hidden, 1)
    prior = np.zeros(size, "f4")
    prior[BEST] = how.prior * data.deviation[BEST]
    values: list[Array] = [prior.copy()]
    for width, following in pairwise(sizes):
        edge = 1 / math.sqrt(width)
        values.append(rng.uniform(-edge, edge, (width, following)).astype("f4"))
        values.append(np.zeros(following, "f4"))
    first, second = ([np.zeros_like(value) for value in values] for _ in range(2))
    used = np.array([feature not in how.off for feature in FEATURES], "f4")
    batches = math.ceil(len(data.weights) / BATCH)
    total, step = how.epochs * batches, 0
    for _ in range(how.epochs):
        order = rng.permutation(len(data.weights))
        for start in range(0, len(order), BATCH):
            step += 1
            chosen = order[start : start + BATCH]
            inputs = data.inputs[chosen]
            is_on = rng.random((len(chosen), 1, size)) > how.dropout
            inputs = (inputs + how.noise * rng.standard_normal(inputs.shape, "f4")) * is_on * used
            slopes = _slopes(values, inputs.astype("f4"), data, chosen)
            rate = how.rate * _share_of_rate(step / total)
            for at, slope in enumerate(slopes):
                first[at] = 0.9 * first[at] + 0.1 * slope
                second[at] = 0.999 * second[at] + 0.001 * slope * slope
                change = (first[at] / (1 - 0.9**step)) / (
                    np.sqrt(second[at] / (1 - 0.999**step)) + 1e-8
                )
                values[at] = values[at] - rate * change
                values[at] -= rate * how.decay * (values[at] - prior if at == 0 else values[at])
    linear, *layers = values
    layers[0] = layers[0] * used[:, None]
    return {
        "features": FEATURES,
        "mean": data.mean,
        "deviation": data.deviation,
        "linear": linear * used,
        "layers": [
            {"weight": weight, "bias": bias}
            for weight, bias in zip(layers[::2], layers[1::2], strict=True)
        ],
    }


class _Lists:
    """The cases as arrays of equal length, padded: N questions with LISTED candidates."""

    def __init__(self, cases: Sequence[Case]) -> None:
        cases = [case for case in cases if case.answers[:LISTED].any()]
        counts = Counter(case.set for case in cases)
        raw = np.zeros((len(cases), LISTED, len(FEATURES)), "f4")
        self.is_listed = np.zeros((len(cases), LISTED), bool)
        self.expected = np.zeros((len(cases), LISTED), "f4")
        for row, case in enumerate(cases):
            size = min(LISTED, len(case.features))
            raw[row, :size] = case.features[:size]
            self.is_listed[row, :size] = True
            self.expected[row, :size] = case.answers[:size] > 0
        self.expected /= self.expected.sum(axis=1, keepdims=True)
        weights = np.array([SET_WEIGHTS.get(c.set, 1.0) / counts[c.set] for c in cases])
        self.weights = (weights / weights.mean()).astype("f4")
        # Each set counts alike, however many questions it has.
        of_row = np.repeat(self.weights, self.is_listed.sum(axis=1))
        listed = raw[self.is_listed]
        self.mean = np.average(listed, axis=0, weights=of_row).astype("f4")
        spread = np.average((listed - self.mean) ** 2, axis=0, weights=of_row) ** 0.5
        self.deviation = np.where(spread < 1e-4, 1.0, spread).astype("f4")
        self.inputs = np.clip((raw - self.mean) / self.deviation, -FAR, FAR)
        self.inputs[~self.is_listed] = 0


def _slopes(values: list[Array], inputs: Array, data: _Lists, chosen: Array) -> list[Array]:
    """Return the slopes of the loss by each parameter for a batch of questions."""
    flat = inputs.reshape(-1, inputs.shape[-1])
    hidden, before, into = flat, [], []
    linear, *layers = values
    weights, biases = layers[::2], layers[1::2]
    for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
        into.append(hidden)
        before.append(hidden @ weight + bias)
        hidden = gelu(before[-1])
    into.append(hidden)
    score = ((hidden @ weights[-1] + biases[-1])[:, 0] + flat @ linear).reshape(len(chosen), -1)
    score = np.where(data.is_listed[chosen], score, np.float32(-1e4))
    chance = np.exp(score - score.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    error = (chance - data.expected[chosen]) * data.weights[chosen, None] / len(chosen)
    error = error.reshape(-1, 1).astype("f4")
    slopes = [flat.T @ error[:, 0]]
    backward: list[Array] = []
    gradient = error
    for at in range(len(weights) - 1, -1, -1):
        backward = [into[at].T @ gradient, gradient.sum(axis=0), *backward]
        if at:
            gradient = (gradient @ weights[at].T) * gelu_slope(before[at - 1])
    return slopes + backward


def _share_of_rate(progress: float) -> float:
    """Return the share of the highest rate: it rises for 30 % of the steps, then falls."""
    if progress < 0.3:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / 0.3)) / 2
    return (1 + math.cos(math.pi * (progress - 0.3) / 0.7)) / 2


def rounded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with numbers of four decimals, as they are stored."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.round(value.astype("f8"), 4).tolist()
        if isinstance(value, Mapping):
            return {key: plain(one) for key, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return {key: plain(value) for key, value in parameters.items()}

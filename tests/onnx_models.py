"""Tiny real models in folders, for tests: a sentence model and a cross-encoder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import needed
import numpy as np

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "ferry", "boat", "dog", "hound", "query:")
# One row per word: the first two columns are topics, the others tell positions apart.
TABLE = np.array(
    [
        [0, 0, 0, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 4],
        [0, 0, 0, 2],
        [4, 0, 0, 0],
        [4, 0, 1, 0],
        [0, 4, 0, 0],
        [0, 4, 1, 0],
        [0, 0, 5, 0],
    ],
    np.float32,
)


def sentence_model(folder: Path, **files: Any) -> Path:
    """Write a model that gives each token its row of TABLE; `files` are further JSON files."""
    onnx = _onnx()
    nodes = [onnx.helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    _write(folder, nodes, [("last_hidden_state", ["n", "t", 4])], {"table": TABLE})
    for name, value in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")
    return folder


def cross_encoder(folder: Path) -> Path:
    """Write a model whose logit is the number of tokens `hound` in the second text, less 2."""
    helper = _onnx().helper
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["weight"]),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=1),
        helper.make_node("Mul", ["weight", "types"], ["product"]),
        helper.make_node("ReduceSum", ["product", "axes"], ["total"], keepdims=1),
        helper.make_node("Sub", ["total", "two"], ["logits"]),
    ]
    weights = np.zeros(len(WORDS), np.float32)
    weights[WORDS.index("hound")] = 1
    constants = {"weights": weights, "axes": np.array([1]), "two": np.array([2], np.float32)}
    _write(folder, nodes, [("logits", ["n", 1])], constants, types=True)
    return folder


def _onnx() -> Any:
    needed.package("onnxruntime", "onnx")
    needed.package("tokenizers", "onnx")
    return needed.package("onnx", "dev")


def _write(
    folder: Path, nodes: list[Any], outputs: Any, constants: dict[str, Any], *, types: bool = False
) -> None:
    onnx = _onnx()
    names = ["input_ids", "token_type_ids"] if types else ["input_ids"]
    integer, real = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "tiny",
        [onnx.helper.make_tensor_value_info(name, integer, ["n", "t"]) for name in names],
        [onnx.helper.make_tensor_value_info(name, real, shape) for name, shape in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [onnx.helper.make_opsetid("", 17)]
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(model, folder / "model.onnx")
    _write_tokenizer(folder / "tokenizer.json")


def _write_tokenizer(path: Path) -> None:
    tokenizers = needed.package("tokenizers", "onnx")
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=WORDS[1]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(path))

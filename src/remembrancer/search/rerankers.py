"""Rerankers: slower models that read a query and a text together, behind one port."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .embedders.port import clean
from .endpoint import EndpointFailed, JsonEndpoint, RequestRefused, is_endpoint, is_local
from .onnx_model import ModelFolderInvalid, OnnxModel

Scores = npt.NDArray[np.float32]


class RerankerUnavailable(Exception):
    """The reranker cannot be used now. The message says why, and what to do."""


class Reranker(Protocol):
    """Scores texts against a query. Safe to use from many threads."""

    name: str

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """Return how well each text answers the query: float32, shape (texts,), in any unit.

        With `outside=False` no text may leave this machine. Raises RerankerUnavailable.
        """
        ...


class BoundedReranker:
    """A reranker that scores for a limited number of searches at the same time.

    The others keep their fast order, so that deep searches never hold up fast ones.
    """

    def __init__(self, reranker: Reranker, *, most: int) -> None:
        """Score for at most `most` searches at a time."""
        self.name = reranker.name
        self._reranker, self._free = reranker, threading.BoundedSemaphore(most)

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """See Reranker."""
        if not self._free.acquire(blocking=False):
            raise RerankerUnavailable("too many deep searches at the same time")
        try:
            return self._reranker.scores(query, texts, outside=outside)
        finally:
            self._free.release()


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


class RemoteReranker:
    """An endpoint that returns a number for each of several documents."""

    def __init__(self, endpoint: JsonEndpoint, model: str) -> None:
        """Ask for nothing yet. `model` may be empty where the endpoint has one model."""
        self.name = f"http/{endpoint.url}" + (f"#{model}" if model else "")
        self._endpoint, self._model = endpoint, model
        self._takes_texts = False  # the shape of TEI, learned from its refusal of the other

    def scores(self, query: str, texts: Sequence[str], *, outside: bool = True) -> Scores:
        """See Reranker."""
        if not outside and not is_local(self._endpoint.url):
            raise RerankerUnavailable("the account allows no models on other machines")
        documents = [clean(text).strip() or "-" for text in texts]
        try:
            return self._read(self._ask(clean(query), documents), len(texts))
        except EndpointFailed as error:
            raise RerankerUnavailable(str(error)) from error

    def _ask(self, query: str, documents: list[str]) -> Any:
        model = {"model": self._model} if self._model else {}
        shapes = [
            {**model, "query": query, "documents": documents, "top_n": len(documents)},
            {"query": query, "texts": documents, "truncate": True},
        ]
        try:
            return self._endpoint.post(shapes[self._takes_texts])
        except RequestRefused:
            answer = self._endpoint.post(shapes[not self._takes_texts])
            self._takes_texts = not self._takes_texts
            return answer

    def _read(self, answer: Any, texts: int) -> Scores:
        scores = np.full(texts, np.nan, np.float32)
        try:
            rows = answer if isinstance(answer, list) else answer["results"]
            for row in rows:
                value = row["relevance_score"] if "relevance_score" in row else row["score"]
                place = int(row["index"])
                if not 0 <= place < texts:
                    break
                scores[place] = float(value)
        except (KeyError, TypeError, ValueError) as error:
            raise EndpointFailed(f"{self._endpoint.url}: the answer has no scores") from error
        if not np.isfinite(scores).all():
            raise EndpointFailed(f"{self._endpoint.url}: not one score for each of {texts} texts")
        return scores


KINDS = "none, onnx:FOLDER, http:URL (or http:URL#MODEL) or llm"


def open_reranker(name: str, *, key: str = "", seconds: float) -> Reranker | None:
    """Return the reranker of this name; None for `none`. `llm` is none of this package.

    `key` is the API key of an endpoint, `seconds` the deadline of a request to it. Raises
    RerankerUnavailable, also for unknown names.
    """
    kind, _, rest = name.partition(":")
    if name == "none":
        return None
    if kind == "onnx" and rest:
        return CrossEncoder(Path(rest).expanduser())
    if kind == "http" and rest:
        url, _, model = rest.partition("#")
        url = url if "://" in url else f"http:{url}"  # http://HOST and http:http://HOST both
        if is_endpoint(url):
            return RemoteReranker(JsonEndpoint(url.rstrip("/"), key=key, seconds=seconds), model)
    raise RerankerUnavailable(f"unknown reranker {name!r}; use {KINDS}")

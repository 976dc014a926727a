"""The reranker `http:URL`: an endpoint like `/rerank` of Cohere, Jina, vLLM or TEI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..embedders.port import clean
from ..endpoint import EndpointFailed, JsonEndpoint, RequestRefused, is_local
from .port import RerankerUnavailable, Scores


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

"""Open a reranker by the value of the setting `reranker`."""

from __future__ import annotations

from pathlib import Path

from ..endpoint import is_endpoint
from .port import Reranker, RerankerUnavailable

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
        from .onnx_folder import CrossEncoder  # imported here: needs packages of an extra

        return CrossEncoder(Path(rest).expanduser())
    if kind == "http" and rest:
        from ..endpoint import JsonEndpoint  # imported here: loads the HTTP client
        from .remote import RemoteReranker

        url, _, model = rest.partition("#")
        url = url if "://" in url else f"http:{url}"  # http://HOST and http:http://HOST both
        if is_endpoint(url):
            return RemoteReranker(JsonEndpoint(url.rstrip("/"), key=key, seconds=seconds), model)
    raise RerankerUnavailable(f"unknown reranker {name!r}; use {KINDS}")

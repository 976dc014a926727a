"""Open an embedder by the value of the setting `embedder`."""

from __future__ import annotations

from pathlib import Path

from ..endpoint import JsonEndpoint, is_endpoint
from .centring import Centred
from .multilingual import MultilingualEmbedder
from .port import Embedder, EmbedderUnavailable, NoEmbedder

KINDS = "multilingual, none, e5, onnx:FOLDER, openai:URL#MODEL, ollama:NAME or fastembed:NAME"
OLLAMA_URL = "http://127.0.0.1:11434"
SECONDS = 10.0  # default deadline of a request to an endpoint


def open_embedder(name: str, *, key: str = "", seconds: float = SECONDS) -> Embedder:
    """Return the embedder of this name.

    `key` is the API key of an endpoint, `seconds` the deadline of a request to it, which need not
    answer yet. Raises EmbedderUnavailable, also for unknown names.
    """
    kind, _, rest = name.partition(":")
    if name == "none":
        return NoEmbedder()
    if name == "multilingual":
        return MultilingualEmbedder()
    if name == "e5":
        from .e5 import E5Embedder  # imported here: each needs packages of an extra

        return Centred(E5Embedder())
    if kind == "onnx" and rest:
        from .onnx_folder import OnnxEmbedder

        return Centred(OnnxEmbedder(Path(rest).expanduser()))
    if kind == "fastembed" and rest:
        from .fastembed_model import FastembedEmbedder

        return Centred(FastembedEmbedder(rest))
    if kind in ("openai", "ollama") and rest:
        return _open_remote(kind, rest, key, seconds)
    raise EmbedderUnavailable(f"unknown embedder {name!r}; use {KINDS}")


def _open_remote(kind: str, rest: str, key: str, seconds: float) -> Embedder:
    from .remote import RemoteEmbedder  # imported here: loads the HTTP client

    base, _, model = rest.rpartition("#")
    default, path = (OLLAMA_URL, "/api/embed") if kind == "ollama" else ("", "/embeddings")
    base = base or default
    if not model or not is_endpoint(base):
        raise EmbedderUnavailable(
            f"the embedder `{kind}:` needs an address and a model: write ollama:NAME, "
            "ollama:URL#NAME or openai:URL#MODEL, such as openai:http://127.0.0.1:8080/v1#bge-m3"
        )
    url = base.rstrip("/").removesuffix(path) + path
    return RemoteEmbedder(kind, model, JsonEndpoint(url, key=key, seconds=seconds))

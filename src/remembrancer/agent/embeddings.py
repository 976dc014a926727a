"""OpenAI-compatible embeddings from the embedder of this server. Nothing is stored."""

from __future__ import annotations

import base64

import numpy as np

from ..context import Caller, Context
from ..models import tokens_of
from ..protocol.embeddings import Embed, Embedded, EmbeddingUsage, TextVector
from ..protocol.errors import InvalidRequest, Unavailable
from ..search.embedders.port import CHARACTERS_MAX


class NoEmbeddings(Unavailable):
    """This server has no embedder. The operator sets one with REMEMBRANCER_EMBEDDER."""


class DimensionsFixed(InvalidRequest):
    """The embedder has another number of dimensions. Leave `dimensions` out."""


def embed(context: Context, _caller: Caller, request: Embed) -> Embedded:
    """Return one vector of unit length per text, shape (texts, dimensions of the embedder).

    Texts are read up to CHARACTERS_MAX characters. Raises NoEmbeddings, DimensionsFixed,
    EmbedderUnavailable.
    """
    texts = [request.input] if isinstance(request.input, str) else request.input
    embedder = context.embedder
    encode = embedder.encode_queries if request.input_type == "query" else embedder.encode
    vectors = encode(texts)
    if not vectors.shape[1]:
        raise NoEmbeddings
    if request.dimensions not in (None, vectors.shape[1]):
        detail = f"must be {vectors.shape[1]} or absent"
        raise DimensionsFixed(errors=[{"pointer": "/dimensions", "detail": detail}])
    rows = np.asarray(vectors, "<f4")
    tokens = sum(tokens_of(text[:CHARACTERS_MAX]) for text in texts)
    return Embedded(
        data=[
            TextVector(
                index=index,
                embedding=row.tolist()
                if request.encoding_format == "float"
                else base64.b64encode(row.tobytes()).decode(),
            )
            for index, row in enumerate(rows)
        ],
        model=embedder.name,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )

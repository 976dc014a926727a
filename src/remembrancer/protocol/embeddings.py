"""Messages of the OpenAI-compatible embeddings."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from . import limits
from .message import Body, Message, Misfit, example
from .text import Text


class Embed(Body):
    """Body of `POST /v1/embeddings`."""

    model_config = example({"model": "memory-embedder", "input": "When does the ferry leave?"})

    input: Annotated[
        Text | Annotated[list[Text], Field(min_length=1, max_length=limits.EMBEDDING_INPUTS_MAX)],
        Field(description="One text, or a list of texts. Tokens in their place are rejected."),
    ]
    model: Annotated[
        Text | None, Field(description="Accepted and ignored: the server has one embedder.")
    ] = None
    encoding_format: Annotated[
        Literal["float", "base64"],
        Field(description="`float`: lists of numbers. `base64`: 32-bit floats, little endian."),
    ] = "float"
    dimensions: Annotated[
        int | None,
        Field(ge=1, description="Number of dimensions: that of the embedder, or absent."),
    ] = None
    input_type: Annotated[
        Literal["query", "document"],
        Field(description="Whether the texts are searched or search (our addition)."),
    ] = "document"

    @model_validator(mode="before")
    @classmethod
    def _has_texts(cls, body: Any) -> Any:
        texts = body.get("input") if isinstance(body, dict) else None
        if isinstance(texts, list) and any(isinstance(text, (int, list)) for text in texts):
            raise Misfit(
                "input",
                "must be text: the embedder has tokens of its own. For LangChain's "
                "OpenAIEmbeddings, set `check_embedding_ctx_length=False`",
            )
        return body


class TextVector(Message):
    """The vector of one text."""

    object: Annotated[Literal["embedding"], Field(description="`embedding`.")] = "embedding"
    index: Annotated[int, Field(description="Position of its text, from 0.")]
    embedding: Annotated[
        list[float] | str, Field(description="The vector, of unit length, in `encoding_format`.")
    ]


class EmbeddingUsage(Message):
    """Size of the input."""

    prompt_tokens: Annotated[
        int, Field(ge=0, description="About a quarter of the characters that were read.")
    ]
    total_tokens: Annotated[int, Field(ge=0, description="The same.")]


class Embedded(Message):
    """Answer of `POST /v1/embeddings`."""

    object: Annotated[Literal["list"], Field(description="`list`.")] = "list"
    data: Annotated[list[TextVector], Field(description="One vector per text, in their order.")]
    model: Annotated[str, Field(description="The embedder, with its version.")]
    usage: Annotated[EmbeddingUsage, Field(description="Tokens of the input.")]

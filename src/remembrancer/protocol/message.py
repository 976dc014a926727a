"""The base of all messages, and fields that many of them share."""

from __future__ import annotations

import operator
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from . import limits
from .text import Text


class Message(BaseModel):
    """Base class: strict types ("5" is not an integer), unknown fields ignored, immutable."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    @property
    def named_session(self) -> str | None:
        """The `session_id` that the message itself names; None if it has none or the default."""
        named = "session_id" in self.model_fields_set
        return vars(self)["session_id"] if named else None


def example(body: dict[str, Any], **rules: Any) -> ConfigDict:
    """Return a model configuration with an example body, which a test sends to the real service.

    `rules` are added to the schema.
    """
    return ConfigDict(json_schema_extra={"examples": [body], **rules})


class Misfit(ValueError):
    """Fields of a message that contradict each other; `member` is the one to report."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


# Fields of an answer that are absent, not null, when there is nothing to say. A partial of a
# built-in: pydantic calls it for every field of every answer.
ABSENT_IF_NONE = Field(exclude_if=partial(operator.is_, None))

Id = Annotated[Text, Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX)]
Topic = Annotated[Text, Field(max_length=limits.TOPIC_CHARACTERS_MAX)]
Created = Annotated[str, Field(description="Time it was stored (RFC 3339, UTC).")]
Saved = Annotated[bool, Field(description="True once it is durable and the next search finds it.")]

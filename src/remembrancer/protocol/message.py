"""What all messages are made of: their strictness, and the members that many of them have."""

from __future__ import annotations

import operator
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from . import limits
from .text import Text


class Message(BaseModel):
    """Strict types (the text "5" is no integer), unknown fields ignored, never changed after it was
    made.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


def example(body: dict[str, Any], **rules: Any) -> ConfigDict:
    """A whole body for the documentation, which a test sends to the real service; `rules` go into
    the schema.
    """
    return ConfigDict(json_schema_extra={"examples": [body], **rules})


class Misfit(ValueError):
    """Members of a message that do not fit each other; `member` is the one to look at."""

    def __init__(self, member: str, said: str) -> None:
        self.member = member
        super().__init__(said)


# Fields of an answer that are absent, not null, when there is nothing to say. A partial of a
# built-in: pydantic calls it for every field of every answer.
ABSENT_IF_NONE = Field(exclude_if=partial(operator.is_, None))

Id = Annotated[Text, Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX)]
Topic = Annotated[Text, Field(max_length=limits.TOPIC_CHARACTERS_MAX)]
Created = Annotated[str, Field(description="When it was kept (RFC 3339, UTC).")]
Saved = Annotated[bool, Field(description="True once it is durable and the next search finds it.")]

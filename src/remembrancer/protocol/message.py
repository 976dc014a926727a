"""The base of all messages, and fields that many of them share."""

from __future__ import annotations

import json
import operator
from functools import partial
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticUseDefault, core_schema

from . import limits
from .described import field_descriptions
from .service_keys import require_no_service_key
from .text import Text

DEFAULT_SESSION = "default"  # of a request that names none


def first_fault(error: ValidationError) -> str:
    """Return the first fault of a value on one line, after the name of its field."""
    fault = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, fault["loc"]))
    return f"{field}: {fault['msg']}" if field else fault["msg"]


class Described(BaseModel):
    """Base class of models whose fields are described by the strings below them.

    The strings are read from the source when a JSON schema is made. Pydantic's own
    `use_attribute_docstrings` reads them when a class is made, which takes 0.2 s for all messages.
    A JSON object after `Example:` at the end of a docstring is an example of the whole, which a
    test sends to the real service.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Take the example out of the docstring."""
        text, mark, body = (cls.__doc__ or "").partition("\n\n    Example: ")
        if mark:
            cls.__doc__ = text
            examples: JsonDict = {"examples": [json.loads(body)]}
            cls.model_config = {**cls.model_config, "json_schema_extra": examples}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema with the descriptions."""
        document = handler(schema)
        properties = handler.resolve_ref_schema(document).get("properties", {})
        for model in reversed(cls.__mro__):
            fields = field_descriptions(model.__module__).get(model.__qualname__, {})
            for name, text in fields.items():
                properties[name]["description"] = text
        return document


class Message(Described):
    """Base class: strict types ("5" is not an integer), unknown fields ignored, immutable."""

    # Deferred: a process needs few of the messages, and to prepare all of them takes 0.3 s.
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, defer_build=True)


_INNER = ("schema", "items_schema", "choices")  # of a core schema


def _tolerant(schema: Any, model: type[BaseModel]) -> Any:
    """Return the schema with the rules of `Body`, down to other models, which have their own."""
    if isinstance(schema, (list, tuple)):
        return type(schema)(_tolerant(part, model) for part in schema)
    if not isinstance(schema, dict) or schema.get("cls", model) is not model:
        return schema
    changed = {
        name: _tolerant(part, model) if name in _INNER else part for name, part in schema.items()
    }
    if "fields" in schema:
        changed["fields"] = {
            name: _tolerant(field, model) for name, field in schema["fields"].items()
        }
    kind = schema.get("type")
    if kind == "int":
        return core_schema.no_info_before_validator_function(_whole_number, changed)
    if kind == "default" and schema.get("default", ...) is not None:
        inner = changed["schema"]
        changed["schema"] = core_schema.no_info_after_validator_function(
            _default_if_null,
            inner if inner["type"] == "nullable" else core_schema.nullable_schema(inner),
        )
    return changed


def _whole_number(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _default_if_null(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


class Body(Message):
    """Base class of request bodies and of the objects in them.

    `null` for a field with a default means that the field is absent, and an integer may be written
    with a fraction of zero (`5.0`), as JSON Schema says.
    """

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the model with these two rules in each of its fields."""
        return cast(CoreSchema, _tolerant(handler(source), cls))


class ExactBody(Body):
    """Base class of bodies that erase or revoke: an unknown field is refused, since what it was to
    narrow would be erased whole.
    """

    model_config = ConfigDict(extra="forbid")


class Misfit(ValueError):
    """Fields of a message that contradict each other; `member` is the one to report."""

    def __init__(self, member: str, message: str) -> None:
        self.member = member
        super().__init__(message)


def in_characters(error: ErrorDetails, message: str) -> str:
    """Return the message of a validation error; for a long or short text it counts characters."""
    bound, most = error.get("ctx", {}), error["type"] == "too_long"
    # So pydantic calls a text with a validator of its own; lists are lists.
    if error["type"] not in ("too_long", "too_short") or bound["field_type"] != "Value":
        return message
    limit = bound["max_length"] if most else bound["min_length"]
    return (
        f"must have at {'most' if most else 'least'} {limit:,} characters, "
        f"not {bound['actual_length']:,}"
    )


# Fields of an answer that are absent, not null, when there is nothing to say. A partial of a
# built-in: pydantic calls it for every field of every answer.
ABSENT_IF_NONE = Field(exclude_if=partial(operator.is_, None))
T = TypeVar("T")
OrAbsent: TypeAlias = Annotated[T | None, ABSENT_IF_NONE]


Id = Annotated[
    Text,
    Field(min_length=1, max_length=limits.ID_CHARACTERS_MAX),
    AfterValidator(require_no_service_key),
]
# `next` of a page whose rows have numbers. The bound is beyond every row and within SQL's integers.
RowNumber = Annotated[int, Field(ge=1, lt=1 << 62)]
InTeam = Annotated[
    Id | None,
    Field(
        description="Team in whose memory to work: its id or its name. Your role in it must allow "
        "the request. Default: your own memory."
    ),
]
Detail = Annotated[
    str | None, ABSENT_IF_NONE, Field(description="Notes on storing it, such as a masked key.")
]
Topic = Annotated[Text, Field(max_length=limits.TOPIC_CHARACTERS_MAX)]
Created = Annotated[str, Field(description="Time it was stored (RFC 3339, UTC).")]
Saved = Annotated[bool, Field(description="True once it is durable and the next search finds it.")]

"""Metadata of turns and facts, and filters that select by it.

A filter is a condition, such as `{"project": "garden"}` or `{"priority": {"gte": 2}}`, or a
combination of filters: `{"and": [...]}`, `{"or": [...]}`, `{"not": {...}}`. Several members of one
object are combined by `and`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, WithJsonSchema

from . import limits
from .message import ABSENT_IF_NONE
from .text import Moment
from .trust import RANKS, SOURCES, TextSource

Scalar: TypeAlias = str | int | float | bool
Operator: TypeAlias = Literal[
    "eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "exists"
]
OPERATORS: tuple[Operator, ...] = get_args(Operator)
COMPARISONS = frozenset({"gt", "gte", "lt", "lte"})
OWN_NAMES = ("session_id", "topic", "source", "occurred_at")  # of a turn, not of its metadata
_COMBINATIONS: dict[str, Literal["and", "or", "not"]] = {
    "and": "and", "or": "or", "not": "not",
    "AND": "and", "OR": "or", "NOT": "not",  # as mem0 writes them; NOT takes a list there
}  # fmt: skip
_VALUE = (
    f"a text of at most {limits.METADATA_TEXT_CHARACTERS_MAX} characters, a number, true, false, "
    f"or a list of at most {limits.METADATA_LIST_MAX} such texts"
)
_moment: TypeAdapter[datetime] = TypeAdapter(Moment)


# --- Metadata: a flat object beside a text ---------------------------------------------------


def _checked_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(metadata) > limits.METADATA_KEYS_MAX:
        raise ValueError(f"metadata has more than {limits.METADATA_KEYS_MAX} keys")
    for place, (key, value) in enumerate(metadata.items(), 1):
        if not 0 < len(key) <= limits.METADATA_KEY_CHARACTERS_MAX or "\0" in key:
            raise ValueError(
                f"key {place} must have 1 to {limits.METADATA_KEY_CHARACTERS_MAX} characters, "
                "none of them NUL"
            )
        if not _is_value(value):
            raise ValueError(f"the value of key {place} must be {_VALUE}; none contains NUL")
    return metadata


def _is_value(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= limits.METADATA_LIST_MAX and all(map(_is_text, value))
    return _is_text(value) or _is_number(value) or isinstance(value, bool)


def _is_text(value: Any) -> bool:
    is_short = isinstance(value, str) and len(value) <= limits.METADATA_TEXT_CHARACTERS_MAX
    return is_short and "\0" not in value


def _is_number(value: Any) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


_SCHEMA_OF_VALUE = {
    "anyOf": [
        {"type": "string", "maxLength": limits.METADATA_TEXT_CHARACTERS_MAX},
        {"type": "number"},
        {"type": "boolean"},
        {
            "type": "array",
            "items": {"type": "string", "maxLength": limits.METADATA_TEXT_CHARACTERS_MAX},
            "maxItems": limits.METADATA_LIST_MAX,
        },
    ]
}
Metadata = Annotated[
    dict[str, Any],
    AfterValidator(_checked_metadata),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": limits.METADATA_KEYS_MAX,
            "propertyNames": {"minLength": 1, "maxLength": limits.METADATA_KEY_CHARACTERS_MAX},
            "additionalProperties": _SCHEMA_OF_VALUE,
        }
    ),
]
# Of an answer: it was checked when it was stored.
StoredMetadata = Annotated[
    dict[str, Any], WithJsonSchema({"type": "object", "additionalProperties": _SCHEMA_OF_VALUE})
]


# --- Filters ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a field of a turn or a key of its metadata.

    `value` is a list for `in` and `nin`, a bool for `exists`, ms since 1970 for `occurred_at`, a
    place in the order of trust for `source`.
    """

    name: str
    operator: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class Combination:
    """Filters of which all (`and`), any (`or`) or none (`not`) must hold."""

    word: Literal["and", "or", "not"]
    parts: tuple[Filter, ...]


Filter: TypeAlias = Condition | Combination


def parse_filters(filters: Mapping[str, Any]) -> Filter:
    """Read filters. Raises ValueError with a sentence for a person."""
    read = _object(filters, 1)
    if sum(1 for _ in conditions(read)) > limits.FILTER_CONDITIONS_MAX:
        raise ValueError(f"filters have more than {limits.FILTER_CONDITIONS_MAX} conditions")
    return read


def of_search(filters: Mapping[str, Any] | None, min_trust: TextSource | None) -> Filter:
    """Return the filter of a search that names filters, a least trust, or both."""
    parts = [] if filters is None else [parse_filters(filters)]
    if min_trust is not None:
        # Of a turn, a condition holds if it holds for either side.
        weaker = Condition("source", "gt", RANKS[min_trust])
        parts.append(Combination("not", (weaker,)))
    return Combination("and", tuple(parts))


def conditions(filters: Filter) -> Iterator[Condition]:
    """Yield every condition of a filter."""
    if isinstance(filters, Condition):
        yield filters
        return
    for part in filters.parts:
        yield from conditions(part)


def _object(filters: Any, depth: int) -> Filter:
    if depth > limits.FILTER_DEPTH_MAX:
        raise ValueError(f"filters are nested more than {limits.FILTER_DEPTH_MAX} deep")
    if not isinstance(filters, Mapping) or not filters:
        raise ValueError('a filter is an object with at least one member: {"project": "garden"}')
    parts = tuple(_member(name, value, depth) for name, value in filters.items())
    return parts[0] if len(parts) == 1 else Combination("and", parts)


def _member(name: str, value: Any, depth: int) -> Filter:
    word = _COMBINATIONS.get(name)
    if word == "not" and not isinstance(value, list):
        return Combination("not", (_object(value, depth + 1),))
    if word is not None:
        if not isinstance(value, list) or not value:
            raise ValueError(f"{word} needs a list of filters that is not empty")
        return Combination(word, tuple(_object(one, depth + 1) for one in value))
    if not isinstance(value, Mapping):
        return _condition(name, "eq", value)
    if not value:
        raise ValueError(f"a condition needs one of {', '.join(OPERATORS)}")
    parts = tuple(_condition(name, operator, one) for operator, one in value.items())
    return parts[0] if len(parts) == 1 else Combination("and", parts)


def _condition(name: str, operator: str, value: Any) -> Condition:
    if not 0 < len(name) <= limits.METADATA_KEY_CHARACTERS_MAX or "\0" in name:
        raise ValueError(
            f"a name must have 1 to {limits.METADATA_KEY_CHARACTERS_MAX} characters, none NUL"
        )
    known = next((one for one in OPERATORS if one == operator), None)
    if known is None:
        raise ValueError(f"a condition needs one of {', '.join(OPERATORS)}")
    if known == "exists":
        if not isinstance(value, bool):
            raise ValueError("exists takes true or false")
        return Condition(name, known, value)
    several = known in ("in", "nin")
    if several and not (isinstance(value, list) and 0 < len(value) <= limits.FILTER_VALUES_MAX):
        raise ValueError(f"{known} takes a list of 1 to {limits.FILTER_VALUES_MAX} values")
    values = [_operand(name, known, one) for one in (value if several else [value])]
    return Condition(name, known, values if several else values[0])


def _operand(name: str, operator: Operator, value: Any) -> Any:
    if name == "occurred_at":
        if operator == "contains":
            raise ValueError("occurred_at is compared, it contains nothing")
        try:
            return round(_moment.validate_python(value).timestamp() * 1000)
        except ValidationError:
            raise ValueError("occurred_at is compared with a time in RFC 3339") from None
    if name == "source":
        if operator in COMPARISONS or operator == "contains" or value not in SOURCES:
            raise ValueError(f"source is, or is one of, {', '.join(SOURCES)}")
        return RANKS[value]
    is_text = _is_text(value)
    if (name in OWN_NAMES or operator == "contains") and not is_text:
        raise ValueError(
            f"{'contains' if operator == 'contains' else name} takes a text of at most "
            f"{limits.METADATA_TEXT_CHARACTERS_MAX} characters"
        )
    if not (
        is_text or _is_number(value) or (isinstance(value, bool) and operator not in COMPARISONS)
    ):
        raise ValueError(f"{operator} takes a text or a number, and `eq`, `ne`, `in` a boolean too")
    return value


def _checked_filters(filters: Mapping[str, Any]) -> Mapping[str, Any]:
    parse_filters(filters)
    return filters


Filters = Annotated[
    dict[str, Any],
    AfterValidator(_checked_filters),
    WithJsonSchema(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": True,
            "examples": [{"project": "garden", "priority": {"gte": 2}}],
        }
    ),
]


# --- Metadata and filters as people type them ------------------------------------------------


def pairs_of(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the pairs `KEY=VALUE`; a value that reads as a number, true or false is one.

    Raises ValueError.
    """
    pairs: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not (key and equals):
            raise ValueError(f"{word!r} is not KEY=VALUE, such as project=garden")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        pairs[key] = value if isinstance(value, bool | int | float) else text
    return pairs or None


def filters_of(words: Sequence[str]) -> dict[str, Any] | None:
    """Return the filters of pairs `KEY=VALUE` and of objects in JSON, all of which must hold.

    Raises ValueError.
    """
    parts = [json.loads(word) if word.startswith("{") else pairs_of([word]) for word in words]
    filters = {"and": parts} if len(parts) > 1 else next(iter(parts), None)
    if filters is not None:
        parse_filters(filters)
    return filters


# --- Fields of messages ----------------------------------------------------------------------

OfTurn = Annotated[
    Metadata | None,
    Field(description="What filters find it by: a flat object, such as its project or customer."),
]
ReplacedMetadata = Annotated[
    Metadata | None,
    Field(description="New metadata, in place of all that it has. An empty object removes it."),
]
ItsMetadata = Annotated[
    StoredMetadata | None, ABSENT_IF_NONE, Field(description="Its metadata, if it has some.")
]
OnlyPassing = Annotated[
    Filters | None,
    Field(
        description="Only what passes these conditions on metadata, `session_id`, `topic`, "
        "`source` and `occurred_at`."
    ),
]

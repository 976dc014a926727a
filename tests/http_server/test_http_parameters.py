"""Query parameters: their values and their documentation. What is refused: spec/test_every_operation.py."""

from __future__ import annotations

from typing import Annotated, Literal

from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from remembrancer.http.bodies import parse_query
from remembrancer.protocol.errors import InvalidRequest
from remembrancer.protocol.message import Id, Message
from remembrancer.protocol.text import Moment, Text


class Parameters(Message):
    """One parameter of every type.

    Example: {"who": "ada & bo"}
    """

    who: Annotated[Id, Field(description="Whose.")]
    about: Annotated[Text | None, Field(max_length=40, description="What about.")] = None
    most: Annotated[int, Field(ge=1, le=100, description="How many.")] = 5
    whole: Annotated[bool, Field(description="Whether whole.")] = False
    kind: Annotated[Literal["fact", "code"] | None, Field(description="Which kind.")] = None
    since: Annotated[Moment | None, Field(description="From when on.")] = None


@given(st.binary())
def test_any_query_bytes_are_parsed_or_rejected(query: bytes) -> None:
    for raw in (query, b"who=a&about=" + query.replace(b"&", b""), b"who=a&most=" + query):
        try:
            read = parse_query(Parameters, raw)
        except InvalidRequest as refused:
            assert {fault["pointer"] for fault in refused.extra["errors"]} <= {
                f"/{name}" for name in Parameters.model_fields
            }
        else:
            assert "\0" not in (read.about or "")

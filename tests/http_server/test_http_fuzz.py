"""Valid and invalid requests generated from the OpenAPI document; responses must match it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from rounds import rounds
from schemathesis import GenerationMode
from service import Http

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.files.names import safe_name
from remembrancer.files.types import ContentInvalid, content_of
from remembrancer.http.routes import ROUTES
from remembrancer.protocol.files import FileType
from remembrancer.protocol.line import KINDS
from remembrancer.protocol.text import is_placeholder

CUBE_PARTS = ("topic", "essence", "rules")
EXAMPLES = rounds(5, 30)  # requests per endpoint and mode; the same ones in each run


@pytest.fixture
def context(folder: Path) -> Iterator[Context]:
    """Return a real context with a scripted language model."""
    service = testing.context(
        folder, models=testing.ScriptedModels(chat=["At 9:40."] * 3 * EXAMPLES)
    )
    yield service
    service.close()


def is_a_file(body: dict[str, str]) -> bool:
    """Return True if a body that fits the schema also is of its type and has a usable name.

    A schema cannot state this.
    """
    try:
        return bool(
            safe_name(body["filename"], body["type"])
            and content_of(body["content"], cast(FileType, body["type"])) is not None
        )
    except ContentInvalid:
        return False


def user_has_spoken(body: dict[str, Any]) -> bool:
    """Return True if a conversation has a message of the user and the last one is not blank.

    A schema cannot state this rule.
    """
    spoken = [message for message in body["messages"] if message["role"] == "user"]
    content = spoken[-1].get("content") if spoken else None
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    return any(part.get("type", "text") != "text" or part["text"].strip() for part in parts)


def can_be_embedded(body: dict[str, Any]) -> bool:
    """Return True for the embedder's own number of dimensions, which a schema cannot say."""
    return body.get("dimensions") is None


def is_a_plain_response(body: dict[str, Any]) -> bool:
    """Return True for a request of the Responses API with a text and nothing that is refused.

    Its items, tools and formats have shapes of OpenAI's that the schema leaves open.
    """
    names = ("previous_response_id", "tools", "tool_choice", "text")
    return (
        isinstance(body["input"], str)
        and bool(body["input"].strip())
        and all(body.get(name) is None for name in names)
    )


def is_a_tolerated_kind(body: Any) -> bool:
    """Return True if a kind of a cube is written in another case, or as a word for none.

    The service accepts more than the schema says (specification.md#cube-kinds).
    """
    kinds = [body.get(name) for name in ("kind", "cube_type")] if isinstance(body, dict) else []
    return any(isinstance(kind, str) and kind not in KINDS for kind in kinds)


def names_a_time(case: Any) -> bool:
    """Return True if a time is sent that must have passed, be in the future or follow another.

    A schema cannot say so (specification.md#search-as-of, specification.md#facts-times).
    """
    names = {"as_of", "cube_expires_at", "expires_at", "valid_to"}
    body = case.body if isinstance(case.body, dict) else {}
    return bool(names & {*body, *(case.query or {})})


def needs_a_reranker(case: Any) -> bool:
    """Return True for a deep search: this server has no reranker, which a schema cannot say."""
    return isinstance(case.body, dict) and case.body.get("depth") == "deep"


def has_part_of_a_cube(body: Any) -> bool:
    """Return True if topic, essence and rules of a cube are sent, but some of them are blank.

    A schema cannot say that they belong together.
    """
    texts = [body.get(f"cube_{name}") for name in CUBE_PARTS] if isinstance(body, dict) else []
    return len({is_placeholder(text) for text in texts if text is None or type(text) is str}) > 1


@pytest.mark.long
@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize(("method", "path"), [(e.method, e.path) for e in ROUTES])
def test_generated_requests_get_documented_responses(
    http: Http, method: str, path: str, mode: GenerationMode
) -> None:
    """Never a 500, and nothing stored of what was rejected.

    See specification.md#error-never-500, specification.md#error-nothing-half-stored.
    """
    host = {"Host": "localhost"}
    document = schemathesis.openapi.from_asgi("/openapi.json", http.client.app, headers=host)
    operation = document[path][method]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        assume(
            mode is GenerationMode.NEGATIVE
            or path != "/api/v7/tools/create-file"
            or is_a_file(case.body)
        )
        assume(
            mode is GenerationMode.NEGATIVE
            or path != "/v1/chat/completions"
            or user_has_spoken(case.body)
        )
        assume(
            mode is GenerationMode.NEGATIVE
            or path != "/v1/embeddings"
            or can_be_embedded(case.body)
        )
        assume(
            mode is GenerationMode.NEGATIVE
            or path != "/v1/responses"
            or is_a_plain_response(case.body)
        )
        assume(mode is GenerationMode.POSITIVE or not is_a_tolerated_kind(case.body))
        assume(mode is GenerationMode.NEGATIVE or not names_a_time(case))
        assume(mode is GenerationMode.NEGATIVE or not needs_a_reranker(case))
        assume(mode is GenerationMode.NEGATIVE or not has_part_of_a_cube(case.body))
        before = http.rows()
        answer = case.call_and_validate(headers={**host, "Authorization": f"Bearer {http.key}"})
        assert answer.status_code < 400 or http.rows() == before

    if mode is GenerationMode.NEGATIVE and not operation.body and not operation.path_parameters:
        return  # there is no input to make invalid
    check()

"""The document for fuzzing, and rules for requests that its schemas cannot state.

A positive case that breaks such a rule is refused for a good reason, and a negative one that the
service tolerates is accepted for one. Each function below names the rule.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

from pydantic import ValidationError

from remembrancer.files.files import safe_name
from remembrancer.files.types import ContentInvalid, content_of
from remembrancer.http.bodies import parse_query
from remembrancer.http.openapi import document
from remembrancer.protocol.errors import InvalidRequest
from remembrancer.protocol.files import FileType
from remembrancer.protocol.line import KINDS
from remembrancer.protocol.operations import OPERATIONS

# Longer texts take minutes to generate. tests/spec/test_every_operation.py sends the longest.
CHARACTERS_MAX = 2_000
PATHS = {endpoint.path for endpoint in OPERATIONS}
BY_ADDRESS = {(one.method, one.path): one for one in OPERATIONS}
_IN_ANSWER = "$response.body#/"
# operation -> (next operation, path parameters and fields of the body from its answer)
_LINKS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "remember_turn": (
        ("get_event", {"event_id": "event_id"}),
        ("change_event", {"event_id": "event_id"}),
        ("erase_event", {"event_id": "event_id"}),
    ),
    "save_event": (("get_event", {"event_id": "event_id"}),),
    "create_cube": (("vote_on_cube", {"body.cube_id": "cube_id"}),),
    "make_file": (
        ("download", {"filename": "filename"}),
        ("delete_file", {"filename": "filename"}),
    ),
    "grant_permission": (
        ("log_permitted_action", {"body.grant_id": "grant_id"}),
        ("revoke_permission", {"body.grant_id": "grant_id"}),
    ),
    "add_fact": (
        ("change_fact", {"fact_id": "fact/fact_id"}),
        ("remove_fact", {"fact_id": "fact/fact_id"}),
    ),
    "change_fact": (
        ("change_fact", {"fact_id": "fact/fact_id"}),
        ("remove_fact", {"fact_id": "fact/fact_id"}),
    ),
}


def fuzzed_document() -> dict[str, Any]:
    """Return the OpenAPI document with links between operations, and with short texts."""
    whole = copy.deepcopy(document(OPERATIONS))
    _shorten(whole["components"]["schemas"])
    operations = {
        operation["operationId"]: operation
        for path in whole["paths"].values()
        for operation in path.values()
    }
    for source, targets in _LINKS.items():
        success = next(
            answer for code, answer in operations[source]["responses"].items() if code[0] == "2"
        )
        success["links"] = {target: _link(target, values) for target, values in targets}
    return whole


def _link(target: str, values: dict[str, str]) -> dict[str, Any]:
    pointers = {name: _IN_ANSWER + place for name, place in values.items()}
    body = {name[5:]: place for name, place in pointers.items() if name.startswith("body.")}
    parameters = {name: place for name, place in pointers.items() if not name.startswith("body.")}
    return {
        "operationId": target,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": body} if body else {}),
    }


def _shorten(schema: Any) -> None:
    """Remove the limits of long texts, so that no text near them is generated."""
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            _shorten(part)
    if isinstance(schema, dict) and schema.get("maxLength", 0) > CHARACTERS_MAX:
        del schema["maxLength"]


def is_beyond_schema(case: Any, *, is_positive: bool) -> bool:
    """Return True if a schema cannot say whether the service accepts this request."""
    body = case.body
    if names_another_path(case):
        return True
    if not is_positive:
        return is_a_tolerated_kind(body)
    rules: dict[str, Callable[[Any], bool]] = {
        "/api/v7/tools/create-file": is_a_file,
        "/api/v7/teams": has_a_line,
        "/api/v7/teams/{team_id}": has_a_line,
        "/v1/chat/completions": user_has_spoken,
        "/v1/embeddings": can_be_embedded,
        "/v1/responses": is_a_plain_response,
    }
    rule = rules.get(case.operation.path)
    is_refused = rule is not None and not rule(body)
    names_more = names_a_time(case) or names_a_range(case) or needs_a_reranker(case)
    names_more = names_more or names_a_team(body)
    return names_more or is_refused or not is_valid(case)


def has_a_line(body: Any) -> bool:
    """Return True unless a body has a name that is no line for people to read."""
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        return True
    line = " ".join(body["name"].split())
    return bool(line) and line.isprintable()


def names_another_path(case: Any) -> bool:
    """Return True if an id makes the path of another endpoint: the event `write`."""
    names = case.path_parameters or {}
    path = "/".join(str(names.get(part[1:-1], part)) for part in case.operation.path.split("/"))
    return path != case.operation.path and path in PATHS


def is_valid(case: Any) -> bool:
    """Return True if the message accepts the fields together.

    The schema states each field; how they go together is stated once, by the message's validators.
    """
    operation, query = BY_ADDRESS[case.method, case.operation.path], case.query or {}
    try:
        if operation.body is not None:
            operation.body.model_validate_json(json.dumps(case.body))
        elif operation.query is not None and "filters" in query:  # JSON within a text
            parse_query(operation.query, urlencode(query).encode())
    except (ValidationError, InvalidRequest):
        return False
    return True


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
    turns = body.get("turns") if isinstance(body.get("turns"), list) else []
    bodies = [body, *(turn for turn in turns or [] if isinstance(turn, dict))]
    fields = [*bodies, case.query or {}]
    values = [value for one in fields for value in one.values() if isinstance(value, str)]
    # the first and last day of the calendar, which have no time in every time zone
    is_at_the_end = any(value.startswith(("0001-01-01", "9999-12-31")) for value in values)
    return is_at_the_end or bool(
        names & {*(case.query or {}), *(key for one in bodies for key in one)}
    )


def names_a_team(body: Any) -> bool:
    """Return True for a request in teams: only some parts go together with one or with several.

    A schema cannot state this (specification.md#team-search).
    """
    return isinstance(body, dict) and (body.get("team") or body.get("teams")) is not None


def names_a_range(case: Any) -> bool:
    """Return True if a part of a file is asked for: a schema cannot say how long the file is."""
    return "range" in {name.lower() for name in case.headers or {}}


def needs_a_reranker(case: Any) -> bool:
    """Return True for a deep search: this server has no reranker, which a schema cannot say."""
    return isinstance(case.body, dict) and case.body.get("depth") == "deep"

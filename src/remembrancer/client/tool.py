"""One tool for agents: its arguments, its steps, and its description for three APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from ..protocol.operation import AnyOperation
from ..protocol.operations import Operations
from ..protocol.own_key import OwnKeyQuery
from .api_request import ApiRequest, request_of
from .tool_schemas import arguments_schema

ToolSteps: TypeAlias = Generator[ApiRequest[Any], Any, BaseModel]
ToolFunction: TypeAlias = Callable[[Any, str, str | None], ToolSteps]
SchemaFormat: TypeAlias = Literal["openai", "anthropic", "mcp"]


class ToolArgumentsError(ValueError):
    """The tool does not exist or its arguments are invalid; the message names the argument."""


SAME = ""  # the description beside hooks is the same


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool for agents.

    `arguments` are the fields of `request_model` that the tool shows. `render` converts the answer
    to text; by default it is JSON.
    """

    name: str
    title: str
    description: str
    request_model: type[BaseModel]
    arguments: tuple[str, ...]
    required: tuple[str, ...]
    answer_model: type[BaseModel]
    function: ToolFunction
    render: Callable[[Any], str] | None = None
    is_read_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False  # repeating a call with the same arguments has no effect
    # Description where hooks search, store and check; None: hooks do what the tool is for.
    beside_hooks: str | None = SAME

    @property
    def annotations(self) -> dict[str, Any]:
        """Annotations of the Model Context Protocol."""
        annotations: dict[str, Any] = {
            "title": self.title,
            "readOnlyHint": self.is_read_only,
            "openWorldHint": False,
        }
        if not self.is_read_only:
            annotations["destructiveHint"] = self.is_destructive
            annotations["idempotentHint"] = self.is_idempotent
        return annotations

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return arguments_schema(self.request_model, self.arguments, self.required)

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the structured answer; None if the answer is a fenced text.

        Hosts show a model the structured answer instead of the text, so a tool that shows memory
        has none.
        """
        return None if self.render else self.answer_model.model_json_schema(mode="serialization")

    def steps(self, arguments: Mapping[str, Any], base_url: str, user_id: str | None) -> ToolSteps:
        """Yield the requests to send, receive their answers, and return the tool's answer.

        `base_url` is the service's public address; `user_id` the key's pin, if any. Raises
        ToolArgumentsError.
        """
        unknown = sorted(set(arguments) - set(self.arguments))
        if unknown:
            raise ToolArgumentsError(
                f"{unknown[0]}: there is no such argument; valid: {', '.join(self.arguments)}"
            )
        values = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in self.required
        }
        user_field = self.request_model.model_fields.get("user_id")
        if user_field is not None and user_field.is_required() and "user_id" not in values:
            values["user_id"] = (
                user_id or (yield request_of(Operations.own_key, _session(values))).user_id
            )
        try:
            request = self.request_model.model_validate_json(json.dumps(values))
        except (ValidationError, TypeError, ValueError) as error:
            raise ToolArgumentsError(_error_message(error)) from None
        answer: BaseModel = yield from self.function(request, base_url, user_id)
        return answer


def _for_openai(tool: Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _for_anthropic(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _for_mcp(tool: Tool) -> dict[str, Any]:
    output = {} if tool.output_schema is None else {"outputSchema": tool.output_schema}
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        **output,
        "annotations": tool.annotations,
    }


_FORMATS: Mapping[SchemaFormat, Callable[[Tool], dict[str, Any]]] = {
    "openai": _for_openai,
    "anthropic": _for_anthropic,
    "mcp": _for_mcp,
}


def described(tool: Tool, schema_format: SchemaFormat) -> dict[str, Any]:
    """Describe a tool for OpenAI (chat completions), Anthropic (messages) or MCP."""
    return _FORMATS[schema_format](tool)


def _session(arguments: Mapping[str, Any]) -> OwnKeyQuery | None:
    """Return the query for the user of the session, if the arguments name it correctly."""
    try:
        return OwnKeyQuery(session_id=arguments.get("session_id"))
    except ValidationError:
        return None


def _error_message(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"the arguments cannot be converted to JSON: {error}"
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"


def one_request(operation: AnyOperation) -> ToolFunction:
    """Return the function of a tool that sends one request of this operation."""

    def function(request: BaseModel, _base_url: str, _user_id: str | None) -> ToolSteps:
        answer: BaseModel = yield request_of(operation, request)
        return answer

    return function

"""OpenAI's Responses API over chat completions: requests, answers and events of streams.

Source: OpenAI's API reference, responses and their streaming events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from ..protocol.completions import Completed, Completion
from ..protocol.errors import InvalidRequest
from ..protocol.responses import ResponseObject, ResponseRequest, ResponseUsage

Emit = Callable[[str, object], None]  # sends an event of a stream: name and data
# Fields of the two interfaces with the same name and meaning.
_SAME = ("model", "user", "temperature", "top_p", "parallel_tool_calls")
_TEXT_PARTS = ("input_text", "output_text", "text")


class NotSupported(InvalidRequest):
    """The service keeps no conversations for this interface: send the whole one in `input`."""


def as_completion(request: ResponseRequest) -> Completion:
    """Return the request as a chat completion. Raises InvalidRequest, NotSupported."""
    if request.previous_response_id is not None:
        raise NotSupported(errors=[_fault("previous_response_id", "is not supported")])
    extra = request.model_extra or {}
    for name in ("conversation", "prompt", "background"):
        if extra.get(name):
            raise NotSupported(
                f"{name}: is not supported.", errors=[_fault(name, "is not supported")]
            )
    body: dict[str, Any] = {name: getattr(request, name) for name in _SAME}
    body["messages"] = _messages(request)
    body["max_completion_tokens"] = request.max_output_tokens
    body["tools"] = [_chat_tool(tool) for tool in request.tools or ()] or None
    body["tool_choice"] = _chat_tool_choice(request.tool_choice)
    body["response_format"] = _chat_format(request)
    reasoning = extra.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort"):
        body["reasoning_effort"] = reasoning["effort"]
    if request.named_session:
        body["session_id"] = request.named_session
    try:
        return Completion.model_validate({k: v for k, v in body.items() if v is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidRequest(
            f"input: {first['msg']}.", errors=[_fault("input", first["msg"])]
        ) from None


def _fault(name: str, detail: str) -> dict[str, str]:
    return {"pointer": f"/{name}", "detail": detail}


def _messages(request: ResponseRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.instructions:
        messages.append({"role": "system", "content": request.instructions})
    if isinstance(request.input, str):
        return [*messages, {"role": "user", "content": request.input}]
    for position, item in enumerate(request.input):
        kind = item.get("type", "message")
        if kind == "message":
            content = _content(item.get("content"), position)
            messages.append({"role": item.get("role"), "content": content})
        elif kind == "function_call":
            _add_call(messages, item)
        elif kind == "function_call_output":
            output = _content(item.get("output"), position)
            messages.append(
                {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
            )
        elif kind != "reasoning":  # the model's own, which chat completions do not take
            detail = "must be a message, function_call, function_call_output or reasoning"
            raise InvalidRequest(
                f"input: an item {detail}.", errors=[_fault(f"input/{position}/type", detail)]
            )
    return messages


def _add_call(messages: list[dict[str, Any]], item: Mapping[str, Any]) -> None:
    """Add a tool call to the assistant's message that it belongs to, or to a new one."""
    call = {
        "id": item.get("call_id"),
        "type": "function",
        "function": {"name": item.get("name"), "arguments": item.get("arguments")},
    }
    if messages and messages[-1]["role"] == "assistant":
        messages[-1].setdefault("tool_calls", []).append(call)
    else:
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})


def _content(content: Any, position: int) -> Any:
    """Return the content of an item as that of a chat message. Raises InvalidRequest."""
    if not isinstance(content, list):
        return content
    return [_part(part, position) for part in content]


def _part(part: Any, position: int) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in _TEXT_PARTS:
        return {"type": "text", "text": part.get("text")}
    if kind == "refusal":
        return {"type": "text", "text": part.get("refusal")}
    if kind == "input_image" and part.get("image_url"):
        image = {name: part[name] for name in ("detail",) if part.get(name)}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **image}}
    if kind == "input_audio":
        return {"type": "input_audio", "input_audio": part.get("input_audio")}
    if kind == "input_file":
        names = ("file_data", "file_id", "filename")
        return {"type": "file", "file": {name: part[name] for name in names if part.get(name)}}
    detail = "must be text, an image with a URL, audio or a file"
    raise InvalidRequest(
        f"input: a part {detail}.", errors=[_fault(f"input/{position}/content", detail)]
    )


def _chat_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function tool as chat completions have it. Raises InvalidRequest for others."""
    if tool.get("type") != "function":
        raise InvalidRequest(
            "tools: only tools of the type `function` are supported.",
            errors=[_fault("tools", "must be of the type `function`")],
        )
    names = ("name", "description", "parameters", "strict")
    function = {name: tool[name] for name in names if tool.get(name) is not None}
    return {"type": "function", "function": function}


def _chat_tool_choice(choice: Any) -> Any:
    if isinstance(choice, dict) and choice.get("type") == "function" and "name" in choice:
        return {"type": "function", "function": {"name": choice["name"]}}
    return choice


def _chat_format(request: ResponseRequest) -> dict[str, Any] | None:
    wish = request.text.format if request.text else None
    if not wish or wish.get("type") == "text":
        return None
    if wish.get("type") != "json_schema":
        return wish
    schema = {name: value for name, value in wish.items() if name != "type"}
    return {"type": "json_schema", "json_schema": schema}


def as_response(
    request: ResponseRequest, completed: Completed, identifier: str = ""
) -> ResponseObject:
    """Return a finished chat completion as a response. Default: its own id."""
    choice = completed.choices[0]
    is_cut = choice.finish_reason == "length"
    response = pending_response(
        request, identifier or f"resp_{completed.id}", completed.created, completed.model
    )
    items: list[dict[str, Any]] = []
    if choice.message.content:
        items.append(_message_item(response.id, choice.message.content))
    items += [_call_item(call) for call in choice.message.tool_calls or ()]
    usage = ResponseUsage(
        input_tokens=completed.usage.prompt_tokens,
        output_tokens=completed.usage.completion_tokens,
        total_tokens=completed.usage.total_tokens,
        input_tokens_details={"cached_tokens": 0},  # type: ignore[call-arg]
        output_tokens_details={"reasoning_tokens": 0},
    )
    update: dict[str, Any] = {
        "status": "incomplete" if is_cut else "completed",
        "output": items,
        "usage": usage,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
    }
    return response.model_copy(update=update)


def pending_response(
    request: ResponseRequest, identifier: str, created_s: int, model: str
) -> ResponseObject:
    """Return the response before its output; `created_s` in seconds since 1970."""
    extra = request.model_extra or {}
    return ResponseObject.model_validate(
        {
            "id": identifier,
            "created_at": created_s,
            "status": "in_progress",
            "model": model,
            "output": [],
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "metadata": extra.get("metadata") or {},
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": None,
            "store": False,
            "temperature": request.temperature,
            "text": {"format": (request.text and request.text.format) or {"type": "text"}},
            "tool_choice": request.tool_choice or "auto",
            "tools": request.tools or [],
            "top_p": request.top_p,
            "truncation": "disabled",
        }
    )


def _message_item(response_id: str, text: str, status: str = "completed") -> dict[str, Any]:
    return {
        "id": response_id.replace("resp_", "msg_", 1),
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [_text_part(text)] if text else [],
    }


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call_item(call: Mapping[str, Any], status: str = "completed") -> dict[str, Any]:
    function = call.get("function") or {}
    return {
        "id": f"fc_{call.get('id')}",
        "type": "function_call",
        "call_id": call.get("id"),
        "name": function.get("name"),
        "arguments": function.get("arguments") or "",
        "status": status,
    }


class ResponseEvents:
    """Sends the events of one streamed response."""

    def __init__(self, request: ResponseRequest, response: ResponseObject, emit: Emit) -> None:
        """Send the first two events."""
        self._request, self._response, self._emit = request, response, emit
        self._number = 0
        self._text = ""
        self._text_index: int | None = None  # of the message in the output
        self._calls: dict[int, dict[str, Any]] = {}  # items by the index of the tool call
        self._indexes: dict[int, int] = {}  # of the items in the output
        for name in ("response.created", "response.in_progress"):
            self._send(name, response=response.model_dump(mode="json"))

    def write(self, index: int, fields: Mapping[str, Any]) -> None:
        """Send the next piece of the answer, as chat completions stream it."""
        if index:
            return
        if text := fields.get("content"):
            self._add_text(text)
        for call in fields.get("tool_calls") or ():
            self._add_call(call)

    def end(self, completed: Completed) -> None:
        """Send the last events."""
        if self._text_index is not None:
            self._end_text(self._text_index)
        for call_index, item in self._calls.items():
            item["status"] = "completed"
            output_index = self._indexes[call_index]
            self._send(
                "response.function_call_arguments.done",
                item_id=item["id"],
                output_index=output_index,
                name=item["name"],
                arguments=item["arguments"],
            )
            self._send("response.output_item.done", output_index=output_index, item=item)
        response = as_response(self._request, completed, self._response.id)
        name = "response.incomplete" if response.status == "incomplete" else "response.completed"
        self._send(name, response=response.model_dump(mode="json"))

    def _add_text(self, text: str) -> None:
        if self._text_index is None:
            self._text_index = len(self._calls)
            item = _message_item(self._response.id, "", "in_progress")
            self._send("response.output_item.added", output_index=self._text_index, item=item)
            self._send_text("response.content_part.added", part=_text_part(""))
        self._text += text
        self._send_text("response.output_text.delta", delta=text, logprobs=[])

    def _end_text(self, output_index: int) -> None:
        self._send_text("response.output_text.done", text=self._text, logprobs=[])
        self._send_text("response.content_part.done", part=_text_part(self._text))
        item = _message_item(self._response.id, self._text)
        self._send("response.output_item.done", output_index=output_index, item=item)

    def _add_call(self, call: Mapping[str, Any]) -> None:
        index = call["index"]
        piece = (call.get("function") or {}).get("arguments") or ""
        if index not in self._calls:
            item = _call_item(call, "in_progress") | {"arguments": ""}
            self._indexes[index] = len(self._calls) + (self._text_index is not None)
            self._calls[index] = item
            self._send(
                "response.output_item.added", output_index=self._indexes[index], item=dict(item)
            )
        item = self._calls[index]
        item["arguments"] += piece
        if piece:
            self._send(
                "response.function_call_arguments.delta",
                item_id=item["id"],
                output_index=self._indexes[index],
                delta=piece,
            )

    def _send_text(self, event: str, /, **data: Any) -> None:
        item_id = self._response.id.replace("resp_", "msg_", 1)
        place = {"item_id": item_id, "output_index": self._text_index, "content_index": 0}
        self._send(event, **place, **data)

    def _send(self, event: str, /, **data: Any) -> None:
        self._emit(event, {"type": event, "sequence_number": self._number, **data})
        self._number += 1

"""Call an endpoint of OpenAI's chat completions API once, and classify its failures."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from .choices import ANSWERS, CHOICES_MAX, NotAChoice, StreamedChoices, whole_choice
from .port import ChoiceDelta, ModelChoice, ModelOutput, ModelRequest, Reason, tokens_of
from .slots import ModelTarget

if TYPE_CHECKING:
    import httpx2

    from .port import OnPiece

ANSWER_BYTES_MAX = 4 << 20  # larger than any answer within a token budget
ERROR_BYTES_MAX = 64 << 10  # of the body of an error response
DETAIL_CHARACTERS_MAX = 300
# Parameters that some endpoints do not support, and that a request can do without.
_OPTIONAL = ("max_tokens", "temperature", "stream_options", "response_format")


class EndpointError(Exception):
    """A failed call. `retry_s` is the delay before a retry, in seconds; None means no retry."""

    def __init__(self, reason: Reason, detail: str, retry_s: float | None = None) -> None:
        self.reason: Reason = reason
        self.detail, self.retry_s = detail, retry_s
        super().__init__(detail)


class EndpointOptions(set[str]):
    """The parameters that one endpoint does not support, learned from its errors."""


def request_body(
    target: ModelTarget, request: ModelRequest, options: EndpointOptions, *, stream: bool
) -> dict[str, Any]:
    """Return the body of a request, without the parameters that the endpoint does not support."""
    body: dict[str, Any] = {
        "model": target.model,
        "messages": [{"role": m.role, "content": m.content, **m.fields} for m in request.messages],
        **request.fields,
    }
    body["max_completion_tokens" if "max_tokens" in options else "max_tokens"] = request.tokens_max
    if "temperature" not in options:
        body["temperature"] = request.temperature
    if request.schema is not None and "response_format" not in options:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
        }
    if stream:
        body["stream"] = True
        if "stream_options" not in options:
            body["stream_options"] = {"include_usage": True}
    return body


async def call(
    client: httpx2.AsyncClient,
    target: ModelTarget,
    request: ModelRequest,
    options: EndpointOptions,
    on_piece: OnPiece | None,
) -> ModelOutput:
    """Return one answer. Raises EndpointError. The caller sets the deadline.

    With `on_piece` the answer is streamed.
    """
    import httpx2

    while True:
        headers = {
            "Accept": "text/event-stream" if on_piece else "application/json",
            "Accept-Encoding": "identity",
        }
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        body = request_body(target, request, options, stream=on_piece is not None)
        try:
            async with client.stream(
                "POST", f"{target.base_url}/chat/completions", json=body, headers=headers
            ) as response:
                if response.status_code == 200:
                    return await _read(response, request, on_piece)
                error_text = _error_text(await _read_error(response))
                unsupported = next(
                    (
                        name
                        for name in _OPTIONAL
                        if name in error_text
                        and name not in options
                        and name in body
                        and name not in request.fields
                    ),
                    None,
                )
                if response.status_code not in (400, 422) or unsupported is None:
                    raise _http_error(response, error_text)
                options.add(unsupported)
        except httpx2.RequestError as error:  # its message has the address, but never the key
            raise EndpointError("unreachable", f"{type(error).__name__}: {error}", 0.0) from error


def _http_error(response: httpx2.Response, error_text: str) -> EndpointError:
    status = response.status_code
    detail = f"HTTP {status}" + (f": {error_text}" if error_text else "")
    if status in (401, 403):
        return EndpointError("refused", detail)
    if status == 429:
        return EndpointError("busy", detail, _retry_after(response))
    return (
        EndpointError("broken", detail, _retry_after(response))
        if status >= 500
        else EndpointError("rejected", detail)
    )


def _retry_after(response: httpx2.Response) -> float:
    retry_after = response.headers.get("retry-after", "")
    return float(retry_after) if re.fullmatch(r"[0-9]{1,6}", retry_after) else 0.0


async def _read_error(response: httpx2.Response) -> str:
    body = b""
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > ERROR_BYTES_MAX:
            break
    return body[:ERROR_BYTES_MAX].decode("utf-8", "replace")


def _error_text(text: str) -> str:
    """Return the message of an error response on one line."""
    message: Any = text
    try:
        error = json.loads(text)["error"]
        message = (
            " ".join(str(error.get(part) or "") for part in ("message", "param"))
            if isinstance(error, dict)
            else error
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in str(message)).split())
    return line if len(line) <= DETAIL_CHARACTERS_MAX else line[:DETAIL_CHARACTERS_MAX] + "…"


async def _read(
    response: httpx2.Response, request: ModelRequest, on_piece: OnPiece | None
) -> ModelOutput:
    try:
        if on_piece is not None and "text/event-stream" in response.headers.get("content-type", ""):
            return await _read_stream(response, request, on_piece)
        raw = b"".join([chunk async for chunk in _bounded(response)])
        output = _parse_response(raw, request)
    except NotAChoice as error:
        raise EndpointError("garbled", f"200, but {error}") from error
    if on_piece is not None:
        for index, choice in enumerate(output.choices):
            on_piece(choice.text if index == 0 else ChoiceDelta(index=index, text=choice.text))
            if choice.fields:
                on_piece(ChoiceDelta(index=index, fields=_as_delta(choice.fields)))
    return output


def _as_delta(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a whole choice as one piece of a stream: its tool calls have indexes."""
    calls = fields.get("tool_calls")
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        return fields
    return {**fields, "tool_calls": [{**call, "index": n} for n, call in enumerate(calls)]}


async def _bounded(response: httpx2.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            raise EndpointError("too_large", f"more than {ANSWER_BYTES_MAX:,} bytes")
        yield chunk


def _json(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise EndpointError(
            "garbled", "200, but not JSON: is this the address of an API?"
        ) from error
    if not isinstance(data, dict):
        raise EndpointError("garbled", "200, but not a JSON object")
    if data.get("error"):
        raise EndpointError("broken", f"200 with an error: {_error_text(json.dumps(data))}", 0.0)
    return data


def _choices(data: dict[str, Any]) -> list[dict[str, Any]]:
    choices = data.get("choices")
    if choices is None or not isinstance(choices, list):
        raise EndpointError("garbled", "200, but without `choices`")
    if not all(isinstance(choice, dict) for choice in choices):
        raise EndpointError("garbled", "200, but `choices` holds no object")
    return choices[:CHOICES_MAX]


def _parse_response(raw: bytes, request: ModelRequest) -> ModelOutput:
    data = _json(raw)
    choices = _choices(data)
    if not choices:
        raise EndpointError("empty", "200, but no choices")
    return _model_output(
        tuple(whole_choice(choice) for choice in choices), data.get("usage"), request
    )


def _model_output(
    choices: tuple[ModelChoice, ...], usage: Any, request: ModelRequest
) -> ModelOutput:
    counts = usage if isinstance(usage, dict) else {}
    prompt_tokens = sum(tokens_of(message.content) for message in request.messages)
    written = sum(tokens_of(choice.text) for choice in choices)
    counted_tokens = {"prompt_tokens": prompt_tokens, "completion_tokens": written}
    counted_tokens |= {
        name: n
        for name in counted_tokens
        if type(n := counts.get(name)) is int and 0 <= n <= 100_000_000
    }
    first = choices[0] if choices else ModelChoice(text="", finish_reason="", fields={})
    is_cut = first.finish_reason == "length"
    if not first.text and not any(name in first.fields for name in ANSWERS):
        raise EndpointError(
            "empty",
            "200, but no text" + (": all of its tokens went into thinking" if is_cut else ""),
        )
    return ModelOutput(text=first.text, is_cut=is_cut, choices=choices, **counted_tokens)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in _bounded(response):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.strip()
    if rest.strip():
        yield rest.strip()


async def _read_stream(
    response: httpx2.Response, request: ModelRequest, on_piece: OnPiece
) -> ModelOutput:
    """Read an answer in server-sent events. Its thinking is not passed on."""
    collected = StreamedChoices(on_piece, on_piece)
    usage = None
    has_end_marker = False
    async for line in _lines(response):
        if not line.startswith(b"data:"):
            continue
        raw = line[5:].strip()
        if raw == b"[DONE]":
            has_end_marker = True
            break
        data = _json(raw)
        usage = data.get("usage") or usage
        if "choices" in data:
            collected.add(_choices(data))
    if not has_end_marker and not collected.has_ended:
        raise EndpointError("cut_off", "the stream ended without an end marker", 0.0)
    return _model_output(collected.result(), usage, request)

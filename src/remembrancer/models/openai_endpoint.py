"""Call an endpoint of OpenAI's chat completions API once, and classify its failures."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal

from .port import ModelOutput, ModelRequest, Reason, tokens_of
from .slots import ModelTarget

if TYPE_CHECKING:
    import httpx2

    from .port import OnText

ANSWER_BYTES_MAX = 4 << 20  # larger than any answer within a token budget
ERROR_BYTES_MAX = 64 << 10  # of the body of an error response
DETAIL_CHARACTERS_MAX = 300
_THINKING_BLOCK = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL)
_THINKING_START, _THINKING_END, _THINKING_END_CHARACTERS = (
    "<think",
    re.compile(r"</think(?:ing)?>"),
    11,
)
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
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
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
    on_text: OnText | None,
) -> ModelOutput:
    """Return one answer. Raises EndpointError. The caller sets the deadline."""
    import httpx2

    while True:
        headers = {
            "Accept": "text/event-stream" if on_text else "application/json",
            "Accept-Encoding": "identity",
        }
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        body = request_body(target, request, options, stream=on_text is not None)
        try:
            async with client.stream(
                "POST", f"{target.base_url}/chat/completions", json=body, headers=headers
            ) as response:
                if response.status_code == 200:
                    return await _read(response, request, on_text)
                error_text = _error_text(await _read_error(response))
                unsupported = next(
                    (
                        name
                        for name in _OPTIONAL
                        if name in error_text and name not in options and name in body
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
    response: httpx2.Response, request: ModelRequest, on_text: OnText | None
) -> ModelOutput:
    if on_text is None or "text/event-stream" not in response.headers.get("content-type", ""):
        raw = b"".join([chunk async for chunk in _bounded(response)])
        output = _parse_response(raw, request)
        if on_text is not None:
            on_text(output.text)
        return output
    return await _read_stream(response, request, on_text)


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


def _choice(data: dict[str, Any]) -> dict[str, Any] | None:
    choices = data.get("choices")
    if choices is None or not isinstance(choices, list):
        raise EndpointError("garbled", "200, but without `choices`")
    if choices and not isinstance(choices[0], dict):
        raise EndpointError("garbled", "200, but `choices` holds no object")
    return choices[0] if choices else None


def _content(message: Any) -> str:
    if not isinstance(message, dict):
        raise EndpointError("garbled", "200, but a choice without a message")
    content = message.get("content")
    if isinstance(content, list):  # some endpoints answer in parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise EndpointError("garbled", "200, but its content is not text")
    # JSON may contain lone surrogates, which UTF-8 cannot encode.
    return (content or "").encode("utf-8", "replace").decode().replace("\x00", "")


def _parse_response(raw: bytes, request: ModelRequest) -> ModelOutput:
    data = _json(raw)
    choice = _choice(data)
    if choice is None:
        raise EndpointError("empty", "200, but no choices")
    return _model_output(
        _content(choice.get("message")), data.get("usage"), request, choice.get("finish_reason")
    )


def _model_output(text: str, usage: Any, request: ModelRequest, finish: Any) -> ModelOutput:
    counts = usage if isinstance(usage, dict) else {}
    prompt_tokens = sum(tokens_of(message.content) for message in request.messages)
    counted_tokens = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens_of(text)}
    counted_tokens |= {
        name: n
        for name in counted_tokens
        if type(n := counts.get(name)) is int and 0 <= n <= 100_000_000
    }
    clean = (
        _THINKING_BLOCK.sub("", text, count=1)
        if text.lstrip().startswith(_THINKING_START)
        else text
    )
    if not clean.strip():
        raise EndpointError(
            "empty",
            "200, but no text"
            + (": all of its tokens went into thinking" if finish == "length" else ""),
        )
    return ModelOutput(text=clean.strip(), is_cut=finish == "length", **counted_tokens)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in _bounded(response):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.strip()
    if rest.strip():
        yield rest.strip()


async def _read_stream(
    response: httpx2.Response, request: ModelRequest, on_text: OnText
) -> ModelOutput:
    """Read an answer in server-sent events. Its thinking is not passed on."""
    pieces: list[str] = []
    usage = finish = None
    has_end_marker, forward = False, _ThinkingFilter(on_text)
    async for line in _lines(response):
        if not line.startswith(b"data:"):
            continue
        raw = line[5:].strip()
        if raw == b"[DONE]":
            has_end_marker = True
            break
        data = _json(raw)
        usage = data.get("usage") or usage
        choice = _choice(data) if "choices" in data else None
        if choice is None:
            continue
        finish = choice.get("finish_reason") or finish
        if piece := _content(choice.get("delta") or {}):
            pieces.append(piece)
            forward(piece)
    if not has_end_marker and finish is None:
        raise EndpointError("cut_off", "the stream ended without an end marker", 0.0)
    return _model_output("".join(pieces), usage, request, finish)


class _ThinkingFilter:
    """Passes on the pieces of a text, except a block of thinking before it. Takes linear time."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._pending = on_text, ""
        self._state: Literal["unknown", "thinking", "answering"] = "unknown"

    def __call__(self, piece: str) -> None:
        """Handle the next piece."""
        if self._state == "answering":
            self._on_text(piece)
            return
        self._pending += piece
        if self._state == "unknown":
            text = self._pending.lstrip()
            if text.startswith(_THINKING_START):
                self._state = "thinking"
            elif text and not _THINKING_START.startswith(text):
                self._answer(self._pending)
        if self._state == "thinking":
            end = _THINKING_END.search(self._pending)
            self._pending = (
                self._pending[end.end() :] if end else self._pending[-_THINKING_END_CHARACTERS:]
            )
            if end:
                self._state = "unknown"
                self("")

    def _answer(self, text: str) -> None:
        self._state = "answering"
        self._on_text(text.lstrip())

"""Call an endpoint of OpenAI's chat completions API once, whole or as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from .port import (
    ChoiceDelta,
    ModelChoice,
    ModelRequest,
    ModelResponse,
    ModelTarget,
    Reason,
    tokens_of,
)

if TYPE_CHECKING:
    import httpx2

    from .port import OnPiece


# --- The choices of an answer, whole or collected from the pieces of a stream ----------------
# A choice has text, and what else its model sent: tool calls, a refusal, reasoning. Source:
# OpenAI's API reference, chat completions and their chunks.

CHOICES_MAX = 128
TOOL_CALLS_MAX = 1_000  # of one choice
# Fields of a message that are passed on beside its text.
FIELDS = (
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "annotations",
    "audio",
)
ANSWERS = ("tool_calls", "function_call", "refusal", "audio")  # those that answer without text
_THINKING_BLOCK = re.compile(r"(?<!\s)\s*+<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL)
_THINKING_START, _THINKING_END = "<think", re.compile(r"</think(?:ing)?>")
_THINKING_END_CHARACTERS = 11


class NotAChoice(Exception):
    """A choice of another shape. The message says what is wrong with it."""


def whole_choice(choice: Mapping[str, Any]) -> ModelChoice:
    """Return a choice of an answer that came in one piece. Raises NotAChoice."""
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NotAChoice("a choice without a message")
    fields = {name: message[name] for name in FIELDS if message.get(name)}
    if "logprobs" in choice and isinstance(choice["logprobs"], dict):
        fields["logprobs"] = choice["logprobs"]
    return ModelChoice(
        text=without_thinking(text_of(message)),
        finish_reason=finish_reason(choice),
        fields=fields,
    )


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message or of a piece of it. Raises NotAChoice."""
    content = message.get("content")
    if isinstance(content, list):  # some endpoints answer in parts
        content = "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    if content is not None and not isinstance(content, str):
        raise NotAChoice("its content is not text")
    # JSON may contain lone surrogates, which UTF-8 cannot encode.
    return (content or "").encode("utf-8", "replace").decode().replace("\x00", "")


def finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why a choice ended; empty if it has not ended."""
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else ""


def without_thinking(text: str) -> str:
    """Return a text without the block of thinking before it, and without space around it."""
    if text.lstrip().startswith(_THINKING_START):
        text = _THINKING_BLOCK.sub("", text, count=1)
    return text.strip()


class StreamedChoices:
    """Collects the choices of a stream, and passes on its pieces."""

    def __init__(self, on_piece: OnPiece) -> None:
        """Create an empty collection.

        `on_piece` receives them without their thinking.
        """
        self._on_piece = on_piece
        self._choices: dict[int, _StreamedChoice] = {}

    @property
    def has_ended(self) -> bool:
        """Return True if a choice has said why it ended."""
        return any(choice.finish_reason for choice in self._choices.values())

    def add(self, choices: list[dict[str, Any]]) -> None:
        """Take the choices of one chunk. Raises NotAChoice."""
        for piece in choices:
            index = piece.get("index")
            index = index if type(index) is int and 0 <= index < CHOICES_MAX else 0
            if index not in self._choices:
                self._choices[index] = _StreamedChoice(index, self._on_piece)
            self._choices[index].add(piece)

    def result(self) -> tuple[ModelChoice, ...]:
        """Return the whole choices, in their order."""
        return tuple(choice.result() for _, choice in sorted(self._choices.items()))


class _StreamedChoice:
    """One choice of a stream."""

    def __init__(self, index: int, on_piece: OnPiece) -> None:
        self._index, self._on_piece = index, on_piece
        self._forward = ThinkingFilter(self._on_text)
        self._pieces: list[str] = []
        self._strings: dict[str, list[str]] = {}  # pieces of fields that are text
        self._others: dict[str, Any] = {}
        self._tool_calls: list[dict[str, Any]] = []
        self.finish_reason = ""

    def _on_text(self, text: str) -> None:
        self._on_piece(ChoiceDelta(index=self._index, text=text))

    def add(self, choice: Mapping[str, Any]) -> None:
        self.finish_reason = finish_reason(choice) or self.finish_reason
        delta = choice.get("delta") or {}
        if not isinstance(delta, dict):
            raise NotAChoice("a choice whose delta is no object")
        if piece := text_of(delta):
            self._pieces.append(piece)
            self._forward(piece)
        fields: dict[str, Any] = {name: delta[name] for name in FIELDS if delta.get(name)}
        if isinstance(choice.get("logprobs"), dict):
            fields["logprobs"] = choice["logprobs"]
        if calls := fields.get("tool_calls"):
            fields["tool_calls"] = self._add_calls(calls)
        for name, value in fields.items():
            self._add_field(name, value)
        if fields:
            self._on_piece(ChoiceDelta(index=self._index, fields=fields))

    def _add_field(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            self._strings.setdefault(name, []).append(value)
        elif name == "function_call" and isinstance(value, dict):
            _merge_function(self._others.setdefault(name, {}), value)
        elif name == "logprobs":
            entry = self._others.setdefault(name, {"content": []})
            entry["content"] += value.get("content") or []
        elif name != "tool_calls":
            self._others[name] = value

    def _add_calls(self, calls: Any) -> list[dict[str, Any]]:
        """Merge pieces of tool calls; return them with an index each, which some omit."""
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise NotAChoice("its tool calls are no objects")
        pieces = []
        for call in calls:
            index = call.get("index")
            if type(index) is not int or not 0 <= index <= len(self._tool_calls):
                index = len(self._tool_calls) if call.get("id") else len(self._tool_calls) - 1
            if index < 0 or index >= TOOL_CALLS_MAX:
                raise NotAChoice("its tool calls cannot be counted")
            if index == len(self._tool_calls):
                self._tool_calls.append({"type": "function", "function": {"arguments": ""}})
            entry = self._tool_calls[index]
            entry |= {
                name: value
                for name, value in call.items()
                if name not in ("index", "function") and value
            }
            if isinstance(call.get("function"), dict):
                _merge_function(entry["function"], call["function"])
            pieces.append({**call, "index": index})
        return pieces

    def result(self) -> ModelChoice:
        fields = {name: "".join(pieces) for name, pieces in self._strings.items()} | self._others
        if self._tool_calls:
            fields["tool_calls"] = self._tool_calls
        return ModelChoice(
            text=without_thinking("".join(self._pieces)),
            finish_reason=self.finish_reason,
            fields=fields,
        )


def _merge_function(entry: dict[str, Any], piece: Mapping[str, Any]) -> None:
    for name, value in piece.items():
        if name == "arguments":
            entry[name] = entry.get(name, "") + (value if isinstance(value, str) else "")
        elif value:
            entry[name] = value


class ThinkingFilter:
    """Passes on the pieces of a text, except a block of thinking before it. Takes linear time."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        """Create a filter before `on_text`."""
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


# --- Call an endpoint of OpenAI's chat completions API once, and classify its failures -------

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


def request_body(
    target: ModelTarget, request: ModelRequest, unsupported: set[str], *, stream: bool
) -> dict[str, Any]:
    """Return the body of a request, without the parameters that the endpoint does not support."""
    body: dict[str, Any] = {
        "model": target.model,
        "messages": [{"role": m.role, "content": m.content, **m.fields} for m in request.messages],
        **request.fields,
    }
    body["max_completion_tokens" if "max_tokens" in unsupported else "max_tokens"] = (
        request.tokens_max
    )
    if "temperature" not in unsupported:
        body["temperature"] = request.temperature
    if request.schema is not None and "response_format" not in unsupported:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": request.schema},
        }
    if stream:
        body["stream"] = True
        if "stream_options" not in unsupported:
            body["stream_options"] = {"include_usage": True}
    return body


async def call(
    client: httpx2.AsyncClient,
    target: ModelTarget,
    request: ModelRequest,
    unsupported: set[str],
    on_piece: OnPiece | None,
) -> ModelResponse:
    """Return one answer. Raises EndpointError. The caller sets the deadline.

    With `on_piece` the answer is streamed. What the endpoint does not support is learned from its
    errors, and added to `unsupported`.
    """
    import httpx2

    while True:
        headers = {
            "Accept": "text/event-stream" if on_piece else "application/json",
            "Accept-Encoding": "identity",
        }
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        body = request_body(target, request, unsupported, stream=on_piece is not None)
        try:
            async with client.stream(
                "POST", f"{target.base_url}/chat/completions", json=body, headers=headers
            ) as response:
                if response.status_code == 200:
                    return await _read(response, request, on_piece)
                error_text = _error_text(await _read_error(response))
                spare = body.keys() - unsupported - request.fields.keys()
                names = (one for one in _OPTIONAL if one in error_text and one in spare)
                name = next(names, None)
                if response.status_code not in (400, 422) or name is None:
                    raise _http_error(response, error_text)
                unsupported.add(name)
        except httpx2.RequestError as error:  # its message has the address, but never the key
            raise EndpointError("unreachable", f"{type(error).__name__}: {error}", 0.0) from error


def _http_error(response: httpx2.Response, error_text: str) -> EndpointError:
    status = response.status_code
    detail = f"HTTP {status}" + (f": {error_text}" if error_text else "")
    if status in (401, 403):
        return EndpointError("refused", detail)
    if status == 429:
        return EndpointError("busy", detail, _retry_after(response))
    if status >= 500:
        return EndpointError("broken", detail, _retry_after(response))
    return EndpointError("rejected", detail)


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
        message = error
        if isinstance(error, dict):
            message = " ".join(str(error.get(part) or "") for part in ("message", "param"))
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in str(message)).split())
    return line if len(line) <= DETAIL_CHARACTERS_MAX else line[:DETAIL_CHARACTERS_MAX] + "…"


async def _read(
    response: httpx2.Response, request: ModelRequest, on_piece: OnPiece | None
) -> ModelResponse:
    try:
        if on_piece is not None and "text/event-stream" in response.headers.get("content-type", ""):
            return await _read_stream(response, request, on_piece)
        raw = b"".join([chunk async for chunk in _bounded(response)])
        data = _json(raw)
        choices = tuple(whole_choice(choice) for choice in _choices(data))
        if not choices:
            raise EndpointError("empty", "200, but no choices")
        output = _model_output(choices, data.get("usage"), request)
    except NotAChoice as error:
        raise EndpointError("garbled", f"200, but {error}") from error
    if on_piece is not None:
        for index, choice in enumerate(output.choices):
            on_piece(ChoiceDelta(index=index, text=choice.text))
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


def _model_output(
    choices: tuple[ModelChoice, ...], usage: Any, request: ModelRequest
) -> ModelResponse:
    counts = usage if isinstance(usage, dict) else {}
    prompt_tokens = sum(tokens_of(message.content) for message in request.messages)
    written = sum(tokens_of(choice.text) for choice in choices)
    counted_tokens: dict[str, Any] = {"prompt_tokens": prompt_tokens, "completion_tokens": written}
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
    return ModelResponse(text=first.text, is_cut=is_cut, choices=choices, **counted_tokens)


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
) -> ModelResponse:
    """Read an answer in server-sent events. Its thinking is not passed on."""
    collected = StreamedChoices(on_piece)
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

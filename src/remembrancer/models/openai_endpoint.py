"""One call of one endpoint that speaks OpenAI's chat completions:

sent, bounded, read, and every fault told by a word.
"""

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

ANSWER_BYTES_MAX = 4 << 20  # no answer within any budget of tokens is as large
FAULT_BYTES_MAX = 64 << 10  # of an error's body
DETAIL_CHARACTERS_MAX = 300
_THINKING = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL)
_THINKS, _THOUGHT, _THOUGHT_CHARACTERS = "<think", re.compile(r"</think(?:ing)?>"), 11
# What some endpoints do not know, and how the same request is made without it.
_OPTIONAL = ("max_tokens", "temperature", "stream_options", "response_format")


class EndpointError(Exception):
    """A call that gave no answer. `retry_s`: when to try the same endpoint again, None for never."""

    def __init__(self, reason: Reason, detail: str, retry_s: float | None = None) -> None:
        self.reason: Reason = reason
        self.detail, self.retry_s = detail, retry_s
        super().__init__(detail)


class EndpointOptions(set[str]):
    """What an endpoint does not take, learned from its refusals; one a target."""


def body_of(
    target: ModelTarget, question: ModelRequest, manners: EndpointOptions, *, streamed: bool
) -> dict[str, Any]:
    """The request's body, without what the endpoint does not take."""
    body: dict[str, Any] = {
        "model": target.model,
        "messages": [{"role": m.role, "content": m.content} for m in question.messages],
    }
    body["max_completion_tokens" if "max_tokens" in manners else "max_tokens"] = question.tokens_max
    if "temperature" not in manners:
        body["temperature"] = question.temperature
    if question.schema is not None and "response_format" not in manners:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": question.schema},
        }
    if streamed:
        body["stream"] = True
        if "stream_options" not in manners:
            body["stream_options"] = {"include_usage": True}
    return body


async def call(
    client: httpx2.AsyncClient,
    target: ModelTarget,
    question: ModelRequest,
    manners: EndpointOptions,
    on_text: OnText | None,
) -> ModelOutput:
    """One answer. Raises Fault; the caller bounds the time."""
    import httpx2

    while True:
        headers = {
            "Accept": "text/event-stream" if on_text else "application/json",
            "Accept-Encoding": "identity",
        }
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        body = body_of(target, question, manners, streamed=on_text is not None)
        try:
            async with client.stream(
                "POST", f"{target.base_url}/chat/completions", json=body, headers=headers
            ) as response:
                if response.status_code == 200:
                    return await _read(response, question, on_text)
                told = _told(await _start(response))
                unknown = next(
                    (
                        name
                        for name in _OPTIONAL
                        if name in told and name not in manners and name in body
                    ),
                    None,
                )
                if response.status_code not in (400, 422) or unknown is None:
                    raise _fault(response, told)
                manners.add(unknown)
        except (
            httpx2.RequestError
        ) as error:  # what httpx2 says of it names the address, never the key
            raise EndpointError("unreachable", f"{type(error).__name__}: {error}", 0.0) from error


def _fault(response: httpx2.Response, told: str) -> EndpointError:
    status = response.status_code
    detail = f"HTTP {status}" + (f": {told}" if told else "")
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
    said = response.headers.get("retry-after", "")
    return float(said) if re.fullmatch(r"[0-9]{1,6}", said) else 0.0


async def _start(response: httpx2.Response) -> str:
    taken = b""
    async for chunk in response.aiter_raw():
        taken += chunk
        if len(taken) > FAULT_BYTES_MAX:
            break
    return taken[:FAULT_BYTES_MAX].decode("utf-8", "replace")


def _told(text: str) -> str:
    """What an endpoint says of its error, in a line."""
    said: Any = text
    try:
        error = json.loads(text)["error"]
        said = (
            " ".join(str(error.get(part) or "") for part in ("message", "param"))
            if isinstance(error, dict)
            else error
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    line = " ".join("".join(c if c.isprintable() else " " for c in str(said)).split())
    return line if len(line) <= DETAIL_CHARACTERS_MAX else line[:DETAIL_CHARACTERS_MAX] + "…"


async def _read(
    response: httpx2.Response, question: ModelRequest, on_text: OnText | None
) -> ModelOutput:
    if on_text is None or "text/event-stream" not in response.headers.get("content-type", ""):
        raw = b"".join([chunk async for chunk in _bounded(response)])
        said = _whole(raw, question)
        if on_text is not None:
            on_text(said.text)
        return said
    return await _streamed(response, question, on_text)


async def _bounded(response: httpx2.Response) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in response.aiter_raw():
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            raise EndpointError("too_large", f"more than {ANSWER_BYTES_MAX:,} bytes")
        yield chunk


def _json(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise EndpointError(
            "garbled", "200, but not JSON: is this the address of an API?"
        ) from error
    if not isinstance(found, dict):
        raise EndpointError("garbled", "200, but not a JSON object")
    if found.get("error"):
        raise EndpointError("broken", f"200 with an error: {_told(json.dumps(found))}", 0.0)
    return found


def _choice(found: dict[str, Any]) -> dict[str, Any] | None:
    choices = found.get("choices")
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
        raise EndpointError("garbled", "200, but its content is no text")
    return (
        (content or "").encode("utf-8", "replace").decode().replace("\x00", "")
    )  # a lone surrogate is no text


def _whole(raw: bytes, question: ModelRequest) -> ModelOutput:
    found = _json(raw)
    choice = _choice(found)
    if choice is None:
        raise EndpointError("empty", "200, but no choices")
    return _said(
        _content(choice.get("message")), found.get("usage"), question, choice.get("finish_reason")
    )


def _said(text: str, usage: Any, question: ModelRequest, finish: Any) -> ModelOutput:
    counts = usage if isinstance(usage, dict) else {}
    asked = sum(tokens_of(message.content) for message in question.messages)
    spent = {"prompt_tokens": asked, "completion_tokens": tokens_of(text)}
    spent |= {
        name: n for name in spent if type(n := counts.get(name)) is int and 0 <= n <= 100_000_000
    }
    clean = _THINKING.sub("", text, count=1) if text.lstrip().startswith(_THINKS) else text
    if not clean.strip():
        raise EndpointError(
            "empty",
            "200, but no text"
            + (": all of its tokens went into thinking" if finish == "length" else ""),
        )
    return ModelOutput(text=clean.strip(), is_cut=finish == "length", **spent)


async def _lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in _bounded(response):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.strip()
    if rest.strip():
        yield rest.strip()


async def _streamed(
    response: httpx2.Response, question: ModelRequest, on_text: OnText
) -> ModelOutput:
    """An answer in server-sent events; what a model thinks aloud is not passed on."""
    pieces: list[str] = []
    usage = finish = None
    done, aloud = False, _Aloud(on_text)
    async for line in _lines(response):
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            done = True
            break
        found = _json(data)
        usage = found.get("usage") or usage
        choice = _choice(found) if "choices" in found else None
        if choice is None:
            continue
        finish = choice.get("finish_reason") or finish
        if piece := _content(choice.get("delta") or {}):
            pieces.append(piece)
            aloud(piece)
    if not done and finish is None:
        raise EndpointError("cut_off", "the stream ended without its end", 0.0)
    return _said("".join(pieces), usage, question, finish)


class _Aloud:
    """Passes a text on in pieces, without what a model thinks aloud before it.

    Each character is looked at a few times, however long.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._held = on_text, ""
        self._state: Literal["unknown", "thinking", "answering"] = "unknown"

    def __call__(self, piece: str) -> None:
        """The next piece."""
        if self._state == "answering":
            self._on_text(piece)
            return
        self._held += piece
        if self._state == "unknown":
            text = self._held.lstrip()
            if text.startswith(_THINKS):
                self._state = "thinking"
            elif text and not _THINKS.startswith(text):
                self._answer(self._held)
        if self._state == "thinking":
            end = _THOUGHT.search(self._held)
            self._held = self._held[end.end() :] if end else self._held[-_THOUGHT_CHARACTERS:]
            if end:
                self._state = "unknown"
                self("")

    def _answer(self, text: str) -> None:
        self._state = "answering"
        self._on_text(text.lstrip())

"""Drafts by an OpenAI-compatible endpoint, without an SDK."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx2

from ..api_request import is_valid_key, normalize_base_url
from ..runtime.session import ChatMessage

ANSWER_BYTES_MAX = 8 << 20  # a longer body is not a chat completion
QUOTED_CHARACTERS_MAX = 200  # of a body, in an error message


class ModelEndpointError(Exception):
    """The endpoint returned no reply of the model."""


class ModelEndpoint:
    """A draft function that sends `POST base_url/chat/completions`.

    Neither `repr` nor an error contains the key.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        timeout_s: float = 120.0,
        **options: Any,
    ) -> None:
        """Add `options` to each request: temperature, max_tokens, ...

        Raises ValueError for an invalid address or key.
        """
        base = normalize_base_url(base_url, "the model's address", "http://127.0.0.1:11434/v1")
        if key is not None and not is_valid_key(key):
            raise ValueError("invalid model key: a key is printable ASCII without spaces")
        self.url, self.model, self.options = f"{base}/chat/completions", model, options
        # Totals of prompt_tokens and completion_tokens, if the endpoint reports them.
        self.tokens: Counter[str] = Counter()
        self._key = key
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        timeout = httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s))
        self._http = httpx2.Client(headers=headers, timeout=timeout, trust_env=False)

    def __call__(self, messages: list[ChatMessage]) -> str:
        """Return the model's reply. Raises ModelEndpointError."""
        request = {**self.options, "model": self.model, "messages": messages}
        try:
            with self._http.stream("POST", self.url, json=request) as response:
                body = _read_body(response).decode("utf-8", "replace")
        except httpx2.HTTPError as error:
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise ModelEndpointError(f"{self.url} gave no answer: {reason}") from None
        if response.status_code != 200:
            raise ModelEndpointError(
                f"{self.url} answered {response.status_code}: {self._quote(body)}"
            )
        try:
            answer = json.loads(body)
            text = answer["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            raise ModelEndpointError(
                f"{self.url} answered with no chat completion: {self._quote(body)}"
            ) from None
        if not isinstance(text, str) or not text.strip():
            raise ModelEndpointError(f"{self.url}: the model's reply is empty")
        self._count(answer.get("usage"))
        return text

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.tokens.update(
                {
                    name: count
                    for name, count in usage.items()
                    if name.endswith("_tokens") and isinstance(count, int)
                }
            )

    def _quote(self, body: str) -> str:
        """Return the beginning of a body on one line, without the key."""
        text = body.replace(self._key, "(the key)") if self._key else body
        line = " ".join(text.split())
        return (
            line if len(line) <= QUOTED_CHARACTERS_MAX else f"{line[:QUOTED_CHARACTERS_MAX]}\u2026"
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def __repr__(self) -> str:
        return f"ModelEndpoint({self.url!r}, {self.model!r})"


def _read_body(response: httpx2.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            raise httpx2.DecodingError(f"more than {ANSWER_BYTES_MAX} bytes")
    return bytes(body)

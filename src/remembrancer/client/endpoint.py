"""A model behind an OpenAI-compatible endpoint, asked with no library of its own: a `draft(messages)` for the runtime."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import httpx2

from .address import address, is_one_word
from .runtime_prompts import Message

ANSWER_BYTES_MAX = 8 << 20  # more than any reply; what is longer is no chat completion
SAID_SHOWN_MAX = 200


class EndpointFailed(Exception):
    """The model behind the endpoint gave no reply."""


class Endpoint:
    """`POST base_url/chat/completions` for each draft. Neither `repr` nor an error shows the key."""

    def __init__(self, base_url: str, model: str, key: str | None = None, *, timeout_s: float = 120.0, **options: Any) -> None:
        """`options` go into each request: temperature, max_tokens, ... Raises ValueError for what cannot be an address or a key."""
        base = address(base_url, "the model's address", "http://127.0.0.1:11434/v1")
        if key is not None and not is_one_word(key):
            raise ValueError("this cannot be the model's key: keys are one word of ASCII")
        self.url, self.model, self.options = f"{base}/chat/completions", model, options
        self.tokens: Counter[str] = Counter()  # prompt_tokens and completion_tokens, where the endpoint tells them
        self._key = key
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        timeout = httpx2.Timeout(timeout_s, connect=min(5.0, timeout_s))
        self._http = httpx2.Client(headers=headers, timeout=timeout, trust_env=False)

    def __call__(self, messages: list[Message]) -> str:
        """The model's reply. Raises EndpointFailed."""
        try:
            with self._http.stream("POST", self.url, json={**self.options, "model": self.model, "messages": messages}) as response:
                body = _whole(response)
        except httpx2.HTTPError as error:
            raise EndpointFailed(f"{self.url} gave no answer: {f'{type(error).__name__}: {error}'.removesuffix(': ')}") from None
        said = body.decode("utf-8", "replace")
        if response.status_code != 200:
            raise EndpointFailed(f"{self.url} answered {response.status_code}: {self._shown(said)}")
        try:
            answer = json.loads(said)
            text = answer["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            raise EndpointFailed(f"{self.url} answered with no chat completion: {self._shown(said)}") from None
        if not isinstance(text, str) or not text.strip():
            raise EndpointFailed(f"{self.url}: the model said nothing")
        self._count(answer.get("usage"))
        return text

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self.tokens.update({name: spent for name, spent in usage.items() if name.endswith("_tokens") and isinstance(spent, int)})

    def _shown(self, said: str) -> str:
        """The beginning of what came, on one line, without the key."""
        words = " ".join((said.replace(self._key, "(the key)") if self._key else said).split())
        return words if len(words) <= SAID_SHOWN_MAX else f"{words[:SAID_SHOWN_MAX]}\u2026"

    def close(self) -> None:
        """Let the connection go."""
        self._http.close()

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.model!r})"


def _whole(response: httpx2.Response) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > ANSWER_BYTES_MAX:
            raise httpx2.DecodingError(f"more than {ANSWER_BYTES_MAX} bytes came")
    return bytes(body)

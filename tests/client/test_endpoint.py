"""A model behind an OpenAI-compatible endpoint: what it is asked, and every way it can fail."""

from __future__ import annotations

import json

import pytest
from client.wire import answer, saying

from remembrancer.client.endpoint import Endpoint, EndpointFailed
from remembrancer.client.runtime import Message

ASKED: list[Message] = [{"role": "user", "content": "Hello."}]
SAID = {"choices": [{"message": {"content": "Good day."}}], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "cost": 1}}


def test_it_asks_for_a_chat_completion_and_counts_tokens() -> None:
    with saying([answer(200, SAID), answer(200, SAID)]) as wire:
        model = Endpoint(f"{wire.url}/v1/", "small", "abc123", temperature=0)
        assert [model(ASKED), model(ASKED)] == ["Good day.", "Good day."]
        model.close()

    assert wire.seen[0].line == "POST /v1/chat/completions HTTP/1.1"
    assert wire.seen[0].headers["authorization"] == "Bearer abc123"
    assert json.loads(wire.seen[0].body) == {"temperature": 0, "model": "small", "messages": ASKED}
    assert model.tokens == {"prompt_tokens": 14, "completion_tokens": 6}


@pytest.mark.parametrize(
    ("came", "told"),
    [
        (b"", "gave no answer"),
        (answer(500, "abc123 broke"), "answered 500: (the key) broke"),
        (answer(307, "", Location="http://127.0.0.1:9/"), "answered 307"),
        (answer(200, "<html>Sign in</html>"), "no chat completion: <html>Sign in</html>"),
        (answer(200, {"choices": []}), "no chat completion"),
        (answer(200, {"choices": [{"message": {"content": None}}]}), "said nothing"),
        (answer(200, {"choices": [{"message": {"content": " "}}]}), "said nothing"),
        (answer(200, "x" * (8 << 20) + "x"), "more than"),
    ],
)
def test_what_is_no_reply_is_told_on_one_line_without_the_key(came: bytes, told: str) -> None:
    with saying([came]) as wire, pytest.raises(EndpointFailed) as failed:
        Endpoint(wire.url, "small", "abc123")(ASKED)

    assert told in str(failed.value)
    assert "abc123" not in str(failed.value)
    assert failed.value.__cause__ is None


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8460", "http://", "http://ada:pw@host/v1", "http://host/v1?key=1", "http://host:port/", "ftp://x/"]
)
def test_an_address_that_cannot_be_one_is_refused_unasked(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Endpoint(address, "small")


@pytest.mark.parametrize("key", ["", "two words", "sch\u00f6n", "a\nb"])
def test_a_key_that_cannot_be_one_is_refused_unasked_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="key") as refused:
        Endpoint("http://127.0.0.1:9", "small", key)

    assert not key or key not in str(refused.value)


def test_its_repr_shows_no_key() -> None:
    assert repr(Endpoint("http://127.0.0.1:9/v1", "small", "abc123")) == "Endpoint('http://127.0.0.1:9/v1/chat/completions', 'small')"

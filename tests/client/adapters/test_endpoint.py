"""OpenAI-compatible endpoints: requests and every kind of failure."""

from __future__ import annotations

import pytest
from client.scripted_server import ScriptedServer, answer

from remembrancer.client.adapters.endpoint import ModelEndpoint, ModelEndpointError
from remembrancer.client.runtime import ChatMessage

MESSAGES: list[ChatMessage] = [{"role": "user", "content": "Hello."}]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (b"", "gave no answer"),
        (answer(500, "abc123 broke"), "answered 500: (the key) broke"),
        (answer(307, "", Location="http://127.0.0.1:9/"), "answered 307"),
        (answer(200, "<html>Sign in</html>"), "no chat completion: <html>Sign in</html>"),
        (answer(200, {"choices": []}), "no chat completion"),
        (answer(200, {"choices": [{"message": {"content": None}}]}), "reply is empty"),
        (answer(200, {"choices": [{"message": {"content": " "}}]}), "reply is empty"),
        (answer(200, "x" * (8 << 20) + "x"), "more than"),
    ],
)
def test_invalid_reply_is_reported_on_one_line_without_the_key(
    response: bytes, expected: str
) -> None:
    with ScriptedServer([response]) as server, pytest.raises(ModelEndpointError) as raised:
        ModelEndpoint(server.url, "small", "abc123")(MESSAGES)

    assert expected in str(raised.value)
    assert "abc123" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_invalid_address_and_key_are_rejected_without_quoting_the_key() -> None:
    for address in (
        "127.0.0.1:8460",
        "http://",
        "http://ada:pw@host/v1",
        "http://host/v1?key=1",
        "http://host:port/",
        "ftp://x/",
    ):
        with pytest.raises(ValueError, match="address"):
            ModelEndpoint(address, "small")
    for key in ("", "two words", "sch\u00f6n", "a\nb"):
        with pytest.raises(ValueError, match="key") as raised:
            ModelEndpoint("http://127.0.0.1:9", "small", key)
        assert not key or key not in str(raised.value)
    endpoint = ModelEndpoint("http://127.0.0.1:9/v1", "small", "abc123")
    assert repr(endpoint) == "ModelEndpoint('http://127.0.0.1:9/v1/chat/completions', 'small')"

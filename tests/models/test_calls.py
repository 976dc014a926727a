"""Model calls to a real HTTP endpoint, and its failures."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator

import pytest
from endpoint import (
    Play,
    answer_of,
    drips,
    endpoint,
    fails,
    hangs,
    hangs_up,
    nobody,
    replies,
    sends,
    streams,
)

from remembrancer.context import without_secrets
from remembrancer.models import (
    Budget,
    ChoiceDelta,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ModelResponse,
)
from remembrancer.models.calls import ConfiguredModels
from remembrancer.models.openai_endpoint import ANSWER_BYTES_MAX
from remembrancer.settings import SettingInvalid, Settings

Models = Callable[..., ConfiguredModels]
QUESTION = ModelRequest(
    slot="chat",
    messages=(
        ModelMessage("system", "Be brief."),
        ModelMessage("user", "When does the ferry leave?"),
    ),
)


@pytest.fixture
def models() -> Iterator[Models]:
    """Create models from settings; close all at the end."""
    box: list[ConfiguredModels] = []

    def make(chat: str, key: str = "", **more: object) -> ConfiguredModels:
        box.append(
            ConfiguredModels(Settings(model_chat=chat, model_chat_key=key, **more), without_secrets)  # type: ignore[arg-type]
        )
        return box[-1]

    yield make
    for one in box:
        one.close()


def ask(
    models: ConfiguredModels,
    *,
    seconds: float = 20,
    calls: int = 6,
    streamed: list[str | None] | None = None,
) -> ModelResponse:
    """Call the models."""

    def note(piece: ChoiceDelta | None) -> None:
        assert streamed is not None
        streamed.append(None if piece is None else piece.text)

    budget = Budget(seconds=seconds, calls=calls)
    return models.ask(QUESTION, budget, None if streamed is None else note)


@pytest.mark.parametrize(
    "pieces",
    [
        ["<thi", "nk>Hm", ".</th", "ink>", "\n\nAt ", "9:40."],
        ["<think>Hm.</think>At 9:40."],
        ["  ", "At", " 9:40."],
        ["<", "b>"],
        ["<think>" + "Hm. " * 50_000, *["and "] * 20_000, "</thinking> At 9:40."],
    ],
)
def test_reasoning_is_removed_from_a_stream_however_it_is_split(
    models: Models, pieces: list[str]
) -> None:
    received: list[str | None] = []
    with endpoint(streams(pieces, is_complete=True)) as tiny:
        reply = ask(models(tiny.named()), streamed=received)

    assert "".join(piece or "" for piece in received) == reply.text
    assert reply.text == ("<b>" if pieces[0] == "<" else "At 9:40.")


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_is_removed_from_the_answer(models: Models, streamed: bool) -> None:
    pieces: list[str | None] = []
    with endpoint(replies("<think>The user wants a time. </think>\n\nAt 9:40.")) as tiny:
        reply = ask(models(tiny.named()), streamed=pieces if streamed else None)

    assert reply.text == "At 9:40."
    assert "".join(piece or "" for piece in pieces) in ("", "At 9:40.")


def test_secret_is_masked_before_sending(models: Models) -> None:
    token = "ghp_" + "1B4Fq7Zs0Xk2Lm9Np8Rt3Vw6Yd5Hc7Jg0aEe"
    question = ModelRequest(
        slot="chat", messages=(ModelMessage("user", f"My token is {token}, keep it."),)
    )
    with endpoint(replies("Revoke it.")) as tiny:
        models(tiny.named()).ask(question, Budget(seconds=20, calls=6))

    assert token not in tiny.prompts[0]
    assert "[masked: " in tiny.prompts[0]


@pytest.mark.parametrize(
    ("play", "reason", "calls"),
    [
        (fails(503), "broken", 2),
        (fails(503, Retry_After="600"), "broken", 1),
        (fails(429, Retry_After="30"), "busy", 1),
        (fails(401), "refused", 1),
        (fails(404, "model not found"), "rejected", 1),
        (sends(b"", status=302, Location="http://127.0.0.1:1/"), "rejected", 1),
        (hangs_up, "unreachable", 2),
        (sends(b"<html><title>Sign in</title></html>", kind="text/html"), "garbled", 1),
        (sends(b'{"choices": [{"mess'), "garbled", 1),
        (sends(b"[1, 2]"), "garbled", 1),
        (sends(b'{"object": "list", "data": []}'), "garbled", 1),
        (sends(b'{"choices": ["At 9:40."]}'), "garbled", 1),
        (sends(json.dumps(answer_of(9.4)).encode()), "garbled", 1),
        (sends(b"[" * 100_000), "garbled", 1),
        (sends(b'{"error": {"message": "overloaded"}}'), "broken", 2),
        (sends(b'{"choices": []}'), "empty", 1),
        (replies(" \n"), "empty", 1),
        (sends(json.dumps(answer_of(None)).encode()), "empty", 1),
        (replies("<think>Hm. ", finish_reason="length"), "empty", 1),
        (sends(b" " * (ANSWER_BYTES_MAX + 1)), "too_large", 1),
    ],
)
def test_every_failure_has_one_reason(models: Models, play: Play, reason: str, calls: int) -> None:
    with endpoint(play) as tiny, pytest.raises(ModelFailed) as failed:
        ask(models(tiny.named()))

    assert failed.value.reason == reason
    assert [t.outcome for t in failed.value.tries] == [reason] * calls
    assert len(tiny.requests) == calls


@pytest.mark.parametrize(
    ("play", "reason"),
    [
        (streams(["At ", "9:"], is_complete=False), "cut_off"),
        (streams([], is_complete=True), "empty"),
        (sends(b"data: {nonsense}\n\n", kind="text/event-stream"), "garbled"),
        (
            sends(b'data: {"error": {"message": "out of memory"}}\n\n', kind="text/event-stream"),
            "broken",
        ),
        (sends(b"data: " + b" " * ANSWER_BYTES_MAX, kind="text/event-stream"), "too_large"),
        (sends(b"<html></html>", kind="text/html"), "garbled"),
    ],
)
def test_failed_stream_discards_its_text(models: Models, play: Play, reason: str) -> None:
    pieces: list[str | None] = []
    with endpoint(play) as tiny, pytest.raises(ModelFailed) as failed:
        ask(models(tiny.named()), streamed=pieces)

    assert failed.value.reason == reason
    assert pieces[-1] is None


@pytest.mark.parametrize("play", [hangs, drips])
def test_endpoint_cannot_exceed_the_deadline(models: Models, play: Play) -> None:
    with endpoint(play) as tiny, pytest.raises(ModelFailed) as failed:
        ask(models(tiny.named()), seconds=0.3)

    assert failed.value.reason == "timeout"
    assert [t.outcome for t in failed.value.tries] == ["timeout"]


def test_next_model_answers_when_others_are_down_or_hang(models: Models) -> None:
    with endpoint(hangs) as slow, endpoint(replies("At 9:40.")) as good:
        reply = ask(
            models(f"dead@{nobody()}, slow@{slow.base_url}, good@{good.base_url}"),
            seconds=2,
            calls=6,
        )

    assert (reply.text, reply.model) == ("At 9:40.", "good")
    assert list(dict.fromkeys((t.model, t.outcome) for t in reply.tries)) == [
        ("dead", "unreachable"),
        ("slow", "timeout"),
        ("good", "ok"),
    ]


def test_calls_per_request_are_limited(models: Models) -> None:
    with endpoint(fails(500)) as tiny, pytest.raises(ModelFailed):
        ask(models(f"{tiny.named('a')},{tiny.named('b')},{tiny.named('c')}"), calls=3)

    assert [body["model"] for body in tiny.requests] == ["a", "a", "b"]
    with pytest.raises(ModelFailed) as failed:
        ask(models(tiny.named()), calls=0)
    assert failed.value.reason == "budget"


def test_unsupported_parameters_are_replaced(models: Models) -> None:
    """Newer OpenAI models refuse `max_tokens` and `temperature`, older servers `stream_options`."""
    refusals = [
        fails(400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
        fails(400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
    ]
    with endpoint(*refusals, replies("At 9:40.")) as tiny:
        configured = models(tiny.named())
        responses = [ask(configured), ask(configured)]

    assert [reply.text for reply in responses] == ["At 9:40."] * 2
    assert len(tiny.requests) == 4
    assert tiny.requests[-1]["max_completion_tokens"] == 1024
    assert not {"max_tokens", "temperature"} & set(tiny.requests[-1])


def test_close_cancels_running_calls(models: Models) -> None:
    failed: list[ModelFailed] = []
    state = threading.Event()

    def begins(handler: object) -> None:
        state.set()
        hangs(handler)  # type: ignore[arg-type]

    with endpoint(begins) as tiny:
        configured = models(tiny.named())

        def run() -> None:
            try:
                ask(configured, seconds=60)
            except ModelFailed as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        assert state.wait(20)
        configured.close()
        thread.join(20)

    assert [error.reason for error in failed] == ["stopped"]


def test_without_outside_models_only_local_models_are_called(models: Models) -> None:
    with endpoint(replies("At 9:40.")) as tiny:
        configured = models(f"cloud@https://models.example/v1, {tiny.named()}")
        question = ModelRequest(slot="chat", messages=QUESTION.messages, outside=False)

        assert configured.ask(question, Budget(seconds=20, calls=6)).model == "tiny"
    only = models("cloud@https://models.example/v1")
    assert only.has("chat")
    assert not only.has("chat", outside=False)
    assert not only.has("judge")
    with pytest.raises(ModelFailed) as failed:
        only.ask(question, Budget(seconds=20, calls=6))
    assert failed.value.reason == "none"


@pytest.mark.parametrize(
    ("chat", "key"),
    [
        ("llama3.2", ""),
        ("llama3.2@127.0.0.1:11434", ""),
        ("@http://127.0.0.1/v1", ""),
        ("a@http://user:hunter22@127.0.0.1/v1", ""),
        ("a@http://127.0.0.1/v1,", ""),
        ("a@http://127.0.0.1:99999/v1", ""),
        ("a@http://127.0.0.1/v1?key=hunter22", ""),
        ("", "hunter22"),
        ("a@http://127.0.0.1/v1,b@https://other.example/v1", "hunter22"),
        ("a@http://127.0.0.1/v1", "hunter22\nX: y"),
    ],
)
def test_invalid_model_setting_fails_without_revealing_the_key(
    models: Models, chat: str, key: str
) -> None:
    with pytest.raises(SettingInvalid) as invalid:
        models(chat, key)

    assert "REMEMBRANCER_MODEL_CHAT" in str(invalid.value)
    assert "hunter22" not in str(invalid.value) + repr(Settings(model_chat_key=key))


def test_each_model_gets_its_own_key(models: Models) -> None:
    with endpoint(fails(401)) as first, endpoint(replies("At 9:40.")) as second:
        ask(models(f"{first.named()},{second.named()}", "one,two"))

    assert [h["Authorization"] for h in first.headers + second.headers] == [
        "Bearer one",
        "Bearer two",
    ]

"""The OpenAI-compatible API over a real socket, with the official `openai` client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from endpoint import fails, replies, streams
from openai_service import MESSAGES, TOOL, Served, events
from service import Http, rows

from remembrancer.agent.answers import NO_MODEL
from remembrancer.protocol.fence import unfenced

openai = pytest.importorskip("openai", reason="the package `openai` is not installed")
PATH = "/v1/chat/completions"


def test_completion_recalls_forwards_and_remembers(serve: Callable[..., Served]) -> None:
    """Recall, fenced memory, model, stored turn, clean answer.

    See specification.md#completions-flow.
    """
    served = serve(replies("At 9:40, arr.\nTASK_DONE\nREM | #1 | READ | VERIFY | CORRECT | OUTPUT"))

    answer = served.ask(temperature=0.7, max_tokens=50, extra_body={"session_id": "sea"})

    assert answer.choices[0].message.content == "At 9:40, arr."
    assert (answer.model, answer.choices[0].finish_reason, answer.usage.total_tokens) == (
        "tiny",
        "stop",
        77,
    )
    assert events(served.context)[1] == ("sea", "When does the ferry leave?", "At 9:40, arr.")
    [body] = served.model.requests
    assert [message["role"] for message in body["messages"]] == ["system", "system", "user"]
    assert body["messages"][1]["content"] == "You are a pirate."
    own, cut = unfenced(body["messages"][2]["content"])
    assert cut > 0
    assert "pier 3" not in own
    assert "pier 3" in body["messages"][2]["content"]
    assert own.endswith("When does the ferry leave?")
    assert (body["temperature"], body["max_tokens"]) == (0.7, 50)


def test_completion_is_streamed(serve: Callable[..., Served]) -> None:
    """`stream` sends chunks (specification.md#completions-stream)."""
    served = serve(replies("At 9:40. From pier 3."))

    chunks = list(served.ask(stream=True, stream_options={"include_usage": True}))

    assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices] == [
        "At",
        " 9:40.",
        " From",
        " pier",
        " 3.",
        None,
    ]
    assert [chunk.choices[0].delta.role for chunk in chunks[:2]] == ["assistant", None]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 77
    assert events(served.context)[1][2] == "At 9:40. From pier 3."


def test_broken_stream_is_an_error_and_stores_no_turn(
    serve: Callable[..., Served],
) -> None:
    """Streamed text cannot be withdrawn, so no other model continues in its place."""
    served = serve(streams(["At 9:40. ", "From"], is_complete=False))

    with pytest.raises(openai.APIError):
        list(served.ask(stream=True))

    assert len(served.model.requests) == 1
    assert len(events(served.context)) == 1


def test_failing_model_returns_503_and_stores_no_turn(serve: Callable[..., Served]) -> None:
    served = serve(fails(401))

    with pytest.raises(openai.InternalServerError) as failed:
        served.ask()

    assert failed.value.status_code == 503
    assert "the endpoint rejected the key" in failed.value.response.json()["error"]["message"]
    assert len(events(served.context)) == 1


def test_user_field_selects_the_memory(serve: Callable[..., Served]) -> None:
    served = serve(replies("I do not know."))

    served.ask(user="bob")

    assert "pier 3" not in served.model.prompts[0]


def test_repeated_idempotency_key_returns_the_first_answer(serve: Callable[..., Served]) -> None:
    served = serve(replies("At 9:40."))

    first, again = (served.ask(extra_headers={"Idempotency-Key": "c-1"}) for _ in range(2))

    assert first.id == again.id
    assert len(served.model.requests) == 1
    streamed = list(served.ask(extra_headers={"Idempotency-Key": "c-2"}, stream=True))
    repeated = list(served.ask(extra_headers={"Idempotency-Key": "c-2"}, stream=True))
    assert (
        [chunk.choices[0].delta.content for chunk in streamed],
        repeated[0].choices[0].delta.content,
    ) == (["At", " 9:40.", None], "At 9:40.")
    assert len(served.model.requests) == 2


def test_quotes_answer_without_a_chat_model(http: Http) -> None:
    """Without a chat model: quotes; the turn is stored (specification.md#completions-quotes)."""
    http.remember("When does the ferry to Elba leave?", "At 9:40 from pier 3.")

    answer = http.post(PATH, {"model": "memory", "messages": MESSAGES}).json()

    text = answer["choices"][0]["message"]["content"]
    assert text.startswith(NO_MODEL)
    assert "At 9:40 from pier 3." in text
    assert (answer["model"], answer["choices"][0]["finish_reason"]) == ("memory-quotes", "stop")
    query, response = events(http.context)[1][1:]
    assert (query, response.startswith("(ref: ")) == (MESSAGES[1]["content"], True)


def test_json_needs_a_model(http: Http) -> None:
    """Quotes are no JSON and call no tool: 503 (specification.md#completions-quotes)."""
    before = rows(http.context)

    for wish in (
        {"response_format": {"type": "json_object"}},
        {"tools": [TOOL], "tool_choice": "required"},
    ):
        answer = http.post(PATH, {"messages": MESSAGES, **wish})
        assert answer.status_code == 503
        assert "REMEMBRANCER_MODEL_CHAT" in answer.json()["error"]["message"]
    assert rows(http.context) == before


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "assistant", "content": "Hi"}]},
        {"messages": [{"role": "tool", "content": "Hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "poem", "poem": "x"}]}]},
        {"messages": MESSAGES, "n": 0},
        {"messages": MESSAGES, "tools": ["f"]},
        {"messages": MESSAGES, "max_tokens": 0},
    ],
)
def test_unsupported_options_are_rejected(http: Http, body: dict[str, Any]) -> None:
    assert http.post(PATH, body).status_code == 422


def test_text_parts_are_joined(serve: Callable[..., Served]) -> None:
    served = serve(replies("Hm."))

    served.ask(
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "When does "},
                    {"type": "text", "text": "the ferry leave?"},
                ],
            }
        ]
    )

    assert events(served.context)[1][1] == "When does the ferry leave?"


def test_models_are_listed_by_the_names_that_requests_take(
    serve: Callable[..., Served],
) -> None:
    """`memory`, `memory-quotes`, each model (specification.md#completions-models)."""
    served = serve(replies("Aye."))
    name = f"tiny@127.0.0.1:{served.model.port}"

    assert [model.id for model in served.client.models.list()] == [
        "memory",
        "memory-quotes",
        name,
        "memory-embedder",
    ]
    assert served.client.models.retrieve(name).owned_by == f"127.0.0.1:{served.model.port}"
    assert served.ask(model=name).choices[0].message.content == "Aye."
    assert served.ask(model="tiny").model == "tiny"
    with pytest.raises(openai.NotFoundError) as unknown:
        served.client.models.retrieve("org/none")
    assert unknown.value.code == "model_not_found"


def test_quotes_are_served_by_name(serve: Callable[..., Served]) -> None:
    """`memory-quotes` asks no model (specification.md#completions-models)."""
    served = serve(replies("Aye."))

    answer = served.ask(model="memory-quotes")

    assert "At 9:40 from pier 3." in answer.choices[0].message.content
    assert served.model.requests == []

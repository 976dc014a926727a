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

    [choice] = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("At 9:40, arr.", "stop")
    assert (answer.model, answer.usage.total_tokens) == ("tiny", 77)
    assert events(served.context)[1] == ("sea", "When does the ferry leave?", "At 9:40, arr.")
    [body] = served.model.requests
    rules, own, last = body["messages"]
    assert (rules["role"], own["role"], last["role"]) == ("system", "system", "user")
    assert own["content"] == "You are a pirate."
    said, cut = unfenced(last["content"])
    assert cut > 0
    assert ("pier 3" in said, "pier 3" in last["content"]) == (False, True)
    assert said.endswith("When does the ferry leave?")
    assert (body["temperature"], body["max_tokens"]) == (0.7, 50)


def test_completion_is_streamed(serve: Callable[..., Served]) -> None:
    """`stream` sends chunks (specification.md#completions-stream)."""
    served = serve(replies("At 9:40. From pier 3."))

    chunks = list(served.ask(stream=True, stream_options={"include_usage": True}))

    words = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert words == ["At", " 9:40.", " From", " pier", " 3.", None]
    assert [chunk.choices[0].delta.role for chunk in chunks[:2]] == ["assistant", None]
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 77
    assert events(served.context)[1][2] == "At 9:40. From pier 3."


def test_failing_model_is_an_error_and_stores_no_turn(serve: Callable[..., Served]) -> None:
    """503; of a stream, whose text cannot be withdrawn, no other model continues in its place."""
    served = serve(fails(401), streams(["At 9:40. ", "From"], is_complete=False))

    with pytest.raises(openai.InternalServerError) as failed:
        served.ask()
    with pytest.raises(openai.APIError):
        list(served.ask(stream=True))

    assert failed.value.status_code == 503
    assert "the endpoint rejected the key" in failed.value.response.json()["error"]["message"]
    assert len(served.model.requests) == 2
    assert len(events(served.context)) == 1


def test_repeated_idempotency_key_returns_the_first_answer(serve: Callable[..., Served]) -> None:
    """Also of a stream, whose text then comes in one piece."""
    served = serve(replies("At 9:40."))

    def ask(key: str, **more: Any) -> Any:
        return served.ask(extra_headers={"Idempotency-Key": key}, **more)

    first, again = ask("c-1"), ask("c-1")
    streamed, repeated = (
        [chunk.choices[0].delta.content for chunk in ask("c-2", stream=True)] for _ in range(2)
    )

    assert first.id == again.id
    assert (streamed, repeated[0]) == (["At", " 9:40.", None], "At 9:40.")
    assert len(served.model.requests) == 2


def test_metadata_is_of_the_turn_and_names_the_open_project(http: Http) -> None:
    """specification.md#completions-request"""
    fields: dict[str, Any] = {"messages": MESSAGES, "metadata": {"project": "pier", "ticket": "9"}}
    for project, time in (("pier", "8:15"), ("quay", "9:40")):
        told = f"The ferry leaves at {time}."
        http.remember(told, "Noted.", session_id=project, metadata={"project": project})

    answer = http.post(PATH, fields).json()
    stored = http.get(f"/api/v7/event/{answer['id']}").json()
    said = {"input": "When does the bus leave?", "metadata": {"project": "pier"}}
    response = http.post("/v1/responses", said).json()

    assert stored["metadata"] == {"project": "pier", "ticket": "9"}
    assert response["metadata"] == {"project": "pier"}
    text = answer["choices"][0]["message"]["content"]
    assert ("8:15" in text, "9:40" in text) == (True, False)


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


def test_models_are_listed_by_the_names_that_requests_take(serve: Callable[..., Served]) -> None:
    """`memory`, `memory-quotes`, each model (specification.md#completions-models)."""
    served = serve(replies("Aye."))
    place = f"127.0.0.1:{served.model.port}"
    names = ["memory", "memory-quotes", f"tiny@{place}", "memory-embedder"]
    quotes = served.ask(model="memory-quotes").choices[0].message.content

    assert [model.id for model in served.client.models.list()] == names
    assert served.client.models.retrieve(names[2]).owned_by == place
    assert "At 9:40 from pier 3." in quotes
    assert served.model.requests == []
    assert served.ask(model=names[2]).choices[0].message.content == "Aye."
    assert served.ask(model="tiny").model == "tiny"
    with pytest.raises(openai.NotFoundError) as unknown:
        served.client.models.retrieve("org/none")
    assert unknown.value.code == "model_not_found"

"""The OpenAI-compatible Responses API with the official `openai` client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from endpoint import calls_tools, replies
from openai_service import Served, events
from service import Http

openai = pytest.importorskip("openai", reason="the package `openai` is not installed")
PATH = "/v1/responses"
QUESTION = "When does the ferry leave?"
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "timetable",
    "parameters": {"type": "object", "properties": {}},
}
CALL = ("call_1", "timetable", '{"port": "Elba"}')


def test_response_recalls_forwards_and_remembers(serve: Callable[..., Served]) -> None:
    """Instructions, memory, model, stored turn (specification.md#responses-response)."""
    served = serve(replies("At 9:40."))

    answer = served.client.responses.create(
        model="memory",
        input=QUESTION,
        instructions="Be brief.",
        max_output_tokens=50,
        extra_body={"session_id": "sea"},
    )

    assert (answer.output_text, answer.status, answer.usage.total_tokens) == (
        "At 9:40.",
        "completed",
        77,
    )
    [stored] = events(served.context)[1:]
    assert stored == ("sea", QUESTION, "At 9:40.")
    body = served.model.requests[0]
    assert [message["role"] for message in body["messages"]] == ["system", "system", "user"]
    assert body["messages"][1]["content"] == "Be brief."
    assert "pier 3" in body["messages"][2]["content"]
    assert body["max_tokens"] == 50


def test_response_is_streamed_as_events(serve: Callable[..., Served]) -> None:
    """The SDK reads each event (specification.md#responses-stream)."""
    served = serve(replies("At 9:40. From pier 3."))

    received = list(served.client.responses.create(model="memory", input=QUESTION, stream=True))

    kinds = [event.type for event in received]
    deltas = [event.delta for event in received if event.type == "response.output_text.delta"]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert deltas == ["At", " 9:40.", " From", " pier", " 3."]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in received] == list(range(len(received)))
    assert received[-1].response.output_text == "At 9:40. From pier 3."
    assert events(served.context)[1][2] == "At 9:40. From pier 3."


def test_function_tools_make_a_round(serve: Callable[..., Served]) -> None:
    """A call is handed back; its output continues the turn (specification.md#responses-tools)."""
    served = serve(calls_tools(CALL), replies("At 9:40."))
    conversation: list[Any] = [{"role": "user", "content": QUESTION}]

    first = served.client.responses.create(model="memory", input=conversation, tools=[TOOL])
    [call] = first.output
    assert (call.call_id, call.name, call.arguments) == CALL
    assert len(events(served.context)) == 1
    output = {"type": "function_call_output", "call_id": "call_1", "output": "Elba 9:40"}
    conversation += [call.model_dump(exclude_none=True), output]
    second = served.client.responses.create(model="memory", input=conversation, tools=[TOOL])

    assert second.output_text == "At 9:40."
    assert served.model.requests[0]["tools"][0]["function"]["name"] == "timetable"
    messages = served.model.requests[1]["messages"]
    assert messages[-2]["tool_calls"][0]["id"] == "call_1"
    assert messages[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "Elba 9:40"}
    assert len(events(served.context)) == 2


def test_streamed_function_call_is_collected_by_the_sdk(serve: Callable[..., Served]) -> None:
    """Arguments come in pieces (specification.md#responses-stream)."""
    served = serve(calls_tools(CALL))

    with served.client.responses.stream(model="memory", input=QUESTION, tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        [call] = stream.get_final_response().output

    assert (call.call_id, call.name, call.arguments) == CALL
    assert kinds.count("response.function_call_arguments.delta") == 2


def test_images_and_formats_reach_the_model(serve: Callable[..., Served]) -> None:
    """Parts and formats become those of chat completions (specification.md#responses-request)."""
    served = serve(replies('{"port": "Elba"}'))
    url = "data:image/png;base64,iVBORw0KGgo="
    schema = {"type": "object", "properties": {"port": {"type": "string"}}}
    parts = [
        {"type": "input_text", "text": "Which port?"},
        {"type": "input_image", "image_url": url, "detail": "low"},
    ]

    answer = served.client.responses.create(
        model="memory",
        input=[{"role": "user", "content": parts}],
        text={"format": {"type": "json_schema", "name": "port", "schema": schema}},
    )

    body = served.model.requests[0]
    assert answer.output_text == '{"port": "Elba"}'
    assert body["messages"][-1]["content"][-1] == {
        "type": "image_url",
        "image_url": {"url": url, "detail": "low"},
    }
    assert body["response_format"]["json_schema"] == {"name": "port", "schema": schema}


def test_what_is_not_supported_is_rejected(shared: Http) -> None:
    """422 names the field (specification.md#responses-refused)."""
    poem = [{"role": "user", "content": [{"type": "poem"}]}]
    for more, param in (
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "tools"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": poem}, "input[0].content"),
        ({"input": [{"role": "assistant", "content": "Hi"}]}, "input"),
    ):
        answer = shared.post(PATH, {"input": QUESTION, **more})
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)

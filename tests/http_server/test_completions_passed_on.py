"""The OpenAI-compatible endpoint passes tools, formats and images on to the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from endpoint import calls_tools, fails, replies, sends
from openai_service import MESSAGES, TOOL, Served, events

from remembrancer.protocol.fence import unfenced

openai = pytest.importorskip("openai", reason="the package `openai` is not installed")
CALL = ("call_1", "timetable", '{"port": "Elba"}')
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_tools_are_passed_on_and_a_tool_call_is_handed_back(serve: Callable[..., Served]) -> None:
    """The turn is stored when its answer comes (specification.md#completions-tools)."""
    served = serve(calls_tools(CALL), replies("At 9:40."))

    answer = served.ask(tools=[TOOL], tool_choice="auto", parallel_tool_calls=False)

    [choice] = answer.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    [called] = choice.message.tool_calls
    assert (called.id, called.function.name, called.function.arguments) == CALL
    body = served.model.requests[0]
    assert (body["tools"], body["tool_choice"], body["parallel_tool_calls"]) == (
        [TOOL],
        "auto",
        False,
    )
    assert len(events(served.context)) == 1  # the one stored before

    result = {"role": "tool", "tool_call_id": "call_1", "content": "Elba 9:40"}
    messages = [*MESSAGES, choice.message.model_dump(exclude_none=True), result]
    assert served.ask(messages=messages, tools=[TOOL]).choices[0].message.content == "At 9:40."
    messages_sent = served.model.requests[1]["messages"]
    assert [message["role"] for message in messages_sent] == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert "pier 3" in messages_sent[2]["content"]  # memory stays before the user's message
    assert messages_sent[3]["content"] is None
    assert messages_sent[3]["tool_calls"][0]["function"]["arguments"] == CALL[2]
    assert messages_sent[4] == result
    assert events(served.context)[1][1:] == ("When does the ferry leave?", "At 9:40.")


def test_results_of_tools_count_no_step(serve: Callable[..., Served]) -> None:
    """One step per message of the user (specification.md#completions-step)."""
    served = serve(calls_tools(CALL), calls_tools(CALL), replies("At 9:40."))
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1"}]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "9:40"}

    for rounds in range(3):
        served.ask(messages=[*MESSAGES, *[called, result] * rounds], tools=[TOOL])

    steps = served.context.store.read(lambda tx: tx.all("select step from steps"))
    assert [row.step for row in steps] == [1]


def test_tool_calls_are_streamed_in_pieces(serve: Callable[..., Served]) -> None:
    """Pieces of arguments come as the model sends them (specification.md#completions-stream)."""
    served = serve(calls_tools(CALL, ("call_2", "weather", "{}")))

    chunks = list(served.ask(tools=[TOOL], stream=True))

    pieces = [
        (call.index, call.id, call.function.name, call.function.arguments)
        for chunk in chunks
        for call in chunk.choices[0].delta.tool_calls or ()
    ]
    assert pieces[:3] == [
        (0, "call_1", "timetable", ""),
        (0, None, None, '{"port":'),
        (0, None, None, ' "Elba"}'),
    ]
    assert [piece[:3] for piece in pieces[3:]] == [
        (1, "call_2", "weather"),
        (1, None, None),
        (1, None, None),
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert len(events(served.context)) == 1


def test_sampling_and_unknown_fields_reach_the_model(serve: Callable[..., Served]) -> None:
    """All other fields are passed on (specification.md#completions-passed-on)."""
    served = serve(replies("Aye."))
    fields = {
        "top_p": 0.5,
        "seed": 7,
        "stop": ["\n"],
        "presence_penalty": 0.1,
        "reasoning_effort": "low",
        "logit_bias": {"50256": -100},
    }

    served.ask(**fields, extra_body={"min_p": 0.05, "session_id": "sea"})

    body = served.model.requests[0]
    assert {name: body[name] for name in [*fields, "min_p"]} == {**fields, "min_p": 0.05}
    assert not {"session_id", "user", "stream_options"} & set(body)


def test_images_reach_the_model_and_memory_goes_before_them(serve: Callable[..., Served]) -> None:
    """A part of memory's text, then the client's parts (specification.md#completions-parts)."""
    served = serve(replies("A ferry."))
    parts = [{"type": "text", "text": "Which ferry to Elba is this?"}, IMAGE]

    served.ask(messages=[{"role": "user", "content": parts}])

    messages_sent = served.model.requests[0]["messages"][-1]["content"]
    assert "pier 3" in messages_sent[0]["text"]
    assert unfenced(messages_sent[0]["text"])[1] > 0
    assert messages_sent[1:] == parts
    assert events(served.context)[1][1] == "Which ferry to Elba is this?[image]"


def test_every_choice_is_returned_and_the_first_is_stored(serve: Callable[..., Served]) -> None:
    """`n` answers (specification.md#completions-choices)."""
    choices = [
        {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for n, text in enumerate(("Aye.", "No."))
    ]
    served = serve(sends(json.dumps({"choices": choices}).encode()))

    answer = served.ask(n=2)

    assert [(one.index, one.message.content) for one in answer.choices] == [(0, "Aye."), (1, "No.")]
    assert served.model.requests[0]["n"] == 2
    assert events(served.context)[1][2] == "Aye."


def test_request_that_the_model_rejects_is_an_error_of_the_client(
    serve: Callable[..., Served],
) -> None:
    """422 with the model's words; nothing stored (specification.md#completions-rejected)."""
    served = serve(fails(400, "tools are not supported by tiny"))

    with pytest.raises(openai.UnprocessableEntityError) as failed:
        served.ask(tools=[TOOL])

    assert "tools are not supported by tiny" in str(failed.value)
    assert len(events(served.context)) == 1


def test_secrets_in_tool_results_do_not_leave_the_service(serve: Callable[..., Served]) -> None:
    """Masking covers all that is passed on, but no image (specification.md#completions-flow)."""
    served = serve(replies("Noted."))
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
    messages: list[Any] = [
        *MESSAGES,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": f"The token is {secret} ."},
        {"role": "user", "content": [{"type": "text", "text": f"Use {secret} here."}, IMAGE]},
    ]

    served.ask(messages=messages)

    assert secret not in json.dumps(served.model.requests[0])
    assert IMAGE in served.model.requests[0]["messages"][-1]["content"]

"""The OpenAI-compatible API over a real socket, with the official `openai` client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from endpoint import calls_tools, fails, replies, sends, streams
from openai_service import MESSAGES, TOOL, Served, events
from service import Http, rows

from remembrancer.agent.answers import NO_MODEL
from remembrancer.http.problems import respond
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


JSON = {"Content-Type": "application/json"}
FIELDS = ["message", "type", "param", "code"]


CASES: list[tuple[int, str, str, dict[str, Any]]] = [
    (400, "invalid_json", f"POST {PATH}", {"content": b"{"}),
    (401, "invalid_api_key", "GET /v1/models", {"headers": {"Authorization": "Bearer sk_none"}}),
    (404, "not_found", "GET /v1/files", {}),
    (405, "method_not_allowed", f"GET {PATH}", {}),
    (413, "too_large", f"POST {PATH}", {"headers": {"Content-Length": "9" * 12}}),
    (415, "unsupported_media_type", f"POST {PATH}", {"headers": {"Content-Type": "text/plain"}}),
    (421, "misdirected_request", "GET /v1/models", {"headers": {"Host": "evil.example"}}),
    (422, "invalid_request", f"POST {PATH}", {"content": b"{}"}),
]


def test_error_under_v1_has_the_shape_of_openai(shared: Http) -> None:
    """`message`, `type`, `param` and `code` in `error` (specification.md#completions-errors)."""
    for status, code, request_line, options in CASES:
        answer = shared.ask(*request_line.split(" "), **{"headers": JSON, **options})

        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/json"
        assert list(answer.json()) == ["error"]
        error = answer.json()["error"]
        assert list(error) == FIELDS
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        assert (error["type"], error["code"]) == (kind, code)
        assert error["message"]
    assert shared.get("/v11").json()["error"] == "not_found"  # only `/v1` and the paths below it


@pytest.mark.settings(rate_chat_per_minute=1)
def test_exceeded_limit_has_code_and_header_of_openai(http: Http) -> None:
    """429 with `rate_limit_exceeded`, `Retry-After` (specification.md#completions-errors)."""
    answers = [http.post(PATH, {"messages": []}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [422, 429]
    assert answers[1].json()["error"]["code"] == "rate_limit_exceeded"
    assert answers[1].json()["error"]["type"] == "rate_limit_error"
    assert int(answers[1].headers["retry-after"]) > 0


def test_unforeseen_error_under_v1_is_a_server_error() -> None:
    """500 has the shape of the others (specification.md#completions-errors)."""
    answer = respond(RuntimeError("defect"), {"path": PATH, "request_id": "r1"})

    assert answer.status_code == 500
    assert b'"type": "server_error"' in bytes(answer.body)
    assert b"defect" not in bytes(answer.body)

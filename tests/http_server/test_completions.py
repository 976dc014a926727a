"""The OpenAI-compatible API over a real socket, with the official `openai` client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Play, endpoint, fails, replies, streams
from service import Http, new_key, rows, serving
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.protocol.fence import unfenced
from remembrancer.server.app import make_app
from remembrancer.settings import Settings

openai = pytest.importorskip("openai", reason="the package `openai` is not installed")
PATH = "/v1/chat/completions"
MESSAGES = [
    {"role": "system", "content": "You are a pirate."},
    {"role": "user", "content": "When does the ferry leave?"},
]


class Served:
    """A running service, an OpenAI client connected to it, and its model."""

    def __init__(self, context: Context, client: Any, model: Endpoint) -> None:
        self.context, self.client, self.model = context, client, model

    def ask(self, **more: Any) -> Any:
        """Ask about the ferry."""
        return self.client.chat.completions.create(
            **{"model": "memory", "messages": MESSAGES, **more}
        )


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Served]]:
    """Return a function that starts a service with a scripted chat model and one stored turn."""
    with ExitStack() as stack:

        def begin(*plays: Play) -> Served:
            model = stack.enter_context(endpoint(*plays))
            settings = Settings(
                data=folder, embedder="none", durability="normal", model_chat=model.named()
            )
            context = testing.context(folder, settings=settings)
            stack.callback(context.close)
            key = new_key(context)
            with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
                Http(client, context, key).remember(
                    "When does the ferry to Elba leave?", "At 9:40 from pier 3."
                )
            port = stack.enter_context(serving(make_app(context)))
            client = stack.enter_context(
                openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0)
            )
            return Served(context, client, model)

        yield begin


def events(context: Context) -> list[tuple[str, str, str]]:
    """Return the session, query and response of each stored event."""
    sql = (
        "select s.session_id, e.query, e.response from events e join sessions s on s.id "
        "= e.session order by e.id"
    )
    return [tuple(row) for row in context.store.read(lambda tx: tx.all(sql))]


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
        "At 9:40. ",
        "From pier 3.",
        None,
    ]
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
        streamed[0].choices[0].delta.content == repeated[0].choices[0].delta.content == "At 9:40."
    )
    assert len(served.model.requests) == 2


def test_missing_chat_model_error_names_the_setting(http: Http) -> None:
    """Without a chat model: 503 (specification.md#completions-no-model)."""
    before = rows(http.context)
    answer = http.post(PATH, {"model": "memory", "messages": MESSAGES})

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (503, "server_error")
    assert "REMEMBRANCER_MODEL_CHAT" in error["message"]
    assert rows(http.context) == before


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "assistant", "content": "Hi"}]},
        {"messages": [{"role": "tool", "content": "Hi"}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "http://x"}}],
                }
            ]
        },
        {"messages": MESSAGES, "n": 2},
        {"messages": MESSAGES, "tools": [{"type": "function"}]},
        {"messages": MESSAGES, "response_format": {"type": "json_object"}},
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


def test_models_endpoint_lists_the_memory_model(
    serve: Callable[..., Served],
) -> None:
    """The list holds the model `memory` (specification.md#completions-models)."""
    served = serve(replies("Aye."))

    assert [model.id for model in served.client.models.list()] == ["memory"]


def test_models_list_is_empty_without_a_chat_model(http: Http) -> None:
    """Without a chat model the list is empty (specification.md#completions-models)."""
    assert http.get("/v1/models").json() == {"object": "list", "data": []}

"""Use /v1 through LangChain, LiteLLM and the openai package; print one line per check.

Runs in the environment `clients`. Arguments: address of the service. KEY: its key.
"""

# ruff: noqa: T201 - a program of a test, which prints
from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

import litellm
import openai
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

URL, KEY = f"{sys.argv[1]}/v1", os.environ["KEY"]
QUESTION = "When does the ferry to Elba leave?"
MESSAGES: list[Any] = [{"role": "user", "content": QUESTION}]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}},
}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class Departure(BaseModel):
    """A structured answer."""

    port: str
    time: str


@tool
def weather(place: str) -> str:
    """Return the weather of a place."""
    return f"{place}: sunny"


def langchain() -> dict[str, Callable[[], Any]]:
    """Return the checks of langchain-openai."""
    chat = ChatOpenAI(model="memory", base_url=URL, api_key=KEY)
    responses = ChatOpenAI(model="memory", base_url=URL, api_key=KEY, use_responses_api=True)
    embeddings = OpenAIEmbeddings(
        model="memory-embedder", base_url=URL, api_key=KEY, check_embedding_ctx_length=False
    )

    def tools() -> Any:
        model, messages = chat.bind_tools([weather]), [HumanMessage(QUESTION)]
        messages.append(model.invoke(messages))
        messages += [weather.invoke(call) for call in messages[-1].tool_calls]
        return model.invoke(messages).content

    return {
        "invoke": lambda: chat.invoke(QUESTION).content,
        "stream": lambda: "".join(piece.content for piece in chat.stream(QUESTION)),
        "async": lambda: asyncio.run(chat.ainvoke(QUESTION)).content,
        "batch": lambda: [answer.content for answer in chat.batch([QUESTION, QUESTION])],
        "tools": tools,
        "structured": lambda: chat.with_structured_output(Departure).invoke(QUESTION).time,
        "json_mode": lambda: (
            chat.with_structured_output(Departure, method="json_mode").invoke(QUESTION).time
        ),
        "responses": lambda: responses.invoke(QUESTION).content[0]["text"],
        "responses_stream": lambda: [piece.content for piece in responses.stream(QUESTION)],
        "responses_tools": lambda: responses.bind_tools([weather]).invoke(QUESTION).tool_calls,
        "embeddings": lambda: len(embeddings.embed_documents(["a", "b"])[1]),
    }


def lite() -> dict[str, Callable[[], Any]]:
    """Return the checks of LiteLLM."""
    litellm.suppress_debug_info = True
    target = {"model": "openai/memory", "api_base": URL, "api_key": KEY}

    def complete(**more: Any) -> Any:
        return litellm.completion(**{"messages": MESSAGES, **target, **more})

    def wrong_key() -> str:
        try:
            return str(complete(api_key="sk_none"))
        except litellm.AuthenticationError as error:
            return type(error).__name__

    image = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, IMAGE]}]
    return {
        "completion": lambda: complete().choices[0].message.content,
        "stream": lambda: (
            litellm.stream_chunk_builder(list(complete(stream=True))).choices[0].message.content
        ),
        "tools": lambda: complete(tools=[TOOL]).choices[0].message.tool_calls[0].function.name,
        "stream_tools": lambda: (
            litellm.stream_chunk_builder(list(complete(stream=True, tools=[TOOL])))
            .choices[0]
            .message.tool_calls[0]
            .function.arguments
        ),
        "image": lambda: complete(messages=image).choices[0].message.content,
        "json": lambda: complete(response_format=Departure).choices[0].message.content,
        "embedding": lambda: len(
            litellm.embedding(**{**target, "model": "openai/memory-embedder"}, input=["a"]).data
        ),
        "responses": lambda: litellm.responses(input=QUESTION, **target).output[0].content[0].text,
        "responses_stream": lambda: len(
            list(litellm.responses(input=QUESTION, stream=True, **target))
        ),
        "wrong_key": wrong_key,
    }


def official() -> dict[str, Callable[[], Any]]:
    """Return the checks of the openai package of another major version than the project's."""
    client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
    return {
        "parse": lambda: (
            client.chat.completions.parse(
                model="memory", messages=MESSAGES, response_format=Departure
            )
            .choices[0]
            .message.parsed.time
        ),
        "responses_parse": lambda: (
            client.responses.parse(
                model="memory", input=QUESTION, text_format=Departure
            ).output_parsed.time
        ),
        "models": lambda: [model.id for model in client.models.list()][:2],
    }


def main() -> None:
    """Run every check; print its name and result, or the error."""
    for package, checks in (
        ("langchain", langchain()),
        ("litellm", lite()),
        ("openai", official()),
    ):
        for name, check in checks.items():
            try:
                print(f"{package} {name}: {check()}")
            except Exception as error:  # noqa: BLE001 - the test shows every failure at once
                print(f"{package} {name}: BROKEN {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

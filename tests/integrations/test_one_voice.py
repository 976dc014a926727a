"""All that a model reads in each set-up is one set of instructions, without a contradiction.

Three set-ups: an agent with hooks (and the tools beside them), one with the tools of MCP alone, and
one that sends HTTP requests. See specification.md#start-client.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from integrations.agent import Agent
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from service import Http, new_key

from remembrancer.context import Context
from remembrancer.http.agent_instructions import files

PATHS = re.compile(r"/api/v7/|\b(?:GET|POST|PUT|PATCH|DELETE) /")
DUTIES_OF_HOOKS = re.compile(
    r"\b[Cc]all `?(?:remember|start_pack|second_look)\b|\bseal\b|READ \| VERIFY|service lines?\b"
    r"|> draft > `?remember|check the answer with second_look|CUBE_NOTHING|\bRATE line"
)
SEAL = re.compile(r"READ \| VERIFY|Seal each reply|seal as its last line")
TOOL_STEPS = re.compile(r"`(?:recall|remember|second_look|start_pack|save_cube|vote)`")
TURN = {"query": "When does the ferry leave?", "response": "At 9:40 from pier 3."}


def mcp_texts(url: str, key: str, path: str) -> list[str]:
    """Return what a model reads over MCP: instructions, tools, results, prompt and resource."""

    async def read() -> list[str]:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30)
        async with http, Client(streamable_http_client(url + path, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            texts = [str(client.instructions or "")]
            texts += [f"{tool.description} {json.dumps(tool.input_schema)}" for tool in tools]
            calls: dict[str, dict[str, Any]] = {
                "recall": {"query_text": "ferry", "session_id": "m"},
                "remember": {"critical": "Ada gets seasick.", "session_id": "m"},
                "start_pack": {"session_id": "m"},
                "list_facts": {},
                "save_cube": {
                    "topic": "ferries",
                    "essence": "Ferries leave early.",
                    "rules_markdown": "- MUST come early",
                    "evidence": "docs",
                },
            }
            for tool in tools:
                if tool.name in calls:
                    result: Any = await client.call_tool(tool.name, calls[tool.name])
                    texts += [str(part.text) for part in result.content]
            prompt: Any = await client.get_prompt("constitution")
            start: Any = await client.read_resource("memory://start")
            return [*texts, str(prompt.messages[0].content.text), str(start.contents[0].text)]

    return asyncio.run(read())


def strings(answer: Any) -> Iterator[str]:
    """Yield the texts of an answer of the hooks."""
    if isinstance(answer, str):
        yield answer
    for value in answer.values() if isinstance(answer, dict) else ():
        yield from strings(value)


def hook_texts(agent: Agent) -> list[str]:
    """Return what a model reads from hooks over a turn that is sent back and a denied call."""
    cursor = agent.name == "cursor"
    answers = [agent.trigger("sessionStart" if cursor else "SessionStart")]
    prompt = "beforeSubmitPrompt" if cursor else "UserPromptSubmit"
    answers.append(agent.trigger(prompt, prompt="When does the ferry leave?"))
    tool = {"command": "echo x > /etc/nginx/nginx.conf"}
    name = "preToolUse" if cursor else "PreToolUse"
    shell = "Shell" if cursor else "Bash"
    answers.append(agent.trigger(name, tool_name=shell, tool_input=tool))
    draft = "The ferry leaves at 11:15 from pier 3 (ref: e_0000000000001)."
    if cursor:
        agent.trigger("afterAgentResponse", text=draft)
    answers.append(agent.trigger("stop" if cursor else "Stop", last_assistant_message=draft))
    texts = [text for answer in answers for text in strings(answer)]
    assert any("Hooks" in text for text in texts)
    assert any("No grant lets" in text for text in texts)
    assert any("second look" in text for text in texts)
    return texts


def matches(pattern: re.Pattern[str], texts: list[str]) -> list[str]:
    """Return the places in which a text breaks the rule of its set-up."""
    return [
        text[max(match.start() - 60, 0) : match.end() + 30]
        for text in texts
        for match in pattern.finditer(text)
    ]


@pytest.mark.parametrize("name", ["claude-code", "codex", "cursor"])
def test_beside_hooks_no_text_asks_for_what_hooks_do(
    home: Path, service_url: str, owner: Http, context: Context, name: str
) -> None:
    """Start pack, recall, refusals, second look, skill, tools and their results."""
    owner.remember(**TURN)
    key = new_key(context)
    texts = hook_texts(Agent(home, service_url, key, name))
    texts += mcp_texts(service_url, key, "/mcp?client=hooks")
    if name == "claude-code":
        texts.append(files()["integrations/claude-code/skills/memory/SKILL.md"])

    assert matches(DUTIES_OF_HOOKS, texts) == []
    assert matches(PATHS, texts) == []


def test_with_tools_alone_no_text_names_a_path_or_a_seal(
    service_url: str, owner: Http, context: Context
) -> None:
    owner.remember(**TURN)
    texts = mcp_texts(service_url, new_key(context), "/mcp")
    texts.append(files()["integrations/AGENTS.md"])

    assert matches(PATHS, texts) == []
    assert matches(SEAL, texts) == []
    assert any("`recall` > draft > `remember`" in text for text in texts)
    assert matches(DUTIES_OF_HOOKS, texts) != []  # the rule of the other set-up recognizes them


def test_with_requests_alone_no_text_names_a_tool(http: Http) -> None:
    http.remember(**TURN, session_id="h")
    answers = [http.memory("ferry", session_id="h") for _ in range(3)]
    texts = [http.get("/api/v7/memory/start").json()["prompt_text"]]
    texts.append(http.get("/api/v7/agent/prompt", params={"user_id": "owner"}).json()["prompt"])
    for answer in answers:
        texts += [*answer.get("reminders", ()), answer.get("duty_error") or ""]

    assert matches(TOOL_STEPS, texts) == []
    assert matches(PATHS, texts) != []
    assert matches(SEAL, texts) != []


@pytest.mark.parametrize("client", ["mcp", "hooks"])
def test_start_pack_and_prompt_speak_to_their_reader(http: Http, client: str) -> None:
    """Parameter `client` (specification.md#start-client)."""
    texts = [
        http.get("/api/v7/memory/start", params={"client": client}).json()["prompt_text"],
        http.get("/api/v7/agent/prompt", params={"client": client, "user_id": "owner"}).json()[
            "prompt"
        ],
    ]

    assert matches(PATHS, texts) == matches(SEAL, texts) == []
    assert all("Never invent a memory" in text for text in texts)
    assert http.get("/api/v7/memory/start", params={"client": "x"}).status_code == 422

"""Anthropic's memory tool returns the texts of the endpoint unchanged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from anthropic.lib.tools import ToolError

from remembrancer.client import AsyncClient, Client
from remembrancer.client.memory_tool import async_memory_tool, memory_tool
from remembrancer.protocol.files import FileCommand

COMMANDS: tuple[dict[str, Any], ...] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/a", "file_text": "one\ntwo\n"},
    {"command": "create", "path": "/memories/a", "file_text": "again"},
    {"command": "view", "path": "/memories/a", "view_range": [2, -1]},
    {"command": "str_replace", "path": "/memories/a", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/a", "old_str": "two", "new_str": "2"},
    {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "zero"},
    {"command": "view", "path": "/memories/../a"},
    {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/b"},
    {"command": "delete", "path": "/memories/b"},
    {"command": "delete", "path": "/memories/b"},
)


def _endpoint(client: Client) -> list[tuple[str, bool]]:
    results = [client.file_command(FileCommand(**command, user_id="plain")) for command in COMMANDS]
    return [(result.text, result.is_error) for result in results]


def test_tool_returns_the_text_of_the_endpoint(client: Client) -> None:
    tool = memory_tool(client, user_id="ada")

    def tool_result(command: dict[str, Any]) -> tuple[str, bool]:
        try:
            return str(tool.call(command)), False
        except ToolError as error:
            return str(error), True

    assert [tool_result(command) for command in COMMANDS] == _endpoint(client)


def test_async_tool_returns_the_text_of_the_endpoint(url: str, key: str, client: Client) -> None:
    async def tool_result() -> list[tuple[str, bool]]:
        results: list[tuple[str, bool]] = []
        async with AsyncClient(url, key) as memory:
            tool = async_memory_tool(memory, user_id="ada")
            for command in COMMANDS:
                try:
                    results.append((str(await tool.call(command)), False))
                except ToolError as error:
                    results.append((str(error), True))
        return results

    assert asyncio.run(tool_result()) == _endpoint(client)


@pytest.mark.parametrize(
    "tool_input", [{"command": "undo", "path": "/memories/a"}, {"command": "view"}, "view", None]
)
def test_invalid_command_is_a_tool_error(client: Client, tool_input: object) -> None:
    with pytest.raises(ToolError, match=r"^Error: "):
        memory_tool(client).call(tool_input)


def test_model_cannot_choose_the_user(client: Client) -> None:
    memory_tool(client, user_id="ada").call(dict(COMMANDS[1], user_id="bob"))

    assert (
        client.file_command(FileCommand(command="view", path="/memories/a", user_id="ada")).is_error
        is False
    )
    assert (
        client.file_command(FileCommand(command="view", path="/memories/a", user_id="bob")).is_error
        is True
    )


def test_unreachable_service_is_a_tool_error() -> None:
    with (
        Client("http://127.0.0.1:9", "sk_0", sleep=lambda _: None) as client,
        pytest.raises(ToolError, match=r"^Error: .*No service answers at"),
    ):
        memory_tool(client).call(COMMANDS[0])

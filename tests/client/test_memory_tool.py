"""The adapter for Anthropic's memory tool gives what the endpoint gives, word for word."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand

from remembrancer.client import AsyncClient, Client
from remembrancer.client.memory_tool import async_memory_tool, memory_tool
from remembrancer.protocol.memory_files import FileCommand

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
    done = [client.file_command(FileCommand(**command, user_id="plain")) for command in COMMANDS]
    return [(one.text, one.is_error) for one in done]


def test_the_tool_says_what_the_endpoint_says(client: Client) -> None:
    tool = memory_tool(client, user_id="ada")

    def said(command: dict[str, Any]) -> tuple[str, bool]:
        try:
            return str(tool.call(command)), False
        except ToolError as refused:
            return str(refused), True

    assert [said(command) for command in COMMANDS] == _endpoint(client)


def test_the_same_for_asyncio(url: str, key: str, client: Client) -> None:
    async def said() -> list[tuple[str, bool]]:
        told: list[tuple[str, bool]] = []
        async with AsyncClient(url, key) as memory:
            tool = async_memory_tool(memory, user_id="ada")
            for command in COMMANDS:
                try:
                    told.append((str(await tool.call(command)), False))
                except ToolError as refused:
                    told.append((str(refused), True))
        return told

    assert asyncio.run(said()) == _endpoint(client)


def test_it_is_the_tool_that_the_model_knows(client: Client) -> None:
    assert memory_tool(client).to_dict() == {"type": "memory_20250818", "name": "memory"}


def test_a_command_of_the_package_is_taken_too(client: Client) -> None:
    shown = memory_tool(client).view(BetaMemoryTool20250818ViewCommand(command="view", path="/memories"))

    assert str(shown).endswith("\t/memories")


@pytest.mark.parametrize("given", [{"command": "undo", "path": "/memories/a"}, {"command": "view"}, "view", None])
def test_what_is_no_command_is_told_to_the_model(client: Client, given: object) -> None:
    with pytest.raises(ToolError, match=r"^Error: "):
        memory_tool(client).call(given)


def test_the_model_cannot_choose_whose_files(client: Client) -> None:
    memory_tool(client, user_id="ada").call(dict(COMMANDS[1], user_id="bob"))

    assert client.file_command(FileCommand(command="view", path="/memories/a", user_id="ada")).is_error is False
    assert client.file_command(FileCommand(command="view", path="/memories/a", user_id="bob")).is_error is True


def test_a_service_that_is_away_is_told_to_the_model() -> None:
    with Client("http://127.0.0.1:9", "sk_0", sleep=lambda _: None) as nobody, pytest.raises(ToolError, match=r"^Error: .*gave no answer"):
        memory_tool(nobody).call(COMMANDS[0])


def test_the_client_needs_no_such_package() -> None:
    code = "import sys; sys.modules['anthropic'] = None; import remembrancer.client, remembrancer.client.memory_tool"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

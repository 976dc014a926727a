"""Anthropic's memory tool, with the service's versioned files behind it: what the `anthropic` package's tool runner takes.

`memory_20250818` is a tool that the model knows and the client carries out. The package is imported when a tool is made, not before;
docs/guides/memory-tool.md shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..protocol.memory_files import FileCommand
from .api import AsyncClient, Client
from .errors import ClientError

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool


def memory_tool(client: Client, *, user_id: str | None = None) -> BetaAbstractMemoryTool:
    """The tool for `Anthropic().beta.messages.tool_runner(tools=[...])`; `user_id` says whose files, by default the key's own.

    What the service refuses, and that it cannot be reached, is told to the model as an error of the tool. Raises ImportError without the
    package `anthropic`.
    """
    from anthropic.lib.tools import (  # here: the client works without the package
        BetaAbstractMemoryTool,
        ToolError,
    )

    class MemoryFiles(BetaAbstractMemoryTool):
        """The commands of the tool, each carried out by the service."""

        def call(self, input: object) -> str:
            try:
                done = client.file_command(_command(input, user_id))
            except (ClientError, _Unfit) as error:
                raise ToolError(f"Error: {error}") from error
            if done.is_error:
                raise ToolError(done.text)
            return done.text

        def execute(self, command: Any) -> str:
            return self.call(command.to_dict())

        view = create = str_replace = insert = delete = rename = execute

    return MemoryFiles()


def async_memory_tool(client: AsyncClient, *, user_id: str | None = None) -> BetaAsyncAbstractMemoryTool:
    """The same for `AsyncAnthropic()`."""
    from anthropic.lib.tools import (  # here: the client works without the package
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )

    class MemoryFiles(BetaAsyncAbstractMemoryTool):
        """The commands of the tool, each carried out by the service."""

        async def call(self, input: object) -> str:
            try:
                done = await client.file_command(_command(input, user_id))
            except (ClientError, _Unfit) as error:
                raise ToolError(f"Error: {error}") from error
            if done.is_error:
                raise ToolError(done.text)
            return done.text

        async def execute(self, command: Any) -> str:
            return await self.call(command.to_dict())

        view = create = str_replace = insert = delete = rename = execute

    return MemoryFiles()


class _Unfit(ValueError):
    """The input fits no command."""


def _command(given: object, user_id: str | None) -> FileCommand:
    if not isinstance(given, Mapping):
        raise _Unfit("the input is no object")
    try:
        return FileCommand.model_validate({**given, "user_id": user_id})
    except ValidationError as error:
        first = error.errors()[0]
        raise _Unfit(f"{'.'.join(map(str, first['loc'])) or 'the input'}: {first['msg']}") from None

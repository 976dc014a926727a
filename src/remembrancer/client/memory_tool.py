"""Anthropic's memory tool, backed by the service's versioned files.

The model knows the tool `memory_20250818`; the client executes its commands. The functions return
tools for the tool runner of the package `anthropic`, which is imported only when one is called.
`docs/guides/mcp.md` shows an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..protocol.files import FileCommand
from ..protocol.message import first_fault
from .api import AsyncClient, Client
from .errors import ClientError

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool


def memory_tool(client: Client, *, user_id: str | None = None) -> BetaAbstractMemoryTool:
    """Return the tool for `Anthropic().beta.messages.tool_runner(tools=[...])`.

    `user_id` selects whose files to use. Default: the key's own user. Errors of the service, and
    failures to reach it, are reported to the model as tool errors. Raises ImportError without the
    package `anthropic`.
    """
    # Imported here because the client works without the package.
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError

    class MemoryFiles(BetaAbstractMemoryTool):
        """The memory tool; the service executes its commands."""

        def call(self, input: object) -> str:
            try:
                result = client.file_command(_parse_command(input, user_id))
            except (ClientError, _InvalidCommandError) as error:
                raise ToolError(f"Error: {error}") from error
            if result.is_error:
                raise ToolError(result.text)
            return result.text

        def execute(self, command: Any) -> str:
            return self.call(command.to_dict())

        view = create = str_replace = insert = delete = rename = execute

    return MemoryFiles()


def async_memory_tool(
    client: AsyncClient, *, user_id: str | None = None
) -> BetaAsyncAbstractMemoryTool:
    """Return the tool for `AsyncAnthropic()`, like `memory_tool`."""
    # Imported here because the client works without the package.
    from anthropic.lib.tools import BetaAsyncAbstractMemoryTool, ToolError

    class AsyncMemoryFiles(BetaAsyncAbstractMemoryTool):
        """The memory tool; the service executes its commands."""

        async def call(self, input: object) -> str:
            try:
                result = await client.file_command(_parse_command(input, user_id))
            except (ClientError, _InvalidCommandError) as error:
                raise ToolError(f"Error: {error}") from error
            if result.is_error:
                raise ToolError(result.text)
            return result.text

        async def execute(self, command: Any) -> str:
            return await self.call(command.to_dict())

        view = create = str_replace = insert = delete = rename = execute

    return AsyncMemoryFiles()


class _InvalidCommandError(ValueError):
    """The input is not a command of the tool."""


def _parse_command(tool_input: object, user_id: str | None) -> FileCommand:
    if not isinstance(tool_input, Mapping):
        raise _InvalidCommandError("the input must be an object")
    try:
        return FileCommand.model_validate({**tool_input, "user_id": user_id})
    except ValidationError as error:
        raise _InvalidCommandError(first_fault(error)) from None

"""The tools over standard input and output: a separate process beside a running service."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from service import new_key, serving
from starlette.applications import Starlette

from remembrancer.context import Context


def test_turn_is_remembered_and_recalled_over_stdio(context: Context, app: Starlette) -> None:
    """`remembrancer mcp` speaks MCP over standard input and output.

    See specification.md#mcp-endpoint.
    """

    async def whole(port: int) -> tuple[Any, Any, list[str]]:
        environment = {
            "REMEMBRANCER_URL": f"http://127.0.0.1:{port}",
            "REMEMBRANCER_KEY": new_key(context),
        }
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "remembrancer", "mcp"], env=environment
        )
        async with Client(stdio_client(started)) as client:
            await client.call_tool(
                "remember", {"query": "When does the ferry leave?", "response": "At 9:40."}
            )
            recalled = await client.call_tool("recall", {"query_text": "ferry"})
            start: Any = (await client.read_resource("memory://start")).contents[0]
            return (
                recalled.content[0],
                start.text,
                [tool.name for tool in (await client.list_tools()).tools],
            )

    with serving(app) as port:
        recalled, start, tools = asyncio.run(whole(port))

    assert "\nanswer: At 9:40.\n" in recalled.text
    assert "Never invent a memory" in start
    assert {"recall", "remember", "search", "fetch"} <= set(tools)


def test_unreachable_service_is_reported_in_the_result() -> None:
    async def whole() -> Any:
        environment = {"REMEMBRANCER_URL": "http://127.0.0.1:9", "REMEMBRANCER_KEY": "sk_0"}
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "remembrancer", "mcp"], env=environment
        )
        async with Client(stdio_client(started)) as client:
            return await client.call_tool("recall", {"query_text": "ferry"})

    result = asyncio.run(whole())

    assert result.is_error
    assert "No service answers at" in result.content[0].text

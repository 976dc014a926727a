"""Anthropic's memory tool with storage in the service.

Usage: KEY=sk_... python examples/anthropic_memory_tool.py http://127.0.0.1:8460.
Prints the calls and the text.
"""

from __future__ import annotations

import os
import sys

from anthropic import Anthropic
from scripted_model import serving

from remembrancer.client import Client
from remembrancer.client.memory_tool import memory_tool
from remembrancer.protocol.files import FileQuery


def main() -> None:
    """Let the model read its memory and store a note, then print the versions of its file."""
    with (
        serving() as model_url,
        Client(sys.argv[1], os.environ["KEY"]) as memory,
        Anthropic(base_url=model_url, api_key="not needed") as model,
    ):
        runner = model.beta.messages.tool_runner(
            model="scripted",
            max_tokens=1_000,
            messages=[
                {
                    "role": "user",
                    "content": "The ferry to Elba leaves Piombino at 9:40, not at 9:10.",
                }
            ],
            tools=[memory_tool(memory)],
        )
        for message in runner:
            for block in message.content:
                if block.type == "tool_use":
                    print(f"> {block.input}")
                elif block.type == "text":
                    print(block.text)
        for version in memory.file_history(FileQuery(path="/memories/elba.md")).versions:
            print(
                f"{version.path}, version {version.version}: "
                f"{version.change}, {version.bytes} bytes"
            )


if __name__ == "__main__":
    main()

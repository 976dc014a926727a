"""An agent with memory that uses Anthropic's Messages API, with asyncio.

Usage: KEY=sk_... python examples/async_anthropic_messages.py http://127.0.0.1:8460.
Prints the conversation.
"""

from __future__ import annotations

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from scripted_model import QUESTIONS, serving

from remembrancer.client import AsyncClient
from remembrancer.client.adapters import async_anthropic_messages
from remembrancer.client.runtime import AsyncRuntime


async def main() -> None:
    """Tell the agent a fact, then ask for the fact and for something that it cannot know."""
    with serving() as model_url:
        async with (
            AsyncClient(sys.argv[1], os.environ["KEY"]) as memory,
            AsyncAnthropic(base_url=model_url, api_key="not needed") as model,
        ):
            agent = AsyncRuntime(
                memory,
                async_anthropic_messages(model, "scripted"),
                user_id="anthropic",
                session_id="ferry",
            )
            for question in QUESTIONS:
                print(f"> {question}\n{(await agent.turn(question)).text}\n")
            print(agent.counts.compliance())


if __name__ == "__main__":
    asyncio.run(main())

"""An asynchronous agent with memory on Anthropic's Messages API. Prints the conversation.

KEY=sk_... python examples/async_anthropic_messages.py http://127.0.0.1:8460
"""

from __future__ import annotations

import asyncio
import os
import sys

from anthropic import AsyncAnthropic
from scripted_model import QUESTIONS, run_model

from remembrancer.client import AsyncClient
from remembrancer.client.adapters import async_anthropic_messages
from remembrancer.client.runtime import AsyncRuntime


async def main() -> None:
    """Tell the agent a fact, ask for it, and ask for something it cannot know."""
    with run_model() as model_url:
        async with (
            AsyncClient(sys.argv[1], os.environ["KEY"]) as memory,
            AsyncAnthropic(base_url=model_url, api_key="none needed here") as model,
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

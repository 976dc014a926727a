"""A pydantic-ai agent with memory, with asyncio.

Usage: KEY=sk_... python examples/async_pydantic_ai_agent.py http://127.0.0.1:8460.
Prints the conversation.
"""

from __future__ import annotations

import asyncio
import os
import sys

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scripted_model import QUESTIONS, serving

from remembrancer.client import AsyncClient
from remembrancer.client.adapters import async_pydantic_ai_agent
from remembrancer.client.runtime import AsyncRuntime


async def main() -> None:
    """Tell the agent a fact, then ask for the fact and for something that it cannot know."""
    with serving() as model_url:
        async with (
            AsyncClient(sys.argv[1], os.environ["KEY"]) as memory,
            AsyncOpenAI(base_url=f"{model_url}/v1", api_key="none") as sdk,
        ):
            planner = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=sdk)))
            agent = AsyncRuntime(
                memory, async_pydantic_ai_agent(planner), user_id="pydantic-ai", session_id="ferry"
            )
            for question in QUESTIONS:
                print(f"> {question}\n{(await agent.turn(question)).text}\n")
            print(agent.counts.compliance())


if __name__ == "__main__":
    asyncio.run(main())

"""An agent with memory that uses the Responses API through the OpenAI SDK.

Usage: KEY=sk_... python examples/openai_responses.py http://127.0.0.1:8460.
Prints the conversation.
"""

from __future__ import annotations

import os
import sys

from openai import OpenAI
from scripted_model import QUESTIONS, serving

from remembrancer.client import Client
from remembrancer.client.adapters import openai_responses
from remembrancer.client.runtime import Runtime


def main() -> None:
    """Tell the agent a fact, then ask for the fact and for something that it cannot know."""
    with (
        serving() as model_url,
        Client(sys.argv[1], os.environ["KEY"]) as memory,
        OpenAI(base_url=f"{model_url}/v1", api_key="not needed") as model,
    ):
        agent = Runtime(
            memory,
            openai_responses(model, "scripted"),
            user_id="openai-responses",
            session_id="ferry",
        )
        for question in QUESTIONS:
            print(f"> {question}\n{agent.turn(question).text}\n")
        print(agent.counts.compliance())


if __name__ == "__main__":
    main()

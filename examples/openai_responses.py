"""An agent with memory on the Responses API, by the OpenAI SDK. Takes the address of the service, and KEY. Prints the conversation."""

from __future__ import annotations

import os
import sys

from openai import OpenAI
from scripted_model import QUESTIONS, serving

from remembrancer.client import Client
from remembrancer.client.adapters import openai_responses
from remembrancer.client.runtime import Runtime


def main() -> None:
    """Tell the agent something, ask it for that, and ask it for what it cannot know."""
    with serving() as model_url, Client(sys.argv[1], os.environ["KEY"]) as memory:
        model = OpenAI(base_url=f"{model_url}/v1", api_key="none needed here")
        agent = Runtime(memory, openai_responses(model, "scripted"), user_id="openai-responses", session_id="ferry")
        for question in QUESTIONS:
            print(f"> {question}\n{agent.turn(question).text}\n")
        print(agent.counts.compliance())


if __name__ == "__main__":
    main()

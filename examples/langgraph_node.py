"""A LangGraph graph with an agent with memory as a node.

Usage: KEY=sk_... python examples/langgraph_node.py http://127.0.0.1:8460.
Prints the conversation.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from langgraph.graph import START, MessagesState, StateGraph
from openai import OpenAI
from scripted_model import QUESTIONS, serving

from remembrancer.client import Client
from remembrancer.client.adapters import langgraph_node, openai_chat
from remembrancer.client.runtime import Runtime


def main() -> None:
    """Tell the agent a fact, then ask for the fact and for something that it cannot know."""
    with (
        serving() as model_url,
        Client(sys.argv[1], os.environ["KEY"]) as memory,
        OpenAI(base_url=f"{model_url}/v1", api_key="not needed") as model,
    ):

        @cache  # each thread of the graph is a session with its own runtime
        def runtime_of(thread: str) -> Runtime:
            return Runtime(
                memory, openai_chat(model, "scripted"), user_id="langgraph", session_id=thread
            )

        graph = (
            StateGraph(MessagesState)
            .add_node("remembering", langgraph_node(runtime_of))
            .add_edge(START, "remembering")
            .compile()
        )
        for question in QUESTIONS:
            state = graph.invoke(
                {"messages": [("user", question)]}, {"configurable": {"thread_id": "ferry"}}
            )
            print(f"> {question}\n{state['messages'][-1].text}\n")
        print(runtime_of("ferry").counts.compliance())


if __name__ == "__main__":
    main()

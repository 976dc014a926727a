"""An agent with memory that uses a LangGraph graph as its model.

Usage: KEY=sk_... python examples/langgraph_graph.py http://127.0.0.1:8460.
Prints the conversation.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from openai import OpenAI
from scripted_model import QUESTIONS, serving

from remembrancer.client import Client
from remembrancer.client.adapters import langgraph_graph
from remembrancer.client.runtime import Runtime


def main() -> None:
    """Tell the agent a fact, then ask for the fact and for something that it cannot know."""
    with (
        serving() as model_url,
        Client(sys.argv[1], os.environ["KEY"]) as memory,
        OpenAI(base_url=f"{model_url}/v1", api_key="not needed") as model,
    ):

        def think(state: MessagesState) -> dict[str, Any]:
            messages = [{"role": "user", "content": message.text} for message in state["messages"]]
            completion = model.chat.completions.create(
                model="scripted",
                messages=messages,  # type: ignore[arg-type] # plain dictionaries
            )
            return {"messages": [("assistant", completion.choices[0].message.content)]}

        graph = (
            StateGraph(MessagesState).add_node("think", think).add_edge(START, "think").compile()
        )
        agent = Runtime(
            memory, langgraph_graph(graph), user_id="langgraph-graph", session_id="ferry"
        )
        for question in QUESTIONS:
            print(f"> {question}\n{agent.turn(question).text}\n")
        print(agent.counts.compliance())


if __name__ == "__main__":
    main()

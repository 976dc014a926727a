"""A graph of LangGraph as the model of an agent with memory. Takes the address of the service, and KEY. Prints the conversation."""

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
    """Tell the agent something, ask it for that, and ask it for what it cannot know."""
    with serving() as model_url, Client(sys.argv[1], os.environ["KEY"]) as memory:
        model = OpenAI(base_url=f"{model_url}/v1", api_key="none needed here")

        def think(state: MessagesState) -> dict[str, Any]:
            said = [{"role": "user", "content": message.text} for message in state["messages"]]
            done = model.chat.completions.create(model="scripted", messages=said)  # type: ignore[arg-type] # plain dictionaries
            return {"messages": [("assistant", done.choices[0].message.content)]}

        graph = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think").compile()
        agent = Runtime(memory, langgraph_graph(graph), user_id="langgraph-graph", session_id="ferry")
        for question in QUESTIONS:
            print(f"> {question}\n{agent.turn(question).text}\n")
        print(agent.counts.compliance())


if __name__ == "__main__":
    main()

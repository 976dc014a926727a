"""Adapters: `draft(messages)` functions for the runtime, made from a model client or an agent.

Each function takes your own SDK client, agent or graph; `docs/guides/runtime.md` shows them. No
SDK is imported unless you pass one of its objects. Exceptions of an SDK are passed on unchanged;
`NoDraftError` means that an answer contains no text. Users import this package. The terminal chat
also uses `endpoint` and `extractive`, which need no SDK.
"""

from .anthropic import anthropic_messages, async_anthropic_messages
from .endpoint import ModelEndpoint, ModelEndpointError
from .extractive import extractive_answer
from .langgraph import async_langgraph_graph, async_langgraph_node, langgraph_graph, langgraph_node
from .openai import async_openai_chat, async_openai_responses, openai_chat, openai_responses
from .pydantic_ai import async_pydantic_ai_agent, pydantic_ai_agent
from .text import AsyncDraftFunction, DraftFunction, NoDraftError

__all__ = [
    "AsyncDraftFunction",
    "DraftFunction",
    "ModelEndpoint",
    "ModelEndpointError",
    "NoDraftError",
    "anthropic_messages",
    "async_anthropic_messages",
    "async_langgraph_graph",
    "async_langgraph_node",
    "async_openai_chat",
    "async_openai_responses",
    "async_pydantic_ai_agent",
    "extractive_answer",
    "langgraph_graph",
    "langgraph_node",
    "openai_chat",
    "openai_responses",
    "pydantic_ai_agent",
]

"""Endpoints of the agent: second look, compliance, chat, completions, the agent prompt."""

from __future__ import annotations

from ..accounts.prompts import read_prompt, set_prompt
from ..agent.compliance import compliance
from ..agent.second_look import second_look
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModels
from ..protocol.compliance import Compliance, ComplianceQuery
from ..protocol.errors import Conflict
from ..protocol.prompts import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.second_look import SecondLook, SecondLooked
from .chat_handlers import STREAM, chat_with_agent, complete_chat, list_models
from .endpoint import AnyEndpoint, Endpoint, ThreadPool

ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v7/agent/second-look",
        operation_id="look_again",
        summary="Second look",
        description="Check a stored answer: every specific claim carries a ref or a marker, every "
        "ref is an event that a search of this session returned, and the cited event supports the "
        "claim. The outcome is counted in the compliance figures.",
        read=second_look,
        body=SecondLook,
        answer=SecondLooked,
        pool=ThreadPool.TALK,  # a long draft would occupy a search thread; a model may be asked
        errors=(Conflict,),
    ),
    Endpoint(
        method="GET",
        path="/api/v7/agent/compliance",
        operation_id="agent_compliance",
        summary="Compliance",
        description="Count how often agents searched, remembered, sealed, rated and passed a "
        "second look, beside how often each was due.",
        read=compliance,
        query=ComplianceQuery,
        answer=Compliance,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST",
        path="/api/v7/agent/chat",
        operation_id="chat_with_agent",
        summary="Chat with the service agent",
        description="Talk with the service's own agent: it searches memory, answers from the "
        "hits and stores the turn. With `Accept: text/event-stream` the response is a stream of "
        "the events `hits`, `delta`, `look`, `again` and a final `answer` or `error`.",
        handle=chat_with_agent,
        body=Chat,
        answer=ChatAnswer,
        media_type=STREAM,
        pool=ThreadPool.TALK,
        rate_limit="chat",
        usage="chat",
        takes_idempotency_key=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/chat/completions",
        operation_id="complete_chat",
        summary="Chat completions",
        description="OpenAI-compatible chat completions. The configured chat model answers, with "
        "what memory knows inserted before the last message, and the turn is stored. With "
        "`stream` the answer arrives in chunks, one sentence at a time.",
        handle=complete_chat,
        body=Completion,
        answer=Completed,
        media_type=STREAM,
        pool=ThreadPool.TALK,
        rate_limit="chat",
        usage="chat",
        takes_idempotency_key=True,
    ),
    Endpoint(
        method="GET",
        path="/v1/models",
        operation_id="list_models",
        summary="List models",
        description="List the models as OpenAI's clients expect them: `memory`, or none when no "
        "chat model is available to this account.",
        handle=list_models,
        answer=ServedModels,
    ),
    Endpoint(
        method="GET",
        path="/api/v7/agent/prompt",
        operation_id="get_prompt",
        summary="Get the agent prompt",
        description="Return the complete prompt for a user's agent: the constitution with service "
        "lines and seal, then the user's own part.",
        read=read_prompt,
        query=PromptQuery,
        answer=AgentPrompt,
    ),
    Endpoint(
        method="PUT",
        path="/api/v7/agent/prompt",
        operation_id="put_prompt",
        summary="Set the agent prompt",
        description="Set the user's own part of the agent prompt. An empty text removes it.",
        write=set_prompt,
        body=PromptWrite,
        answer=AgentPrompt,
        pool=ThreadPool.WRITE,
    ),
)

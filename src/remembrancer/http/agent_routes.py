"""Endpoints of the agent: second look, compliance, chat, completions, the agent prompt."""

from __future__ import annotations

from ..accounts.prompts import read_prompt, set_prompt
from ..agent.compliance import compliance
from ..agent.embeddings import embed
from ..agent.second_look import second_look
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModel, ServedModels
from ..protocol.compliance import Compliance, ComplianceQuery
from ..protocol.embeddings import Embed, Embedded
from ..protocol.errors import Conflict
from ..protocol.prompts import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.responses import ResponseObject, ResponseRequest
from ..protocol.second_look import SecondLook, SecondLooked
from .chat_handlers import (
    STREAM,
    chat_with_agent,
    complete_chat,
    list_models,
    respond_to_input,
    show_model,
)
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
        "what memory knows inserted before the user's last message, and the turn is stored. Tools, "
        "formats, images and other fields are passed on to the model. With `stream` the answer "
        "arrives in chunks as the model writes it. Without a model, quotes answer.",
        handle=complete_chat,
        body=Completion,
        answer=Completed,
        media_type=STREAM,
        pool=ThreadPool.TALK,
        rate_limit="chat",
        usage="chat",
        takes_idempotency_key=True,
        body_bytes_max="file_bytes_max",  # for images
    ),
    Endpoint(
        method="POST",
        path="/v1/responses",
        operation_id="respond",
        summary="Responses",
        description="OpenAI-compatible responses: the same as chat completions by the newer "
        "interface, with function tools. With `stream` the answer arrives as its events. "
        "Conversations are not kept: send the whole one in `input`.",
        handle=respond_to_input,
        body=ResponseRequest,
        answer=ResponseObject,
        media_type=STREAM,
        pool=ThreadPool.TALK,
        rate_limit="chat",
        usage="chat",
        takes_idempotency_key=True,
        body_bytes_max="file_bytes_max",  # for images
    ),
    Endpoint(
        method="POST",
        path="/v1/embeddings",
        operation_id="embed",
        summary="Embeddings",
        description="OpenAI-compatible embeddings: the vectors of texts, by the server's embedder. "
        "Nothing is stored.",
        read=embed,
        body=Embed,
        answer=Embedded,
        pool=ThreadPool.TALK,  # many texts would occupy a search thread
    ),
    Endpoint(
        method="GET",
        path="/v1/models",
        operation_id="list_models",
        summary="List models",
        description="List the models as OpenAI's clients expect them: `memory`, `memory-quotes`, "
        "the configured chat models that this account may use, and the embedder.",
        handle=list_models,
        answer=ServedModels,
    ),
    Endpoint(
        method="GET",
        path="/v1/models/{model}",
        operation_id="show_model",
        summary="Show a model",
        description="Return one entry of the list of models.",
        handle=show_model,
        id_has_slashes=True,
        answer=ServedModel,
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

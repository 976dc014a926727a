"""The HTTP dispatcher: every endpoint of the service is one row of ROUTES."""

from __future__ import annotations

from functools import partial
from typing import cast

from .. import feedback
from ..accounts.prompts import prompt_of, set_prompt
from ..agent.compliance import compliance
from ..agent.second_look import second_look
from ..agent.summarize import draft_summary as drafted_summary
from ..agent.summarize import make_map as map_by_model
from ..cubes.lessons import create
from ..cubes.votes import vote
from ..files.files import create_file, erase_file
from ..memory.files import commands as memory_files
from ..memory.files.commands import run_command
from ..memory.history.forget import erase_event as erase_turn
from ..memory.history.forget import forget
from ..memory.recall.explain import explain
from ..memory.recall.recall import recall
from ..memory.summaries.l1 import summarize
from ..memory.summaries.maps import map_version
from ..memory.summaries.start_pack import agent_memory, start_pack
from ..memory.write.events import event_detail, write_event
from ..memory.write.remember import remember
from ..memory.write.runs import execute
from ..protocol import limits
from ..protocol.agent_tools import ToolsListed, ToolsQuery
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModels
from ..protocol.compliance import Compliance, ComplianceQuery
from ..protocol.cubes import CubeCreate, CubeCreated, CubeVote, CubeVoted
from ..protocol.errors import Conflict, Forbidden, NotFound, Unauthorized
from ..protocol.execution import Executed, Execution
from ..protocol.explain import Explanation
from ..protocol.feedback import Feedback, FeedbackList, FeedbackQuery, FeedbackSaved
from ..protocol.files import CreatedFile, DownloadQuery, FileCreate
from ..protocol.forget import EventErased, FileErased, Forget, Forgotten
from ..protocol.memory import (
    Event,
    EventWrite,
    EventWritten,
    MemoryAnswer,
    MemoryQuery,
    Remembered,
    Turn,
)
from ..protocol.memory_files import FileCommand, FileDone, FileHistory, FileQuery
from ..protocol.own_key import OwnKey
from ..protocol.permissions import (
    ActionLog,
    ActionLogged,
    AuditPage,
    AuditQuery,
    Granted,
    GrantList,
    GrantRequest,
    GrantRevocation,
    GrantRevoked,
    GrantsQuery,
    PermissionCheck,
    PermissionChecked,
)
from ..protocol.prompts import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.second_look import SecondLook, SecondLooked
from ..protocol.status import Readiness, StatusRecord
from ..protocol.summaries import (
    AgentMemory,
    AgentMemoryQuery,
    MapQuery,
    MapRequest,
    MapUpdated,
    MapVersion,
    StartPack,
    StartQuery,
    Summary,
    SummaryAsked,
    SummaryDraft,
    SummarySaved,
)
from . import pages
from .chat_routes import STREAM, chat_with_agent, complete_chat, list_models
from .downloads import download
from .endpoint import Call, Endpoint, ThreadPool
from .permission_routes import (
    check_permission,
    grant_permission,
    list_grants,
    log_permitted_action,
    read_audit,
    revoke_permission,
)
from .system_routes import (
    alive,
    docs_page,
    home,
    list_tools,
    llms_txt,
    openapi_document,
    own_key,
    prometheus_metrics,
    ready,
    status_record,
    style_sheet,
)


def search_memory(call: Call) -> MemoryAnswer:
    """Hybrid search over one user's memory:

    by meaning and by words, best hit first. An empty memory gives no hits, not an error.
    """
    return recall(call.context, call.caller, cast(MemoryQuery, call.body))


def explain_search(call: Call) -> Explanation:
    """The hits of a search with every reason, and what each of its stages came to and took.

    Writes nothing: it counts no step.
    """
    return explain(call.context, call.caller, cast(MemoryQuery, call.body))


def remember_turn(call: Call) -> Remembered:
    """Keep a turn.

    When the answer arrives the turn is durable and the very next search finds it.
    """
    return remember(call.context, call.caller, cast(Turn, call.body), call.once)


def save_event(call: Call) -> EventWritten:
    """Keep an event of any of the account's users, as `remember` does for a turn of one's own."""
    return write_event(call.context, call.caller, cast(EventWrite, call.body), call.once)


def get_event(call: Call) -> Event:
    """One event whole, with its `raw_dialogue`.

    Another account's event is not found, like one that does not exist.
    """
    return event_detail(call.context, call.caller, _event_id(call))


def erase_event(call: Call) -> EventErased:
    """Erase one turn for good, with what search derived from it and the facts that came with it.

    L1s that tell of it stay and are named.
    """
    return erase_turn(call.context, call.caller, _event_id(call), call.once)


def _event_id(call: Call) -> str:
    event_id: str = call.request.path_params["event_id"]
    if len(event_id) > limits.ID_CHARACTERS_MAX or not event_id.isprintable():
        raise NotFound
    return event_id


def forget_memory(call: Call) -> Forgotten:
    """Erase a session, a stretch of time, a whole user or the whole account, for good.

    `dry_run` says how much that would be.
    """
    return forget(call.context, call.caller, cast(Forget, call.body), call.once)


def file_command(call: Call) -> FileDone:
    """A command of Anthropic's memory tool (`memory_20250818`), its input as the model gave it, and
    the text that the tool answers with.

    What the model asks for wrongly is answered with `is_error`, not with an error status: it is for
    the model to read.
    """
    return run_command(call.context, call.caller, cast(FileCommand, call.body), call.once)


def file_history(call: Call) -> FileHistory:
    """Versions of a memory file, or of all below a folder, newest first, with the text of one."""
    return memory_files.file_history(call.context, call.caller, cast(FileQuery, call.parameters))


def save_summary(call: Call) -> SummarySaved:
    """Keep an L1:

    a summary of the session's turns since its last L1. It is kept whatever its length; `warning`
    says when that is off.
    """
    return summarize(call.context, call.caller, cast(Summary, call.body), call.once)


def draft_summary(call: Call) -> SummaryDraft:
    """What an L1 of the session's turns since its last one could say:

    by a model, each sentence checked, else headlines. Keeps nothing.
    """
    return drafted_summary(call.context, call.caller, cast(SummaryAsked, call.body))


def make_map(call: Call) -> MapUpdated:
    """Make the user's map anew of the stored L1s: what the agent wrote last, then headlines of the
    L1s it does not know, word for word.

    Where models summarise, theirs take the place of headlines, each line checked against the L1s
    that it names.
    """
    return map_by_model(call.context, call.caller, cast(MapRequest, call.body), call.once)


def get_map(call: Call) -> MapVersion:
    """One version of the user's map; the newest when none is named."""
    return map_version(call.context, call.caller, cast(MapQuery, call.parameters))


def get_start_pack(call: Call) -> StartPack:
    """What an agent reads before its first turn:

    constitution, critical facts, map, L1s and lessons, fenced as data, within a budget.
    """
    return start_pack(call.context, call.caller, cast(StartQuery, call.parameters))


def get_agent_memory(call: Call) -> AgentMemory:
    """For agents that cannot follow the standard flow:

    with a query a search that counts no step, without one the start pack.
    """
    return agent_memory(call.context, call.caller, cast(AgentMemoryQuery, call.parameters))


def look_again(call: Call) -> SecondLooked:
    """Check a saved answer:

    are its claims marked, its refs events the session was shown, and do these say so? Counts how it
    went.
    """
    return second_look(call.context, call.caller, cast(SecondLook, call.body))


def agent_compliance(call: Call) -> Compliance:
    """How often agents searched, remembered, sealed, rated and passed a second look, of all the
    times that this was due.
    """
    return compliance(call.context, call.caller, cast(ComplianceQuery, call.parameters))


def get_prompt(call: Call) -> AgentPrompt:
    """The whole prompt for a user's agent:

    the constitution with service lines and seal, then the user's own part.
    """
    return prompt_of(call.context, call.caller, cast(PromptQuery, call.parameters).user_id)


def put_prompt(call: Call) -> AgentPrompt:
    """Set the user's own part of the agent prompt; an empty one takes it away."""
    return set_prompt(call.context, call.caller, cast(PromptWrite, call.body), call.once)


def submit_feedback(call: Call) -> FeedbackSaved:
    """Tell the owner of a bug, an anomaly, an issue with a cube, an improvement or a security
    matter.
    """
    return feedback.submit_feedback(call.context, call.caller, cast(Feedback, call.body), call.once)


def list_feedback(call: Call) -> FeedbackList:
    """All feedback, newest first, page by page. The owner only."""
    return feedback.list_feedback(call.context, call.caller, cast(FeedbackQuery, call.parameters))


def create_cube(call: Call) -> CubeCreated:
    """Keep a lesson privately. The next search of the account that it bears on shows it."""
    return create(call.context, call.caller, cast(CubeCreate, call.body), call.once)


def vote_on_cube(call: Call) -> CubeVoted:
    """Rate a cube, in place of any rating of the account before.

    Three accounts that agree make a published cube trusted or retired.
    """
    return vote(call.context, call.caller, cast(CubeVote, call.body), call.once)


def execute_code(call: Call) -> Executed:
    """Run Python where it can harm nobody:

    no network, no files but its own, bounded time and memory. numpy and matplotlib are ready.
    """
    return execute(
        call.context, call.dispatcher.sandbox, call.caller, cast(Execution, call.body), call.once
    )


def execute_code_v7(call: Call) -> Executed:
    """The same as `POST /api/execute/code`, under the prefix of the other paths."""
    return execute_code(call)


def make_file(call: Call) -> CreatedFile:
    """Keep a file for the account, to be downloaded under the name in the answer.

    Binary types come as base64 and are checked.
    """
    return create_file(call.context, call.caller, cast(FileCreate, call.body), call.once)


def delete_file(call: Call) -> FileErased:
    """Erase a created file and free its room."""
    return erase_file(call.context, call.caller, call.request.path_params["filename"], call.once)


_OPEN = partial(Endpoint, needs_key=False)
ROUTES: tuple[Endpoint, ...] = (
    Endpoint(
        method="POST", path="/api/v7/memory", handle=search_memory, request=MemoryQuery, answer=MemoryAnswer, summary="Search memory",
        counts="search",
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/explain", handle=explain_search, request=MemoryQuery, answer=Explanation,
        summary="Explain a search",
    ),
    Endpoint(
        method="POST", path="/api/v7/remember", handle=remember_turn, request=Turn, answer=Remembered, summary="Remember a turn",
        where=ThreadPool.WRITE, repeatable=True, also=(NotFound,), counts="turn",
    ),
    Endpoint(
        method="POST", path="/api/v7/event/write", handle=save_event, request=EventWrite, answer=EventWritten, summary="Save an event",
        where=ThreadPool.WRITE, repeatable=True, counts="turn",
    ),
    Endpoint(method="GET", path="/api/v7/event/{event_id}", handle=get_event, answer=Event, summary="Get event detail"),
    Endpoint(
        method="DELETE", path="/api/v7/event/{event_id}", handle=erase_event, answer=EventErased, summary="Erase an event",
        where=ThreadPool.WRITE, repeatable=True, also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/forget", handle=forget_memory, request=Forget, answer=Forgotten, summary="Forget",
        where=ThreadPool.WRITE, repeatable=True,
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/files", handle=file_command, request=FileCommand, answer=FileDone, summary="Use memory files",
        where=ThreadPool.WRITE, repeatable=True,
    ),
    Endpoint(
        method="GET", path="/api/v7/memory/files", handle=file_history, query=FileQuery, answer=FileHistory,
        summary="Read versions of memory files", where=ThreadPool.WRITE, also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/summarize/draft", handle=draft_summary, request=SummaryAsked, answer=SummaryDraft,
        summary="Draft an L1 summary", where=ThreadPool.TALK, rate="chat", also=(Conflict,),
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/summarize", handle=save_summary, request=Summary, answer=SummarySaved,
        summary="Save an L1 summary", where=ThreadPool.WRITE, repeatable=True,
    ),
    Endpoint(
        method="POST", path="/api/v7/memory/map", handle=make_map, request=MapRequest, answer=MapUpdated, summary="Update the L2 map",
        where=ThreadPool.TALK, repeatable=True,
    ),
    Endpoint(
        method="GET", path="/api/v7/memory/map", handle=get_map, query=MapQuery, answer=MapVersion, summary="Read the L2 map",
        also=(NotFound,),
    ),
    Endpoint(
        method="GET", path="/api/v7/memory/start", handle=get_start_pack, query=StartQuery, answer=StartPack, summary="Get the start pack"
    ),
    Endpoint(
        method="GET", path="/api/v7/agent/memory", handle=get_agent_memory, query=AgentMemoryQuery, answer=AgentMemory,
        summary="Memory in one call", counts="search",
    ),
    Endpoint(
        method="POST", path="/api/v7/agent/second-look", handle=look_again, request=SecondLook, answer=SecondLooked, summary="Second look",
        also=(Conflict,),
        # the few threads of searches are not for a long draft, and a model may be asked
        where=ThreadPool.TALK,
    ),
    Endpoint(
        method="GET", path="/api/v7/agent/compliance", handle=agent_compliance, query=ComplianceQuery, answer=Compliance,
        summary="Compliance", where=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST", path="/api/v7/agent/chat", handle=chat_with_agent, request=Chat, answer=ChatAnswer, page=STREAM,
        summary="Chat with the service agent", where=ThreadPool.TALK, repeatable=True, rate="chat", counts="chat",
    ),
    Endpoint(
        method="POST", path="/v1/chat/completions", handle=complete_chat, request=Completion, answer=Completed, page=STREAM,
        summary="Chat completions", where=ThreadPool.TALK, repeatable=True, rate="chat", counts="chat",
    ),
    Endpoint(method="GET", path="/v1/models", handle=list_models, answer=ServedModels, summary="List models"),
    Endpoint(method="GET", path="/api/v7/tools", handle=list_tools, query=ToolsQuery, answer=ToolsListed, summary="Tools for agents"),
    Endpoint(method="GET", path="/api/v7/key", handle=own_key, answer=OwnKey, summary="This key"),
    Endpoint(
        method="GET", path="/api/v7/agent/prompt", handle=get_prompt, query=PromptQuery, answer=AgentPrompt, summary="Get the agent prompt"
    ),
    Endpoint(
        method="PUT", path="/api/v7/agent/prompt", handle=put_prompt, request=PromptWrite, answer=AgentPrompt,
        summary="Set the agent prompt", where=ThreadPool.WRITE, repeatable=True,
    ),
    Endpoint(
        method="POST", path="/api/v7/feedback", handle=submit_feedback, request=Feedback, answer=FeedbackSaved, summary="Submit feedback",
        where=ThreadPool.WRITE, repeatable=True, rate="feedback",
    ),
    Endpoint(
        method="GET", path="/api/v7/feedback", handle=list_feedback, query=FeedbackQuery, answer=FeedbackList, summary="Read feedback",
        also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/v7/experience/create", handle=create_cube, request=CubeCreate, answer=CubeCreated,
        summary="Save an experience cube", where=ThreadPool.WRITE, repeatable=True, also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/v7/experience/vote", handle=vote_on_cube, request=CubeVote, answer=CubeVoted,
        summary="Vote on a cube", where=ThreadPool.WRITE, repeatable=True, also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/execute/code", handle=execute_code, request=Execution, answer=Executed,
        summary="Run code in the sandbox", where=ThreadPool.RUN, repeatable=True, rate="sandbox", counts="run",
    ),
    Endpoint(
        method="POST", path="/api/v7/execute/code", handle=execute_code_v7, request=Execution, answer=Executed,
        summary="Run code in the sandbox", where=ThreadPool.RUN, repeatable=True, rate="sandbox", counts="run",
    ),
    Endpoint(
        method="POST", path="/api/v7/tools/create-file", handle=make_file, request=FileCreate, answer=CreatedFile,
        summary="Create a file", where=ThreadPool.WRITE, repeatable=True, body_bytes_max="file_bytes_max",
    ),
    Endpoint(
        method="POST", path="/api/v7/sysperm/check", handle=check_permission, request=PermissionCheck, answer=PermissionChecked,
        summary="Check a permission", where=ThreadPool.WRITE, rate="sysperm", counts="check",
    ),
    Endpoint(
        method="POST", path="/api/v7/sysperm/grant", handle=grant_permission, request=GrantRequest, answer=Granted,
        summary="Grant a permission", where=ThreadPool.WRITE, repeatable=True,
    ),
    Endpoint(
        method="GET", path="/api/v7/sysperm/grants", handle=list_grants, query=GrantsQuery, answer=GrantList,
        summary="List grants in force", where=ThreadPool.WRITE, also=(NotFound,),
    ),
    Endpoint(
        method="POST", path="/api/v7/sysperm/log", handle=log_permitted_action, request=ActionLog, answer=ActionLogged,
        summary="Log a permitted action", where=ThreadPool.WRITE, repeatable=True, rate="sysperm",
    ),
    Endpoint(
        method="POST", path="/api/v7/sysperm/revoke", handle=revoke_permission, request=GrantRevocation, answer=GrantRevoked,
        summary="Revoke a permission", where=ThreadPool.WRITE, repeatable=True, also=(NotFound,),
    ),
    Endpoint(
        method="GET", path="/api/v7/sysperm/audit", handle=read_audit, query=AuditQuery, answer=AuditPage,
        summary="Read the audit trail", where=ThreadPool.WRITE,
    ),
    _OPEN(
        method="GET", path="/download/{filename}", handle=download, query=DownloadQuery, page="*/*", summary="Download a file",
        where=ThreadPool.WRITE, in_parts=True, also=(Unauthorized,),
    ),
    Endpoint(
        method="DELETE", path="/download/{filename}", handle=delete_file, answer=FileErased, summary="Erase a file",
        where=ThreadPool.WRITE, repeatable=True, also=(NotFound,),
    ),
    _OPEN(method="GET", path="/api/v7/status", handle=status_record, answer=StatusRecord, summary="Status record", where=ThreadPool.WRITE),
    _OPEN(method="GET", path="/", handle=home, answer=StatusRecord, page="text/html", summary="Home", where=ThreadPool.WRITE),
    _OPEN(method="GET", path="/healthz", handle=alive, page="application/json", summary="Alive", where=ThreadPool.LOOP),
    _OPEN(method="GET", path="/readyz", handle=ready, answer=Readiness, summary="Ready", where=ThreadPool.WRITE),
    _OPEN(
        method="GET", path="/metrics", handle=prometheus_metrics, page="text/plain", summary="Metrics",
        where=ThreadPool.WRITE, also=(Unauthorized, Forbidden),
    ),
    _OPEN(method="GET", path="/openapi.json", handle=openapi_document, page="application/json", summary="OpenAPI", where=ThreadPool.LOOP),
    _OPEN(method="GET", path="/docs", handle=docs_page, page="text/html", summary="Documentation", where=ThreadPool.WRITE),
    _OPEN(method="GET", path="/llms.txt", handle=llms_txt, page="text/plain", summary="For language models", where=ThreadPool.LOOP),
    _OPEN(method="GET", path=pages.STYLE_PATH, handle=style_sheet, page="text/css", summary="Style sheet", where=ThreadPool.LOOP),
)  # fmt: skip

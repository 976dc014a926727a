"""Endpoints of memory: search, remember, events, forget, summaries, maps, memory files."""

from __future__ import annotations

from ..accounts.idempotency import IdempotentRequest
from ..agent.summarize import draft_summary, make_map
from ..context import Caller, Context
from ..memory.files.commands import run_command
from ..memory.files.versions import file_history
from ..memory.history.endings import change_event, retention, set_retention
from ..memory.history.forget import erase_event, forget
from ..memory.history.listing import list_events
from ..memory.history.receipts import receipt_keys
from ..memory.history.sessions import session_list
from ..memory.recall.explain import explain
from ..memory.recall.recall import recall
from ..memory.summaries.l1 import summarize
from ..memory.summaries.maps import map_version
from ..memory.summaries.start_pack import agent_memory, start_pack
from ..memory.write.batch import write_batch
from ..memory.write.events import event_detail, write_event
from ..memory.write.remember import remember
from ..protocol.errors import Conflict, NotFound
from ..protocol.events import EventList, EventsQuery
from ..protocol.explain import Explanation
from ..protocol.forget import EventErased, Forget, Forgotten
from ..protocol.memory import Event, EventChange, EventWrite, EventWritten, Remembered, Turn
from ..protocol.memory_batch import BatchWritten, TurnBatch
from ..protocol.memory_files import FileCommand, FileDone, FileHistory, FileQuery
from ..protocol.receipts import ReceiptKeys
from ..protocol.retention import Retention, RetentionQuery, RetentionSet
from ..protocol.search import MemoryAnswer, MemoryQuery
from ..protocol.sessions import SessionList, SessionsQuery
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
from .endpoint import AddressedBody, AnyEndpoint, Call, Endpoint, ThreadPool


def _change_event(
    context: Context, caller: Caller, call: AddressedBody, idempotency: IdempotentRequest | None
) -> Event:
    return change_event(context, caller, call.id, call.body, idempotency)


def _write_batch(call: Call[TurnBatch]) -> BatchWritten:
    """Store a batch. Each turn counts as a request of its own. Raises RateExceeded."""
    caller, further = call.caller, len(call.input.turns) - 1
    if allowance := call.dispatcher.take_more("memory", caller.key_id, further):
        call.headers |= allowance.headers()
    answer = write_batch(call.context, caller, call.input, call.idempotency)
    call.dispatcher.usage_counter.count(
        "turn", account_id=caller.account_id, key_id=caller.key_id, times=further
    )
    return answer


ROUTES: tuple[AnyEndpoint, ...] = (
    Endpoint(
        method="POST",
        path="/api/v7/memory",
        operation_id="search_memory",
        summary="Search memory",
        description="Search one user's memory by meaning and by words, best hit first. "
        "An empty memory returns no hits, not an error.",
        read=recall,
        body=MemoryQuery,
        answer=MemoryAnswer,
        usage="search",
        team="reader",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/explain",
        operation_id="explain_search",
        summary="Explain a search",
        description="Run a search and return every reason for each hit, with the result and "
        "duration of each stage. Writes nothing and counts no step.",
        read=explain,
        body=MemoryQuery,
        answer=Explanation,
        team="reader",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/remember",
        operation_id="remember_turn",
        summary="Remember a turn",
        description="Store a turn. When the response arrives, the turn is durable and the next "
        "search finds it.",
        write=remember,
        body=Turn,
        answer=Remembered,
        pool=ThreadPool.WRITE,
        usage="turn",
        errors=(NotFound,),
        team="writer",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/event/write",
        operation_id="save_event",
        summary="Save an event",
        description="Store an event for any user of the account. Does what `remember` does "
        "for a single turn.",
        write=write_event,
        body=EventWrite,
        answer=EventWritten,
        pool=ThreadPool.WRITE,
        usage="turn",
        team="writer",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/batch",
        operation_id="save_batch",
        summary="Save a batch of turns",
        description="Store up to 500 turns in one call, with a receipt for each in their order: "
        "all of them, or none. Each is stored like an event, counts as a request of the rate "
        "limit, belongs to no step and owes nothing.",
        handle=_write_batch,
        body=TurnBatch,
        answer=BatchWritten,
        pool=ThreadPool.WRITE,
        usage="turn",
        takes_idempotency_key=True,
        team="writer",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/event/{event_id}",
        operation_id="get_event",
        summary="Get event detail",
        description="Return one event with its full `raw_dialogue`. An event of another account "
        "answers 404, the same as an event that does not exist.",
        read=event_detail,
        answer=Event,
        team="reader",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/events",
        operation_id="list_events",
        summary="List events",
        description="List the events of a user, complete and in the order of their times, page by "
        "page: all, those of a period, or those of a session. Writes nothing and counts no step.",
        read=list_events,
        query=EventsQuery,
        answer=EventList,
        team="reader",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/sessions",
        operation_id="list_sessions",
        summary="List sessions",
        description="List the sessions of a user, latest turn first, page by page. Writes nothing "
        "and counts no step.",
        read=session_list,
        query=SessionsQuery,
        answer=SessionList,
        team="reader",
    ),
    Endpoint(
        method="PATCH",
        path="/api/v7/event/{event_id}",
        operation_id="change_event",
        summary="Change an event",
        description="Change when a turn expires, whether retention leaves it, and whether searches "
        "find it. The text of a turn never changes.",
        write=_change_event,
        body=EventChange,
        answer=Event,
        pool=ThreadPool.WRITE,
        errors=(NotFound, Conflict),
        team="writer",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/memory/retention",
        operation_id="get_retention",
        summary="Read retention rules",
        description="Return how long turns are kept, and what the latest removals by expiry and "
        "retention removed.",
        read=retention,
        query=RetentionQuery,
        answer=Retention,
        team="reader",
    ),
    Endpoint(
        method="PUT",
        path="/api/v7/memory/retention",
        operation_id="set_retention",
        summary="Set a retention rule",
        description="Keep turns for a number of days, or a number of a user's newest turns; older "
        "ones are erased every night, with what was derived from them. Pinned turns stay.",
        write=set_retention,
        body=RetentionSet,
        answer=Retention,
        pool=ThreadPool.WRITE,
        team="owner",
    ),
    Endpoint(
        method="DELETE",
        path="/api/v7/event/{event_id}",
        operation_id="erase_event",
        summary="Erase an event",
        description="Erase one turn permanently, with its index entries and the facts stored "
        "with it. L1 summaries that cover the turn stay; the response lists them.",
        write=erase_event,
        answer=EventErased,
        pool=ThreadPool.WRITE,
        team="writer",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/forget",
        operation_id="forget_memory",
        summary="Forget",
        description="Erase a session, a time range, a user or the whole account permanently. "
        "`dry_run` returns the counts and erases nothing.",
        write=forget,
        body=Forget,
        answer=Forgotten,
        pool=ThreadPool.WRITE,
        team="owner",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/receipts/keys",
        operation_id="receipt_keys",
        summary="Keys of receipts",
        description="Return the public keys that verify the signed receipts of erasures, as a JSON "
        "Web Key Set.",
        handle=lambda call: receipt_keys(call.context),
        answer=ReceiptKeys,
        needs_key=False,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/files",
        operation_id="file_command",
        summary="Use memory files",
        description="Run one command of Anthropic's memory tool (`memory_20250818`): send the "
        "tool input as the model wrote it, get the text to return as the tool result. A command "
        "that cannot be carried out answers with `is_error`, not with an error status, because "
        "the model must read the message.",
        write=run_command,
        body=FileCommand,
        answer=FileDone,
        pool=ThreadPool.WRITE,
    ),
    Endpoint(
        method="GET",
        path="/api/v7/memory/files",
        operation_id="file_history",
        summary="Read versions of memory files",
        description="List the versions of a memory file, or of all files in a folder, newest "
        "first. With `version`, return the text of that version too.",
        read=file_history,
        query=FileQuery,
        answer=FileHistory,
        pool=ThreadPool.WRITE,
        errors=(NotFound,),
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/summarize/draft",
        operation_id="draft_summary",
        summary="Draft an L1 summary",
        description="Draft an L1 summary of the session's turns since its last L1. A configured "
        "model writes it and every sentence is checked against the turns; without a model the "
        "draft is extractive. Stores nothing.",
        read=draft_summary,
        body=SummaryAsked,
        answer=SummaryDraft,
        pool=ThreadPool.TALK,
        rate_limit="chat",
        errors=(Conflict,),
        team="reader",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/summarize",
        operation_id="save_summary",
        summary="Save an L1 summary",
        description="Store an L1 summary of the session's turns since its last L1. A summary of "
        "unusual length is stored too; `warning` says so.",
        write=summarize,
        body=Summary,
        answer=SummarySaved,
        pool=ThreadPool.WRITE,
        team="writer",
    ),
    Endpoint(
        method="POST",
        path="/api/v7/memory/map",
        operation_id="make_map",
        summary="Update the L2 map",
        description="Rebuild the user's map from the stored L1 summaries: the agent's latest "
        "map, then extractive headlines of the L1s that it does not cover. With a summarizing "
        "model, its lines replace the headlines; each line is checked against the L1s it names.",
        write=make_map,
        body=MapRequest,
        answer=MapUpdated,
        pool=ThreadPool.TALK,
        team="writer",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/memory/map",
        operation_id="get_map",
        summary="Read the L2 map",
        description="Return one version of the user's map. Default: the newest.",
        read=map_version,
        query=MapQuery,
        answer=MapVersion,
        errors=(NotFound,),
        team="reader",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/memory/start",
        operation_id="get_start_pack",
        summary="Get the start pack",
        description="Return what an agent reads before its first turn: constitution, critical "
        "facts, map, L1 summaries and lessons, fenced as data and within a token budget.",
        read=start_pack,
        query=StartQuery,
        answer=StartPack,
        team="reader",
    ),
    Endpoint(
        method="GET",
        path="/api/v7/agent/memory",
        operation_id="get_agent_memory",
        summary="Memory in one call",
        description="For agents that cannot follow the standard flow. With `query`, a search that "
        "counts no step; without it, the start pack.",
        read=agent_memory,
        query=AgentMemoryQuery,
        answer=AgentMemory,
        usage="search",
        team="reader",
    ),
)

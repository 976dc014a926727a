"""The table of endpoints: each operation with the action that answers it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..accounts.prompts import read_prompt, set_prompt
from ..agent.completions import embed, served_model, served_models
from ..agent.compliance import compliance
from ..agent.second_look import second_look
from ..agent.summarize import draft_summary, make_map
from ..cubes.lessons import vote
from ..cubes.proposals import create
from ..feedback import list_feedback, submit_feedback
from ..files.files import create_file, erase_file
from ..memory.exchange.importer import import_records
from ..memory.facts.life import (
    add_fact,
    add_instruction,
    change_fact,
    list_facts,
    list_instructions,
    remove_fact,
)
from ..memory.files.commands import file_history, run_command
from ..memory.history.browse import list_events, session_list, user_list
from ..memory.history.endings import change_event, retention, set_retention
from ..memory.history.forget import delete_team, erase_event, forget, receipt_keys
from ..memory.recall.explain import explain
from ..memory.recall.recall import recall
from ..memory.remember import remember
from ..memory.summaries.l1 import summarize
from ..memory.summaries.maps import map_version
from ..memory.summaries.start_pack import agent_memory, start_pack
from ..memory.write.runs import execute
from ..memory.write.turns import event_detail, write_batch, write_event
from ..permissions import teams
from ..permissions.audit import page
from ..permissions.grants import check, grant, list_grants, log_action, revoke
from ..protocol.execution import Executed, Execution
from ..protocol.imports import RecordImport, RecordsImported
from ..protocol.memory import BatchWritten, TurnBatch
from ..protocol.openai_api import Embed
from ..protocol.operations import Documents, Operations
from . import service_handlers
from .chat_handlers import chat_with_agent, complete_chat, respond_to_input
from .dispatch import Call, Endpoint, ThreadPool, handles, reads, writes
from .docs import docs_article, docs_page
from .downloads import download


def _embed(call: Call[Embed]) -> Response:
    """Write the vectors of texts, in pieces that let other threads run."""
    answer = b"".join(embed(call.context, call.input))
    return Response(answer, media_type="application/json")


def _write_batch(call: Call[TurnBatch]) -> BatchWritten:
    """Store a batch. Each turn counts as a request of its own. Raises RateExceeded."""
    caller, further = call.caller, len(call.input.turns) - 1
    _count_further(call, further)
    answer = write_batch(call.context, caller, call.input, call.idempotency)
    call.dispatcher.usage_counter.count(
        "turn", account_id=caller.account_id, key_id=caller.key_id, times=further
    )
    return answer


def _import_records(call: Call[RecordImport]) -> RecordsImported:
    """Import records. Each counts as a request of its own. Raises RateExceeded."""
    _count_further(call, call.input.size - 1)
    return import_records(call.context, call.caller, call.input)


def _count_further(call: Call[Any], further: int) -> None:
    """Count this many requests more. Raises RateExceeded."""
    if allowance := call.dispatcher.rate_limiters["memory"].take_more(call.caller.key_id, further):
        call.headers |= allowance.headers()


def _execute_code(call: Call[Execution]) -> Executed:
    """Run a program in the server's sandbox."""
    sandbox = call.dispatcher.sandbox.for_client(call.cancellation, call.caller.account_id)
    return execute(call.context, sandbox, call.caller, call.input, call.idempotency)


_WRITE, _TALK, _FILES = ThreadPool.WRITE, ThreadPool.TALK, ThreadPool.FILES
ROUTES: tuple[Endpoint, ...] = (
    # memory
    reads(Operations.search_memory, recall, usage="search"),
    reads(Operations.explain_search, explain),
    writes(Operations.remember_turn, remember, usage="turn"),
    writes(Operations.save_event, write_event, usage="turn"),
    handles(Operations.save_batch, _write_batch, usage="turn"),
    handles(Operations.import_records, _import_records),
    reads(Operations.get_event, event_detail),
    reads(Operations.list_events, list_events),
    reads(Operations.list_users, user_list),
    reads(Operations.list_sessions, session_list),
    writes(Operations.change_event, change_event),
    reads(Operations.get_retention, retention),
    writes(Operations.set_retention, set_retention),
    writes(Operations.erase_event, erase_event),
    writes(Operations.forget_memory, forget),
    handles(Operations.receipt_keys, lambda call: receipt_keys(call.context)),
    writes(Operations.file_command, run_command),
    reads(Operations.file_history, file_history, pool=_WRITE),
    reads(Operations.draft_summary, draft_summary, pool=_TALK),
    writes(Operations.save_summary, summarize),
    writes(Operations.make_map, make_map, pool=_TALK),
    reads(Operations.get_map, map_version),
    reads(Operations.get_start_pack, start_pack),
    reads(Operations.get_agent_memory, agent_memory, usage="search"),
    # facts
    reads(Operations.list_facts, list_facts),
    reads(Operations.list_instructions, list_instructions),
    writes(Operations.add_instruction, add_instruction),
    writes(Operations.change_instruction, change_fact),
    writes(Operations.remove_instruction, remove_fact),
    writes(Operations.add_fact, add_fact),
    writes(Operations.change_fact, change_fact),
    writes(Operations.remove_fact, remove_fact),
    # teams
    reads(Operations.list_teams, teams.list_teams, pool=_WRITE),
    writes(Operations.create_team, teams.create_team),
    writes(Operations.accept_invitation, teams.accept_invitation),
    reads(Operations.show_team, teams.show_team, pool=_WRITE),
    writes(Operations.rename_team, teams.rename_team),
    writes(Operations.delete_team, delete_team),
    reads(Operations.list_members, teams.list_members, pool=_WRITE),
    writes(Operations.change_member, teams.change_member),
    writes(Operations.remove_member, teams.remove_member),
    reads(Operations.list_invitations, teams.list_invitations, pool=_WRITE),
    reads(Operations.invite_member, teams.invite_member, pool=_WRITE),
    writes(Operations.withdraw_invitation, teams.withdraw_invitation),
    reads(Operations.team_audit, teams.team_audit, pool=_WRITE),
    # agents, chat, models
    reads(Operations.look_again, second_look, pool=ThreadPool.LOOK),
    reads(Operations.agent_compliance, compliance, pool=_WRITE),
    handles(Operations.chat_with_agent, chat_with_agent, pool=_TALK, usage="chat"),
    handles(Operations.complete_chat, complete_chat, pool=_TALK, usage="chat"),
    handles(Operations.respond, respond_to_input, pool=_TALK, usage="chat"),
    handles(Operations.embed, _embed, pool=ThreadPool.SEARCH),
    reads(Operations.list_models, served_models),
    reads(Operations.show_model, served_model),
    reads(Operations.get_prompt, read_prompt),
    writes(Operations.put_prompt, set_prompt),
    # feedback, cubes, sandbox, files
    writes(Operations.submit_feedback, submit_feedback),
    reads(Operations.list_feedback, list_feedback),
    writes(Operations.create_cube, create),
    writes(Operations.vote_on_cube, vote),
    handles(Operations.execute_code, _execute_code, pool=ThreadPool.RUN, usage="run"),
    handles(Documents.execute_code_v7, _execute_code, pool=ThreadPool.RUN, usage="run"),
    writes(Operations.make_file, create_file, pool=_FILES),
    handles(Operations.download, download, pool=_FILES),
    writes(Operations.delete_file, erase_file, pool=_FILES),
    # system permissions
    reads(Operations.check_permission, check, pool=_WRITE, usage="check"),
    writes(Operations.grant_permission, grant),
    reads(Operations.list_grants, list_grants, pool=_WRITE),
    writes(Operations.log_permitted_action, log_action),
    writes(Operations.revoke_permission, revoke),
    reads(Operations.read_audit, page, pool=_WRITE),
    # the service
    reads(Operations.list_tools, service_handlers.list_tools),
    reads(Operations.own_key, service_handlers.own_key),
    handles(Operations.status_record, service_handlers.status_record),
    handles(Documents.home, service_handlers.home),
    handles(Documents.alive, service_handlers.alive),
    handles(Operations.ready, service_handlers.ready),
    handles(Documents.prometheus_metrics, service_handlers.prometheus_metrics),
    handles(Documents.openapi_document, service_handlers.openapi_document),
    handles(Documents.llms_txt, service_handlers.llms_txt),
    handles(Documents.style_sheet, service_handlers.style_sheet),
    # documentation
    handles(Documents.docs_page, docs_page),
    handles(Documents.docs_article, docs_article),
)

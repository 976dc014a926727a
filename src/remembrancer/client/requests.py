"""Requests of the client: one function for each endpoint, named like its operation.

`Client` and `AsyncClient` have a method for each that sends it. Writes carry an Idempotency-Key.
"""

from __future__ import annotations

from typing import Any

from ..protocol.agent_tools import ToolsListed, ToolsQuery
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModel, ServedModels
from ..protocol.compliance import Compliance, ComplianceQuery
from ..protocol.cubes import CubeCreate, CubeCreated, CubeVote, CubeVoted
from ..protocol.embeddings import Embed, Embedded
from ..protocol.events import EventList, EventsQuery
from ..protocol.execution import Executed, Execution
from ..protocol.experience import EffectQuery, EffectReport
from ..protocol.explain import Explanation
from ..protocol.facts import (
    FactAdd,
    FactChange,
    FactList,
    FactRemoved,
    FactsQuery,
    FactStored,
    InstructionList,
)
from ..protocol.feedback import Feedback, FeedbackList, FeedbackQuery, FeedbackSaved
from ..protocol.files import CreatedFile, DownloadQuery, FileCreate
from ..protocol.forget import EventErased, FileErased, Forget, Forgotten
from ..protocol.memory import Event, EventChange, EventWrite, EventWritten, Remembered, Turn
from ..protocol.memory_batch import BatchWritten, TurnBatch
from ..protocol.memory_files import FileCommand, FileDone, FileHistory, FileQuery
from ..protocol.own_key import OwnKey, OwnKeyQuery
from ..protocol.prompts import AgentPrompt, PromptQuery, PromptWrite
from ..protocol.receipts import ReceiptKeys
from ..protocol.responses import ResponseObject, ResponseRequest
from ..protocol.retention import Retention, RetentionQuery, RetentionSet
from ..protocol.search import MemoryAnswer, MemoryQuery
from ..protocol.second_look import SecondLook, SecondLooked
from ..protocol.sessions import SessionList, SessionsQuery
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
from ..protocol.teams import TeamQuery
from .api_request import (
    ApiRequest,
    delete,
    get,
    get_raw,
    parse_as,
    parse_json,
    parse_object,
    parse_text,
    path_segment,
    post,
    write,
)
from .errors import HttpResponse, error_from_response
from .permission_requests import check_permission as check_permission
from .permission_requests import grant_permission as grant_permission
from .permission_requests import list_grants as list_grants
from .permission_requests import log_permitted_action as log_permitted_action
from .permission_requests import read_audit as read_audit
from .permission_requests import revoke_permission as revoke_permission
from .team_requests import accept_invitation as accept_invitation
from .team_requests import change_member as change_member
from .team_requests import create_team as create_team
from .team_requests import delete_team as delete_team
from .team_requests import invite_member as invite_member
from .team_requests import list_invitations as list_invitations
from .team_requests import list_members as list_members
from .team_requests import list_teams as list_teams
from .team_requests import remove_member as remove_member
from .team_requests import rename_team as rename_team
from .team_requests import show_team as show_team
from .team_requests import team_audit as team_audit
from .team_requests import withdraw_invitation as withdraw_invitation


def search_memory(query: MemoryQuery) -> ApiRequest[MemoryAnswer]:
    """Search memory.

    A search that counts as a step (`interact`) is not retried when its response is lost: it would
    count twice.
    """

    def parse(response: HttpResponse) -> MemoryAnswer:
        document = parse_json(response)
        # A search can fail with status 200 (docs/reference/specification.md#error-search).
        if isinstance(document, dict) and document.get("error"):
            raise error_from_response(response)
        return parse_as(MemoryAnswer)(response)

    return post(parse, "/api/v7/memory", query, is_retry_safe=not query.interact)


def explain_search(query: MemoryQuery) -> ApiRequest[Explanation]:
    """Search memory and explain every score. Counts no step."""
    return post(parse_as(Explanation), "/api/v7/memory/explain", query)


def remember_turn(turn: Turn, *, idempotency_key: str | None = None) -> ApiRequest[Remembered]:
    """Save a turn and what was learned from it."""
    return write(Remembered, "/api/v7/remember", turn, idempotency_key)


def save_event(
    event: EventWrite, *, idempotency_key: str | None = None
) -> ApiRequest[EventWritten]:
    """Save an event for any user of the account."""
    return write(EventWritten, "/api/v7/event/write", event, idempotency_key)


def save_batch(batch: TurnBatch, *, idempotency_key: str | None = None) -> ApiRequest[BatchWritten]:
    """Save many turns: all of them, or none. Each belongs to no step."""
    return write(BatchWritten, "/api/v7/memory/batch", batch, idempotency_key)


def get_event(event_id: str, query: TeamQuery | None = None) -> ApiRequest[Event]:
    """Return one event with its full text."""
    return get(Event, f"/api/v7/event/{path_segment(event_id)}", query)


def list_events(query: EventsQuery | None = None) -> ApiRequest[EventList]:
    """List the events of a user, one page at a time."""
    return get(EventList, "/api/v7/events", query)


def list_sessions(query: SessionsQuery | None = None) -> ApiRequest[SessionList]:
    """List the sessions of a user, latest turn first, one page at a time."""
    return get(SessionList, "/api/v7/sessions", query)


def change_event(
    event_id: str, change: EventChange, *, idempotency_key: str | None = None
) -> ApiRequest[Event]:
    """Change when an event expires, its pin, or whether searches find it."""
    path = f"/api/v7/event/{path_segment(event_id)}"
    return write(Event, path, change, idempotency_key, method="PATCH")


def get_retention(query: RetentionQuery | None = None) -> ApiRequest[Retention]:
    """Return how long turns are kept, and what was removed."""
    return get(Retention, "/api/v7/memory/retention", query)


def set_retention(
    rule: RetentionSet, *, idempotency_key: str | None = None
) -> ApiRequest[Retention]:
    """Set or remove a retention rule."""
    return write(Retention, "/api/v7/memory/retention", rule, idempotency_key, method="PUT")


def erase_event(
    event_id: str, query: TeamQuery | None = None, *, idempotency_key: str | None = None
) -> ApiRequest[EventErased]:
    """Erase one event permanently."""
    path = f"/api/v7/event/{path_segment(event_id)}"
    return delete(EventErased, path, idempotency_key, query)


def forget_memory(scope: Forget, *, idempotency_key: str | None = None) -> ApiRequest[Forgotten]:
    """Erase a session, a period, a user or everything in the account.

    With `dry_run`, return how much would be erased.
    """
    return write(Forgotten, "/api/v7/memory/forget", scope, idempotency_key)


def list_facts(query: FactsQuery | None = None) -> ApiRequest[FactList]:
    """List the facts of a user, newest first."""
    return get(FactList, "/api/v7/memory/facts", query)


def list_instructions(query: FactsQuery | None = None) -> ApiRequest[InstructionList]:
    """List the standing instructions and preferences of a user, newest first."""
    return get(InstructionList, "/api/v7/memory/instructions", query)


def add_fact(fact: FactAdd, *, idempotency_key: str | None = None) -> ApiRequest[FactStored]:
    """Store a critical fact without a turn."""
    return write(FactStored, "/api/v7/memory/facts", fact, idempotency_key)


def change_fact(
    fact_id: str, change: FactChange, *, idempotency_key: str | None = None
) -> ApiRequest[FactStored]:
    """Change the wording, the times or the pin of a fact."""
    path = f"/api/v7/memory/facts/{path_segment(fact_id)}"
    return write(FactStored, path, change, idempotency_key, method="PATCH")


def remove_fact(
    fact_id: str, query: TeamQuery | None = None, *, idempotency_key: str | None = None
) -> ApiRequest[FactRemoved]:
    """Erase the text of a fact for good."""
    path = f"/api/v7/memory/facts/{path_segment(fact_id)}"
    return delete(FactRemoved, path, idempotency_key, query)


def file_command(
    command: FileCommand, *, idempotency_key: str | None = None
) -> ApiRequest[FileDone]:
    """Run a command of Anthropic's memory tool.

    An invalid command raises nothing: the answer has `is_error`.
    """
    return write(FileDone, "/api/v7/memory/files", command, idempotency_key)


def file_history(query: FileQuery | None = None) -> ApiRequest[FileHistory]:
    """List versions of memory files, newest first, and the text of one."""
    return get(FileHistory, "/api/v7/memory/files", query)


def delete_file(filename: str, *, idempotency_key: str | None = None) -> ApiRequest[FileErased]:
    """Erase a created file."""
    return delete(FileErased, f"/download/{path_segment(filename)}", idempotency_key)


def draft_summary(query: SummaryAsked) -> ApiRequest[SummaryDraft]:
    """Draft an L1 summary of a session, with a language model if the service has one.

    Nothing is saved. The request is not retried, because models cost money.
    """
    return post(
        parse_as(SummaryDraft), "/api/v7/memory/summarize/draft", query, is_retry_safe=False
    )


def save_summary(
    summary: Summary, *, idempotency_key: str | None = None
) -> ApiRequest[SummarySaved]:
    """Save an L1 summary."""
    return write(SummarySaved, "/api/v7/memory/summarize", summary, idempotency_key)


def make_map(request: MapRequest, *, idempotency_key: str | None = None) -> ApiRequest[MapUpdated]:
    """Rebuild the user's map from the stored L1 summaries."""
    return write(MapUpdated, "/api/v7/memory/map", request, idempotency_key)


def get_map(query: MapQuery | None = None) -> ApiRequest[MapVersion]:
    """Return one version of the user's map."""
    return get(MapVersion, "/api/v7/memory/map", query)


def get_start_pack(query: StartQuery | None = None) -> ApiRequest[StartPack]:
    """Return what an agent reads before its first turn."""
    return get(StartPack, "/api/v7/memory/start", query)


def get_agent_memory(query: AgentMemoryQuery | None = None) -> ApiRequest[AgentMemory]:
    """Search without counting a step; without a query, return the start pack."""
    return get(AgentMemory, "/api/v7/agent/memory", query)


def list_tools(query: ToolsQuery | None = None) -> ApiRequest[ToolsListed]:
    """Describe the tools for agents in the format of one language model API."""
    return get(ToolsListed, "/api/v7/tools", query)


def llms_txt() -> ApiRequest[str]:
    """Return `/llms.txt`: what the service is and how language models use it."""
    return get_raw("/llms.txt", parse_text)


def own_key(query: OwnKeyQuery | None = None) -> ApiRequest[OwnKey]:
    """Describe the API key: its account, its user (of a session) and its permissions."""
    return get(OwnKey, "/api/v7/key", query)


def get_prompt(query: PromptQuery) -> ApiRequest[AgentPrompt]:
    """Return the complete prompt for a user's agent."""
    return get(AgentPrompt, "/api/v7/agent/prompt", query)


def put_prompt(
    prompt: PromptWrite, *, idempotency_key: str | None = None
) -> ApiRequest[AgentPrompt]:
    """Set the user's own part of the agent prompt."""
    return write(AgentPrompt, "/api/v7/agent/prompt", prompt, idempotency_key, method="PUT")


def submit_feedback(
    feedback: Feedback, *, idempotency_key: str | None = None
) -> ApiRequest[FeedbackSaved]:
    """Send feedback to the owner."""
    return write(FeedbackSaved, "/api/v7/feedback", feedback, idempotency_key)


def list_feedback(query: FeedbackQuery | None = None) -> ApiRequest[FeedbackList]:
    """List feedback, one page at a time. Only for the owner."""
    return get(FeedbackList, "/api/v7/feedback", query)


def create_cube(cube: CubeCreate, *, idempotency_key: str | None = None) -> ApiRequest[CubeCreated]:
    """Create a private cube."""
    return write(CubeCreated, "/api/v7/experience/create", cube, idempotency_key)


def vote_on_cube(vote: CubeVote, *, idempotency_key: str | None = None) -> ApiRequest[CubeVoted]:
    """Vote on a cube."""
    return write(CubeVoted, "/api/v7/experience/vote", vote, idempotency_key)


def cube_effects(query: EffectQuery | None = None) -> ApiRequest[EffectReport]:
    """Return how turns of the account ended with cubes and without them, one page at a time."""
    return get(EffectReport, "/api/v7/experience/effect", query)


def chat_with_agent(message: Chat, *, idempotency_key: str | None = None) -> ApiRequest[ChatAnswer]:
    """Chat with the service's own agent.

    If a language model answers, the client's `timeout_s` must exceed that of the model.
    """
    return write(ChatAnswer, "/api/v7/agent/chat", message, idempotency_key)


def list_models() -> ApiRequest[ServedModels]:
    """List the models of the OpenAI-compatible API."""
    return get(ServedModels, "/v1/models")


def complete_chat(
    completion: Completion, *, idempotency_key: str | None = None
) -> ApiRequest[Completed]:
    """Complete a chat from memory, with OpenAI's request format.

    `stream` is not supported here: use an OpenAI client to read a stream.
    """
    return write(Completed, "/v1/chat/completions", completion, idempotency_key)


def show_model(name: str) -> ApiRequest[ServedModel]:
    """Return one model of the OpenAI-compatible API."""
    return get(ServedModel, f"/v1/models/{path_segment(name)}")


def respond(
    request: ResponseRequest, *, idempotency_key: str | None = None
) -> ApiRequest[ResponseObject]:
    """Answer from memory, with the format of OpenAI's Responses API.

    `stream` is not supported here: use an OpenAI client to read a stream.
    """
    return write(ResponseObject, "/v1/responses", request, idempotency_key)


def embed(texts: Embed) -> ApiRequest[Embedded]:
    """Return the vectors of texts by the server's embedder."""
    return post(parse_as(Embedded), "/v1/embeddings", texts)


def look_again(look: SecondLook) -> ApiRequest[SecondLooked]:
    """Check a saved draft (second look).

    The service keeps only a counter, so the request is retried when its response is lost.
    """
    return post(parse_as(SecondLooked), "/api/v7/agent/second-look", look)


def agent_compliance(query: ComplianceQuery | None = None) -> ApiRequest[Compliance]:
    """Report how well agents comply with the protocol."""
    return get(Compliance, "/api/v7/agent/compliance", query)


def execute_code(program: Execution, *, idempotency_key: str | None = None) -> ApiRequest[Executed]:
    """Run a program in the sandbox.

    The client's `timeout_s` must exceed that of the program.
    """
    return write(Executed, "/api/execute/code", program, idempotency_key)


def make_file(file: FileCreate, *, idempotency_key: str | None = None) -> ApiRequest[CreatedFile]:
    """Create a file for download."""
    return write(CreatedFile, "/api/v7/tools/create-file", file, idempotency_key)


def download(filename: str, query: DownloadQuery | None = None) -> ApiRequest[bytes]:
    """Download a file.

    `filename` is the name in the answer of `make_file`; `query` holds both values of a signed link.
    """
    return get_raw(f"/download/{path_segment(filename)}", lambda response: response.body, query)


def status_record() -> ApiRequest[StatusRecord]:
    """Return the status of the service and instructions for agents. Needs no key."""
    return get(StatusRecord, "/api/v7/status")


def receipt_keys() -> ApiRequest[ReceiptKeys]:
    """Return the public keys that verify receipts of erasures. Needs no key."""
    return get(ReceiptKeys, "/api/v7/receipts/keys")


def home() -> ApiRequest[StatusRecord]:
    """Return the status record from the root path."""
    return get(StatusRecord, "/")


def alive() -> ApiRequest[bool]:
    """Return True if the process responds (liveness probe)."""
    return get_raw("/healthz", lambda response: parse_json(response) == {"alive": True})


def ready() -> ApiRequest[Readiness]:
    """Check that every component works (readiness probe).

    Raises UnavailableError if one does not.
    """
    return get(Readiness, "/readyz")


def prometheus_metrics() -> ApiRequest[str]:
    """Return the metrics in the Prometheus text format."""
    return get_raw("/metrics", parse_text)


def openapi_document() -> ApiRequest[dict[str, Any]]:
    """Return the OpenAPI 3.1 document."""
    return get_raw("/openapi.json", parse_object)


def docs_page() -> ApiRequest[str]:
    """Return the first page of the documentation as HTML."""
    return get_raw("/docs", parse_text)


def docs_article(name: str) -> ApiRequest[str]:
    """Return a page of the documentation as HTML; its name is such as `guides/search`."""
    return get_raw(f"/docs/{path_segment(name)}", parse_text)


def style_sheet() -> ApiRequest[str]:
    """Return the style sheet of the pages."""
    return get_raw("/docs/style.css", parse_text)

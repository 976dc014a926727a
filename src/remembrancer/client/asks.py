"""What can be asked of the service: one function an endpoint, named as its operation, which gives the request and how its answer is read.

The functions do nothing by themselves: `Client` and `AsyncClient` (api.py) have a method for each and send what it gives.
Every write carries an Idempotency-Key, a new one unless the caller gives its own, so that sending it again writes nothing twice.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from ..protocol.agent_tools import ToolsListed, ToolsQuery
from ..protocol.chat import Chat, ChatAnswer
from ..protocol.completions import Completed, Completion, ServedModels
from ..protocol.compliance import Compliance, ComplianceQuery
from ..protocol.cubes import CubeCreate, CubeCreated, CubeVote, CubeVoted
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
from .errors import Answered, WrongAnswer, refusal

A = TypeVar("A")
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Generic[A]):
    """One request. `is_safe_twice`: nothing is done a second time when it is sent a second time."""

    method: str
    path: str
    read: Callable[[Answered], A]
    is_safe_twice: bool
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)


def search_memory(query: MemoryQuery) -> Ask[MemoryAnswer]:
    """Search memory. A search that counts is not sent again when its answer is lost: it would count twice."""

    def read(answered: Answered) -> MemoryAnswer:
        said = _json(answered)
        if isinstance(said, dict) and said.get("error"):  # specification, Errors: 'returns an object with an `error` field'
            raise refusal(answered)
        return _model(MemoryAnswer)(answered)

    ask = _write(MemoryAnswer, "/api/v7/memory", query, None)
    return Ask(method="POST", path=ask.path, read=read, body=ask.body, headers={"Content-Type": _JSON}, is_safe_twice=not query.interact)


def explain_search(query: MemoryQuery) -> Ask[Explanation]:
    """A search with every reason for its hits. It counts no step."""
    ask = _write(Explanation, "/api/v7/memory/explain", query, None)
    return Ask(method="POST", path=ask.path, read=ask.read, body=ask.body, headers={"Content-Type": _JSON}, is_safe_twice=True)


def remember_turn(turn: Turn, *, idempotency_key: str | None = None) -> Ask[Remembered]:
    """Keep a turn, and what was learned from it."""
    return _write(Remembered, "/api/v7/remember", turn, idempotency_key)


def save_event(event: EventWrite, *, idempotency_key: str | None = None) -> Ask[EventWritten]:
    """Keep an event of any of the account's users."""
    return _write(EventWritten, "/api/v7/event/write", event, idempotency_key)


def get_event(event_id: str) -> Ask[Event]:
    """One event whole."""
    return _read(Event, f"/api/v7/event/{quote(event_id, safe='', errors='replace')}")


def erase_event(event_id: str, *, idempotency_key: str | None = None) -> Ask[EventErased]:
    """Erase one event for good."""
    return _delete(EventErased, f"/api/v7/event/{quote(event_id, safe='', errors='replace')}", idempotency_key)


def forget_memory(what: Forget, *, idempotency_key: str | None = None) -> Ask[Forgotten]:
    """Erase a session, a stretch of time, a user or all that the account keeps; `dry_run` says how much that would be."""
    return _write(Forgotten, "/api/v7/memory/forget", what, idempotency_key)


def file_command(command: FileCommand, *, idempotency_key: str | None = None) -> Ask[FileDone]:
    """Carry a command of Anthropic's memory tool out. What it asks for wrongly raises nothing: the answer has `is_error`."""
    return _write(FileDone, "/api/v7/memory/files", command, idempotency_key)


def file_history(query: FileQuery | None = None) -> Ask[FileHistory]:
    """Versions of memory files, newest first, and the text of one."""
    return _read(FileHistory, "/api/v7/memory/files", query)


def delete_file(filename: str, *, idempotency_key: str | None = None) -> Ask[FileErased]:
    """Erase a created file."""
    return _delete(FileErased, f"/download/{quote(filename, safe='', errors='replace')}", idempotency_key)


def draft_summary(asked: SummaryAsked) -> Ask[SummaryDraft]:
    """What an L1 of a session's turns could say, by a model where the service has one. Nothing is kept. Not sent again: models cost."""
    return _look(SummaryDraft, "/api/v7/memory/summarize/draft", asked, is_safe_twice=False)


def save_summary(summary: Summary, *, idempotency_key: str | None = None) -> Ask[SummarySaved]:
    """Keep an L1."""
    return _write(SummarySaved, "/api/v7/memory/summarize", summary, idempotency_key)


def make_map(request: MapRequest, *, idempotency_key: str | None = None) -> Ask[MapUpdated]:
    """Make the user's map anew of the stored L1s."""
    return _write(MapUpdated, "/api/v7/memory/map", request, idempotency_key)


def get_map(query: MapQuery | None = None) -> Ask[MapVersion]:
    """One version of the user's map."""
    return _read(MapVersion, "/api/v7/memory/map", query)


def get_start_pack(query: StartQuery | None = None) -> Ask[StartPack]:
    """What an agent reads before its first turn."""
    return _read(StartPack, "/api/v7/memory/start", query)


def get_agent_memory(query: AgentMemoryQuery | None = None) -> Ask[AgentMemory]:
    """With a query a search that counts no step, without one the start pack."""
    return _read(AgentMemory, "/api/v7/agent/memory", query)


def list_tools(query: ToolsQuery | None = None) -> Ask[ToolsListed]:
    """The tools for agents, as an API of language models wants them described."""
    return _read(ToolsListed, "/api/v7/tools", query)


def llms_txt() -> Ask[str]:
    """What the service is and how it is used, for language models."""
    return _page("/llms.txt", _text)


def own_key() -> Ask[OwnKey]:
    """What the key is: its account, whose memory is meant where nobody is named, what it may do."""
    return _read(OwnKey, "/api/v7/key")


def get_prompt(query: PromptQuery) -> Ask[AgentPrompt]:
    """The whole prompt for a user's agent."""
    return _read(AgentPrompt, "/api/v7/agent/prompt", query)


def put_prompt(prompt: PromptWrite, *, idempotency_key: str | None = None) -> Ask[AgentPrompt]:
    """Set the user's own part of the agent prompt."""
    return _write(AgentPrompt, "/api/v7/agent/prompt", prompt, idempotency_key, method="PUT")


def submit_feedback(feedback: Feedback, *, idempotency_key: str | None = None) -> Ask[FeedbackSaved]:
    """Tell the owner something."""
    return _write(FeedbackSaved, "/api/v7/feedback", feedback, idempotency_key)


def list_feedback(query: FeedbackQuery | None = None) -> Ask[FeedbackList]:
    """A page of all feedback, for the owner."""
    return _read(FeedbackList, "/api/v7/feedback", query)


def create_cube(cube: CubeCreate, *, idempotency_key: str | None = None) -> Ask[CubeCreated]:
    """Keep a lesson privately."""
    return _write(CubeCreated, "/api/v7/experience/create", cube, idempotency_key)


def vote_on_cube(vote: CubeVote, *, idempotency_key: str | None = None) -> Ask[CubeVoted]:
    """Rate a cube."""
    return _write(CubeVoted, "/api/v7/experience/vote", vote, idempotency_key)


def chat_with_agent(message: Chat, *, idempotency_key: str | None = None) -> Ask[ChatAnswer]:
    """Talk with the service's own agent. Where models answer, the client's `timeout_s` must be longer than theirs."""
    return _write(ChatAnswer, "/api/v7/agent/chat", message, idempotency_key)


def list_models() -> Ask[ServedModels]:
    """The models of the OpenAI-compatible door."""
    return _read(ServedModels, "/v1/models")


def complete_chat(completion: Completion, *, idempotency_key: str | None = None) -> Ask[Completed]:
    """Chat completions as OpenAI's clients ask for them, answered from memory; not for `stream`, which those clients read."""
    return _write(Completed, "/v1/chat/completions", completion, idempotency_key)


def look_again(look: SecondLook) -> Ask[SecondLooked]:
    """Check a remembered draft. Only a count is kept of it, so it is sent again when its answer is lost."""
    return _look(SecondLooked, "/api/v7/agent/second-look", look)


def agent_compliance(query: ComplianceQuery | None = None) -> Ask[Compliance]:
    """How well agents keep to the protocol: what they did of what was due."""
    return _read(Compliance, "/api/v7/agent/compliance", query)


def execute_code(program: Execution, *, idempotency_key: str | None = None) -> Ask[Executed]:
    """Run a program in the sandbox. A long one needs a client whose `timeout_s` is longer than its own."""
    return _write(Executed, "/api/execute/code", program, idempotency_key)


def check_permission(check: PermissionCheck) -> Ask[PermissionChecked]:
    """Whether an agent may touch a path now. Whatever is raised means no. Not sent again: each check is an entry of the trail."""
    return _look(PermissionChecked, "/api/v7/sysperm/check", check, is_safe_twice=False)


def grant_permission(grant: GrantRequest, *, idempotency_key: str | None = None) -> Ask[Granted]:
    """Allow an agent something for a while, for the owner."""
    return _write(Granted, "/api/v7/sysperm/grant", grant, idempotency_key)


def list_grants(query: GrantsQuery | None = None) -> Ask[GrantList]:
    """A page of the grants in force, for the owner."""
    return _read(GrantList, "/api/v7/sysperm/grants", query)


def log_permitted_action(log: ActionLog, *, idempotency_key: str | None = None) -> Ask[ActionLogged]:
    """Keep what came of an action that a check allowed."""
    return _write(ActionLogged, "/api/v7/sysperm/log", log, idempotency_key)


def revoke_permission(revocation: GrantRevocation, *, idempotency_key: str | None = None) -> Ask[GrantRevoked]:
    """End a grant, for the owner."""
    return _write(GrantRevoked, "/api/v7/sysperm/revoke", revocation, idempotency_key)


def read_audit(query: AuditQuery | None = None) -> Ask[AuditPage]:
    """A page of the audit trail, for the owner."""
    return _read(AuditPage, "/api/v7/sysperm/audit", query)


def make_file(file: FileCreate, *, idempotency_key: str | None = None) -> Ask[CreatedFile]:
    """Keep a file, to be downloaded."""
    return _write(CreatedFile, "/api/v7/tools/create-file", file, idempotency_key)


def download(filename: str, query: DownloadQuery | None = None) -> Ask[bytes]:
    """The content of a file; `filename` is the one in the answer of `make_file`. `query`: both values of a signed link."""
    return _page(f"/download/{quote(filename, safe='', errors='replace')}", lambda answered: answered.body, query)


def status_record() -> Ask[StatusRecord]:
    """What the service is, what an agent should do, and how it is doing. Needs no key."""
    return _read(StatusRecord, "/api/v7/status")


def home() -> Ask[StatusRecord]:
    """The same, as the root answers programs."""
    return _read(StatusRecord, "/")


def alive() -> Ask[bool]:
    """Whether the process answers at all."""
    return _page("/healthz", lambda answered: _json(answered) == {"alive": True})


def ready() -> Ask[Readiness]:
    """Whether the parts of the service work; Unavailable is raised when one does not."""
    return _read(Readiness, "/readyz")


def prometheus_metrics() -> Ask[str]:
    """Counts and times for Prometheus."""
    return _page("/metrics", _text)


def openapi_document() -> Ask[dict[str, Any]]:
    """The interface as OpenAPI 3.1."""
    return _page("/openapi.json", _object)


def docs_page() -> Ask[str]:
    """The documentation of every endpoint, as HTML."""
    return _page("/docs", _text)


def style_sheet() -> Ask[str]:
    """The style sheet of the pages."""
    return _page("/docs/style.css", _text)


def other(method: str, path: str, body: Mapping[str, Any] | None = None, *, idempotency_key: str | None = None) -> Ask[dict[str, Any]]:
    """Anything that a newer service takes and this version has no method for: JSON in, JSON out."""
    raw = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8")
    headers = {} if body is None else {"Content-Type": _JSON}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    is_safe = method == "GET" or idempotency_key is not None
    return Ask(method=method, path=path, read=_object, body=raw, headers=headers, is_safe_twice=is_safe)


_JSON = "application/json"


def _read(model: type[M], path: str, query: BaseModel | None = None) -> Ask[M]:
    return Ask(method="GET", path=path, read=_model(model), query=_query(query), headers={"Accept": _JSON}, is_safe_twice=True)


def _write(model: type[M], path: str, body: BaseModel, idempotency_key: str | None, *, method: str = "POST") -> Ask[M]:
    raw = body.model_dump_json(exclude_none=True).encode("utf-8")
    headers = {"Content-Type": _JSON, **_once(idempotency_key)}
    return Ask(method=method, path=path, read=_model(model), body=raw, headers=headers, is_safe_twice=True)


def _look(model: type[M], path: str, body: BaseModel, *, is_safe_twice: bool = True) -> Ask[M]:
    """What is asked with a body and keeps nothing."""
    raw = body.model_dump_json(exclude_none=True).encode("utf-8")
    return Ask(method="POST", path=path, read=_model(model), body=raw, headers={"Content-Type": _JSON}, is_safe_twice=is_safe_twice)


def _delete(model: type[M], path: str, idempotency_key: str | None) -> Ask[M]:
    return Ask(method="DELETE", path=path, read=_model(model), headers=_once(idempotency_key), is_safe_twice=True)


def _once(idempotency_key: str | None) -> dict[str, str]:
    return {"Idempotency-Key": secrets.token_hex(16) if idempotency_key is None else idempotency_key}


def _page(path: str, read: Callable[[Answered], A], query: BaseModel | None = None) -> Ask[A]:
    return Ask(method="GET", path=path, read=read, query=_query(query), is_safe_twice=True)


def _query(model: BaseModel | None) -> dict[str, str]:
    values = {} if model is None else model.model_dump(mode="json", exclude_none=True)
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


def _model(model: type[M]) -> Callable[[Answered], M]:
    def read(answered: Answered) -> M:
        try:
            return model.model_validate_json(answered.body)
        except ValidationError as error:
            where = "; ".join(f"{'/'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}" for fault in error.errors()[:3])
            raise WrongAnswer(f"This is no {model.__name__} ({where}).") from None

    return read


def _json(answered: Answered) -> Any:
    try:
        return json.loads(answered.body)
    except ValueError:
        raise WrongAnswer("This is no JSON.") from None


def _object(answered: Answered) -> dict[str, Any]:
    said = _json(answered)
    if not isinstance(said, dict):
        raise WrongAnswer("This is no JSON object.")
    return said


def _text(answered: Answered) -> str:
    return answered.body.decode("utf-8", "replace")

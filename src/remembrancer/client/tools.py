"""Tools for agents: one row for each, built from the operations of the service."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from ..protocol.agent_tools import (
    Document,
    Erasing,
    EventNamed,
    FactCorrected,
    FactCorrection,
    ForgetAsked,
    Found,
    FoundAll,
    Named,
    Recall,
    Wanted,
)
from ..protocol.described import field_descriptions
from ..protocol.facts import FactChange, FactList
from ..protocol.fence import one_line
from ..protocol.forget import Forget
from ..protocol.memory import Event
from ..protocol.message import DEFAULT_SESSION, in_characters
from ..protocol.operation import AnyOperation
from ..protocol.operations import Operations
from ..protocol.recalled import event_item, fenced_items, stored_fact_item
from ..protocol.search import MemoryAnswer, MemoryQuery
from ..protocol.status import OwnKeyQuery
from ..protocol.summaries import StartPack, StartQuery
from ..protocol.text import beginning
from .api import AsyncClient, Client
from .api_request import ApiRequest, drive, drive_async, request_of
from .runtime.session import recalled_text

# --- The JSON Schema of the arguments of a tool, made from the model of its request ----------


def arguments_schema(
    model: type[BaseModel], arguments: Sequence[str], required: Sequence[str]
) -> dict[str, Any]:
    """Return the schema of an object with these fields of a model."""
    model_schema = model.model_json_schema()
    properties = {
        name: _argument(model_schema["properties"][name], required=name in required)
        for name in arguments
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    if "$ref" in json.dumps(properties):
        schema["$defs"] = model_schema["$defs"]
    return schema


def _argument(schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return the schema of an argument: without the title, which repeats its name, and open to null
    if it is optional.
    """
    argument = {name: value for name, value in schema.items() if name != "title"}
    if required or any(part.get("type") == "null" for part in argument.get("anyOf", ())):
        return argument
    about = ("description", "default")
    kind = {name: value for name, value in argument.items() if name not in about}
    return {
        "anyOf": [kind, {"type": "null"}],
        **{name: value for name, value in argument.items() if name in about},
    }


def _brief(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of arguments without limits, defaults and null; the service checks them."""
    words = ("type", "enum", "format", "items", "description", "$ref")
    properties = {}
    for name, argument in schema["properties"].items():
        kinds = [one for one in argument.get("anyOf", ()) if one.get("type") != "null"]
        whole = {**argument, **(kinds[0] if len(kinds) == 1 else {})}
        properties[name] = {word: whole[word] for word in words if word in whole}
    return {**schema, "properties": properties}


# --- One tool for agents: its arguments, its steps, and its description for three APIs -------

ToolSteps: TypeAlias = Generator[ApiRequest[Any], Any, BaseModel]
ToolFunction: TypeAlias = Callable[[Any, str, str | None], ToolSteps]
SchemaFormat: TypeAlias = Literal["openai", "anthropic", "mcp"]


class ToolArgumentsError(ValueError):
    """The tool does not exist or its arguments are invalid; the message names the argument."""


SAME = ""  # the description beside hooks is the same


@dataclass(frozen=True)
class Tool:
    """One tool for agents.

    `required` and `optional` name the fields of `request_model` that the tool shows, in this order.
    `render` converts the answer to text; by default it is JSON.
    """

    request_model: type[BaseModel]
    answer_model: type[BaseModel]
    function: ToolFunction
    _: KW_ONLY
    name: str = ""
    title: str = ""
    description: str = ""
    required: str = ""
    optional: str = ""
    render: Callable[[Any], str] | None = None
    is_read_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False  # repeating a call with the same arguments has no effect
    # Description where hooks search, store and check; None: hooks do what the tool is for.
    beside_hooks: str | None = SAME
    is_brief: bool = False  # described with few words, and without the schema of its answer

    @property
    def arguments(self) -> list[str]:
        """The names of all arguments."""
        return f"{self.required} {self.optional}".split()

    @property
    def annotations(self) -> dict[str, Any]:
        """Annotations of the Model Context Protocol."""
        annotations: dict[str, Any] = {
            "title": self.title,
            "readOnlyHint": self.is_read_only,
            "openWorldHint": False,
        }
        if not self.is_read_only:
            annotations["destructiveHint"] = self.is_destructive
            annotations["idempotentHint"] = self.is_idempotent
        return annotations

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        schema = arguments_schema(self.request_model, self.arguments, self.required.split())
        return _brief(schema) if self.is_brief else schema

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of the structured answer; None if the answer is a fenced text.

        Hosts show a model the structured answer instead of the text, so a tool that shows memory
        has none.
        """
        if self.render or self.is_brief:
            return None
        return self.answer_model.model_json_schema(mode="serialization")

    def steps(self, arguments: Mapping[str, Any], base_url: str, user_id: str | None) -> ToolSteps:
        """Yield the requests to send, receive their answers, and return the tool's answer.

        `base_url` is the service's public address; `user_id` the key's pin, if any. Raises
        ToolArgumentsError.
        """
        unknown = sorted(set(arguments) - set(self.arguments))
        if unknown:
            raise ToolArgumentsError(
                f"{unknown[0]}: there is no such argument; valid: {', '.join(self.arguments)}"
            )
        values = {
            name: value
            for name, value in arguments.items()
            if value is not None or name in self.required.split()
        }
        user_field = self.request_model.model_fields.get("user_id")
        if user_field is not None and user_field.is_required() and "user_id" not in values:
            values["user_id"] = (
                user_id or (yield request_of(Operations.own_key, _session(values))).user_id
            )
        try:
            request = self.request_model.model_validate_json(json.dumps(values))
        except (ValidationError, TypeError, ValueError) as error:
            raise ToolArgumentsError(_error_message(error)) from None
        answer: BaseModel = yield from self.function(request, base_url, user_id)
        return answer


def described(tool: Tool, schema_format: SchemaFormat) -> dict[str, Any]:
    """Describe a tool for OpenAI (chat completions), Anthropic (messages) or MCP."""
    texts = {"name": tool.name, "description": tool.description}
    if schema_format == "openai":
        return {"type": "function", "function": {**texts, "parameters": tool.input_schema}}
    if schema_format == "anthropic":
        return {**texts, "input_schema": tool.input_schema}
    output = {} if tool.output_schema is None else {"outputSchema": tool.output_schema}
    return {
        **texts,
        "title": tool.title,
        "inputSchema": tool.input_schema,
        **output,
        "annotations": tool.annotations,
    }


def _session(arguments: Mapping[str, Any]) -> OwnKeyQuery | None:
    """Return the query for the user of the session, if the arguments name it correctly."""
    try:
        return OwnKeyQuery(session_id=arguments.get("session_id") or DEFAULT_SESSION)
    except ValidationError:
        return None


def _error_message(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"the arguments cannot be converted to JSON: {error}"
    fault = error.errors()[0]
    return (
        f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {in_characters(fault, fault['msg'])}"
    )


def one_request(operation: AnyOperation, **options: Any) -> Tool:
    """Return the tool that sends one request of this operation. `options` are fields of Tool."""

    def function(request: BaseModel, _base_url: str, _user_id: str | None) -> ToolSteps:
        answer: BaseModel = yield request_of(operation, request)
        return answer

    assert operation.message is not None
    assert operation.answer is not None
    return Tool(operation.message, operation.answer, function, **options)


# --- Tools for agents: one row for each, built from the models and requests of the HTTP API --
# There are few tools, and each shows only the arguments that a model needs: models then choose the
# right tool more often and read less. An argument that a tool omits has its HTTP default; `user_id`
# defaults to the key's own user.

TITLE_CHARACTERS_MAX = 80
CONNECTOR_HITS = 10  # results of the tool `search`
EVENT_PAGE = "/console/memory?event_id="


def call_tool(
    client: Client,
    name: str,
    arguments: Mapping[str, Any],
    base_url: str = "",
    user_id: str | None = None,
) -> BaseModel:
    """Call a tool, as `Tool.steps` does. Raises ToolArgumentsError and ClientError."""
    return drive(_tool(name).steps(arguments, base_url, user_id), client.send)


async def acall_tool(
    client: AsyncClient,
    name: str,
    arguments: Mapping[str, Any],
    base_url: str = "",
    user_id: str | None = None,
) -> BaseModel:
    """Call a tool like `call_tool`, with asyncio."""
    return await drive_async(_tool(name).steps(arguments, base_url, user_id), client.send)


def schemas(schema_format: SchemaFormat) -> list[dict[str, Any]]:
    """Describe the tools for OpenAI (chat completions), Anthropic (messages) or MCP."""
    return [described(tool, schema_format) for tool in TOOLS]


@lru_cache(maxsize=8)
def chosen_tools(choice: str, *, beside_hooks: bool) -> tuple[Tool, ...]:
    """Return the tools of a choice: `all`, `memory` (few, described briefly), or their names.

    `beside_hooks`: hooks search, store and check for the agent, so that no description asks for
    these. Raises ToolArgumentsError for an unknown name.
    """
    tools = TOOLS
    if beside_hooks:
        tools = tuple(
            replace(tool, description=tool.beside_hooks or tool.description)
            for tool in TOOLS
            if tool.beside_hooks is not None
        )
    if choice == "all":
        return tools
    if choice == "memory":
        return tuple(
            replace(
                tool,
                optional=MEMORY_TOOLS[tool.name],
                description=BRIEF.get((tool.name, beside_hooks), tool.description),
                is_brief=True,
            )
            for tool in tools
            if tool.name in MEMORY_TOOLS
        )
    names = [name.strip() for name in choice.split(",")]
    for name in names:
        _tool(name)
    return tuple(tool for tool in tools if tool.name in names)


def _tool(name: str) -> Tool:
    if name not in BY_NAME:
        raise ToolArgumentsError(f"there is no tool {name!r}; valid tools: {', '.join(BY_NAME)}")
    return BY_NAME[name]


def _recall(recall: Recall, _base_url: str, _user_id: str | None) -> ToolSteps:
    """Search. An agent that uses tools seals only if it sends a seal."""
    query = recall.query
    query = query.model_copy(update={"seals": query.last_seal is not None})
    answer: BaseModel = yield request_of(Operations.search_memory, query)
    return answer


def _get_event(request: EventNamed, _base_url: str, _user_id: str | None) -> ToolSteps:
    event: BaseModel = yield request_of(Operations.get_event, item_id=request.event_id)
    return event


def _correct_fact(request: FactCorrection, _base_url: str, _user_id: str | None) -> ToolSteps:
    if request.remove:
        return FactCorrected(
            removed=(yield request_of(Operations.remove_fact, item_id=request.fact_id))
        )
    values = request.model_dump(exclude={"fact_id", "remove"}, exclude_unset=True)
    change = FactChange.model_validate(values)
    return FactCorrected(
        changed=(yield request_of(Operations.change_fact, change, item_id=request.fact_id))
    )


def _forget(request: ForgetAsked, _base_url: str, _user_id: str | None) -> ToolSteps:
    if request.event_id is not None:
        return Erasing(event=(yield request_of(Operations.erase_event, item_id=request.event_id)))
    scope = Forget.model_validate(request.model_dump(exclude={"event_id"}))
    return Erasing(memory=(yield request_of(Operations.forget_memory, scope)))


def _search(request: Wanted, base_url: str, user_id: str | None) -> ToolSteps:
    user_id = user_id or (yield request_of(Operations.own_key, _session({}))).user_id
    query = MemoryQuery(
        query_text=request.query, user_id=user_id, top_k=CONNECTOR_HITS, interact=False
    )
    hits = (yield request_of(Operations.search_memory, query)).hits
    results = [
        Found(
            id=hit.event_id,
            title=_title(hit.topic, hit.query or hit.response),
            url=_event_url(base_url, hit.event_id),
        )
        for hit in hits
    ]
    return FoundAll(results=results)


def _fetch(request: Named, base_url: str, _user_id: str | None) -> ToolSteps:
    event = yield request_of(Operations.get_event, item_id=request.id)
    return Document(
        id=event.event_id,
        title=_title(event.topic, event.query or event.response),
        text=_event_text(event),
        url=_event_url(base_url, event.event_id),
        metadata={
            "occurred_at": event.occurred_at,
            "session_id": event.session_id,
            "user_id": event.user_id,
        },
    )


def _title(topic: str | None, text: str) -> str:
    """Return the title of an event, in quotation marks unless it begins with a letter or digit.

    A host may show it at the beginning of a line, where a bracket would look like a label.
    """
    title = beginning(one_line(topic or text), TITLE_CHARACTERS_MAX)
    return title if title[:1].isalnum() else f"\u201c{title}\u201d"


def _event_url(base_url: str, event_id: str) -> str:
    return f"{base_url}{EVENT_PAGE}{event_id}"


def _event_text(event: Event) -> str:
    return fenced_items([event_item(event.model_dump(mode="json"))])


def _facts_text(answer: FactList) -> str:
    items = [stored_fact_item(fact.model_dump(mode="json")) for fact in answer.facts]
    return fenced_items(items) or "No facts."


def _corrected_fact_text(answer: FactCorrected) -> str:
    changed = answer.changed
    if changed is None:
        return answer.model_dump_json()
    receipt = changed.model_dump_json(include={"saved", "outcome", "may_supersede", "detail"})
    item = stored_fact_item(changed.fact.model_dump(mode="json"))
    return f"{receipt}\n{fenced_items([item])}"


def _start_pack(request: StartQuery, _base_url: str, _user_id: str | None) -> ToolSteps:
    pack: BaseModel = yield request_of(
        Operations.get_start_pack, request.model_copy(update={"client": "mcp"})
    )
    return pack


# The tools that a coding agent needs, each with the optional arguments that it is shown.
MEMORY_TOOLS: Mapping[str, str] = {
    "recall": "error session_id project after before",
    "remember": "query response session_id metadata critical critical_replaces task_done task_id",
    "get_event": "",
    "forget": "event_id session_id after before user_id dry_run confirm",
}
BRIEF: Mapping[tuple[str, bool], str] = {  # descriptions that name these arguments alone
    ("remember", False): "Save a turn word for word: the user's message in query, your answer in "
    "response. Call it after every answer. With a turn, or alone, save a lasting fact (critical); "
    "critical_replaces names the fact that it ends.",
    ("remember", True): "Save a lasting fact (critical); critical_replaces names the fact that it "
    "ends. Hooks save the turns.",
}


class Tools:
    """The tools, in the order that agents list them. The string below one has its title and its
    description; a model chooses by the description.
    """

    recall = Tool(
        Recall,
        MemoryAnswer,
        _recall,
        required="query_text",
        optional="focus_words error tools files top_k session_id project last_seal after before "
        "as_of filters min_trust depth user_id team teams",
        beside_hooks="Search memory for what is relevant to the user's message. After a failure, "
        "pass its error text: lessons are chosen for it.",
        render=recalled_text,
        is_read_only=True,
    )
    """Recall.

    Search memory for what is relevant to the user's message. Call it before each answer. Cite
    what you use: (ref: event_id). After a failure, pass its error text: lessons are chosen for
    it."""
    remember = one_request(
        Operations.remember_turn,
        optional="query response source session_id topic metadata critical critical_replaces "
        "l1_summary l2_map task_done task_id duty duty_reason replaces user_id team",
        beside_hooks="Save a lasting fact (critical), a summary of the session (l1_summary) or the "
        "user's map (l2_map). Hooks save the turns.",
        is_idempotent=True,
    )
    """Remember.

    Save a turn word for word: the user's message in query, your answer in response. Call it
    after every answer. With a turn, or alone, save a lasting fact (critical), a summary of the
    session (l1_summary, when l1_due) or the user's map (l2_map, when l2_due)."""
    list_facts = one_request(
        Operations.list_facts,
        optional="which status as_of filters limit below session_id user_id team",
        render=_facts_text,
        is_read_only=True,
    )
    """List facts.

    List the lasting facts stored about the user, newest first, also superseded and expired ones
    (status), those that held at a time (as_of), or standing instructions and preferences
    (which)."""
    correct_fact = Tool(
        FactCorrection,
        FactCorrected,
        _correct_fact,
        required="fact_id",
        optional="text valid_from valid_to expires_at pinned status clear remove",
        render=_corrected_fact_text,
        is_destructive=True,
    )
    """Correct a fact.

    Correct a stored fact when the user says so: another wording, the time until which it holds,
    pinned, or remove. To add a fact, use critical of remember."""
    start_pack = Tool(
        StartQuery,
        StartPack,
        _start_pack,
        optional="session_id project user_id",
        render=attrgetter("prompt_text"),  # already fenced
        is_read_only=True,
        beside_hooks=None,
    )
    """Start pack.

    Load the context for a new session: the rules, the user's map, critical facts, summaries and
    the best lessons. Call it before the first turn."""
    get_event = Tool(
        EventNamed, Event, _get_event, required="event_id", render=_event_text, is_read_only=True
    )
    """Get event.

    Get the full text of one event, word for word. recall may show only part of a long event."""
    second_look = one_request(
        Operations.look_again,
        required="draft",
        optional="event_id span",
        beside_hooks=None,
        is_read_only=True,
    )
    """Second look.

    Check an answer that you just saved: is every number, date, name and URL marked, and does
    the cited event contain it? Fix what fails and save the answer again, with replaces."""
    save_cube = one_request(
        Operations.create_cube,
        required="topic essence rules_markdown evidence",
        optional="cube_type source visibility session_id user_id",
    )
    """Save a lesson.

    Save a lesson for future sessions. At most one in three turns."""
    vote = one_request(
        Operations.vote_on_cube,
        required="cube_id vote",
        optional="reason session_id user_id",
        is_idempotent=True,
    )
    """Vote on a lesson.

    Rate a lesson that recall returned: 1 if it helped, -1 if it was wrong (give a reason). If
    it did not matter, call remember with the duty vote_nothing and a duty_reason."""
    run_python = one_request(
        Operations.execute_code, required="code", optional="mode timeout_s session_id"
    )
    """Run Python.

    Run Python with numpy and matplotlib in a sandbox without network or access to other files.
    Returns the output, the value of the last expression, and the files and figures created.
    Small mistakes are repaired and reported."""
    create_file = one_request(Operations.make_file, required="filename content type")
    """Create a file.

    Create a file for the user. Give them its download_url."""
    check_permission = one_request(
        Operations.check_permission, required="path action agent", is_read_only=True
    )
    """Check a permission.

    Check before you access a system path outside your workspace. If allowed is false, do not
    access it; ask the owner for a grant."""
    forget = Tool(
        ForgetAsked,
        Erasing,
        _forget,
        optional="event_id session_id after before filters path user_id dry_run confirm",
        is_destructive=True,
        is_idempotent=True,
    )
    """Forget.

    Erase memory permanently, only when the user asks for it: one event, a session, a period, or
    everything of a user (with confirm). With dry_run, report what would be erased."""
    search = Tool(Wanted, FoundAll, _search, required="query", is_read_only=True)
    """Search.

    Search memory; returns ids for fetch. For connectors that support only these two tools.
    Agents use recall."""
    fetch = Tool(Named, Document, _fetch, required="id", is_read_only=True)
    """Fetch.

    Get the full text of one event that search returned."""


def _described(name: str, tool: Tool) -> Tool:
    title, _, description = field_descriptions(__name__)[Tools.__name__][name].partition("\n")
    return replace(tool, name=name, title=title.removesuffix("."), description=description)


TOOLS = tuple(_described(name, one) for name, one in vars(Tools).items() if isinstance(one, Tool))
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}

"""The tools that agents get: one row each, made of the requests and answers that HTTP has, and carried out by the functions of `asks.py`.

Few, and with the members that a model needs: it picks the right one more often, and reads less. What a tool leaves out of a request has
the default that it has over HTTP; `user_id` is the key's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ValidationError

from ..protocol.agent_tools import (
    Document,
    Erasing,
    EventNamed,
    ForgetAsked,
    Found,
    FoundAll,
    Named,
    Wanted,
)
from ..protocol.cubes import CubeCreate, CubeCreated, CubeVote, CubeVoted
from ..protocol.execution import Executed, Execution
from ..protocol.fence import fenced, new_delimiter
from ..protocol.files import CreatedFile, FileCreate
from ..protocol.forget import Forget
from ..protocol.memory import Event, MemoryAnswer, MemoryQuery, Remembered, Turn
from ..protocol.permissions import PermissionCheck, PermissionChecked
from ..protocol.second_look import SecondLook, SecondLooked
from ..protocol.summaries import StartPack, StartQuery
from . import asks
from .api import AsyncClient, Client
from .runtime_prompts import RECALLED, recalled_text

TITLE_CHARACTERS_MAX = 80
CONNECTOR_HITS = 10
EVENT_PAGE = "/console/memory/event?event_id="


Steps: TypeAlias = Generator[asks.Ask[Any], Any, BaseModel]
Does: TypeAlias = Callable[[Any, str, str | None], Steps]
Form: TypeAlias = Literal["openai", "anthropic", "mcp"]


class ArgumentsUnfit(ValueError):
    """What was sent does not fit the tool; says which member, and what it should be."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool. `members` of `takes` are what it shows; `shows` puts its answer into words, which is JSON where there is none."""

    name: str
    title: str
    about: str
    takes: type[BaseModel]
    members: tuple[str, ...]
    required: tuple[str, ...]
    gives: type[BaseModel]
    does: Does
    shows: Callable[[Any], str] | None = None
    reads: bool = False  # changes nothing that anybody would miss
    erases: bool = False
    again: bool = False  # a second call with the same arguments adds nothing

    @property
    def annotations(self) -> dict[str, Any]:
        """What it changes, in the words of MCP."""
        said: dict[str, Any] = {"title": self.title, "readOnlyHint": self.reads, "openWorldHint": False}
        return said if self.reads else {**said, "destructiveHint": self.erases, "idempotentHint": self.again}

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        whole = self.takes.model_json_schema()
        properties = {name: _plain(whole["properties"][name]) for name in self.members}
        schema = {"type": "object", "properties": properties, "required": list(self.required), "additionalProperties": False}
        return schema | ({"$defs": whole["$defs"]} if "$ref" in json.dumps(properties) else {})

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the structured answer."""
        return self.gives.model_json_schema(mode="serialization")

    def steps(self, arguments: Mapping[str, Any], base: str, user_id: str | None) -> Steps:
        """What to send, one request after another, each with its answer sent back in; returns the tool's answer.

        `base` is the address people reach the service at, `user_id` the key's own where that is known. Raises ArgumentsUnfit.
        """
        unknown = sorted(set(arguments) - set(self.members))
        if unknown:
            raise ArgumentsUnfit(f"{unknown[0]}: there is no such argument; there are {', '.join(self.members)}")
        given = dict(arguments)
        whose = self.takes.model_fields.get("user_id")
        if whose is not None and whose.is_required() and given.get("user_id") is None:
            given["user_id"] = user_id or (yield asks.own_key()).user_id
        try:
            asked = self.takes.model_validate_json(json.dumps(given))
        except (ValidationError, TypeError, ValueError) as error:
            raise ArgumentsUnfit(_unfit(error)) from None
        answer: BaseModel = yield from self.does(asked, base, user_id)
        return answer


def call_tool(client: Client, name: str, arguments: Mapping[str, Any], base: str = "", user_id: str | None = None) -> BaseModel:
    """Carry a tool out; `base` and `user_id` as in `Tool.steps`. Raises ArgumentsUnfit, also for a name of no tool, and ClientError."""
    steps = _named(name).steps(arguments, base, user_id)
    got: Any = None
    while True:
        try:
            ask = steps.send(got)
        except StopIteration as done:
            return cast(BaseModel, done.value)
        got = client.send(ask)


async def acall_tool(client: AsyncClient, name: str, arguments: Mapping[str, Any], base: str = "", user_id: str | None = None) -> BaseModel:
    """The same for asyncio."""
    steps = _named(name).steps(arguments, base, user_id)
    got: Any = None
    while True:
        try:
            ask = steps.send(got)
        except StopIteration as done:
            return cast(BaseModel, done.value)
        got = await client.send(ask)


def schemas(form: Form) -> list[dict[str, Any]]:
    """The tools as the APIs of OpenAI (chat completions) and Anthropic, and MCP, want them described."""
    return [_FORMS[form](tool) for tool in TOOLS]


def _for_openai(tool: Tool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.about, "parameters": tool.input_schema}}


def _for_anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.about, "input_schema": tool.input_schema}


def _for_mcp(tool: Tool) -> dict[str, Any]:
    said = {"name": tool.name, "title": tool.title, "description": tool.about, "inputSchema": tool.input_schema}
    return {**said, "outputSchema": tool.output_schema, "annotations": tool.annotations}


_FORMS: Mapping[Form, Callable[[Tool], dict[str, Any]]] = {"openai": _for_openai, "anthropic": _for_anthropic, "mcp": _for_mcp}


def _named(name: str) -> Tool:
    if name not in BY_NAME:
        raise ArgumentsUnfit(f"there is no tool {name!r}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]


def _unfit(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"the arguments are no JSON: {error}"
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    """A member of a schema as short as it can be said."""
    return {name: value for name, value in part.items() if name != "title"}


def _sends(ask: Callable[[Any], asks.Ask[Any]]) -> Does:
    """Carried out by one request."""

    def does(asked: Any, _base: str, _user_id: str | None) -> Steps:
        answer: BaseModel = yield ask(asked)
        return answer

    return does


def _forget(asked: ForgetAsked, _base: str, _user_id: str | None) -> Steps:
    if asked.event_id is not None:
        return Erasing(event=(yield asks.erase_event(asked.event_id)))
    return Erasing(memory=(yield asks.forget_memory(Forget.model_validate(asked.model_dump(exclude={"event_id"})))))


def _search(asked: Wanted, base: str, user_id: str | None) -> Steps:
    user_id = user_id or (yield asks.own_key()).user_id
    query = MemoryQuery(query_text=asked.query, user_id=user_id, top_k=CONNECTOR_HITS, interact=False)
    hits = (yield asks.search_memory(query)).hits
    found = [Found(id=hit.event_id, title=_title(hit.topic, hit.query or hit.response), url=_page(base, hit.event_id)) for hit in hits]
    return FoundAll(results=found)


def _fetch(asked: Named, base: str, _user_id: str | None) -> Steps:
    event = yield asks.get_event(asked.id)
    return Document(
        id=event.event_id,
        title=_title(event.topic, event.query or event.response),
        text=event.raw_dialogue,
        url=_page(base, event.event_id),
        metadata={"occurred_at": event.occurred_at, "session_id": event.session_id, "user_id": event.user_id},
    )


def _title(topic: str | None, text: str) -> str:
    said = " ".join((topic or text).split())
    return said if len(said) <= TITLE_CHARACTERS_MAX else f"{said[: TITLE_CHARACTERS_MAX - 1]}\u2026"


def _page(base: str, event_id: str) -> str:
    return f"{base}{EVENT_PAGE}{event_id}"


def _event_text(event: Event) -> str:
    whole = f"[event {event.event_id}] {event.occurred_at}\n{event.raw_dialogue}"
    return f"{RECALLED}\n{fenced(whole, new_delimiter())}"


def _pack_text(pack: StartPack) -> str:
    return pack.prompt_text  # it is fenced already


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="recall", title="Recall", takes=MemoryQuery, required=("query_text",), gives=MemoryAnswer, does=_sends(asks.search_memory),
        members=("query_text", "focus_words", "top_k", "session_id", "last_seal", "after", "before", "user_id"),
        shows=recalled_text, reads=True,
        about="Find what was said before that bears on the user's message. Call it before each answer. Cite what you use: (ref: event_id).",
    ),
    Tool(
        name="remember", title="Remember", takes=Turn, required=(), gives=Remembered, does=_sends(asks.remember_turn), again=True,
        members=(
            "query", "response", "session_id", "topic", "critical", "l1_summary", "l2_map", "task_done", "duty", "duty_reason", "replaces",
            "user_id",
        ),
        about="Keep a turn word for word: the user's message in query, your answer in response. Call it after every answer. Beside a turn, "
        "or alone, a lasting fact (critical), a summary of the session (l1_summary, when l1_due), the user's map (l2_map, when l2_due).",
    ),
    Tool(
        name="start_pack", title="Start pack", takes=StartQuery, required=(), gives=StartPack, does=_sends(asks.get_start_pack),
        members=("session_id", "user_id"), shows=_pack_text, reads=True,
        about="What to know before the first turn of a session: the rules, the user's map, critical facts, summaries, the best lessons.",
    ),
    Tool(
        name="get_event", title="Get event", takes=EventNamed, required=("event_id",), gives=Event, members=("event_id",),
        does=_sends(lambda asked: asks.get_event(asked.event_id)), shows=_event_text, reads=True,
        about="One event whole, word for word. recall may show only a part of a long one.",
    ),
    Tool(
        name="second_look", title="Second look", takes=SecondLook, required=("draft",), gives=SecondLooked, does=_sends(asks.look_again),
        members=("draft", "event_id", "span"), reads=True,
        about="Check an answer that was just remembered: is every number, date, name and URL marked, and in the event it cites? "
        "Mend what fails and remember the answer again, with replaces.",
    ),
    Tool(
        name="save_cube", title="Save a lesson", takes=CubeCreate, required=("topic", "essence", "rules_markdown", "evidence"),
        gives=CubeCreated, does=_sends(asks.create_cube),
        members=("topic", "essence", "rules_markdown", "evidence", "cube_type", "session_id"),
        about="Keep a lesson for the future, when one was learned; at most one in three turns.",
    ),
    Tool(
        name="vote", title="Vote on a lesson", takes=CubeVote, required=("cube_id", "vote"), gives=CubeVoted, again=True,
        members=("cube_id", "vote", "reason", "user_id"), does=_sends(asks.vote_on_cube),
        about="Rate a lesson that recall showed: 1 it helped, 0 it did not matter, -1 it was wrong (say why).",
    ),
    Tool(
        name="run_python", title="Run Python", takes=Execution, required=("code",), gives=Executed, does=_sends(asks.execute_code),
        members=("code", "mode", "timeout_s", "session_id"),
        about="Run Python with numpy and matplotlib where it can reach nothing else: no network, no files of anybody. What it prints, its "
        "last expression, and the files and figures it made come back. A slip is mended and said.",
    ),
    Tool(
        name="create_file", title="Create a file", takes=FileCreate, required=("filename", "content", "type"), gives=CreatedFile,
        does=_sends(asks.make_file), members=("filename", "content", "type"),
        about="Make a file for the user; give them its download_url.",
    ),
    Tool(
        name="check_permission", title="Check a permission", takes=PermissionCheck, required=("path", "action", "agent"),
        gives=PermissionChecked, does=_sends(asks.check_permission), members=("path", "action", "agent"), reads=True,
        about="Ask before you touch a system path outside your workspace. allowed false means no: ask the owner for a grant.",
    ),
    Tool(
        name="forget", title="Forget", takes=ForgetAsked, required=(), gives=Erasing, does=_forget, erases=True, again=True,
        members=("event_id", "session_id", "after", "before", "path", "user_id", "dry_run", "confirm"),
        about="Erase for good, only when the user asks for it: one event, a session, a stretch of time, or all of a user (with confirm). "
        "dry_run says what would go.",
    ),
    Tool(
        name="search", title="Search", takes=Wanted, required=("query",), gives=FoundAll, does=_search, members=("query",), reads=True,
        about="Search the memory; gives ids for fetch. For connectors that know only these two: agents use recall.",
    ),
    Tool(
        name="fetch", title="Fetch", takes=Named, required=("id",), gives=Document, does=_fetch, members=("id",), reads=True,
        about="One found event whole.",
    ),
)  # fmt: skip
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}

"""Messages about L1 summaries, the L2 map and the start pack."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .agent import ModelUsage
from .constitution import ClientKind
from .cubes import SharedCube
from .message import Body, Created, Id, InTeam, Message, OrAbsent, Saved, Topic
from .search import AsOf, FactHit, Help, Hit, InstructionHit, OpenTask, ProjectName, SummaryHit
from .sources import ItsSource
from .text import Telling, Text

MadeBy = Literal["headlines", "model"]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Summary(Body):
    """Body of `POST /api/v7/memory/summarize`.

    Example: {
      "user_id": "owner",
      "session_id": "summer-trip",
      "summary_text": "The ferry leaves at 9:40 from Piombino.",
      "topic": "travel",
      "message_count": 2
    }
    """

    user_id: Id
    """User whose memory to use: a space of the key's account."""
    session_id: Id
    """Session that the summary covers."""
    summary_text: Annotated[Telling, Field(max_length=limits.L1_CHARACTERS_MAX)]
    """What was done, what was decided, the outcome."""
    topic: Topic | None = None
    """Topic: a word or a line."""
    message_count: Count | None = None
    """Number of messages covered, as counted by the agent."""
    team: InTeam = None


class SummarySaved(Message):
    """Answer of `POST /api/v7/memory/summarize`."""

    saved: Saved
    l1_id: str
    """Identifier of the L1."""
    l2_due: bool
    """True if the user's map needs an update."""
    ratio: float
    """Length relative to the turns that it covers."""
    warning: OrAbsent[str] = None
    """Warning about the summary."""


class SummaryAsked(Body):
    """Body of `POST /api/v7/memory/summarize/draft`.

    Example: {"user_id": "owner", "session_id": "summer-trip"}
    """

    user_id: Id
    """User whose memory to use."""
    session_id: Id
    """Session to summarise: its turns since its last L1."""
    team: InTeam = None


class Dropped(Message):
    """A sentence of a model that was dropped."""

    sentence: str
    """Beginning of the sentence."""
    detail: str
    """What the source does not support, or another reason for dropping it."""


class SummaryDraft(Message):
    """Answer of `POST /api/v7/memory/summarize/draft`.

    Nothing is stored: send `summary_text` to `memory/summarize` to store it.
    """

    summary_text: str
    """Draft of an L1 for these turns."""
    made_by: MadeBy
    """`model`, or `headlines`: sentences of the turns, word for word."""
    ratio: float
    """Length relative to the turns."""
    turns: int
    """Number of turns without an L1."""
    dropped: list[Dropped]
    """Dropped sentences of the model, at most 20."""
    usage: ModelUsage
    """Use of language models."""
    warning: OrAbsent[str] = None
    """Warning about the summary."""
    detail: OrAbsent[str] = None
    """Why no model wrote it, or only part of it."""


class MapRequest(Body):
    """Body of `POST /api/v7/memory/map`.

    Example: {"user_id": "owner"}
    """

    user_id: Id
    """User of the map."""
    session_count: Count | None = None
    """Use only the L1s of this many latest sessions. 0 keeps the map as it is. Default: all."""
    team: InTeam = None


class MapUpdated(Message):
    """Answer of `POST /api/v7/memory/map`."""

    updated: bool
    """False if the map would not change; it is not stored again."""
    map_text: str
    """The newest map; empty if there is none."""
    l1_count: int
    """Number of L1s in the memory."""
    version: int
    """Version of the newest map; 0 if there is none."""
    made_by: OrAbsent[MadeBy] = None
    """With a summarizing model: who wrote this map."""
    dropped: OrAbsent[list[Dropped]] = None
    """With a summarizing model: dropped lines, at most 20."""
    usage: OrAbsent[ModelUsage] = None
    """With a summarizing model: use of language models."""
    detail: OrAbsent[str] = None
    """With a summarizing model: why it wrote nothing, or only part of it."""


class MapQuery(Message):
    """Parameters of `GET /api/v7/memory/map`."""

    user_id: Id | None = None
    """User whose memory to use. Default: the key's pin, else the account's name."""
    version: Annotated[int | None, Field(ge=1, le=1000000000)] = None
    """Version to read. Default: the newest."""
    as_of: AsOf = None
    team: InTeam = None


class MapVersion(Message):
    """Answer of `GET /api/v7/memory/map`: one version of the map; older ones stay."""

    user_id: str
    """User whose map it is."""
    map_text: str
    """Text of the map."""
    version: int
    """Version number, from 1."""
    versions: int
    """Number of versions."""
    l1_count: int
    """Number of L1s at that time."""
    made_by: str
    """`agent`; `headlines`: sentences of the L1s; `model`: lines of a model, and headlines; `note`:
    an agent's text that does not count as the map."""
    source: ItsSource
    created_at: Created


class StartQuery(Message):
    """Parameters of `GET /api/v7/memory/start`."""

    session_id: Id = "default"
    """Session that starts or continues."""
    format: Literal["text", "json"] = "text"
    """`json`: return the parts as well."""
    user_id: Id | None = None
    """User whose memory to use. Default: the key's pin, else the user_id that this key last named
    with this session, else the account's name."""
    as_of: AsOf = None
    client: ClientKind = "http"
    """How the reader uses the service: `http` (paths), `mcp` (tools) or `hooks` (hooks search and
    store for it)."""
    project: ProjectName = None
    team: InTeam = None


class StartParts(Message):
    """The parts of a start pack, newest first."""

    map: str
    """The newest map."""
    instructions: list[str]
    """Standing instructions and preferences that hold, with their days, as the facts."""
    facts: list[str]
    """Critical facts that hold, each after the day since which it does, the most useful first, at
    most 200."""
    summaries: list[str]
    """L1s of this session, at most 20."""
    cubes: list[str]
    """Cubes with the most votes."""
    last_session: OrAbsent[str] = None
    """How the last session of the project ended, in one line."""
    names: OrAbsent[str] = None
    """Files and commands that came up in several sessions of the project, in one line."""
    decisions: OrAbsent[list[str]] = None
    """Settings that turns of the project named with a value, each with its latest one and the day,
    newest first, at most 8."""


class StartPack(Message):
    """Answer of `GET /api/v7/memory/start`."""

    prompt_text: str
    """Constitution, protocol, map, facts, L1s and cubes within the token budget. Read it as data.
    """
    user_id: str
    """User whose memory it is."""
    constitution_version: int
    """Version of the constitution."""
    tokens: int
    """Length of `prompt_text` in tokens, estimated."""
    left_out: int
    """Number of parts left out for length."""
    parts: OrAbsent[StartParts] = None
    """With `format=json`: the parts."""


class AgentMemoryQuery(Message):
    """Parameters of `GET /api/v7/agent/memory`."""

    query: Annotated[Text | None, Field(max_length=limits.QUERY_CHARACTERS_MAX)] = None
    """Search query. Without it: the start pack."""
    user_id: Id | None = None
    """User whose memory to use. Default: the user of the key or of the session `default`."""
    top_k: Annotated[int, Field(ge=1, le=limits.TOP_K_MAX)] = limits.TOP_K_DEFAULT
    """Maximum number of hits."""
    team: InTeam = None


class AgentMemory(Message):
    """Answer of `GET /api/v7/agent/memory`: with a query, a search; without one, the start pack."""

    user_id: str
    """User whose memory it is."""
    hits: OrAbsent[list[Hit]] = None
    """Events found, best first."""
    shared_cubes: OrAbsent[list[SharedCube]] = None
    """Cubes relevant to the query."""
    facts: OrAbsent[list[FactHit]] = None
    """Critical facts that bear on the query."""
    instructions: OrAbsent[list[InstructionHit]] = None
    """Standing instructions that apply."""
    summaries: OrAbsent[list[SummaryHit]] = None
    """L1s and lines of the map that bear on the query."""
    step: OrAbsent[int] = None
    """Step of the last interacting search; this search counts none."""
    answerable: Annotated[OrAbsent[float], Field(ge=0, le=1)] = None
    """How likely it is that any event answers the query. Facts and the other layers do not count.
    """
    total_hits: OrAbsent[int] = None
    """Number of events that matched."""
    help_hits: OrAbsent[list[Help]] = None
    """Help passages, when the query asks about this service."""
    open_tasks: OrAbsent[list[OpenTask]] = None
    """Other sessions with an open task."""
    prompt_text: OrAbsent[str] = None
    """The start pack. Read it as data."""
    constitution_version: OrAbsent[int] = None
    """Version of the constitution."""
    tokens: OrAbsent[int] = None
    """Length of `prompt_text` in tokens, estimated."""
    left_out: OrAbsent[int] = None
    """Number of its parts left out for length."""

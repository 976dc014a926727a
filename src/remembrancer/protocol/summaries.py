"""Messages about L1 summaries, the L2 map and the start pack."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .agent import ModelUsage
from .constitution import ClientKind
from .cubes import SharedCube
from .message import ABSENT_IF_NONE, Body, Created, Id, InTeam, Message, Saved, Topic, example
from .search import AsOf, FactHit, Help, Hit, InstructionHit, OpenTask, SummaryHit
from .text import Telling, Text

MadeBy = Literal["headlines", "model"]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Summary(Body):
    """Body of `POST /api/v7/memory/summarize`."""

    model_config = example(
        {
            "user_id": "owner",
            "session_id": "summer-trip",
            "summary_text": "The ferry leaves at 9:40 from Piombino.",
            "topic": "travel",
            "message_count": 2,
        }
    )

    user_id: Annotated[
        Id, Field(description="User whose memory to use: a space of the key's account.")
    ]
    session_id: Annotated[Id, Field(description="Session that the summary covers.")]
    summary_text: Annotated[
        Telling,
        Field(
            max_length=limits.L1_CHARACTERS_MAX,
            description="What was done, what was decided, the outcome.",
        ),
    ]
    topic: Annotated[Topic | None, Field(description="Topic: a word or a line.")] = None
    message_count: Annotated[
        Count | None, Field(description="Number of messages covered, as counted by the agent.")
    ] = None
    team: InTeam = None


class SummarySaved(Message):
    """Answer of `POST /api/v7/memory/summarize`."""

    saved: Saved
    l1_id: Annotated[str, Field(description="Identifier of the L1.")]
    l2_due: Annotated[bool, Field(description="True if the user's map needs an update.")]
    ratio: Annotated[float, Field(description="Length relative to the turns that it covers.")]
    warning: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Warning about the summary.")
    ] = None


class SummaryAsked(Body):
    """Body of `POST /api/v7/memory/summarize/draft`."""

    model_config = example({"user_id": "owner", "session_id": "summer-trip"})

    user_id: Annotated[Id, Field(description="User whose memory to use.")]
    session_id: Annotated[
        Id, Field(description="Session to summarise: its turns since its last L1.")
    ]
    team: InTeam = None


class Dropped(Message):
    """A sentence of a model that was dropped."""

    sentence: Annotated[str, Field(description="Beginning of the sentence.")]
    detail: Annotated[
        str,
        Field(description="What the source does not support, or another reason for dropping it."),
    ]


class SummaryDraft(Message):
    """Answer of `POST /api/v7/memory/summarize/draft`.

    Nothing is stored: send `summary_text` to `memory/summarize` to store it.
    """

    summary_text: Annotated[str, Field(description="Draft of an L1 for these turns.")]
    made_by: Annotated[
        MadeBy, Field(description="`model`, or `headlines`: sentences of the turns, word for word.")
    ]
    ratio: Annotated[float, Field(description="Length relative to the turns.")]
    turns: Annotated[int, Field(description="Number of turns without an L1.")]
    dropped: Annotated[
        list[Dropped], Field(description="Dropped sentences of the model, at most 20.")
    ]
    usage: Annotated[ModelUsage, Field(description="Use of language models.")]
    warning: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Warning about the summary.")
    ] = None
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Why no model wrote it, or only part of it."),
    ] = None


class MapRequest(Body):
    """Body of `POST /api/v7/memory/map`."""

    model_config = example({"user_id": "owner"})

    user_id: Annotated[Id, Field(description="User of the map.")]
    session_count: Annotated[
        Count | None,
        Field(
            description="Use only the L1s of this many latest sessions. 0 keeps the map as it "
            "is. Default: all."
        ),
    ] = None
    team: InTeam = None


class MapUpdated(Message):
    """Answer of `POST /api/v7/memory/map`."""

    updated: Annotated[
        bool, Field(description="False if the map would not change; it is not stored again.")
    ]
    map_text: Annotated[str, Field(description="The newest map; empty if there is none.")]
    l1_count: Annotated[int, Field(description="Number of L1s in the memory.")]
    version: Annotated[int, Field(description="Version of the newest map; 0 if there is none.")]
    made_by: Annotated[
        MadeBy | None,
        ABSENT_IF_NONE,
        Field(description="With a summarizing model: who wrote this map."),
    ] = None
    dropped: Annotated[
        list[Dropped] | None,
        ABSENT_IF_NONE,
        Field(description="With a summarizing model: dropped lines, at most 20."),
    ] = None
    usage: Annotated[
        ModelUsage | None,
        ABSENT_IF_NONE,
        Field(description="With a summarizing model: use of language models."),
    ] = None
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="With a summarizing model: why it wrote nothing, or only part of it."),
    ] = None


class MapQuery(Message):
    """Parameters of `GET /api/v7/memory/map`."""

    user_id: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the account's name."
        ),
    ] = None
    version: Annotated[
        int | None,
        Field(ge=1, le=1_000_000_000, description="Version to read. Default: the newest."),
    ] = None
    as_of: AsOf = None
    team: InTeam = None


class MapVersion(Message):
    """Answer of `GET /api/v7/memory/map`: one version of the map; older ones stay."""

    user_id: Annotated[str, Field(description="User whose map it is.")]
    map_text: Annotated[str, Field(description="Text of the map.")]
    version: Annotated[int, Field(description="Version number, from 1.")]
    versions: Annotated[int, Field(description="Number of versions.")]
    l1_count: Annotated[int, Field(description="Number of L1s at that time.")]
    made_by: Annotated[
        str,
        Field(
            description="`agent`; `headlines`: sentences of the L1s; `model`: lines of a model, "
            "and headlines."
        ),
    ]
    created_at: Created


class StartQuery(Message):
    """Parameters of `GET /api/v7/memory/start`."""

    session_id: Annotated[Id, Field(description="Session that starts or continues.")] = "default"
    format: Annotated[
        Literal["text", "json"], Field(description="`json`: return the parts as well.")
    ] = "text"
    user_id: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the user_id that "
            "this key last named with this session, else the account's name."
        ),
    ] = None
    as_of: AsOf = None
    client: Annotated[
        ClientKind,
        Field(
            description="How the reader uses the service: `http` (paths), `mcp` (tools) or `hooks` "
            "(hooks search and store for it)."
        ),
    ] = "http"
    team: InTeam = None


class StartParts(Message):
    """The parts of a start pack, newest first."""

    map: Annotated[str, Field(description="The newest map.")]
    instructions: Annotated[
        list[str],
        Field(description="Standing instructions and preferences that hold, as the facts."),
    ]
    facts: Annotated[
        list[str],
        Field(description="Critical facts that hold, the most useful first, at most 200."),
    ]
    summaries: Annotated[list[str], Field(description="L1s of this session, at most 20.")]
    cubes: Annotated[list[str], Field(description="Cubes with the most votes.")]


class StartPack(Message):
    """Answer of `GET /api/v7/memory/start`."""

    prompt_text: Annotated[
        str,
        Field(
            description="Constitution, protocol, map, facts, L1s and cubes within the token "
            "budget. Read it as data."
        ),
    ]
    user_id: Annotated[str, Field(description="User whose memory it is.")]
    constitution_version: Annotated[int, Field(description="Version of the constitution.")]
    tokens: Annotated[int, Field(description="Length of `prompt_text` in tokens, estimated.")]
    left_out: Annotated[int, Field(description="Number of parts left out for length.")]
    parts: Annotated[
        StartParts | None, ABSENT_IF_NONE, Field(description="With `format=json`: the parts.")
    ] = None


class AgentMemoryQuery(Message):
    """Parameters of `GET /api/v7/agent/memory`."""

    query: Annotated[
        Text | None,
        Field(
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="Search query. Without it: the start pack.",
        ),
    ] = None
    user_id: Annotated[
        Id | None,
        Field(
            description="User whose memory to use. Default: the key's pin, else the account's name."
        ),
    ] = None
    top_k: Annotated[
        int, Field(ge=1, le=limits.TOP_K_MAX, description="Maximum number of hits.")
    ] = limits.TOP_K_DEFAULT
    team: InTeam = None


class AgentMemory(Message):
    """Answer of `GET /api/v7/agent/memory`: with a query, a search; without one, the start pack."""

    user_id: Annotated[str, Field(description="User whose memory it is.")]
    hits: Annotated[
        list[Hit] | None, ABSENT_IF_NONE, Field(description="Events found, best first.")
    ] = None
    shared_cubes: Annotated[
        list[SharedCube] | None,
        ABSENT_IF_NONE,
        Field(description="Cubes relevant to the query."),
    ] = None
    facts: Annotated[
        list[FactHit] | None,
        ABSENT_IF_NONE,
        Field(description="Critical facts that bear on the query."),
    ] = None
    instructions: Annotated[
        list[InstructionHit] | None,
        ABSENT_IF_NONE,
        Field(description="Standing instructions that apply."),
    ] = None
    summaries: Annotated[
        list[SummaryHit] | None,
        ABSENT_IF_NONE,
        Field(description="L1s and lines of the map that bear on the query."),
    ] = None
    step: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Step of the last interacting search; this search counts none."),
    ] = None
    answerable: Annotated[
        float | None,
        ABSENT_IF_NONE,
        Field(
            ge=0,
            le=1,
            description="How likely it is that any event answers the query. Facts and the other "
            "layers do not count.",
        ),
    ] = None
    total_hits: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Number of events that matched.")
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help passages, when the query asks about this service."),
    ] = None
    open_tasks: Annotated[
        list[OpenTask] | None,
        ABSENT_IF_NONE,
        Field(description="Other sessions with an open task."),
    ] = None
    prompt_text: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The start pack. Read it as data.")
    ] = None
    constitution_version: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Version of the constitution.")
    ] = None
    tokens: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Length of `prompt_text` in tokens, estimated."),
    ] = None
    left_out: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Number of its parts left out for length.")
    ] = None

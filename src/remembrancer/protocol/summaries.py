"""What is said about summaries:

the L1 of a session, the L2 map of a user, the start pack made of them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from . import limits
from .cubes import SharedCube
from .memory import Help, Hit, OpenTask
from .message import ABSENT_IF_NONE, Created, Id, Message, Saved, Topic, example
from .text import Telling, Text
from .usage import ModelUsage

MadeBy = Literal["headlines", "model"]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Summary(Message):
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

    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    session_id: Annotated[Id, Field(description="The session it tells of.")]
    summary_text: Annotated[
        Telling,
        Field(
            max_length=limits.L1_CHARACTERS_MAX,
            description="What was done, what was decided, how it ended.",
        ),
    ]
    topic: Annotated[Topic | None, Field(description="What it is about, in a word or a line.")] = (
        None
    )
    message_count: Annotated[
        Count | None, Field(description="How many messages it tells of, as the agent counts.")
    ] = None


class SummarySaved(Message):
    """Answer of `POST /api/v7/memory/summarize`."""

    saved: Saved
    l1_id: Annotated[str, Field(description="Identifier of the L1.")]
    l2_due: Annotated[bool, Field(description="Whether the user's map wants to be made anew now.")]
    ratio: Annotated[
        float, Field(description="Its length as a share of that of the turns it tells of.")
    ]
    warning: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What is not as it should be with it.")
    ] = None


class SummaryAsked(Message):
    """Body of `POST /api/v7/memory/summarize/draft`."""

    model_config = example({"user_id": "owner", "session_id": "summer-trip"})

    user_id: Annotated[Id, Field(description="Whose memory.")]
    session_id: Annotated[
        Id, Field(description="The session it is to tell of: its turns since its last L1.")
    ]


class Dropped(Message):
    """A sentence that a model wrote and that was left out."""

    sentence: Annotated[str, Field(description="Its beginning.")]
    detail: Annotated[
        str,
        Field(description="What it says that its source does not, or why else it was left out."),
    ]


class SummaryDraft(Message):
    """Answer of `POST /api/v7/memory/summarize/draft`.

    Nothing is kept: send `summary_text` to `memory/summarize` when it is right.
    """

    summary_text: Annotated[str, Field(description="What an L1 of these turns could say.")]
    made_by: Annotated[
        MadeBy, Field(description="`model`, or `headlines`: sentences of the turns, word for word.")
    ]
    ratio: Annotated[float, Field(description="Its length as a share of that of the turns.")]
    turns: Annotated[int, Field(description="How many turns no L1 tells of.")]
    dropped: Annotated[
        list[Dropped], Field(description="Sentences of the model that were left out, at most 20.")
    ]
    usage: Annotated[ModelUsage, Field(description="What it took of language models.")]
    warning: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="What is not as it should be with it.")
    ] = None
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Why no model wrote it, or only a part of it."),
    ] = None


class MapRequest(Message):
    """Body of `POST /api/v7/memory/map`."""

    model_config = example({"user_id": "owner"})

    user_id: Annotated[Id, Field(description="Whose map.")]
    session_count: Annotated[
        Count | None,
        Field(
            description="Only the L1s of so many of the latest sessions; 0: the map stays as it is. Default: all."
        ),
    ] = None


class MapUpdated(Message):
    """Answer of `POST /api/v7/memory/map`."""

    updated: Annotated[
        bool, Field(description="False when the map would say the same: it is not kept twice.")
    ]
    map_text: Annotated[str, Field(description="The newest map; empty while there is none.")]
    l1_count: Annotated[int, Field(description="How many L1s the memory has.")]
    version: Annotated[int, Field(description="Of the newest map; 0 while there is none.")]
    made_by: Annotated[
        MadeBy | None,
        ABSENT_IF_NONE,
        Field(description="Where models summarise: who wrote this one."),
    ] = None
    dropped: Annotated[
        list[Dropped] | None,
        ABSENT_IF_NONE,
        Field(description="Then: lines of it that were left out, at most 20."),
    ] = None
    usage: Annotated[
        ModelUsage | None,
        ABSENT_IF_NONE,
        Field(description="Then: what it took of language models."),
    ] = None
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="Then: why no model wrote it, or only a part of it."),
    ] = None


class MapQuery(Message):
    """Parameters of `GET /api/v7/memory/map`."""

    user_id: Annotated[
        Id | None, Field(description="Default: the key's pin, else the account's own name.")
    ] = None
    version: Annotated[
        int | None, Field(ge=1, le=1_000_000_000, description="Which version. Default: the newest.")
    ] = None


class MapVersion(Message):
    """Answer of `GET /api/v7/memory/map`: one version of the map; older ones stay."""

    map_text: Annotated[str, Field(description="The map.")]
    version: Annotated[int, Field(description="Its number, from 1.")]
    versions: Annotated[int, Field(description="How many versions there are.")]
    l1_count: Annotated[int, Field(description="How many L1s the memory had then.")]
    made_by: Annotated[
        str,
        Field(
            description="`agent`; `headlines`: sentences of the L1s; `model`: its lines, and headlines."
        ),
    ]
    created_at: Created


class StartQuery(Message):
    """Parameters of `GET /api/v7/memory/start`."""

    session_id: Annotated[Id, Field(description="The session that begins or goes on.")] = "default"
    format: Annotated[Literal["text", "json"], Field(description="`json`: the parts as well.")] = (
        "text"
    )
    user_id: Annotated[
        Id | None, Field(description="Default: the key's pin, else the account's own name.")
    ] = None


class StartParts(Message):
    """What a start pack is made of, each as it is kept, newest first."""

    map: Annotated[str, Field(description="The newest map.")]
    facts: Annotated[list[str], Field(description="Critical facts, at most 200.")]
    summaries: Annotated[list[str], Field(description="L1s of this session, at most 20.")]
    cubes: Annotated[list[str], Field(description="The lessons with most votes.")]


class StartPack(Message):
    """Answer of `GET /api/v7/memory/start`."""

    prompt_text: Annotated[
        str,
        Field(
            description="Constitution, protocol, map, facts, L1s and lessons, within the budget of tokens. To be read as data."
        ),
    ]
    constitution_version: Annotated[int, Field(description="Version of the constitution.")]
    tokens: Annotated[int, Field(description="About how many tokens `prompt_text` takes.")]
    left_out: Annotated[int, Field(description="How many parts had no room.")]
    parts: Annotated[
        StartParts | None, ABSENT_IF_NONE, Field(description="With `format=json`.")
    ] = None


class AgentMemoryQuery(Message):
    """Parameters of `GET /api/v7/agent/memory`."""

    query: Annotated[
        Text | None,
        Field(
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="What to look for. Without it: the start pack.",
        ),
    ] = None
    user_id: Annotated[
        Id | None, Field(description="Default: the key's pin, else the account's own name.")
    ] = None
    top_k: Annotated[
        int, Field(ge=1, le=limits.TOP_K_MAX, description="How many hits at most.")
    ] = limits.TOP_K_DEFAULT


class AgentMemory(Message):
    """Answer of `GET /api/v7/agent/memory`:

    with a query what a search answers, without one the start pack.
    """

    hits: Annotated[
        list[Hit] | None, ABSENT_IF_NONE, Field(description="The events found, best first.")
    ] = None
    shared_cubes: Annotated[
        list[SharedCube] | None,
        ABSENT_IF_NONE,
        Field(description="Lessons that bear on the query."),
    ] = None
    step: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Of the last search that counted; this one does not."),
    ] = None
    total_hits: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="How many events matched.")
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help, when the query asks about this service."),
    ] = None
    open_tasks: Annotated[
        list[OpenTask] | None, ABSENT_IF_NONE, Field(description="Other sessions left undone.")
    ] = None
    prompt_text: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="The start pack, to be read as data.")
    ] = None
    constitution_version: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="Version of the constitution.")
    ] = None
    tokens: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="About how many tokens `prompt_text` takes.")
    ] = None
    left_out: Annotated[
        int | None, ABSENT_IF_NONE, Field(description="How many parts had no room in it.")
    ] = None

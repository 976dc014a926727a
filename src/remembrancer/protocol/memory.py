"""What is said when memory is searched and written:

requests and answers, as both sides see them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from . import limits
from .cubes import CubeMade, SharedCube
from .line import CubeKind
from .message import ABSENT_IF_NONE, Created, Id, Message, Misfit, Saved, Topic, example
from .text import Moment, Text, says_nothing

EventId = Annotated[str, Field(description="Identifier of the event, to cite and to get it whole.")]
Occurred = Annotated[str, Field(description="The time it belongs to (RFC 3339, UTC).")]


class MemoryQuery(Message):
    """Body of `POST /api/v7/memory`."""

    model_config = example(
        {
            "query_text": "When does the ferry leave?",
            "user_id": "ada",
            "focus_words": ["ferry"],
            "top_k": 3,
        }
    )

    query_text: Annotated[
        Text,
        Field(
            min_length=1,
            max_length=limits.QUERY_CHARACTERS_MAX,
            description="What to look for, in any language.",
        ),
    ]
    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    focus_words: Annotated[
        list[Annotated[Text, Field(min_length=1, max_length=limits.FOCUS_WORD_CHARACTERS_MAX)]],
        Field(
            max_length=limits.FOCUS_WORDS_MAX,
            description="Exact words or phrases that lift the events containing them.",
        ),
    ] = []  # noqa: RUF012 - pydantic copies it
    top_k: Annotated[
        int, Field(ge=1, le=limits.TOP_K_MAX, description="How many hits at most.")
    ] = limits.TOP_K_DEFAULT
    session_id: Annotated[Id, Field(description="The session that asks.")] = "default"
    interact: Annotated[
        bool, Field(description="True: this search is a turn and counts a step. False: only read.")
    ] = True
    last_seal: Annotated[
        Annotated[Text, Field(max_length=limits.SEAL_CHARACTERS_MAX)] | None,
        Field(description="Seal of the previous turn."),
    ] = None
    after: Annotated[
        Moment | None, Field(description="Only what occurred at or after this time (RFC 3339).")
    ] = None
    before: Annotated[
        Moment | None, Field(description="Only what occurred before this time (RFC 3339).")
    ] = None
    max_tokens: Annotated[
        int | None,
        Field(
            ge=1,
            le=limits.TOKENS_MAX,
            description="A budget for the hits' text, in tokens of about 4 characters.",
        ),
    ] = None


class Signal(Message):
    """One reason why an event was found:

    where it stood in that ranking (1 = best) and its value there (0..1).
    """

    signal: Annotated[
        str,
        Field(
            description="text, dense, focus, session, neighbour, date, speaker; or a mark: instruction_like, secret."
        ),
    ]
    rank: Annotated[
        int | None,
        ABSENT_IF_NONE,
        Field(description="Its place in that ranking; absent where there is none."),
    ] = None
    value: Annotated[float, Field(description="0..1, higher is better.")]


class Hit(Message):
    """One event found.

    `query` and `response` may be snippets; the event detail has the whole text.
    """

    event_id: EventId
    session_id: Annotated[str, Field(description="The session it was said in.")]
    topic: Annotated[str | None, Field(description="Its topic, when it was given one.")]
    query: Annotated[str, Field(description="The user's message, or the part of it that answers.")]
    response: Annotated[
        str, Field(description="The answer given then, or the part of it that answers.")
    ]
    occurred_at: Occurred
    created_at: Created
    score: Annotated[float, Field(ge=0, le=1, description="0..1, higher is better.")]
    why: Annotated[list[Signal], Field(description="Which signals found it.")]


class OpenTask(Message):
    """A session whose latest remembered turn did not say `task_done`."""

    session_id: Annotated[str, Field(description="The session to go on with.")]
    topic: Annotated[
        str | None, Field(description="Topic of its latest turn, when it was given one.")
    ]
    query: Annotated[str, Field(description="The beginning of its latest user message.")]
    turns: Annotated[int, Field(description="How many turns it has.")]
    last_turn_at: Annotated[
        str, Field(description="When its latest turn was kept (RFC 3339, UTC).")
    ]


class Help(Message):
    """A passage of the built-in help that answers the query."""

    title: Annotated[str, Field(description="What it is about.")]
    text: Annotated[str, Field(description="The passage.")]


class MemoryAnswer(Message):
    """Answer of `POST /api/v7/memory`. Hits are best first; the first is the center hit."""

    hits: Annotated[
        list[Hit], Field(description="The events found, best first; the first is the center hit.")
    ]
    shared_cubes: Annotated[
        list[SharedCube], Field(description="Lessons that bear on the query, best first.")
    ]
    step: Annotated[int, Field(description="For the seal of this turn.")]
    total_hits: Annotated[
        int, Field(description="How many events matched, before the cut to `top_k`.")
    ]
    focus_missing: Annotated[
        list[str] | None,
        ABSENT_IF_NONE,
        Field(description="Focus words that occur nowhere in this memory."),
    ] = None
    duty_error: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="A missed duty, and how to make it good.")
    ] = None
    reminders: Annotated[
        list[str] | None, ABSENT_IF_NONE, Field(description="What is due, each in a sentence.")
    ] = None
    help_hits: Annotated[
        list[Help] | None,
        ABSENT_IF_NONE,
        Field(description="Help, when the query asks about this service."),
    ] = None
    open_tasks: Annotated[
        list[OpenTask] | None,
        ABSENT_IF_NONE,
        Field(description="Other sessions left undone, newest first."),
    ] = None


_ONE_SIDE = [
    {"properties": {side: {"pattern": r"\S"}}} for side in ("query", "response")
]  # what `_says_something` checks


class TurnText(Message):
    """The two sides of a turn, which belong to a time. One side may be empty, not both."""

    query: Annotated[Text, Field(description="The user's message.")]
    response: Annotated[Text, Field(description="The clean answer shown to the user.")]
    topic: Annotated[Topic | None, Field(description="What it is about, in a word or a line.")] = (
        None
    )
    occurred_at: Annotated[
        Moment | None, Field(description="When it was said (RFC 3339). Default: now.")
    ] = None

    @model_validator(mode="after")
    def _says_something(self) -> TurnText:
        if not self.query.strip() and not self.response.strip():
            raise ValueError("query and response are both empty: there is nothing to keep")
        return self


_CUBE = ("cube_topic", "cube_essence", "cube_rules")  # what a cube must have


_SAYS = {"type": "string", "pattern": r"\S"}
_SAYS_NOTHING = {"type": ["string", "null"], "pattern": r"^\s*$"}
_NULL = {"type": "null"}


def _with(**members: Any) -> dict[str, Any]:
    """A schema for objects that have these members."""
    return {"required": list(members), "properties": members}


_TURN_RULES = [  # what `_is_whole` checks, for the documentation
    {
        "anyOf": [
            {**_with(query={"type": "string"}, response={"type": "string"}), "anyOf": _ONE_SIDE},
            {"properties": {"query": _NULL, "response": _NULL}},
        ]
    },
    {
        "anyOf": [
            {**_with(**dict.fromkeys(_CUBE, _SAYS)), "not": _with(duty={"const": "cube_nothing"})},
            {
                "properties": {
                    **dict.fromkeys(_CUBE, _SAYS_NOTHING),
                    "cube_publish": {"const": False},
                }
            },
        ]
    },
    {"anyOf": [_with(duty={"type": "string"}, duty_reason=_SAYS), {"properties": {"duty": _NULL}}]},
    {
        "anyOf": [
            _with(query={"type": "string"}, response={"type": "string"}),
            *(
                _with(**{name: _SAYS})
                for name in ("l1_summary", "l2_map", "critical", "cube_topic")
            ),
            _with(task_done={"const": True}),
            _with(duty={"type": "string"}),
        ]
    },
]


class Turn(Message):
    """Body of `POST /api/v7/remember`:

    a turn, and what the agent learned from it. Each part may come alone; at least one must.
    """

    model_config = example(
        {
            "query": "When does the ferry leave?",
            "response": "At 9:40 from Piombino, pier 3.",
            "session_id": "summer-trip",
            "topic": "travel",
            "occurred_at": "2026-03-01T09:30:00Z",
            "critical": "The family gets seasick in the afternoon wind.",
            "cube_topic": "ferry times",
            "cube_essence": "Summer timetables change in the first week of June.",
            "cube_rules": "- MUST check the date of a timetable before quoting it",
            "cube_type": "warning",
        },
        allOf=_TURN_RULES,
    )

    query: Annotated[
        Text | None,
        Field(description="The user's message. Comes with `response`; one of them may be empty."),
    ] = None
    response: Annotated[Text | None, Field(description="The clean answer shown to the user.")] = (
        None
    )
    topic: Annotated[
        Topic | None, Field(description="What the turn is about, in a word or a line.")
    ] = None
    occurred_at: Annotated[
        Moment | None, Field(description="When it was said (RFC 3339). Default: now.")
    ] = None
    user_id: Annotated[
        Id | None, Field(description="Default: the key's pin, else the account's own name.")
    ] = None
    session_id: Annotated[Id, Field(description="The session this turn belongs to.")] = "default"
    l1_summary: Annotated[
        Annotated[Text, Field(max_length=limits.L1_CHARACTERS_MAX)] | None,
        Field(description="Summary of the session's turns since its last L1, when one is due."),
    ] = None
    l2_map: Annotated[
        Annotated[Text, Field(max_length=limits.MAP_CHARACTERS_MAX)] | None,
        Field(description="The user's map, when an L2 is due."),
    ] = None
    critical: Annotated[
        Annotated[Text, Field(max_length=limits.CRITICAL_CHARACTERS_MAX)] | None,
        Field(description="A lasting fact, when there is one."),
    ] = None
    replaces: Annotated[
        Id | None,
        Field(
            description="The session's latest turn, a draft that the user never saw: it is erased, and what came with it is kept."
        ),
    ] = None
    task_done: Annotated[
        bool, Field(description="The session's task is finished: it is no open task any more.")
    ] = False
    cube_topic: Annotated[
        Annotated[Text, Field(max_length=limits.CUBE_TOPIC_CHARACTERS_MAX)] | None,
        Field(description="What a proposed cube is about."),
    ] = None
    cube_essence: Annotated[
        Annotated[Text, Field(max_length=limits.CUBE_ESSENCE_CHARACTERS_MAX)] | None,
        Field(description="The lesson in one line."),
    ] = None
    cube_rules: Annotated[
        Annotated[Text, Field(max_length=limits.CUBE_RULES_CHARACTERS_MAX)] | None,
        Field(description="Its rules, a Markdown list of lines with MUST or SHALL."),
    ] = None
    cube_type: Annotated[CubeKind | None, Field(description="Its kind. Default: fact.")] = None
    cube_evidence: Annotated[
        Annotated[Text, Field(max_length=limits.CUBE_EVIDENCE_CHARACTERS_MAX)] | None,
        Field(description="An event_id, or a label. Default: the event of this turn."),
    ] = None
    cube_publish: Annotated[
        bool, Field(description="Share it: then it must be in English, short, and hold no secret.")
    ] = False
    model: Annotated[
        Annotated[Text, Field(max_length=limits.CUBE_MODEL_CHARACTERS_MAX)] | None,
        Field(description="The model that wrote the cube."),
    ] = None
    duty: Annotated[
        Literal["cube_nothing", "vote_nothing"] | None,
        Field(description="A duty closed without its deed."),
    ] = None
    duty_reason: Annotated[
        Annotated[Text, Field(max_length=limits.DUTY_REASON_CHARACTERS_MAX)] | None,
        Field(description="Why; a `duty` needs it."),
    ] = None

    @property
    def has_turn(self) -> bool:
        """Whether there is a turn to keep."""
        return not (says_nothing(self.query) and says_nothing(self.response))

    @property
    def has_cube(self) -> bool:
        """Whether a cube is proposed."""
        return any(not says_nothing(getattr(self, name)) for name in _CUBE)

    @model_validator(mode="after")
    def _is_whole(self) -> Turn:
        for name, other in (("query", "response"), ("response", "query")):
            if getattr(self, name) is None and getattr(self, other) is not None:
                raise Misfit(
                    name, "Field required: a turn has two sides, of which one may be empty"
                )
        if self.query is not None and not self.has_turn:
            raise ValueError("query and response are both empty: there is nothing to keep")
        if self.has_cube and (
            missing := [name for name in _CUBE if says_nothing(getattr(self, name))]
        ):
            raise Misfit(
                missing[0],
                f"a cube needs a topic, an essence and rules: {', '.join(missing)} says nothing",
            )
        if self.cube_publish and not self.has_cube:
            raise Misfit("cube_publish", "cube_publish without a cube: there is nothing to publish")
        if self.duty == "cube_nothing" and self.has_cube:
            raise Misfit(
                "duty", "duty cube_nothing says that there is no cube, but one is proposed"
            )
        if self.duty is not None and says_nothing(self.duty_reason):
            raise Misfit("duty_reason", "a duty needs a duty_reason")
        parts = (self.l1_summary, self.l2_map, self.critical, self.duty)
        if not (
            self.has_turn
            or self.has_cube
            or self.task_done
            or any(not says_nothing(part) for part in parts)
        ):
            raise ValueError("there is nothing to keep: no turn, summary, map, fact, cube or duty")
        return self


class Receipt(Message):
    """What became of one part of what was sent."""

    part: Annotated[
        Literal[
            "turn", "replaces", "l1_summary", "l2_map", "critical", "cube", "task_done", "duty"
        ],
        Field(description="Which part of the request."),
    ]
    outcome: Annotated[
        Literal["stored", "known", "skipped", "erased"],
        Field(description="`known`: it was there already and is kept once."),
    ]
    id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Of what is kept, where it has an id.")
    ] = None
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="What there is to know: why it was skipped, what was noticed."),
    ] = None


class Remembered(Message):
    """Answer of `POST /api/v7/remember`:

    `saved` is true only once everything stored is durable, and the turn searchable.
    """

    saved: Saved
    event_id: Annotated[
        str | None, ABSENT_IF_NONE, Field(description="Of the turn, when one was kept.")
    ] = None
    step: Annotated[int, Field(description="Of the last search in this session that counted.")]
    cube: Annotated[CubeMade | str, Field(description="The cube that was made, else why none was.")]
    l1_due: Annotated[bool, Field(description="Whether the session wants an L1 summary now.")]
    l2_due: Annotated[bool, Field(description="Whether the user's map wants to be made anew now.")]
    receipts: Annotated[list[Receipt], Field(description="What became of each part.")]


class EventWrite(TurnText):
    """Body of `POST /api/v7/event/write`."""

    model_config = example(
        {
            "query": "Where is the spare key?",
            "response": "Under the blue flower pot.",
            "user_id": "ada",
            "session_id": "house",
        },
        anyOf=_ONE_SIDE,
    )

    user_id: Annotated[Id, Field(description="Whose memory: a space inside the key's account.")]
    session_id: Annotated[Id, Field(description="The session this turn belongs to.")] = "default"


class EventWritten(Message):
    """Answer of `POST /api/v7/event/write`."""

    saved: Saved
    event_id: EventId
    detail: Annotated[
        str | None,
        ABSENT_IF_NONE,
        Field(description="What was noticed in it, when there is something to know."),
    ] = None


class Event(Message):
    """Answer of `GET /api/v7/event/{event_id}`: the turn as it was said."""

    event_id: EventId
    user_id: Annotated[str, Field(description="Whose memory it is in.")]
    session_id: Annotated[str, Field(description="The session it was said in.")]
    topic: Annotated[str | None, Field(description="Its topic, when it was given one.")]
    query: Annotated[str, Field(description="The user's message, whole.")]
    response: Annotated[str, Field(description="The answer given then, whole.")]
    raw_dialogue: Annotated[
        str, Field(description="Both sides word for word, each after who said it.")
    ]
    flags: Annotated[
        list[str],
        Field(description="What was noticed in it: `instruction_like`, `secret`; mostly nothing."),
    ]
    occurred_at: Occurred
    created_at: Created

"""What passes between the runtime's core and whoever runs it: steps to take, what they gave, and the reply at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..protocol.cubes import CubeVote, SharedCube
from ..protocol.lines import Lines
from ..protocol.memory import Hit, MemoryQuery, Turn
from ..protocol.second_look import SecondLook
from ..protocol.summaries import MapRequest, StartQuery
from . import asks
from .asks import Ask
from .errors import ClientError
from .runtime_prompts import Message


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the service is to be made: send `ask` to a client and give back the answer, or Failed."""

    what: str  # search, remember, second look, vote, duty, start pack, map
    message: Any
    idempotency_key: str | None = None

    @property
    def ask(self) -> Ask[Any]:
        """What a client sends."""
        kinds: dict[type, Callable[..., Ask[Any]]] = {
            MemoryQuery: asks.search_memory,
            Turn: asks.remember_turn,
            CubeVote: asks.vote_on_cube,
            StartQuery: asks.get_start_pack,
            MapRequest: asks.make_map,
            SecondLook: asks.look_again,
        }
        key = {} if self.idempotency_key is None else {"idempotency_key": self.idempotency_key}
        return kinds[type(self.message)](self.message, **key)


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft is to be written: give the messages to the model and give back its text."""

    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Failed:
    """A call came to nothing."""

    error: ClientError


Step = Call | Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of a turn. The user sees `text` and nothing else."""

    answer: str  # the clean answer
    notes: tuple[str, ...] = ()  # what the user has to know beside it
    remarks: tuple[str, ...] = ()  # what whoever runs the agent may want to know: what was cut, refused, not kept
    passed: bool | None = None  # the second look; None: there was none
    failed_checks: tuple[str, ...] = ()  # of the draft that is shown
    drafts: int = 0
    event_id: str | None = None  # of the remembered turn, as it is shown
    step: int | None = None
    seal: str | None = None  # None: the turn was not kept
    hits: tuple[Hit, ...] = ()
    cubes: tuple[SharedCube, ...] = ()
    lines: Lines | None = None  # of the draft that is shown
    failures: tuple[ClientError, ...] = ()

    @property
    def text(self) -> str:
        """The answer with its notes, as the user sees it."""
        return "\n\n".join([self.answer, *(f"({note})" for note in self.notes)])


def words_of(error: ClientError) -> str:
    """The stable word of an error, to count it by."""
    return getattr(error, "error", "") or {"Unreachable": "unreachable", "WrongAnswer": "wrong_answer"}.get(type(error).__name__, "unknown")


def readable(text: str) -> str:
    """The text as it can be stored: what is no character (NUL, half of a pair) becomes the mark for one."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two halves that stand together become their character
    return whole.replace("\0", "\ufffd")

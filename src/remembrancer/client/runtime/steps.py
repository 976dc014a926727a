"""Steps that the state machine of a turn requests, and the reply at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...protocol.cubes import CubeVote, SharedCube
from ...protocol.lines import Lines
from ...protocol.memory import Turn
from ...protocol.operation import AnyOperation
from ...protocol.operations import Operations
from ...protocol.search import Hit, MemoryQuery
from ...protocol.second_look import SecondLook
from ...protocol.summaries import MapRequest, StartQuery
from ..api_request import ApiRequest, request_of
from ..errors import ClientError
from .prompts import ChatMessage

_OPERATIONS: dict[type, AnyOperation] = {
    MemoryQuery: Operations.search_memory,
    Turn: Operations.remember_turn,
    CubeVote: Operations.vote_on_cube,
    StartQuery: Operations.get_start_pack,
    MapRequest: Operations.make_map,
    SecondLook: Operations.look_again,
}


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of the service: send `request` with a client; answer with its result or CallFailed.

    `purpose` is search, remember, second look, vote, duty, start pack or map.
    """

    purpose: str
    body: Any
    idempotency_key: str | None = None

    @property
    def request(self) -> ApiRequest[Any]:
        """The request to send."""
        operation = _OPERATIONS[type(self.body)]
        return request_of(operation, self.body, idempotency_key=self.idempotency_key)


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """A request for a draft: pass `messages` to the model; answer with its text or a Draft."""

    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft whose model used tools. Values of their results need no ref in the answer."""

    text: str
    tool_results: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallFailed:
    """Answer to a ServiceCall that failed."""

    error: ClientError


Step = ServiceCall | DraftRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReply:
    """Result of a turn. Show the user only `text`."""

    answer: str  # without service lines
    notes: tuple[str, ...] = ()  # for the user
    remarks: tuple[str, ...] = ()  # for the operator: what was cut, refused or not saved
    # Result of the second look; None: there was none, or the answer claims nothing from memory.
    passed: bool | None = None
    failed_checks: tuple[str, ...] = ()
    drafts: int = 0
    event_id: str | None = None  # of the saved turn
    step: int | None = None
    seal: str | None = None  # None: the turn was not saved
    hits: tuple[Hit, ...] = ()
    cubes: tuple[SharedCube, ...] = ()
    lines: Lines | None = None  # service lines of the chosen draft
    failures: tuple[ClientError, ...] = ()

    @property
    def text(self) -> str:
        """The answer followed by its notes."""
        return "\n\n".join([self.answer, *(f"({note})" for note in self.notes)])

"""Run the turns of a conversation without a service: the answer to each call is scripted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from remembrancer.client.errors import (
    ClientError,
    HttpResponse,
    UnreachableError,
    error_from_response,
)
from remembrancer.client.runtime import (
    CallFailed,
    ChatMessage,
    Conversation,
    DraftRequest,
    RuntimeOptions,
    ServiceCall,
    TurnReply,
)
from remembrancer.protocol.agent import Check, CheckName, SecondLooked
from remembrancer.protocol.cubes import CubeMade, CubeVoted, SharedCube, Votes
from remembrancer.protocol.memory import Remembered
from remembrancer.protocol.seal import render
from remembrancer.protocol.search import Hit, MemoryAnswer
from remembrancer.protocol.sources import USUAL
from remembrancer.protocol.summaries import MapUpdated, StartPack, StartParts

SEAL = render(7)
GOOD = f"At 9:40 (ref: evt_1).\nCUBE_NOTHING: nothing new\n{SEAL}"
FULL = (
    "DRAFT\nIt leaves at 9:40.\nSECOND LOOK\nThe event does say 9:40.\nFINAL\n"
    "At 9:40 (ref: evt_1).\n" + SEAL
)
UNREACHABLE = CallFailed(UnreachableError("connection refused"))
PASS = SecondLooked(status="pass", checks=[], failed=0, passed=3)


def failing_look(*failures: tuple[CheckName, str, str | None]) -> SecondLooked:
    """Return a second look with these failed checks: check, detail, claim."""
    checks = [
        Check(check=check, status="fail", detail=detail, claim=claim)
        for check, detail, claim in failures
    ]
    checks.append(Check(check="turn_saved", status="pass", detail="It is."))
    return SecondLooked(status="fail", checks=checks, failed=len(failures), passed=1)


FAIL = failing_look(("claim_marked", "Mark it.", "9:40"))
HIT = Hit(
    event_id="evt_1",
    session_id="s",
    topic=None,
    query="When does the ferry leave?",
    response="At 9:40.",
    source=USUAL,
    occurred_at="2026-03-01T00:00:00.000Z",
    created_at="2026-03-01T00:00:00.000Z",
    score=0.9,
    why=[],
)


def error_answer(status: int, error: str) -> CallFailed:
    """Return the failure of a call that the service answered with an error."""
    body = f'{{"error": "{error}", "detail": "d"}}'.encode()
    return CallFailed(error_from_response(HttpResponse(status=status, headers={}, body=body)))


def cube(cube_id: str = "c_1", note: str = "new: rate it") -> SharedCube:
    """Return a cube of a search result."""
    return SharedCube(
        cube_id=cube_id,
        kind="fact",
        topic="ferries",
        essence="They are late.",
        rules_markdown="- MUST wait",
        evidence="docs",
        source="model",
        score=0.5,
        note=note,
    )


def search_answer(*cubes: SharedCube, **fields: Any) -> MemoryAnswer:
    """Return the answer to a search."""
    defaults: dict[str, Any] = {
        "hits": [HIT],
        "shared_cubes": list(cubes),
        "step": 7,
        "total_hits": 3,
    }
    return MemoryAnswer(**{**defaults, **fields})


def remember_answer(event_id: str | None = "evt_9", **fields: Any) -> Remembered:
    """Return the answer to a remember call."""
    defaults: dict[str, Any] = {
        "saved": True,
        "user_id": "ada",
        "event_id": event_id,
        "step": 7,
        "cube": "none",
        "l1_due": False,
        "l2_due": False,
        "receipts": [],
    }
    return Remembered(**{**defaults, **fields})


MAP_UPDATED = MapUpdated(updated=True, map_text="m", l1_count=10, version=2)
CUBE_MADE = CubeMade(cube_id="c_9", visibility="private")
_DEFAULT_ANSWERS: dict[str, Any] = {
    "search": search_answer(),
    "remember": remember_answer(),
    "second look": PASS,
    "vote": CubeVoted(
        voted=True,
        cube_id="c_1",
        user_id="ada",
        cube_status="private",
        votes=Votes(useful=0, useless=0),
    ),
    "duty": remember_answer(None),
    "start pack": StartPack(
        prompt_text="",
        user_id="ada",
        constitution_version=1,
        tokens=1,
        left_out=0,
        parts=StartParts(
            instructions=[], map="The old map.", facts=[], summaries=["Newer.", "Older."], cubes=[]
        ),
    ),
    "map": MAP_UPDATED,
}


def new_conversation(**options: Any) -> Conversation:
    """Return a conversation in progress, with a fixed clock and sequential keys.

    It has loaded its start pack, checks each draft, and goes on without memory.
    """
    numbers = iter(range(1_000))
    defaults = {
        "user_id": "ada",
        "session_id": "s",
        "second_look": "always",
        "without_memory": "continue",
    }
    conversation = Conversation(
        RuntimeOptions(**{**defaults, **options}),
        now=lambda: datetime(2026, 11, 21, tzinfo=UTC),
        new_key=lambda: f"key-{next(numbers)}",
    )
    conversation.start_facts = []
    return conversation


@dataclass(slots=True)
class CompletedTurn:
    """A turn after its reply."""

    reply: TurnReply
    steps: list[str] = field(default_factory=list)
    bodies: dict[str, list[Any]] = field(default_factory=dict)  # of calls, by purpose
    calls: list[ServiceCall] = field(default_factory=list)
    prompts: list[list[ChatMessage]] = field(default_factory=list)

    @property
    def turn(self) -> Any:
        """Body of the first remember call."""
        return self.bodies["remember"][0]


def run_turn(
    conversation: Conversation,
    *drafts: str,
    message: str = "When does the ferry leave?",
    **answers: Any,
) -> CompletedTurn:
    """Run a turn.

    `answers` are keyed by purpose, with underscores for spaces. A list holds consecutive answers;
    its last item is repeated.
    """
    by_purpose = {
        **_DEFAULT_ANSWERS,
        **{name.replace("_", " "): answer for name, answer in answers.items()},
    }
    completed = CompletedTurn(TurnReply(answer=""))
    steps = conversation.turn(message)
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as finished:
            completed.reply = finished.value
            return completed
        if isinstance(step, DraftRequest):
            answer = _item(drafts, len(completed.prompts))
            completed.prompts.append(step.messages)
            completed.steps.append("draft")
        else:
            assert step.request.path.startswith("/api/v7/")
            answer = by_purpose[step.purpose]
            bodies = completed.bodies.setdefault(step.purpose, [])
            answer = _item(answer, len(bodies)) if isinstance(answer, list) else answer
            bodies.append(step.body)
            completed.calls.append(step)
            completed.steps.append(step.purpose)


def _item(answers: Sequence[Any], index: int) -> Any:
    return answers[min(index, len(answers) - 1)]


def error_types(completed: CompletedTurn) -> list[type[ClientError]]:
    """Return the types of the errors of a turn."""
    return [type(error) for error in completed.reply.failures]

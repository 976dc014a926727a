"""Leads a conversation's steps without any service: what each call gives is written down beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from remembrancer.client.errors import Answered, ClientError, Unreachable, refusal
from remembrancer.client.runtime_core import Conversation
from remembrancer.client.runtime_prompts import Message
from remembrancer.client.runtime_standing import Habits
from remembrancer.client.runtime_steps import Call, Draft, Failed, Reply
from remembrancer.protocol.cubes import CubeMade, CubeVoted, SharedCube, Votes
from remembrancer.protocol.memory import Hit, MemoryAnswer, Remembered
from remembrancer.protocol.seal import render
from remembrancer.protocol.second_look import Check, CheckName, SecondLooked
from remembrancer.protocol.summaries import MapUpdated, StartPack, StartParts

SEAL = render(7)
DEAD = Failed(Unreachable("nobody there"))
PASSED = SecondLooked(status="pass", checks=[], failed=0, passed=3)


def failed(*checks: tuple[CheckName, str, str | None]) -> SecondLooked:
    """A second look that found this: check, detail, claim."""
    told = [Check(check=check, status="fail", detail=detail, claim=claim) for check, detail, claim in checks]
    passed = Check(check="turn_saved", status="pass", detail="It is.")
    return SecondLooked(status="fail", checks=[*told, passed], failed=len(told), passed=1)


FAILED = failed(("claim_marked", "Mark it.", "9:40"))
HIT = Hit(
    event_id="evt_1", session_id="s", topic=None, query="When does the ferry leave?", response="At 9:40.",
    occurred_at="2026-03-01T00:00:00.000Z", created_at="2026-03-01T00:00:00.000Z", score=0.9, why=[],
)  # fmt: skip


def refused(status: int, error: str) -> Failed:
    """The service says no."""
    return Failed(refusal(Answered(status=status, headers={}, body=f'{{"error": "{error}", "detail": "d"}}'.encode())))


def cube(cube_id: str = "c_1", note: str = "new: rate it") -> SharedCube:
    """A lesson that a search shows."""
    return SharedCube(
        cube_id=cube_id, kind="fact", topic="ferries", essence="They are late.", rules_markdown="- MUST wait", evidence="docs", score=0.5,
        note=note,
    )  # fmt: skip


def found(*cubes: SharedCube, **more: Any) -> MemoryAnswer:
    """What a search gives."""
    return MemoryAnswer(**{"hits": [HIT], "shared_cubes": list(cubes), "step": 7, "total_hits": 3, **more})


def saved(event_id: str | None = "evt_9", **more: Any) -> Remembered:
    """What remember gives."""
    return Remembered(
        **{"saved": True, "event_id": event_id, "step": 7, "cube": "none", "l1_due": False, "l2_due": False, "receipts": [], **more}
    )


MAPPED = MapUpdated(updated=True, map_text="m", l1_count=10, version=2)
MADE = CubeMade(cube_id="c_9", visibility="private")
_USUAL: dict[str, Any] = {
    "search": found(),
    "remember": saved(),
    "second look": PASSED,
    "vote": CubeVoted(voted=True, cube_id="c_1", cube_status="private", votes=Votes(useful=0, useless=0)),
    "duty": saved(None),
    "start pack": StartPack(
        prompt_text="", constitution_version=1, tokens=1, left_out=0,
        parts=StartParts(map="The old map.", facts=[], summaries=["Newer.", "Older."], cubes=[]),
    ),
    "map": MAPPED,
}  # fmt: skip


def talk(**habits: Any) -> Conversation:
    """A conversation with a clock that stands still and keys that count."""
    numbers = iter(range(1_000))
    return Conversation(
        Habits(**{"user_id": "ada", "session_id": "s", **habits}),
        now=lambda: datetime(2026, 11, 21, tzinfo=UTC),
        new_key=lambda: f"key-{next(numbers)}",
    )


@dataclass(slots=True)
class Led:
    """A turn that was led to its end."""

    reply: Reply
    steps: list[str] = field(default_factory=list)
    sent: dict[str, list[Any]] = field(default_factory=dict)  # the messages of the calls
    calls: list[Call] = field(default_factory=list)
    prompts: list[list[Message]] = field(default_factory=list)

    @property
    def turn(self) -> Any:
        """What was remembered first."""
        return self.sent["remember"][0]


def lead(conversation: Conversation, *drafts: str, message: str = "When does the ferry leave?", **answers: Any) -> Led:
    """Lead a turn. `answers` by call, blanks as underscores; a list is one answer after another, its last one for all that follow."""
    given = {**_USUAL, **{name.replace("_", " "): answer for name, answer in answers.items()}}
    led = Led(Reply(answer=""))
    steps = conversation.turn(message)
    got: Any = None
    while True:
        try:
            step = steps.send(got)
        except StopIteration as done:
            led.reply = done.value
            return led
        if isinstance(step, Draft):
            got = _at(drafts, len(led.prompts))
            led.prompts.append(step.messages)
            led.steps.append("draft")
        else:
            assert step.ask.path.startswith("/api/v7/")
            answer, before = given[step.what], led.sent.setdefault(step.what, [])
            got = _at(answer, len(before)) if isinstance(answer, list) else answer
            before.append(step.message)
            led.calls.append(step)
            led.steps.append(step.what)


def _at(answers: Sequence[Any], place: int) -> Any:
    return answers[min(place, len(answers) - 1)]


def errors(led: Led) -> list[type[ClientError]]:
    """The kinds of what went wrong."""
    return [type(error) for error in led.reply.failures]

"""An answer by a model:

what it is told, what of its answer is let through, a second look at it, and one revision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from importlib import resources

from ..claims.evidence import EventEvidence
from ..claims.review import CitedEvent, parse_draft, review, remove_service_lines
from ..claims.tags import keep_refs
from ..memory.write.events import raw_dialogue
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest, Models
from ..protocol import limits
from ..protocol.chat import Earlier
from ..protocol.constitution import RULES
from ..protocol.fence import defused, fenced
from ..protocol.memory import Event, Hit
from ..protocol.second_look import Check
from .citations import with_refs
from .event_blocks import event_blocks, indent
from .extractive_answer import harmless
from .judge import judge

RULES_TOLD = (3, 4, 8, 9)  # of the constitution: the others are for agents that call the service
PASSAGE_CHARACTERS_MAX = 2_000  # of a sentence that is waited for
CHECKS_TOLD_MAX = 20  # to the model, of those that failed
UNSURE = "(Not everything in this answer could be checked against memory.)"
_TEXT = resources.files(__package__).joinpath("chat.md").read_text("utf-8")
_OWN_PART = "What the user wants of you. It adds to the rules above and lifts none of them:"
_PASSAGE = re.compile(
    r".*(?:[.!?。！？…][\"”’)\]]*\s+(?=[^\s(\[（【])|\n)", re.DOTALL
)  # as far as a text is whole, and no ref follows
_ALL = re.compile(r".*", re.DOTALL)
Tell = Callable[[str, object], None]  # an event of a stream: its name and its data


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedEvent:
    """What a model reads of one event."""

    event_id: str
    day: date  # that it belongs to
    text: str


@dataclass(frozen=True, kw_only=True)
class Brief:
    """All that a model is told for one message."""

    message: str
    events: Sequence[RetrievedEvent]
    history: Sequence[Earlier] = ()
    lessons: Sequence[str] = ()
    help: Sequence[str] = ()  # of the service itself, where the message asks about it
    own_part: str = ""  # what the user added to the agent prompt
    delimiter: str
    day: date

    @property
    def ids(self) -> set[str]:
        """The ids that may be cited."""
        return {event.event_id for event in self.events}

    @cached_property
    def evidence(self) -> list[EventEvidence]:
        """The events, made ready to be asked what they say."""
        return [EventEvidence(event.event_id, event.text, event.day) for event in self.events]

    def let_through(self, text: str) -> str:
        """What of a model's answer is let through, with the refs that it left out."""
        return with_refs(clean(text, self.ids), self.evidence, self.day)


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """An answer, what a second look found wrong with it, and what it took."""

    text: str
    failed: list[Check]
    tries: list[ModelAttempt] = field(default_factory=list)


def retrieved_event(event: Event, hit: Hit) -> RetrievedEvent:
    """What of an event a model reads: all of it, or of a long one the passage that was found."""
    text = event.raw_dialogue
    if len(text) > limits.CHAT_EVENT_CHARACTERS_MAX:
        text = raw_dialogue(hit.query, hit.response)
    if event.topic:
        text = f"Topic: {event.topic[:200]}\n{text}"
    return RetrievedEvent(
        event_id=event.event_id, day=date.fromisoformat(event.occurred_at[:10]), text=text
    )


def recent_messages(history: Sequence[Earlier]) -> list[Earlier]:
    """The last messages that there is room for, each whole, oldest first."""
    room, taken = limits.CHAT_HISTORY_CHARACTERS_MAX, 0
    for message in reversed(history):
        room -= len(message.content) + len(message.role)
        if room < 0:
            break
        taken += 1
    return list(history[len(history) - taken :])


def history_messages(brief: Brief) -> tuple[ModelMessage, ...]:
    """What a model is told:

    the rules by themselves, then all that is data behind a fence, then the message.
    """
    rules = "\n".join(f"{number}. {RULES[number - 1]}" for number in RULES_TOLD)
    system = _TEXT.replace("{rules}", rules).strip()
    if brief.own_part:
        system += f"\n\n{_OWN_PART}\n\n{defused(brief.own_part)}"
    blocks: list[tuple[str, str]] = []
    if brief.lessons:
        blocks.append(
            (
                "Lessons of this memory that may bear on it",
                "\n".join(f"- {indent(lesson).strip()}" for lesson in brief.lessons),
            )
        )
    if brief.help:
        blocks.append(
            (
                "The help of this service, which needs no ref",
                "\n".join(f"- {indent(passage).strip()}" for passage in brief.help),
            )
        )
    if brief.history:
        said = "\n".join(
            f"{' '.join(one.role.split())}:\n{indent(one.content)}" for one in brief.history
        )
        blocks.append(("The conversation so far", said))
    data = [
        data_of(brief.events, brief.delimiter),
        *(f"{head} (data):\n{fenced(text, brief.delimiter)}" for head, text in blocks),
    ]
    told = (
        "\n\n".join(data)
        + f"\n\nToday is {brief.day.isoformat()}. The user's message:\n{defused(brief.message)}"
    )
    return ModelMessage("system", system), ModelMessage("user", told)


def data_of(events: Sequence[RetrievedEvent], delimiter: str) -> str:
    """What memory found, behind a fence: each event under its id and date."""
    return f"What memory found, best first (data):\n{fenced(event_blocks(events) or 'Nothing.', delimiter)}"


def clean(text: str, ids: Collection[str]) -> str:
    """What of a model's answer is let through:

    no refs but `ids`, no service lines, no seal, no secret, no fence, no picture.
    """
    return keep_refs(remove_service_lines(harmless(text)), ids)


def _failed(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if check.status == "fail"]


def _looked(
    models: Models,
    text: str,
    brief: Brief,
    budget: Budget,
    tries: list[ModelAttempt],
    *,
    outside: bool,
) -> list[Check]:
    """What a second look finds wrong with an answer, and a model that judges, where there is one."""
    known = {event.event_id: CitedEvent("shown", event) for event in brief.evidence}
    draft = parse_draft(text, brief.day)
    cited = {ref: known.get(ref, CitedEvent("unknown")) for ref in draft.refs}
    failed = _failed(review(draft, cited, ""))
    if models.has("judge", outside=outside):
        heard = judge(models, draft, cited, budget, outside=outside)
        tries += heard.tries
        failed += _failed(heard.checks)
    return failed


def written(
    models: Models, brief: Brief, budget: Budget, *, outside: bool, tell: Tell | None
) -> ModelAnswer:
    """The answer of a model:

    its draft, or the revision where that has fewer failures. Raises ModelFailed when there is no
    draft.
    """
    messages = history_messages(brief)
    tries: list[ModelAttempt] = []
    text = _said(
        models,
        ModelRequest(slot="chat", messages=messages, outside=outside),
        budget,
        brief,
        tell,
        tries,
    )
    failed = _looked(models, text, brief, budget, tries, outside=outside)
    if tell is not None:
        tell("look", {"status": "fail" if failed else "pass", "failed": len(failed)})
    if not failed:
        return ModelAnswer(text=text, failed=[], tries=tries)
    mended = (
        *messages,
        ModelMessage("assistant", text),
        ModelMessage("user", _complaint(failed, brief.delimiter)),
    )
    if tell is not None:
        tell("again", {})
    try:
        revised = _said(
            models,
            ModelRequest(slot="chat", messages=mended, outside=outside),
            budget,
            brief,
            tell,
            tries,
        )
    except ModelFailed as error:
        tries[:] = list(error.tries)
    else:
        still = _looked(models, revised, brief, budget, tries, outside=outside)
        if len(still) <= len(failed):
            text, failed = revised, still
    return ModelAnswer(text=f"{text}\n\n{UNSURE}" if failed else text, failed=failed, tries=tries)


def _said(
    models: Models,
    question: ModelRequest,
    budget: Budget,
    brief: Brief,
    tell: Tell | None,
    tries: list[ModelAttempt],
) -> str:
    """One answer, cleaned. Adds to `tries`, and raises ModelFailed with all of them."""
    gate = None if tell is None else StreamFilter(tell, brief.let_through)
    try:
        reply = models.ask(question, budget, gate)
    except ModelFailed as error:
        raise ModelFailed(error.reason, (*tries, *error.tries)) from error
    tries += reply.tries
    if gate is not None:
        gate.end()
    text = (brief.let_through(reply.text) if gate is None else gate.passed).strip()
    if not text:
        raise ModelFailed("empty", tuple(tries))
    return f"{text} …" if reply.is_cut else text


def _complaint(failed: Sequence[Check], delimiter: str) -> str:
    lines = [
        f"- {check.claim}: {check.detail}" if check.claim else f"- {check.detail}"
        for check in failed[:CHECKS_TOLD_MAX]
    ]
    told = fenced("\n".join(lines), delimiter)
    return f"A check of your answer found this wrong (data):\n{told}\n\nWrite the whole answer again, mended. Write the answer alone."


class StreamFilter:
    """Passes an answer on, what of it `let_through` gives, sentence by sentence; `passed` is all of
    it.
    """

    def __init__(self, tell: Tell, let_through: Callable[[str], str]) -> None:
        self._tell, self._let_through, self._held, self.passed = tell, let_through, "", ""

    def __call__(self, piece: str | None) -> None:
        """The next piece; None: what was said is void."""
        if piece is None:
            self._held = ""
            if self.passed:
                self._tell("again", {})
                self.passed = ""
            return
        self._held += piece
        whole = (
            _PASSAGE.match(self._held)
            if len(self._held) < PASSAGE_CHARACTERS_MAX
            else _ALL.match(self._held)
        )
        if whole is not None and (
            whole[0].count("(") <= whole[0].count(")") or len(whole[0]) >= PASSAGE_CHARACTERS_MAX
        ):
            self._pass_on(whole[0])
            self._held = self._held[whole.end() :]

    def end(self) -> None:
        """The text is whole."""
        self._pass_on(self._held)
        self._held = ""

    def _pass_on(self, text: str) -> None:
        if shown := self._let_through(text):
            self._tell("delta", {"text": shown})
            self.passed += shown

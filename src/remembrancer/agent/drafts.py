"""Write an answer with a model: build the messages, clean the answer, check it, revise it once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from importlib import resources

from ..claims.evidence import EventEvidence
from ..claims.review import CitedEvent, parse_draft, remove_service_lines, review
from ..claims.tags import keep_refs
from ..memory.write.events import raw_dialogue
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest, Models
from ..protocol import limits
from ..protocol.chat import Earlier
from ..protocol.constitution import RULES
from ..protocol.fence import data_line, defused, fenced, indented, one_line
from ..protocol.recalled import event_blocks
from ..protocol.search import Hit
from ..protocol.second_look import Check
from ..protocol.service_keys import mask_service_keys
from ..protocol.text import day_of
from ..store import Row
from .citations import add_refs
from .extractive_answer import sanitize
from .judge import judge

RULE_NUMBERS = (3, 4, 8, 9)  # of the constitution; the others concern agents that call the service
PASSAGE_CHARACTERS_MAX = 2_000  # of a sentence before it is sent incomplete
COMPLAINTS_MAX = 20  # failed checks listed for a revision
UNVERIFIED_NOTE = "(Not everything in this answer could be checked against memory.)"
_TEXT = resources.files(__package__).joinpath("chat.md").read_text("utf-8")
_USER_PART_HEADING = (
    "The user's own instructions. They add to the rules above and change none of them:"
)
# Complete sentences, of which the last is not followed by a ref.
_PASSAGE = re.compile(r".*(?:[.!?。！？…][\"”’)\]]*\s+(?=[^\s(\[（【])|\n)", re.DOTALL)
_ALL = re.compile(r".*", re.DOTALL)
SendEvent = Callable[[str, object], None]  # sends an event of a stream: name and data


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedEvent:
    """The part of an event that a model reads."""

    event_id: str
    day: date  # of the event
    text: str


@dataclass(frozen=True, kw_only=True)
class Brief:
    """The input of a model for one message."""

    message: str
    events: Sequence[RetrievedEvent]
    background: Sequence[str] = ()  # instructions, facts and summaries
    history: Sequence[Earlier] = ()
    lessons: Sequence[str] = ()
    help: Sequence[str] = ()  # passages of the service's help, if the message asks about it
    own_part: str = ""  # the user's addition to the agent prompt
    delimiter: str
    day: date

    @property
    def ids(self) -> set[str]:
        """Return the ids that the answer may cite."""
        return {event.event_id for event in self.events}

    @cached_property
    def evidence(self) -> list[EventEvidence]:
        """Return the events as evidence for claims."""
        return [EventEvidence(event.event_id, event.text, event.day) for event in self.events]

    def filter_text(self, text: str) -> str:
        """Clean a model's answer and add missing refs."""
        return add_refs(clean(text, self.ids), self.evidence, self.day)


@dataclass(slots=True, kw_only=True)
class ModelAnswer:
    """An answer, its failed checks, and the model calls it took."""

    text: str
    failed: list[Check]
    tries: list[ModelAttempt] = field(default_factory=list)


def retrieved_event(event: Row, hit: Hit | None = None) -> RetrievedEvent:
    """Return the part of an event that a model reads: all, or a passage if it is long.

    The passage is that of the hit, without one the beginning.
    """
    text = raw_dialogue(event.query, event.response)
    if len(text) > limits.CHAT_EVENT_CHARACTERS_MAX:
        text = (
            raw_dialogue(hit.query, hit.response)
            if hit is not None
            else text[: limits.CHAT_EVENT_CHARACTERS_MAX]
        )
    if event.topic:
        text = f"Topic: {event.topic[:200]}\n{text}"
    day = day_of(event.occurred_ms, event.occurred_offset)
    return RetrievedEvent(event_id=event.event_id, day=day, text=text)


def recent_messages(history: Sequence[Earlier]) -> list[Earlier]:
    """Return the latest messages that fit the limit, oldest first, without keys of this service."""
    room, count = limits.CHAT_HISTORY_CHARACTERS_MAX, 0
    for message in reversed(history):
        room -= len(message.content) + len(message.role)
        if room < 0:
            break
        count += 1
    return [
        message.model_copy(update={"content": mask_service_keys(message.content)})
        for message in history[len(history) - count :]
    ]


def history_messages(brief: Brief) -> tuple[ModelMessage, ...]:
    """Return the messages for a model: the rules, then fenced data and the user's message."""
    rules = "\n".join(f"{number}. {RULES[number - 1]}" for number in RULE_NUMBERS)
    system = _TEXT.replace("{rules}", rules).strip()
    if brief.own_part:
        system += f"\n\n{_USER_PART_HEADING}\n\n{defused(brief.own_part)}"
    blocks: list[tuple[str, str]] = []
    if brief.background:
        blocks.append(
            (
                "What memory knows about the user: their wishes, facts and summaries",
                "\n".join(data_line(item) for item in brief.background),
            )
        )
    if brief.lessons:
        blocks.append(
            (
                "Lessons of this memory that may be relevant",
                "\n".join(data_line(lesson) for lesson in brief.lessons),
            )
        )
    if brief.help:
        blocks.append(
            (
                "Help texts of this service, which need no ref",
                "\n".join(data_line(passage) for passage in brief.help),
            )
        )
    if brief.history:
        conversation = "\n".join(
            f"{one_line(earlier.role)}:\n{indented(earlier.content)}" for earlier in brief.history
        )
        blocks.append(("The conversation so far", conversation))
    data = [
        memory_data(brief.events, brief.delimiter),
        *(f"{head} (data):\n{fenced(text, brief.delimiter)}" for head, text in blocks),
    ]
    user_message = (
        "\n\n".join(data)
        + f"\n\nToday is {brief.day.isoformat()}. The user's message:\n{defused(brief.message)}"
    )
    return ModelMessage("system", system), ModelMessage("user", user_message)


def memory_data(events: Sequence[RetrievedEvent], delimiter: str) -> str:
    """Return the events in a fence, each with its id and date."""
    text = event_blocks(events) or "Nothing."
    return f"What memory found, best first (data):\n{fenced(text, delimiter)}"


def clean(text: str, ids: Collection[str]) -> str:
    """Remove refs other than `ids`, service lines, seals, secrets, fences and images."""
    return keep_refs(remove_service_lines(sanitize(text)), ids)


def _failures(checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if check.status == "fail"]


def _check_answer(
    models: Models,
    text: str,
    brief: Brief,
    budget: Budget,
    tries: list[ModelAttempt],
    *,
    outside: bool,
) -> list[Check]:
    """Return the failed checks of an answer, including those of a judging model, if any."""
    recalled = {event.event_id: CitedEvent("shown", event) for event in brief.evidence}
    draft = parse_draft(text, brief.day)
    cited = {ref: recalled.get(ref, CitedEvent("unknown")) for ref in draft.refs}
    failures = _failures(review(draft, cited, ""))
    if models.has("judge", outside=outside):
        judgement = judge(models, draft, cited, budget, outside=outside)
        tries += judgement.tries
        failures += _failures(judgement.checks)
    return failures


def write_answer(
    models: Models, brief: Brief, budget: Budget, *, outside: bool, send_event: SendEvent | None
) -> ModelAnswer:
    """Return a model's answer: its draft, or a revision unless that has more failed checks.

    Raises ModelFailed if there is no draft.
    """
    messages = history_messages(brief)
    tries: list[ModelAttempt] = []
    text = _request_answer(
        models,
        ModelRequest(slot="chat", messages=messages, outside=outside),
        budget,
        brief,
        send_event,
        tries,
    )
    failures = _check_answer(models, text, brief, budget, tries, outside=outside)
    if send_event is not None:
        send_event("look", {"status": "fail" if failures else "pass", "failed": len(failures)})
    if not failures:
        return ModelAnswer(text=text, failed=[], tries=tries)
    revision_messages = (
        *messages,
        ModelMessage("assistant", text),
        ModelMessage("user", _complaint(failures, brief.delimiter)),
    )
    if send_event is not None:
        send_event("again", {})
    try:
        revision = _request_answer(
            models,
            ModelRequest(slot="chat", messages=revision_messages, outside=outside),
            budget,
            brief,
            send_event,
            tries,
        )
    except ModelFailed as error:
        tries[:] = list(error.tries)
    else:
        remaining_failures = _check_answer(models, revision, brief, budget, tries, outside=outside)
        if len(remaining_failures) <= len(failures):
            text, failures = revision, remaining_failures
    return ModelAnswer(
        text=f"{text}\n\n{UNVERIFIED_NOTE}" if failures else text, failed=failures, tries=tries
    )


def _request_answer(
    models: Models,
    request: ModelRequest,
    budget: Budget,
    brief: Brief,
    send_event: SendEvent | None,
    tries: list[ModelAttempt],
) -> str:
    """Request one answer and clean it. Appends to `tries`; raises ModelFailed with all of them."""
    stream_filter = None if send_event is None else StreamFilter(send_event, brief.filter_text)
    try:
        reply = models.ask(request, budget, stream_filter)
    except ModelFailed as error:
        raise ModelFailed(error.reason, (*tries, *error.tries)) from error
    tries += reply.tries
    if stream_filter is not None:
        stream_filter.end()
    text = (brief.filter_text(reply.text) if stream_filter is None else stream_filter.text).strip()
    if not text:
        raise ModelFailed("empty", tuple(tries))
    return f"{text} …" if reply.is_cut else text


def _complaint(failed: Sequence[Check], delimiter: str) -> str:
    lines = [
        data_line(f"{check.claim}: {check.detail}" if check.claim else check.detail)
        for check in failed[:COMPLAINTS_MAX]
    ]
    details = fenced("\n".join(lines), delimiter)
    return (
        f"A check of your answer found these errors (data):\n{details}\n\n"
        "Write the whole answer again, corrected. Write only the answer."
    )


class StreamFilter:
    """Filters a streamed answer sentence by sentence and sends it on; `text` is the result."""

    def __init__(self, send_event: SendEvent, filter_text: Callable[[str], str]) -> None:
        self._send_event, self._filter, self._pending, self.text = send_event, filter_text, "", ""

    def __call__(self, piece: str | None) -> None:
        """Handle the next piece. None discards the text so far."""
        if piece is None:
            self._pending = ""
            if self.text:
                self._send_event("again", {})
                self.text = ""
            return
        self._pending += piece
        passage = (
            _PASSAGE.match(self._pending)
            if len(self._pending) < PASSAGE_CHARACTERS_MAX
            else _ALL.match(self._pending)
        )
        if passage is not None and (
            passage[0].count("(") <= passage[0].count(")")
            or len(passage[0]) >= PASSAGE_CHARACTERS_MAX
        ):
            self._send(passage[0])
            self._pending = self._pending[passage.end() :]

    def end(self) -> None:
        """Send the rest at the end of the text."""
        self._send(self._pending)
        self._pending = ""

    def _send(self, text: str) -> None:
        if filtered := self._filter(text):
            self._send_event("delta", {"text": filtered})
            self.text += filtered

"""Write an answer: its background, a draft by a model or quotes, its refs, and its stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from importlib import resources
from itertools import accumulate

from ..accounts import may_use_outside_models, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, stored_answer
from ..accounts.prompts import prompt_of
from ..claims.evidence import EventEvidence
from ..claims.extract import find_tags, keep_refs
from ..claims.review import CitedEvent, parse_draft, remove_service_lines, review
from ..context import Caller, Context
from ..memory.duties import citable_events
from ..memory.intake import Intake
from ..memory.recall.recall import recall
from ..memory.spaces import SQL, read_sides
from ..memory.summaries.maps import MapUnknown, map_version, sentences
from ..memory.write.turns import (
    EventUnknown,
    IncomingTurn,
    StoredTurn,
    answers_step,
    own_event,
    raw_dialogue,
    store_turn_idempotently,
)
from ..models import (
    Budget,
    ChoiceDelta,
    ModelAttempt,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    Models,
)
from ..models.calls import usage_of
from ..models.port import FAILURE_MESSAGES
from ..protocol import limits
from ..protocol.agent import AnswerMode, Chat, ChatAnswer, Check, Earlier
from ..protocol.constitution import RULES
from ..protocol.fence import data_line, defused, fenced, indented, new_delimiter, one_line
from ..protocol.patterns import regex
from ..protocol.recalled import answer_items, cube_lesson, event_blocks, marked
from ..protocol.seal import render
from ..protocol.search import Hit, MemoryAnswer, MemoryQuery, SummaryHit
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..protocol.summaries import MapQuery
from ..protocol.text import day_of
from ..screening import find_secrets, mask_secrets
from ..search import EventText
from ..search.text.analysis import terms
from ..search.text.languages import QUESTION_END
from ..store import Row, Transaction
from .second_look import judge

_ASKS_FOR_SUMMARY = regex(
    r"\b(?:summari[sz]e|summary|recap|overview|what (?:have|did) we (?:decide|agree|discuss)"
    r"|zusammenfass\w*|überblick|résum\w*|resum\w*|riassum\w*|riepilog\w*)\b"
    r"|подытож|итог|обобщи|总结|概括|概述",
    re.IGNORECASE,
)


def background_items(answer: MemoryAnswer) -> list[str]:
    """Return the instructions, facts and summaries of an answer as texts for a model."""
    layers = {"facts", "instructions", "summaries"}
    return answer_items(answer.model_dump(mode="json", include=layers))


def _background_quotes(answer: MemoryAnswer) -> list[str]:
    """Return the facts and summaries of an answer as lines to quote, with refs where there are."""
    lines = [
        f"- fact since {fact.valid_from[:10]}: “{_line(fact.text)}”{_ref(fact.event_id)}"
        for fact in answer.facts
    ]
    return lines + [
        f"- map: “{_line(one.text)}”"
        if one.l1_id is None
        else f"- summary of session {one.session_id}: “{_line(one.text)}” ({one.l1_id})"
        for one in answer.summaries
    ]


def with_map(
    context: Context, caller: Caller, user_id: str, message: str, answer: MemoryAnswer
) -> MemoryAnswer:
    """Return the answer with the newest map if the message asks for a summary and found none."""
    if answer.summaries or not _ASKS_FOR_SUMMARY.search(message):
        return answer
    try:
        newest = map_version(context, caller, MapQuery(user_id=user_id))
    except MapUnknown:
        return answer
    summary = SummaryHit(
        l1_id=None,
        map_version=newest.version,
        session_id=None,
        topic=None,
        text=newest.map_text[: limits.CHAT_EVENT_CHARACTERS_MAX],
        source=newest.source,
        score=0.0,
    )
    return answer.model_copy(update={"summaries": [summary]})


def session_messages(
    context: Context, caller: Caller, user_id: str, session_id: str
) -> list[Earlier]:
    """Return the latest turns of a session as messages, oldest first. Raises StoreUnavailable.

    Of a turn that was answered by quotes, only the user's message.
    """

    def read(tx: Transaction) -> Sequence[Row]:
        space = tx.one_or_none(SQL.space_of, user_id=space_user_id(caller, user_id))
        if space is None:
            return []
        session = {"space_id": space.id, "session_id": session_id}
        return tx.all(SQL.session_turns, **session, most=limits.CHAT_SESSION_TURNS_MAX)

    rows = context.store.read(read, account_id=caller.account_id)
    messages = []
    for row in reversed(rows):
        messages.append(Earlier(role="user", content=row.query))
        if row.topic != QUOTED_TOPIC:
            messages.append(Earlier(role="assistant", content=row.response))
    return [message for message in messages if message.content.strip()]


def _line(text: str) -> str:
    """Return a stored text on one line, without marks that could imitate ours."""
    return " ".join(sanitize(text).split())


def _ref(event_id: str | None) -> str:
    return f" (ref: {event_id})" if event_id else ""


# --- Add refs that a model left out ----------------------------------------------------------
# A sentence with claims and without a tag gets the ref of an event that supports all its claims.

# Share of a sentence's terms that the event must contain: a name alone occurs in many events.
SHARED_RATIO_MIN = 0.5
_ENDS = ".!?…。！？\"'”’»)*_ \t\n"


def add_refs(text: str, events: Sequence[EventEvidence], day: date) -> str:
    """Return the text with refs added.

    `day` is the day of the text. Of several events that support a sentence, the one that shares
    most of its terms is cited.
    """
    draft = parse_draft(text, day)
    parts, at = [], 0
    for sentence in draft.sentences:
        claims = draft.claims_of(sentence)
        is_statement = not (sentence.is_question or sentence.is_heading)
        if sentence.tags or not is_statement or all(claim.weak for claim in claims):
            continue
        own = terms(draft.text[sentence.start : sentence.end])
        supporting = [event for event in events if all(event.supports(claim) for claim in claims)]
        best = max(supporting, key=lambda event: len(own & event.terms), default=None)
        if best is None or len(own & best.terms) < SHARED_RATIO_MIN * len(own):
            continue
        words = text[sentence.start : sentence.end].rstrip(_ENDS)
        end = max(sentence.start + len(words), claims[-1].end)
        parts.append(f"{text[at:end]} (ref: {best.event_id})")
        at = end
    return "".join(parts) + text[at:]


# --- Answer without a model: quote the best matching turns verbatim, with their refs ---------

# Topic of turns answered by quotes: their responses are not evidence.
QUOTED_TOPIC = "chat, quoted from memory"
MODEL_TOPIC = "chat"  # of turns that a model answered
NO_MODEL = "No language model is configured, so I can only quote what I remember."
OUTSIDE_NOT_ALLOWED = (
    "This account does not allow language models on other machines to read its memory, "
    "so I can only quote what I remember."
)
BEST_MATCHES = "These stored turns match best:"
BEST_MEMORY = "This is what memory has on it:"
NO_MATCHES = "No stored turn, fact or summary matches."


def quotes(hits: Sequence[Hit], question: str) -> dict[str, str]:
    """Return lines that quote the hits that have evidence, by their event ids, best first."""
    lines: dict[str, str] = {}
    question_terms = terms(question)
    for hit in hits:
        excerpts = (_excerpt(side, question_terms) for side in _quotable(hit, question))
        speakers = zip(("user", "assistant"), excerpts, strict=True)
        sides = "; ".join(f"{speaker}: “{text}”" for speaker, text in speakers if text)
        if sides:
            lines[hit.event_id] = f"- {hit.occurred_at[:10]}, {sides} (ref: {hit.event_id})"
        if len(lines) == limits.CHAT_QUOTES_MAX:
            break
    return lines


def quoted_answer(search_result: MemoryAnswer, message: str, reason: str) -> tuple[str, str]:
    """Return the quotes that answer a message, after those of facts and summaries.

    And what to store as the response of its turn: only the refs, because the quoted text is in
    memory already, and the other sentences are no memory. `reason` says why no model answers.
    """
    background = _background_quotes(search_result)
    quote_lines = quotes(search_result.hits, message)
    quoted = [*background, *quote_lines.values()]
    heading = BEST_MEMORY if background else BEST_MATCHES
    lines = [f"{reason} {heading}", "", *quoted] if quoted else [f"{reason} {NO_MATCHES}"]
    if search_result.help_hits:
        lines += ["", f"The help says: {search_result.help_hits[0].text}"]
    sources = [*quote_lines, *(fact.event_id for fact in search_result.facts if fact.event_id)]
    stored_text = f"(ref: {', '.join(dict.fromkeys(sources))})" if sources else ""
    return "\n".join(lines), stored_text


def _quotable(hit: Hit, question: str) -> tuple[str, str]:
    """Return both sides of a turn.

    Of a turn that was itself answered by quotes, return only the query, unless it is a question.
    """
    if hit.topic != QUOTED_TOPIC:
        return hit.query, hit.response
    is_question = QUESTION_END.search(hit.query) or hit.query.strip() == question.strip()
    return "" if is_question else hit.query, ""


def _excerpt(text: str, question_terms: set[int]) -> str:
    """Return the adjacent sentences with most terms of the question, on one line."""
    # Without refs: those of an earlier answer are not those of this one.
    clean = " ".join(keep_refs(sanitize(text), ()).split())
    characters_max = limits.CHAT_QUOTE_CHARACTERS_MAX
    if len(clean) <= characters_max:
        return clean
    parts = sentences(clean) or [clean]
    matches = [terms(part) & question_terms for part in parts]
    best: tuple[int, int, int] = (-1, 0, 0)
    for start in range(len(parts)):
        lengths = list(accumulate(len(part) + 1 for part in parts[start:]))
        end = start + max(sum(length <= characters_max + 1 for length in lengths), 1)
        best = max(best, (len(set().union(*matches[start:end])), -start, -end))
    start, end = -best[1], -best[2]
    quote = " ".join(parts[start:end])[:characters_max]
    return ("… " if start else "") + quote + (" …" if end < len(parts) else "")


def sanitize(text: str) -> str:
    """Remove fences and hidden characters, disable images, and mask secrets."""
    plain = defused(text).replace("![", "[")
    return mask_secrets(plain, find_secrets(plain))


# --- Filter a streamed answer and send it on word by word ------------------------------------
# A word waits only while the filter may still remove or change it: the last word of the text, what
# follows an open bracket, and a line that may be a service line.

LINE_CHARACTERS_MAX = 1_000  # of a line that is filtered again with each of its words
BRACKET_CHARACTERS_MAX = 200  # after an open bracket: longer ones are no refs
SECRET_CHARACTERS_MAX = 8_000  # of a private key, which has several lines
_SERVICE_WORDS = (
    "L1:",
    "L2:",
    "CRITICAL:",
    "CUBE_NOTHING:",
    "CUBE:",
    "RATE:",
    "TASK_DONE",
    "PUBLISH",
    "memory: not used",
)
_FENCE = regex(r"[ \t]*(?:```|~~~)")
_SECRET_START, _SECRET_END = "-----BEGIN", "-----END"
# A word, with the space before it, in which a bracket is open at the end.
_OPEN_BRACKET = regex(r"\s*[^\s(\[（【<]*(?:[(\[（【][^)\]）】\n]*|<[^>\n]*)\Z")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))  # ASCII
_IN_CODE, _IN_LINE = "```\n", "- "  # put before a text so that the filter reads it as such


class WordStream:
    """Filters the pieces of one text. `filter_text` must change no text that it has changed."""

    def __init__(
        self, send: Callable[[str], None], filter_text: Callable[[str], str], seal_name: str
    ) -> None:
        """Create a stream that calls `send` with each filtered piece."""
        self._send_on, self._filter = send, filter_text
        self._service_words = (*_SERVICE_WORDS, f"{seal_name} |", f"{seal_name}|")
        self._line = ""  # what has come of the current line
        self._sent = ""  # what of its filtered text has been sent
        self._space = ""  # at the end of what may be sent
        self._in_code = self._continues_line = False

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        self._line += piece
        while end := self._line_end():
            line, self._line = self._line[:end], self._line[end:]
            self._finish(line)
        if _SECRET_START not in self._line:
            self._send_words()

    def end(self) -> None:
        """Send the rest, except space at its end."""
        self._finish(self._line)
        self._line = ""

    def _line_end(self) -> int:
        """Return the end of the first whole line, or 0; a private key counts as one line."""
        line_end = self._line.find("\n") + 1
        start = self._line.find(_SECRET_START, 0, line_end)
        if start < 0 or len(self._line) > SECRET_CHARACTERS_MAX:
            return line_end
        last_line = self._line.find(_SECRET_END, start)
        return self._line.find("\n", last_line) + 1 if last_line >= 0 else 0

    def _finish(self, line: str) -> None:
        """Send what is left of a whole line."""
        filtered = self._filtered(line)
        self._send(filtered[len(self._sent) :])
        self._sent, self._continues_line = "", False
        if _FENCE.match(line):
            self._in_code = not self._in_code

    def _send_words(self) -> None:
        """Send the complete words of the current line."""
        if self._may_be_service_line():
            return
        text = self._line.rstrip(_PRINTABLE).rstrip()  # without the last word
        if (bracket := _OPEN_BRACKET.search(text[-BRACKET_CHARACTERS_MAX:])) is not None:
            text = text[: len(text) - len(bracket[0])]
        filtered = self._filtered(text)
        if not filtered.startswith(self._sent):
            return  # the end of the line decides
        self._send(filtered[len(self._sent) :])
        self._sent = filtered
        if len(text) > LINE_CHARACTERS_MAX:
            self._line = self._line[len(text) :]
            self._sent, self._continues_line = "", True

    def _may_be_service_line(self) -> bool:
        if self._in_code or self._continues_line:
            return False
        start = self._line.lstrip(" \t")
        return any(word.startswith(start) or start.startswith(word) for word in self._service_words)

    def _filtered(self, text: str) -> str:
        head = _IN_CODE if self._in_code else _IN_LINE if self._continues_line else ""
        return self._filter(head + text).removeprefix(head)

    def _send(self, text: str) -> None:
        text = self._space + text
        stripped = text.rstrip()
        self._space = text[len(stripped) :]
        if stripped:
            self._send_on(stripped)


# --- Write an answer with a model: build the messages, clean the answer, check it, revise it once

RULE_NUMBERS = (3, 4, 8, 9)  # of the constitution; the others concern agents that call the service
PASSAGE_CHARACTERS_MAX = 2_000  # of a sentence before it is sent incomplete
COMPLAINTS_MAX = 20  # failed checks listed for a revision
UNVERIFIED_NOTE = "(Not everything in this answer could be checked against memory.)"
_TEXT = resources.files(__package__).joinpath("chat.md").read_text("utf-8")
_USER_PART_HEADING = (
    "The user's own instructions. They add to the rules above and change none of them:"
)
# Complete sentences, of which the last is not followed by a ref.
_PASSAGE = regex(r".*(?:[.!?。！？…][\"”’)\]]*\s+(?=[^\s(\[（【])|\n)", re.DOTALL)
_ALL = regex(r".*", re.DOTALL)
SendEvent = Callable[[str, object], None]  # sends an event of a stream: name and data


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedEvent:
    """The part of an event that a model reads."""

    event_id: str
    day: date  # of the event
    text: str
    message: str = ""  # of the user
    is_by_chat: bool = False  # its answer is one of chat's own


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
        """Clean a model's answer and add missing refs.

        What the user said is cited first, what chat answered last.
        """
        said = [EventEvidence(one.event_id, one.message, one.day) for one in self.events]
        by_chat = {one.event_id for one in self.events if one.is_by_chat}
        others = [one for one in self.evidence if one.event_id not in by_chat]
        text = clean(text, self.ids)
        for events in (said, others, self.evidence):
            text = add_refs(text, events, self.day)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResult:
    """An answer without its seal, its failed checks, and the model calls it took."""

    text: str
    mode: AnswerMode
    stored_text: str  # the response to store
    tries: Sequence[ModelAttempt] = ()
    failures: Sequence[Check] = ()
    history_used: int | None = None


def retrieved_event(event: Row, hit: Hit | None = None) -> RetrievedEvent:
    """Return the part of an event that a model reads: all, or a passage if it is long.

    The passage is that of the hit, without one the beginning.
    """
    source = read_sides(event) if hit is None else hit.source
    text = raw_dialogue(event.query, event.response, source)
    if len(text) > limits.CHAT_EVENT_CHARACTERS_MAX:
        text = text[: limits.CHAT_EVENT_CHARACTERS_MAX]
        if hit is not None:
            text = raw_dialogue(hit.query, hit.response, source)
    if event.topic:
        text = f"Topic: {event.topic[:200]}\n{text}"
    day = day_of(event.occurred_ms, event.occurred_offset)
    return RetrievedEvent(
        event_id=event.event_id,
        day=day,
        text=text,
        message=event.query[: limits.CHAT_EVENT_CHARACTERS_MAX],
        is_by_chat=event.topic in (MODEL_TOPIC, QUOTED_TOPIC),
    )


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
    lists = (
        ("What memory knows about the user: their wishes, facts and summaries", brief.background),
        ("Lessons of this memory that may be relevant", brief.lessons),
        ("Help texts of this service, which need no ref", brief.help),
    )
    blocks = [(head, "\n".join(map(data_line, texts))) for head, texts in lists if texts]
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
    message = [EventEvidence("", brief.message, brief.day)]
    failures = _failures(review(draft, cited, "", lambda: message))
    if models.has("judge", outside=outside):
        judgement = judge(models, draft, cited, budget, outside=outside)
        tries += judgement.tries
        failures += _failures(judgement.checks)
    return failures


def write_answer(
    models: Models, brief: Brief, budget: Budget, *, outside: bool, send_event: SendEvent | None
) -> ChatResult:
    """Return a model's answer: its draft, or a revision unless that has more failed checks.

    Raises ModelFailed if there is no draft.
    """
    messages = history_messages(brief)
    tries: list[ModelAttempt] = []

    def ask(messages: tuple[ModelMessage, ...]) -> str:
        request = ModelRequest(slot="chat", messages=messages, outside=outside)
        return _request_answer(models, request, budget, brief, send_event, tries)

    text = ask(messages)
    failures = _check_answer(models, text, brief, budget, tries, outside=outside)
    if send_event is not None:
        send_event("look", {"status": "fail" if failures else "pass", "failed": len(failures)})
    if not failures:
        return ChatResult(text=text, mode="model", stored_text=text, tries=tries)
    revision_messages = (
        *messages,
        ModelMessage("assistant", text),
        ModelMessage("user", _complaint(failures, brief.delimiter)),
    )
    if send_event is not None:
        send_event("again", {})
    try:
        revision = ask(revision_messages)
    except ModelFailed as error:
        tries[:] = list(error.tries)
    else:
        remaining_failures = _check_answer(models, revision, brief, budget, tries, outside=outside)
        if len(remaining_failures) <= len(failures):
            text, failures = revision, remaining_failures
    if failures:
        text = f"{text}\n\n{UNVERIFIED_NOTE}"
    return ChatResult(text=text, mode="model", stored_text=text, tries=tries, failures=failures)


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

    def __call__(self, piece: ChoiceDelta | None) -> None:
        """Handle the next piece of the first choice. None discards the text so far."""
        if piece is None:
            self._pending = ""
            if self.text:
                self._send_event("again", {})
                self.text = ""
            return
        self._pending += piece.text if piece.index == 0 else ""
        is_short = len(self._pending) < PASSAGE_CHARACTERS_MAX
        passage = (_PASSAGE if is_short else _ALL).match(self._pending)
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


# Beginnings of the reminders that are chat's own work, not its client's (memory/duties.py).
_OWN_WORK = ("Rate ", "A cube is due", "An L1 is due", "An L2 is due", "The last reply cites")
NO_ANSWER = "No language model answered ({reason}), so I can only quote what I remember."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A valid message and the result of its search, ready to be answered."""

    context: Context
    caller: Caller
    request: Chat
    idempotency: IdempotentRequest | None
    search_result: MemoryAnswer

    @property
    def message(self) -> str:
        """The message without the keys of this service, as models and searches read it."""
        return mask_service_keys(self.request.message)


def start_chat(
    context: Context,
    caller: Caller,
    request: Chat,
    idempotency: IdempotentRequest | None = None,
) -> ChatTurn | ChatAnswer:
    """Search memory for a message, which counts a step; or return the stored answer of a retry.

    Raises ReadOnly, Pinned, OnlyEchoedText, Conflict, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    Intake(settings=context.settings).take_own(request.message)
    if idempotency is not None and (first := stored_answer(context, idempotency)) is not None:
        return ChatAnswer.model_validate_json(first)
    query = MemoryQuery(
        session_id=request.session_id,
        query_text=mask_service_keys(request.message)[: limits.QUERY_CHARACTERS_MAX],
        user_id=user_id,
        top_k=limits.UNASKED_HITS_MAX,
        min_answerable=limits.UNASKED_ANSWERABLE_MIN,
        last_seal=request.last_seal,
        seals=request.last_seal is not None,  # the service seals its replies itself
    )
    return ChatTurn(
        context=context,
        caller=caller,
        request=request,
        idempotency=idempotency,
        search_result=with_map(
            context, caller, user_id, request.message, recall(context, caller, query)
        ),
    )


def finish(turn: ChatTurn, send_event: SendEvent | None = None) -> ChatAnswer:
    """Answer the message and store the turn; send progress events to `send_event`.

    Raises the errors of `store_turn_idempotently`.
    """
    if send_event is not None:
        hits = [hit.model_dump() for hit in turn.search_result.hits]
        send_event("hits", {"step": turn.search_result.step, "hits": hits})
    result = _create_answer(turn, send_event)
    # About a pasted key of this service; not stored, because it is no answer to the message.
    if (warning := service_key_warning(turn.request.message)) is not None:
        if send_event is not None:
            send_event("delta", {"text": f"\n\n{warning}"})
        result = replace(result, text=f"{result.text}\n\n{warning}")
    topic = MODEL_TOPIC if result.mode == "model" else QUOTED_TOPIC
    event = IncomingTurn(
        user_id=turn.request.user_id,
        session_id=turn.request.session_id,
        text=EventText(
            query=turn.request.message,
            response=result.stored_text,
            topic=topic,
            occurred_ms=turn.context.clock(),
        ),
    )
    answer = partial(_chat_answer, turn, result)
    return store_turn_idempotently(
        turn.context, turn.caller, event, turn.idempotency, ChatAnswer, answer
    )


def _chat_answer(
    turn: ChatTurn, result: ChatResult, tx: Transaction, stored: StoredTurn, notice: str | None
) -> ChatAnswer:
    """Record that the stored turn answers its step, and return the answer."""
    look = {"passed": int(not result.failures), "now_ms": turn.context.clock()}
    answers_step(tx, turn.caller, stored, look)
    search_result = turn.search_result
    seal = render(search_result.step, turn.context.settings.seal_name)
    return ChatAnswer(
        reply=f"{result.text}\n\n{seal}" if turn.caller.has_protocol else result.text,
        answer_mode=result.mode,
        step=search_result.step,
        hits=search_result.hits,
        refs=list(dict.fromkeys(ref for tag in find_tags(result.text) for ref, _, _ in tag.refs)),
        seal=seal,
        usage=usage_of(result.tries),
        event_id=stored.event_id,
        history_used=result.history_used,
        checks=list(result.failures[: limits.CHECKS_LISTED_MAX]) or None,
        shared_cubes=search_result.shared_cubes or None,
        duty_error=search_result.duty_error,
        reminders=[one for one in search_result.reminders or () if not one.startswith(_OWN_WORK)]
        or None,
        detail=notice,
    )


def _create_answer(turn: ChatTurn, send_event: SendEvent | None) -> ChatResult:
    context = turn.context
    if not context.models.has("chat"):
        return _quote_answer(turn, send_event, "extractive", NO_MODEL)
    outside = may_use_outside_models(context, turn.caller)
    if not context.models.has("chat", outside=outside):
        return _quote_answer(turn, send_event, "extractive", OUTSIDE_NOT_ALLOWED)
    earlier = turn.request.chat_history or session_messages(
        context, turn.caller, turn.request.user_id, turn.request.session_id
    )
    history = recent_messages(earlier)
    events = events_of(context, turn.caller, turn.search_result.hits, turn.message)
    brief = Brief(
        message=turn.message,
        events=events + _sources(turn),
        background=background_items(turn.search_result),
        history=history,
        lessons=[
            marked(cube_lesson(cube.topic, cube.essence, cube.rules_markdown), cube.source)
            for cube in turn.search_result.shared_cubes
        ],
        help=[f"{passage.title}: {passage.text}" for passage in turn.search_result.help_hits or ()],
        own_part=prompt_of(context, turn.caller, turn.request.user_id).user_part,
        delimiter=new_delimiter(),
        day=day_of(context.clock()),
    )
    budget = Budget.of(context.settings)
    try:
        result = write_answer(context.models, brief, budget, outside=outside, send_event=send_event)
    except ModelFailed as error:
        if send_event is not None:
            send_event("again", {})
        reason = NO_ANSWER.format(reason=FAILURE_MESSAGES[error.reason])
        return _quote_answer(turn, send_event, "fallback", reason, error.tries)
    return replace(result, history_used=len(history) if turn.request.chat_history else None)


def _sources(turn: ChatTurn) -> list[RetrievedEvent]:
    """Return turns that are no hits: those that facts and instructions came with, and those that
    chat's earlier answers cite.
    """
    answer = turn.search_result
    hits = {hit.event_id for hit in answer.hits}
    earlier = (hit.response for hit in answer.hits if hit.topic in (MODEL_TOPIC, QUOTED_TOPIC))
    cited = (ref for text in earlier for tag in find_tags(text) for ref, _, _ in tag.refs)
    ids = [one for one in (*citable_events(answer), *cited) if one not in hits]
    return _events(turn.context, turn.caller, dict.fromkeys(ids))


def events_of(
    context: Context, caller: Caller, hits: Sequence[Hit], message: str
) -> list[RetrievedEvent]:
    """Return the full events of hits, except those that only repeat the question."""
    with_evidence = {hit.event_id: hit for hit in hits if any(_quotable(hit, message))}
    return _events(context, caller, with_evidence)


def _events(
    context: Context, caller: Caller, hits: Mapping[str, Hit | None]
) -> list[RetrievedEvent]:
    """Return the full events of these ids, except those that were deleted meanwhile."""
    events = []
    for event_id, hit in hits.items():
        read = partial(own_event, caller=caller, event_id=event_id)
        with suppress(EventUnknown):
            event = context.store.read(read, account_id=caller.account_id)
            events.append(retrieved_event(event, hit))
    return events


def _quote_answer(
    turn: ChatTurn,
    send_event: SendEvent | None,
    mode: AnswerMode,
    reason: str,
    tries: Sequence[ModelAttempt] = (),
) -> ChatResult:
    """Return an answer of quotes, without a model."""
    text, stored_text = quoted_answer(turn.search_result, turn.message, reason)
    if send_event is not None:
        send_event("delta", {"text": text})
    return ChatResult(text=text, mode=mode, stored_text=stored_text, tries=tries)

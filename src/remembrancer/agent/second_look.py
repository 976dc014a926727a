"""Second look: check that each specific claim of a stored answer is marked and supported."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, TypeAlias

from ..accounts import NO_KEY, may_use_outside_models
from ..accounts.teams import memberships
from ..claims.evidence import EventEvidence
from ..claims.extract import Sentence
from ..claims.review import (
    EXCERPT_CHARACTERS_MAX,
    CitedEvent,
    ParsedDraft,
    parse_draft,
    review,
    sort_key,
)
from ..context import Caller, Context
from ..memory.intake import Intake
from ..memory.spaces import SQL as SPACES
from ..memory.write.turns import TURN_SQL
from ..models import Budget, ModelAttempt, ModelFailed, ModelMessage, ModelRequest, Models
from ..models.calls import usage_of
from ..models.port import FAILURE_MESSAGES
from ..protocol import limits
from ..protocol.agent import Check, SecondLook, SecondLooked
from ..protocol.errors import Conflict, InvalidRequest
from ..protocol.fence import defused, fenced, new_delimiter
from ..protocol.recalled import event_blocks
from ..protocol.text import day_of
from ..store import Row, StoreUnavailable, Transaction, load_queries

# --- Let a language model judge whether cited events support the sentences of a draft --------
# A model sees what comparing values cannot: denials, cancellations, who did what to whom. Its
# judgement adds checks and removes none. A verdict counts only if it quotes the cited event
# verbatim, so that the model cannot invent evidence.

_RULES = resources.files(__package__).joinpath("judge.md").read_text("utf-8").strip()
_QUOTE_CHARACTERS_MIN = 8  # shorter quotes occur anywhere and prove nothing
_VERDICTS = ("supported", "contradicted", "not_stated")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "i": {"type": "integer"},
                    "verdict": {"type": "string", "enum": list(_VERDICTS)},
                    "quote": {"type": "string"},
                },
                "required": ["i", "verdict", "quote"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


# A sentence of a draft, its text and the events that it cites.
_Citation: TypeAlias = tuple[Sentence, str, Sequence[EventEvidence]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result: checks to add, the model calls, and the reason if nothing was judged."""

    checks: Sequence[Check] = ()
    tries: Sequence[ModelAttempt] = ()
    failure: str | None = None


def judge(
    models: Models,
    draft: ParsedDraft,
    cited: Mapping[str, CitedEvent],
    budget: Budget,
    *,
    outside: bool,
) -> Judgement:
    """Ask the models of the slot `judge` about the sentences that cite events, up to the limits."""
    citations = list(_citations(draft, cited))
    if not citations:
        return Judgement()
    events = {event.event_id: event for _, _, cited_events in citations for event in cited_events}
    stored = event_blocks(events.values())
    questions = "\n".join(
        f"{n}. {text} [{', '.join(event.event_id for event in cited_events)}]"
        for n, (_, text, cited_events) in enumerate(citations, 1)
    )
    delimiter = new_delimiter()
    data = (
        f"The events (data):\n{fenced(stored, delimiter)}\n\n"
        f"The sentences (data):\n{fenced(defused(questions), delimiter)}"
    )
    request = ModelRequest(
        slot="judge",
        messages=(ModelMessage("system", _RULES), ModelMessage("user", data)),
        temperature=0.0,
        schema=_SCHEMA,
        outside=outside,
    )
    try:
        reply = models.ask(request, budget)
    except ModelFailed as error:
        return Judgement(tries=error.tries, failure=FAILURE_MESSAGES[error.reason])
    verdicts = _verdicts(reply.text)
    if verdicts is None:
        return Judgement(tries=reply.tries, failure=FAILURE_MESSAGES["garbled"])
    return Judgement(checks=list(_checks(citations, verdicts)), tries=reply.tries)


def _citations(draft: ParsedDraft, cited: Mapping[str, CitedEvent]) -> Iterator[_Citation]:
    """Yield the sentences with valid citations that fit into one request."""
    room, included, count = limits.JUDGED_CHARACTERS_MAX, set[str](), 0
    for sentence in draft.sentences:
        refs = dict.fromkeys(ref for tag in sentence.tags for ref, _, _ in tag.refs)
        events = [event for ref in refs if (event := cited[ref].evidence) is not None]
        text = " ".join(draft.text[sentence.start : sentence.end].split())
        length = len(text) + sum(
            len(event.text) for event in events if event.event_id not in included
        )
        if not events or sentence.is_question or sentence.is_heading or length > room:
            continue
        if count == limits.JUDGED_SENTENCES_MAX:
            break
        room, count = room - length, count + 1
        included.update(event.event_id for event in events)
        yield sentence, text, events


def _verdicts(text: str) -> list[tuple[int, str, str]] | None:
    """Parse verdicts into number, verdict and quote. Return None if the answer is malformed."""
    try:
        verdicts = json.loads(text[text.index("{") : text.rindex("}") + 1])["verdicts"]
        return [(verdict["i"], verdict["verdict"], verdict["quote"]) for verdict in verdicts]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def _checks(
    citations: Sequence[_Citation], verdicts: Sequence[tuple[int, str, str]]
) -> Iterator[Check]:
    for number, verdict, quote in {
        item[0]: item for item in verdicts if isinstance(item[0], int)
    }.values():
        if (
            not 1 <= number <= len(citations)
            or verdict not in ("supported", "contradicted")
            or not isinstance(quote, str)
        ):
            continue
        sentence, text, events = citations[number - 1]
        event = next((one for one in events if _contains_quote(quote, one.text)), None)
        if event is None:
            continue
        excerpt = " ".join(quote.split())[:EXCERPT_CHARACTERS_MAX]
        is_contradicted = verdict == "contradicted"
        yield Check(
            check="said_by_ref",
            status="fail" if is_contradicted else "pass",
            detail=(
                f"A model judged that the cited event says otherwise: {excerpt!r}. "
                "Correct the sentence, or cite the event that says it."
                if is_contradicted
                else f"A model judged that the cited event says so: {excerpt!r}."
            ),
            claim=text[:EXCERPT_CHARACTERS_MAX],
            start=sentence.start,
            end=sentence.end,
            ref=event.event_id,
        )


def _contains_quote(quote: str, text: str) -> bool:
    plain = " ".join(quote.split()).casefold()
    return len(plain) >= _QUOTE_CHARACTERS_MIN and plain in " ".join(text.split()).casefold()


# --- Second look: check that each specific claim of a stored answer is marked and supported --

SQL = load_queries("remembrancer.agent", "second_look.sql")
OWN_TEXTS_MAX = 20  # the message of a turn, and tool results of its session
_log = logging.getLogger(__name__)
_REPLY_PREFIX_CHARACTERS = 40  # characters of a response in the column `reply` (migration 4)


class TurnNotSaved(Conflict):
    """No stored turn has this draft as its response. Send it verbatim with POST /api/v7/remember,
    then look again.
    """


class CitesTooMuch(InvalidRequest):
    """The draft cites more events, or longer ones, than a second look reads."""


def second_look(context: Context, caller: Caller, request: SecondLook) -> SecondLooked:
    """Check a draft that was stored as a turn. Counts the check and writes nothing else.

    An empty draft needs no turn and fails. Raises TurnNotSaved, CitesTooMuch, StoreUnavailable.
    """
    if not request.draft.strip():
        return _answer(
            review(parse_draft(request.draft, day_of(context.clock())), {}, request.event_id), None
        )
    stored_text = Intake(settings=context.settings).take_if(request.draft)
    texts = list(dict.fromkeys(text.rstrip() for text in (request.draft, stored_text) if text))
    turn = context.store.read(
        lambda tx: _find_turn(tx, caller, texts), account_id=caller.account_id
    )
    if turn is None:
        raise TurnNotSaved
    draft = parse_draft(request.draft, day_of(turn.occurred_ms, turn.occurred_offset))
    if len(draft.refs) > limits.CITED_EVENTS_MAX:
        raise CitesTooMuch(
            f"The draft cites {len(draft.refs):,} events, but at most {limits.CITED_EVENTS_MAX} "
            "are allowed: cite fewer."
        )
    saved = Check(
        check="turn_saved", status="pass", detail="The draft is stored.", ref=turn.event_id
    )
    cited = context.store.read(
        lambda tx: _cited_events(tx, turn, draft.refs), account_id=caller.account_id
    )
    cited |= _cited_in_teams(context, caller, turn, cited)

    def own() -> list[EventEvidence]:
        return context.store.read(lambda tx: _own_texts(tx, turn), account_id=caller.account_id)

    # Outside the transaction: a long draft does not block a database reader.
    checks = review(draft, cited, request.event_id, own)
    judgement = _judge(context, caller, draft, cited)
    if judgement is not None:
        checks = sorted([*checks, *judgement.checks], key=sort_key)
    failed = [check for check in checks if check.status == "fail"]
    _count_look(context, caller, turn, passed=not failed)
    return _answer([*failed, saved, *checks[len(failed) :]], turn, judgement)


def _count_look(context: Context, caller: Caller, turn: Row, *, passed: bool) -> None:
    """Count a second look by an agent, except by browsers, read-only keys and
    keys without the protocol."""
    if caller.read_only or not caller.has_protocol or caller.key_id == NO_KEY:
        return
    values = {"event": turn.id, "key_id": caller.key_id, "passed": int(passed)}
    now_ms = context.clock()
    try:
        # Not flushed: a count may lose a look in a power cut, but no look waits for the disk.
        context.store.write(
            lambda tx: tx.run(TURN_SQL.count_look, **values, now_ms=now_ms),
            account_id=caller.account_id,
            flush=False,
        )
    except StoreUnavailable as error:
        _log.warning("second look not counted: %s", error)


def _judge(
    context: Context, caller: Caller, draft: ParsedDraft, cited: dict[str, CitedEvent]
) -> Judgement | None:
    """Let a model judge the draft. Return None if no model is configured to judge."""
    if not context.models.has("judge"):
        return None
    outside = may_use_outside_models(context, caller)
    if not context.models.has("judge", outside=outside):
        return Judgement(failure="this account allows no outside models")
    budget = Budget.of(context.settings)
    return judge(context.models, draft, cited, budget, outside=outside)


def _find_turn(tx: Transaction, caller: Caller, texts: list[str]) -> Row | None:
    """Return the latest turn with this answer, verbatim or else as `remember` stores it."""
    for text in texts:
        reply = f"{len(text)} {text[:_REPLY_PREFIX_CHARACTERS]}"
        values = {"reply": reply, "draft": text, "user_id": caller.pinned_user_id}
        row = tx.one_or_none(SQL.turn_of_reply, **values)
        if row is not None:
            return row
    return None


def _cited_events(tx: Transaction, turn: Row, refs: list[str]) -> dict[str, CitedEvent]:
    """Return the event of each ref. Raises CitesTooMuch."""
    events: dict[str, CitedEvent] = {}
    characters = 0
    for ref in refs:
        row = tx.one_or_none(
            SQL.cited_event, event_id=ref, session=turn.session, space_id=turn.space_id
        )
        if row is None:
            events[ref] = CitedEvent("unknown")
        elif row.id == turn.id:
            events[ref] = CitedEvent("own")
        elif row.step is None:
            events[ref] = CitedEvent("not_shown")
        else:
            evidence = _evidence(row)
            characters += len(evidence.text)
            events[ref] = CitedEvent("shown", evidence)
            if characters > limits.CITED_CHARACTERS_MAX:
                raise _cites_too_much()
    return events


def _cited_in_teams(
    context: Context, caller: Caller, turn: Row, cited: dict[str, CitedEvent]
) -> dict[str, CitedEvent]:
    """Return the cited events that are in the memory of a team of the turn's user.

    A search of several memories does not record the hits of teams, so that what was shown cannot
    be checked for them. Raises CitesTooMuch.
    """
    refs = [ref for ref, event in cited.items() if event.status == "unknown"]
    if not refs:
        return {}
    events: dict[str, CitedEvent] = {}
    teams = context.store.read(
        lambda tx: memberships(tx, caller, turn.user_id), account_id=caller.account_id
    )
    for team in teams:
        rows = context.store.read(
            lambda tx: [tx.one_or_none(SPACES.event_by_id, event_id=ref) for ref in refs],
            account_id=team.team_account,
        )
        for row in filter(None, rows):
            events[row.event_id] = CitedEvent("shown", _evidence(row))
    own = [event.evidence.text for event in cited.values() if event.evidence]
    texts = [event.evidence.text for event in events.values() if event.evidence]
    if sum(map(len, own + texts)) > limits.CITED_CHARACTERS_MAX:
        raise _cites_too_much()
    return events


def _own_texts(tx: Transaction, turn: Row) -> list[EventEvidence]:
    """Return the message of a turn, and the latest tool results of its session."""
    day = day_of(turn.occurred_ms, turn.occurred_offset)
    rows = tx.all(SQL.own_texts, event=turn.id, session=turn.session, most=OWN_TEXTS_MAX)
    texts = [row.text[: limits.CITED_CHARACTERS_MAX // OWN_TEXTS_MAX] for row in rows]
    return [EventEvidence(turn.event_id, text, day) for text in texts]


def _evidence(row: Row) -> EventEvidence:
    text = "\n\n".join(part for part in (row.topic, row.query, row.response) if part)
    return EventEvidence(row.event_id, text, day_of(row.occurred_ms, row.occurred_offset))


def _cites_too_much() -> CitesTooMuch:
    return CitesTooMuch(
        f"The cited events have more than {limits.CITED_CHARACTERS_MAX:,} characters in total: "
        "cite fewer."
    )


def _answer(
    checks: list[Check], turn: Row | None, judgement: Judgement | None = None
) -> SecondLooked:
    failed = sum(check.status == "fail" for check in checks)
    return SecondLooked(
        status="fail" if failed else "pass",
        checks=checks[: limits.CHECKS_LISTED_MAX],
        failed=failed,
        passed=len(checks) - failed,
        not_checked=sum(check.checked is False for check in checks),
        event_id=turn and turn.event_id,
        session_id=turn and turn.session_id,
        user_id=turn and turn.user_id,
        judge=None
        if judgement is None
        else f"off: {judgement.failure}"
        if judgement.failure
        else "on",
        usage=usage_of(judgement.tries) if judgement and judgement.tries else None,
    )

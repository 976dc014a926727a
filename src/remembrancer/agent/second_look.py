"""Look at a saved answer a second time:

is every specific claim in it marked, and really in the events it cites?
"""

from __future__ import annotations

import logging

from ..accounts import NO_KEY, may_use_outside_models
from ..claims.evidence import EventEvidence
from ..claims.review import CitedEvent, ParsedDraft, sort_key, parse_draft, review
from ..context import Caller, Context
from ..memory.write.turns import Intake
from ..models import Budget
from ..models.calls import usage_of
from ..protocol import limits
from ..protocol.errors import Conflict, InvalidRequest
from ..protocol.second_look import Check, SecondLook, SecondLooked
from ..protocol.text import day_of
from ..store import Row, StoreUnavailable, Transaction, load_queries
from .judge import Judgement, judge

SQL = load_queries("remembrancer.agent", "second_look.sql")
_log = logging.getLogger(__name__)
_BEGINNING = 40  # characters of a response that its `reply` column holds (migration 4)


class TurnNotSaved(Conflict):
    """No saved turn answers with this draft: send it with POST /api/v7/remember first, word for
    word, then look again.
    """


class CitesTooMuch(InvalidRequest):
    """The draft cites more events, or longer ones, than are read for a second look."""


def second_look(context: Context, caller: Caller, ask: SecondLook) -> SecondLooked:
    """Check a draft that was saved as a turn; that it was is counted, and nothing else is written.
    An empty draft fails without one.

    Raises TurnNotSaved, CitesTooMuch, StoreUnavailable.
    """
    if not ask.draft.strip():
        return _answer(
            review(parse_draft(ask.draft, day_of(context.clock())), {}, ask.event_id), None
        )
    kept = Intake(settings=context.settings).take_if(ask.draft)
    texts = list(dict.fromkeys(text.rstrip() for text in (ask.draft, kept) if text))
    turn = context.store.read(lambda tx: _turn(tx, caller, texts), account_id=caller.account_id)
    if turn is None:
        raise TurnNotSaved
    draft = parse_draft(ask.draft, day_of(turn.occurred_ms))
    if len(draft.refs) > limits.CITED_EVENTS_MAX:
        raise CitesTooMuch(
            f"The draft cites {len(draft.refs):,} events, and {limits.CITED_EVENTS_MAX} are read at most: cite fewer."
        )
    saved = Check(
        check="turn_saved", status="pass", detail="The draft is saved.", ref=turn.event_id
    )
    cited = context.store.read(
        lambda tx: _cited(tx, turn, draft.refs), account_id=caller.account_id
    )
    checks = review(
        draft, cited, ask.event_id
    )  # after the reading: a long draft keeps no reader waiting
    heard = _judged(context, caller, draft, cited)
    if heard is not None:
        checks = sorted([*checks, *heard.checks], key=sort_key)
    failed = [check for check in checks if check.status == "fail"]
    _count(context, caller, turn, passed=not failed)
    return _answer([*failed, saved, *checks[len(failed) :]], turn, heard)


def _count(context: Context, caller: Caller, turn: Row, *, passed: bool) -> None:
    """Count a look by an agent, for compliance.py; people who look, and keys that only read, leave
    no trace.
    """
    if caller.read_only or caller.key_id == NO_KEY:
        return
    values = {
        "event": turn.id,
        "key_id": caller.key_id,
        "passed": int(passed),
        "now_ms": context.clock(),
    }
    try:
        # Not flushed: after a power cut a look may be missing from a count, and none waits for the
        # disk.
        context.store.write(
            lambda tx: tx.run(SQL.count_look, **values), account_id=caller.account_id, flush=False
        )
    except StoreUnavailable as error:
        _log.warning("a second look is not counted: %s", error)


def _judged(
    context: Context, caller: Caller, draft: ParsedDraft, cited: dict[str, CitedEvent]
) -> Judgement | None:
    """What a model says of it; None where none is configured to judge."""
    if not context.models.has("judge"):
        return None
    outside = may_use_outside_models(context, caller)
    if not context.models.has("judge", outside=outside):
        return Judgement(failed="this account lets no outside model read it")
    budget = Budget.of(context.settings)
    return judge(context.models, draft, cited, budget, outside=outside)


def _turn(tx: Transaction, caller: Caller, texts: list[str]) -> Row | None:
    """The latest turn that was kept of this answer: as it is, or else as `remember` keeps it."""
    for said in texts:
        reply = f"{len(said)} {said[:_BEGINNING]}"
        row = tx.one_or_none(
            SQL.turn_of_reply,
            reply=reply,
            draft=said,
            account_id=caller.account_id,
            user_id=caller.pinned_user_id,
        )
        if row is not None:
            return row
    return None


def _cited(tx: Transaction, turn: Row, refs: list[str]) -> dict[str, CitedEvent]:
    """What each ref is. Raises CitesTooMuch."""
    found: dict[str, CitedEvent] = {}
    characters = 0
    for ref in refs:
        row = tx.one_or_none(SQL.cited, event_id=ref, session=turn.session, space_id=turn.space_id)
        if row is None:
            found[ref] = CitedEvent("unknown")
        elif row.id == turn.id:
            found[ref] = CitedEvent("own")
        elif row.step is None:
            found[ref] = CitedEvent("not_shown")
        else:
            text = "\n\n".join(part for part in (row.topic, row.query, row.response) if part)
            characters += len(text)
            if characters > limits.CITED_CHARACTERS_MAX:
                raise CitesTooMuch(
                    f"The cited events hold more than {limits.CITED_CHARACTERS_MAX:,} characters together: cite fewer."
                )
            found[ref] = CitedEvent(
                "shown", EventEvidence(row.event_id, text, day_of(row.occurred_ms))
            )
    return found


def _answer(checks: list[Check], turn: Row | None, heard: Judgement | None = None) -> SecondLooked:
    failed = sum(check.status == "fail" for check in checks)
    return SecondLooked(
        status="fail" if failed else "pass",
        checks=checks[: limits.CHECKS_LISTED_MAX],
        failed=failed,
        passed=len(checks) - failed,
        event_id=turn and turn.event_id,
        session_id=turn and turn.session_id,
        judge=None if heard is None else f"off: {heard.failed}" if heard.failed else "on",
        usage=usage_of(heard.tries) if heard and heard.tries else None,
    )

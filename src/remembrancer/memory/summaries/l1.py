"""L1: the summary of a stretch of a session, written by its agent.

The service counts, measures and keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.errors import Conflict
from ...protocol.summaries import Summary, SummarySaved
from ...store import Row, Transaction, load_queries
from ..duties import is_l2_due
from ..spaces import SQL as SPACES
from ..write.turns import Intake, OnlyEchoedText

SQL = load_queries("remembrancer.memory.summaries", "summaries.sql")
RATIO_LEAST, RATIO_MOST = 0.05, 0.08  # specification, Limits: L1 length is 5-8% of its source text


class NothingToSummarise(Conflict):
    """This session has no turn that is not summarised already. Remember its turns first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredL1:
    """An L1 as it was kept.

    `ratio` is its length as a share of its turns'; `known`: it was there already.
    """

    l1_id: str
    ratio: float
    warning: str | None
    known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySource:
    """The turns of a session that no L1 tells of:

    `count` of them, so many `characters` together. `turns` are the latest, oldest first.
    """

    turns: Sequence[Row]
    count: int
    characters: int


def summarize(
    context: Context, caller: Caller, summary: Summary, given: IdempotentRequest | None = None
) -> SummarySaved:
    """Keep an L1.

    Raises NothingToSummarise, NothingOfItsOwn, Forbidden, Conflict as `once`, StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, summary.user_id)
    intake = Intake(settings=context.settings)
    text = intake.take_if(summary.summary_text)
    if text is None:
        raise OnlyEchoedText

    def keep(tx: Transaction) -> str:
        space_id, session = _place_of(tx, caller, user_id, summary.session_id)
        kept = store_l1(
            context,
            tx,
            space_id=space_id,
            session=session,
            text=text,
            topic=summary.topic,
            message_count=summary.message_count,
        )
        now = tx.one(SPACES.space_by_id, id=space_id)
        warning = " ".join(said for said in (kept.warning, intake.noticed) if said) or None
        is_due = is_l2_due(now.l1_count, now.l1_mapped)
        return SummarySaved(
            saved=True, l1_id=kept.l1_id, l2_due=is_due, ratio=kept.ratio, warning=warning
        ).model_dump_json()

    return SummarySaved.model_validate_json(
        context.store.write(
            lambda tx: idempotent(tx, given, context.clock(), lambda: keep(tx)),
            account_id=caller.account_id,
        )
    )


def turns_to_summarise(
    context: Context, caller: Caller, user_id: str, session_id: str
) -> SummarySource:
    """What an L1 would tell of now. Raises NothingToSummarise, StoreUnavailable."""

    def read(tx: Transaction) -> SummarySource:
        _, session = _place_of(tx, caller, user_id, session_id)
        source = tx.one(SQL.source_of, session=session)
        if not source.turns:
            raise NothingToSummarise
        rows = tx.all(SQL.source_turns, session=session, most=limits.SUMMARY_TURNS_MAX)
        room, taken = limits.SUMMARY_SOURCE_CHARACTERS_MAX, 0
        for row in rows:
            room -= len(row.query) + len(row.response)
            if room < 0 and taken:
                break
            taken += 1
        return SummarySource(
            turns=rows[:taken][::-1], count=source.turns, characters=source.characters
        )

    return context.store.read(read, account_id=caller.account_id)


def _place_of(tx: Transaction, caller: Caller, user_id: str, session_id: str) -> tuple[int, int]:
    """The rows of a space and of a session of it. Raises NothingToSummarise where there is none."""
    space = tx.one_or_none(SPACES.space_of, account_id=caller.account_id, user_id=user_id)
    session = (
        tx.one_or_none(SPACES.session_of, space_id=space.id, session_id=session_id)
        if space
        else None
    )
    if space is None or session is None:
        raise NothingToSummarise
    return space.id, session.id


def store_l1(
    context: Context,
    tx: Transaction,
    *,
    space_id: int,
    session: int,
    text: str,
    topic: str | None = None,
    message_count: int | None = None,
) -> StoredL1:
    """Keep the L1 of a session's turns since its last one; `session` is its row. Sent again while
    nothing came after it, it is kept once.

    Raises NothingToSummarise.
    """
    source = tx.one(SQL.source_of, session=session)
    if not source.turns:
        last = tx.one_or_none(SQL.l1_of, session=session)
        if last is not None and last.text == text:
            return StoredL1(
                l1_id=last.l1_id, ratio=last.ratio, warning=_warning(last.ratio), known=True
            )
        raise NothingToSummarise
    ratio = round(len(text) / max(source.characters, 1), 4)
    l1_id = context.ids("l1_")
    values = {
        "topic": topic,
        "text": text,
        "message_count": message_count,
        "turns": source.turns,
        "ratio": ratio,
    }
    tx.run(
        SQL.add_l1,
        l1_id=l1_id,
        space_id=space_id,
        session=session,
        now_ms=context.clock(),
        **values,
    )
    tx.run(SQL.note_l1, session=session)
    tx.run(SQL.count_l1, space_id=space_id)
    return StoredL1(l1_id=l1_id, ratio=ratio, warning=_warning(ratio))


def off_length(ratio: float) -> str | None:
    """How an L1 of this share of its turns' length is too long or too short; None when it is
    neither.
    """
    if RATIO_LEAST <= ratio <= RATIO_MOST:
        return None
    how = "short" if ratio < RATIO_LEAST else "long"
    return f"{how}: {ratio:.1%} of the length of its turns, where {RATIO_LEAST:.0%} to {RATIO_MOST:.0%} are asked for."


def _warning(ratio: float) -> str | None:
    off = off_length(ratio)
    return off and f"Kept, but {off}"

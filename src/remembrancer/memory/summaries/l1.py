"""L1: the summary of a part of a session, written by its agent.

The service counts the turns, checks the length and stores the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...accounts import name_session_user, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, write_once
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.errors import Conflict, InvalidRequest
from ...protocol.summaries import Summary, SummarySaved
from ...protocol.trust import RANKS
from ...search import IndexEntry, index_entries
from ...store import Row, Transaction, load_queries
from ..duties import is_l2_due
from ..intake import Intake, OnlyEchoedText
from ..layers import Layer, add_layer, drop_summary, layer_text
from ..spaces import SQL as SPACES

SQL = load_queries("remembrancer.memory.summaries", "summaries.sql")
RATIO_LEAST, RATIO_MOST = 0.05, 0.08  # specification.md#l1-ratio
SENTENCE_CHARACTERS = 200  # of one sentence, which is never too long
REPLACED = "It replaces the L1 that was sent before for the same turns."


class NothingToSummarise(Conflict):
    """This session has no turn to summarise. Remember turns first."""


class LongerThanSource(InvalidRequest):
    """An L1 must be shorter than the turns that it covers: 5 to 8 percent of their length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredL1:
    """A stored L1.

    `ratio` is its length relative to its turns; `is_known` means that it was stored before.
    """

    l1_id: str
    ratio: float
    warning: str | None
    is_known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySource:
    """The turns of a session that no L1 covers.

    There are `count` of them with `characters` in total; `turns` are the latest, oldest first.
    """

    turns: Sequence[Row]
    count: int
    characters: int


def summarize(
    context: Context, caller: Caller, summary: Summary, idempotency: IdempotentRequest | None = None
) -> SummarySaved:
    """Store an L1.

    Raises NothingToSummarise, LongerThanSource, OnlyEchoedText, Forbidden, IdempotencyKeyReused,
    StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, summary.user_id)
    intake = Intake(settings=context.settings)
    text = intake.take_if(summary.summary_text)
    if text is None:
        raise OnlyEchoedText
    topic = None if summary.topic is None else intake.screen(summary.topic)
    entry = index_entries(context.writer, [layer_text(text, topic)])[0]

    def write(tx: Transaction) -> SummarySaved:
        reminder = name_session_user(tx, caller, user_id, summary.session_id, context.clock())
        space_id, session = _session_row(tx, user_id, summary.session_id)
        stored = store_l1(
            context,
            tx,
            space_id=space_id,
            session=session,
            text=text,
            entry=entry,
            topic=topic,
            message_count=summary.message_count,
        )
        space = tx.one(SPACES.space_by_id, id=space_id)
        warning = " ".join(filter(None, (stored.warning, intake.notice, reminder()))) or None
        is_due = is_l2_due(space.l1_count, space.l1_mapped)
        return SummarySaved(
            saved=True, l1_id=stored.l1_id, l2_due=is_due, ratio=stored.ratio, warning=warning
        )

    return write_once(context, caller.account_id, idempotency, SummarySaved, write)


def turns_to_summarise(
    context: Context, caller: Caller, user_id: str, session_id: str
) -> SummarySource:
    """Return the turns that an L1 would cover now.

    Raises NothingToSummarise, StoreUnavailable.
    """

    def read(tx: Transaction) -> SummarySource:
        _, session = _session_row(tx, user_id, session_id)
        source = tx.one(SQL.source_of, session=session, turns=None)
        if not source.turns:
            raise NothingToSummarise
        rows = tx.all(SQL.source_turns, session=session, most=limits.SUMMARY_TURNS_MAX)
        characters_left, included = limits.SUMMARY_SOURCE_CHARACTERS_MAX, 0
        for row in rows:
            characters_left -= len(row.query) + len(row.response)
            if characters_left < 0 and included:
                break
            included += 1
        return SummarySource(
            turns=rows[:included][::-1], count=source.turns, characters=source.characters
        )

    return context.store.read(read, account_id=caller.account_id)


def _session_row(tx: Transaction, user_id: str, session_id: str) -> tuple[int, int]:
    """Return the row ids of a space and a session. Raises NothingToSummarise if missing."""
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    session = space and tx.one_or_none(SPACES.session_of, space_id=space.id, session_id=session_id)
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
    entry: IndexEntry,
    topic: str | None = None,
    message_count: int | None = None,
) -> StoredL1:
    """Store the L1 of a session's turns since its last one. `session` is a row id.

    `entry` is the index entry of its `layer_text`. Sent again before the next turn, it replaces the
    one before. Raises NothingToSummarise, LongerThanSource.
    """
    source = tx.one(SQL.source_of, session=session, turns=None)
    last = None
    if not source.turns:
        last = tx.one_or_none(SQL.l1_of, session=session)
        if last is None:
            raise NothingToSummarise
        source = tx.one(SQL.source_of, session=session, turns=last.turns)
    if len(text) > max(source.characters, SENTENCE_CHARACTERS):
        raise LongerThanSource
    ratio = round(len(text) / max(source.characters, 1), 4)
    values = {
        "topic": topic,
        "text": text,
        "message_count": message_count,
        "ratio": ratio,
        "source": max(source.source, RANKS["model"]),
    }
    if last is not None:
        is_known = bool(last.text == text)
        if not is_known:
            tx.run(SQL.change_l1, id=last.id, **values)
            drop_summary(tx, space_id, last.id)
            add_layer(tx, space_id=space_id, layer=Layer.SUMMARY, item=last.id, entry=entry)
        notices = (None if is_known else REPLACED, _warning(ratio, len(text)))
        warning = " ".join(filter(None, notices)) or None
        return StoredL1(l1_id=last.l1_id, ratio=ratio, warning=warning, is_known=is_known)
    l1_id = context.ids("l1_")
    new = tx.one(
        SQL.add_l1,
        l1_id=l1_id,
        space_id=space_id,
        session=session,
        now_ms=context.clock(),
        turns=source.turns,
        **values,
    )
    add_layer(tx, space_id=space_id, layer=Layer.SUMMARY, item=new.id, entry=entry)
    tx.run(SQL.note_l1, session=session)
    tx.run(SQL.count_l1, space_id=space_id)
    return StoredL1(l1_id=l1_id, ratio=ratio, warning=_warning(ratio, len(text)))


def off_length(ratio: float, characters: int) -> str | None:
    """Return a sentence if an L1 of this ratio is too long or too short, else None."""
    if RATIO_LEAST <= ratio <= RATIO_MOST:
        return None
    if ratio > RATIO_MOST and characters <= SENTENCE_CHARACTERS:
        return None
    problem = "short" if ratio < RATIO_LEAST else "long"
    return (
        f"{problem}: {ratio:.1%} of the length of its turns; "
        f"it should be {RATIO_LEAST:.0%} to {RATIO_MOST:.0%}."
    )


def _warning(ratio: float, characters: int) -> str | None:
    problem = off_length(ratio, characters)
    return problem and f"Stored, but too {problem} Send it again to replace it."

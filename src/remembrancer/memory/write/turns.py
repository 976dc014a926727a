"""Store a turn: its text and its index entry, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from ...accounts import NO_KEY, name_session_user, require_write, session_user, space_user_id
from ...accounts.idempotency import IdempotentRequest, stored_answer, write_once
from ...accounts.teams import require_event_author, sign_event
from ...context import Caller, Context, TeamMember
from ...protocol.errors import InvalidRequest, NotFound
from ...protocol.memory import (
    BatchReceipt,
    BatchTurn,
    BatchWritten,
    Event,
    EventWrite,
    EventWritten,
    LookRecord,
    TurnBatch,
)
from ...protocol.message import DEFAULT_SESSION
from ...protocol.notices import without_notices
from ...protocol.search import Author
from ...protocol.sources import USUAL, TurnSource
from ...protocol.text import rfc3339
from ...protocol.trust import RANKS, TextSource
from ...search import Embedder, EventText, IndexEntry, analysis_id, index_entries, repeated
from ...search.embedders.port import NoEmbedder
from ...search.text.machine_text import NEAR_DUPLICATE
from ...store import Row, Transaction, embedder_id, load_queries
from ...store.rows import read_row
from ..changes import Withdrawal, state_keys, withdrawal_in
from ..facts.life import Stated, store_stated
from ..filters import index_metadata
from ..instructions import own_sentences, stated_in
from ..intake import Intake, OnlyEchoedText
from ..layers import layer_entry
from ..links import TurnLinks, link_related, links_of_turn, related_turns, withdraw
from ..projects import is_elsewhere, project_of
from ..spaces import (
    SQL,
    ErasedEvents,
    future_ms,
    milliseconds,
    offset_minutes,
    read_sides,
    row_id,
    update_index,
)

TURN_SQL = load_queries("remembrancer.memory.write", "turns.sql")
AnswerT = TypeVar("AnswerT", bound=BaseModel)
STATED_MAX = 5  # wishes and facts of one message
PIECE_TURNS = 16  # turns embedded at once: one request to an endpoint that embeds
NO_TIME = 1 << 62  # ms since 1970: no turn is stored since then
# Characters of a turn that is embedded before it is stored, about half a second of a processor.
EMBEDDED_CHARACTERS_MAX = 64_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTurn:
    """A turn as a request or a file brings it, or as `screen_turn` returns it."""

    user_id: str | None  # None means the session's user
    session_id: str
    text: EventText
    offset_minutes: int = 0  # of the zone of its time, east of UTC
    expires_ms: int | None = None  # when it is erased, ms since 1970
    source: TurnSource | TextSource | None = None  # who its sides come from; None: the default
    raw_metadata: Mapping[str, Any] | None = None  # as the request brings it
    metadata: str | None = None  # as it is stored
    flags: tuple[str, ...] = ()  # set while screening its texts
    notice: str | None = None  # about removed text and secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTurn:
    """All that the text of a turn decides, computed before its transaction."""

    entry: IndexEntry
    message: str  # of the user, without machine notices
    withdrawal: Withdrawal | None
    keys: list[str]  # of what the message is about
    source: TurnSource  # who its sides come from
    stated: list[Stated]  # wishes and facts in the message


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """The id, the row id and the session of a stored turn."""

    event_id: str
    row: int
    session: Row  # as returned by `begin_turn`
    links: TurnLinks
    is_known: bool = False  # the same turn was stored a short time ago


def read_turns(context: Context, turns: Sequence[IncomingTurn]) -> list[ReadTurn]:
    """Return turns, whose texts are `with_spoken`, with their index entries.

    They are embedded piece by piece. A long text would take seconds to embed: words find it at
    once, and maintenance adds the vectors. After an endpoint failed it is not asked again: the
    entries have words alone, as while it is down. Raises EmbedderUnavailable.
    """
    writer: Embedder = context.writer
    lengths = [len(turn.text.query) + len(turn.text.response) for turn in turns]
    is_long = [length > EMBEDDED_CHARACTERS_MAX for length in lengths]
    entries: list[IndexEntry] = []
    while (start := len(entries)) < len(turns):
        end = start + 1  # a long turn is a piece of its own
        while end < min(start + PIECE_TURNS, len(turns)) and not (is_long[start] or is_long[end]):
            end += 1
        embedder = NoEmbedder() if is_long[start] else writer
        created = index_entries(embedder, [turn.text for turn in turns[start:end]])
        if created[0].by != analysis_id(embedder):
            writer = NoEmbedder()
        entries += created
    return [read_turn(context, turn, entry) for turn, entry in zip(turns, entries, strict=True)]


def with_spoken(text: EventText) -> EventText:
    """Return the text of a turn with the sentences in which wishes and facts may be stated."""
    return replace(text, spoken=tuple(own_sentences(without_notices(text.query))))


def read_turn(context: Context, turn: IncomingTurn, entry: IndexEntry) -> ReadTurn:
    """Return a turn, whose text is `with_spoken`, that has an index entry.

    Only what the user says withdraws turns, and states wishes and facts. Raises
    EmbedderUnavailable.
    """
    text, source = turn.text, turn.source
    message = "" if entry.is_machine_notice else without_notices(text.query)
    if isinstance(source, str):
        source = TurnSource(query=source, response=source)
    # A message that is all notice comes from a program.
    sides = source or (USUAL if message else TurnSource(query="tool", response="model"))
    if not text.response.strip():
        sides = TurnSource(query=sides.query, response=sides.query)
    elif not text.query.strip():
        sides = TurnSource(query=sides.response, response=sides.response)
    is_said = sides.query == "user"
    withdrawal = withdrawal_in(message) if is_said else None
    is_read = is_said and text.spoken and message and not withdrawal
    wishes = stated_in(message, text.spoken, entry.spoken)[:STATED_MAX] if is_read else []
    return ReadTurn(
        entry=replace(entry, flags=entry.flags + turn.flags),
        message=message,
        withdrawal=withdrawal,
        keys=[] if withdrawal else sorted(state_keys(message)),
        stated=[Stated(one, layer_entry(context, one.text)) for one in wishes],
        source=sides,
    )


def open_place(context: Context, tx: Transaction, *, user_id: str, session_id: str) -> Row:
    """Open the space and the session of a request without a turn. Returns a row of `open_place`."""
    return tx.one(
        TURN_SQL.open_place,
        user_id=user_id,
        session_id=session_id,
        now_ms=context.clock(),
    )


def store_turn(
    context: Context,
    tx: Transaction,
    turn: IncomingTurn,
    read: ReadTurn,
    *,
    member: TeamMember | None = None,
    in_protocol: bool | None = None,
    named_ms: int | None = None,
    since_ms: int = NO_TIME,
) -> StoredTurn:
    """Store a turn of a user, by a `member` of a team; count it in its space and its session.

    `in_protocol` is True if it closes the step of its session, False if it does not, None if it
    belongs to no step. `named_ms` is the time of the turn, if the request names one. The same turn
    stored since `since_ms` is returned instead.
    """
    text, entry = turn.text, read.entry
    related = related_turns(tx, read.keys, user_id=turn.user_id)  # sent with the next statement
    place = _begin_turn(
        context, tx, turn, entry, in_protocol=in_protocol, named_ms=named_ms, since_ms=since_ms
    )
    if place.number is None:
        texts = {"query": text.query, "response": text.response, "told_ms": named_ms}
        at = {"session": place.id, "step": place.step, "since_ms": since_ms}
        same = tx.one(SQL.same_turn, **at, **texts)
        ids = {"event_id": same.event_id, "row": same.id}
        return StoredTurn(**ids, session=place, links=TurnLinks(), is_known=True)
    row, event_id = row_id(place.space_id, place.number), context.ids("e_")
    if place.original is not None:
        entry = as_repeated(entry)
    tx.later(
        TURN_SQL.add_turn,
        id=row,
        space_id=place.space_id,
        session=place.id,
        event_id=event_id,
        step=place.step if in_protocol else None,
        topic=text.topic,
        query=text.query,
        response=text.response,
        flags=",".join(entry.flags),
        twin=None if entry.twin is None else entry.twin.number,
        repeats=place.original,
        occurred_ms=text.occurred_ms,
        occurred_offset=turn.offset_minutes,
        created_ms=context.clock(),
        expires_ms=turn.expires_ms,
        metadata=turn.metadata,
        query_source=RANKS[read.source.query],
        response_source=RANKS[read.source.response],
        keys=json.dumps(read.keys, ensure_ascii=False),
        words=entry.words,
        vectors=entry.vectors,
        embedder=place.embedder or embedder_id(tx, entry.by, make=True),
    )
    if member is not None:
        sign_event(tx, member, row)
    links = _links(context, tx, turn, read, place, row, member, related)
    return StoredTurn(event_id=event_id, row=row, session=place, links=links)


def _begin_turn(
    context: Context,
    tx: Transaction,
    turn: IncomingTurn,
    entry: IndexEntry,
    *,
    in_protocol: bool | None,
    named_ms: int | None,
    since_ms: int,
) -> Row:
    """Open the space and the session of a turn, and count the turn, unless it is the same as one
    stored since `since_ms`: then `number` is None. Returns a row of `begin_turn`.
    """
    now_ms, text = context.clock(), turn.text
    return tx.one(
        TURN_SQL.begin_turn,
        user_id=turn.user_id,
        session_id=turn.session_id,
        now_ms=now_ms,
        # An imported turn leaves its session as old as it is.
        last_ms=min(now_ms, text.occurred_ms) if in_protocol is None else now_ms,
        since_ms=since_ms,
        told_ms=named_ms,
        query=text.query,
        response=text.response,
        twin=None if entry.twin is None else entry.twin.number,
        in_session=int(entry.twin is not None and entry.twin.in_session),
        remembered=int(bool(in_protocol)),
        derived_by=entry.by,
    )


def _links(
    context: Context,
    tx: Transaction,
    turn: IncomingTurn,
    read: ReadTurn,
    place: Row,
    row: int,
    member: TeamMember | None,
    related: Callable[[], list[Row]],
) -> TurnLinks:
    """Store what a stored turn states, and link it with those that it changes."""
    if turn.metadata is not None:
        index_metadata(tx, "events", space_id=place.space_id, item=row, stored=turn.metadata)
    at, occurred_ms = {"space_id": place.space_id, "event": row}, turn.text.occurred_ms
    if read.withdrawal is not None:
        return withdraw(context, tx, withdrawal=read.withdrawal, member=member, **at)
    if read.stated:
        at = {**at, "session": place.id, "occurred_ms": occurred_ms}
        store_stated(context, tx, read.stated, metadata=turn.metadata, **at)
    others = related()
    if turn.metadata is not None and (project := project_of(turn.metadata)):
        others = [one for one in others if not is_elsewhere(one.metadata, project)]
    return link_related(tx, row, others, read.message, RANKS[read.source.query], occurred_ms)


def answers_step(
    tx: Transaction, caller: Caller, stored: StoredTurn, look: Mapping[str, int] | None = None
) -> None:
    """Let a stored turn answer the last counted search of its session.

    `look` is the result of its second look, if the service made one: `passed` (0 or 1), `now_ms`.
    Does nothing for a key without the protocol, and in a session without such a search.
    """
    if caller.has_protocol and stored.session.step:
        tx.run(SQL.take_part, id=stored.row, step=stored.session.step)
        tx.run(SQL.count_part, session=stored.session.id)
        if look is not None and caller.key_id != NO_KEY:
            tx.run(TURN_SQL.count_look, event=stored.row, key_id=caller.key_id, **look)


def as_repeated(entry: IndexEntry) -> IndexEntry:
    """Return the entry of a turn that repeats an earlier one."""
    flags = (*entry.flags, NEAR_DUPLICATE)
    return replace(entry, flags=flags, words=repeated(entry.words))


def with_original(
    tx: Transaction, entry: IndexEntry, space_id: int, session: int
) -> tuple[IndexEntry, int | None]:
    """Return the entry of a turn, flagged if it is a near duplicate, and the row of its original.

    The original is the first turn with the same words in the space, or in the session (its row id)
    for a short turn; None if there is none.
    """
    if entry.twin is None:
        return entry, None
    first = tx.one_or_none(
        SQL.first_alike,
        twin=entry.twin.number,
        low=row_id(space_id, 0),
        high=row_id(space_id + 1, 0),
        session=session if entry.twin.in_session else None,
    )
    return (entry, None) if first is None else (as_repeated(entry), int(first.id))


def add_index(tx: Transaction, row: int, session: int, occurred_ms: int, entry: IndexEntry) -> None:
    """Store the index entry of a turn; `row` and `session` are row ids."""
    index = {
        "id": row,
        "session": session,
        "occurred_ms": occurred_ms,
        "words": entry.words,
        "vectors": entry.vectors,
        "derived_by": entry.by,
    }
    if not tx.run(SQL.add_index, **index):  # the embedder has no number yet
        embedder_id(tx, entry.by, make=True)
        tx.run(SQL.add_index, **index)


def screen_turn(context: Context, caller: Caller, turn: IncomingTurn) -> IncomingTurn:
    """Remove text that this service returned from a turn, and look for secrets in it.

    Raises OnlyEchoedText, PinnedToOtherUser.
    """
    space_user_id(caller, turn.user_id)  # first: an invalid one is refused before any work
    intake, text = Intake(settings=context.settings), turn.text
    query, response = intake.take(text.query), intake.take(text.response)
    if not query.strip() and not response.strip():
        raise OnlyEchoedText
    topic = None if text.topic is None else intake.screen(text.topic)
    return replace(
        turn,
        text=with_spoken(replace(text, query=query, response=response, topic=topic)),
        metadata=intake.take_metadata(turn.raw_metadata) if turn.raw_metadata else None,
        flags=intake.flags,
        notice=intake.notice,
    )


def store_turn_idempotently(
    context: Context,
    caller: Caller,
    turn: IncomingTurn,
    idempotency: IdempotentRequest | None,
    kind: type[AnswerT],
    answer: Callable[[Transaction, StoredTurn, str | None], AnswerT],
) -> AnswerT:
    """Store a turn and return the answer of this kind that `answer` builds in the same transaction
    from the stored turn and the notice about its text, or the first answer if the request was
    repeated.

    Raises OnlyEchoedText, KeyIsReadOnly, PinnedToOtherUser, IdempotencyKeyReused,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    screened = screen_turn(context, caller, turn)
    return _store_screened(
        context,
        caller,
        [screened],
        idempotency,
        kind,
        lambda tx, stored: answer(tx, stored[0][0], stored[0][2]),
    )


def _store_screened(
    context: Context,
    caller: Caller,
    turns: Sequence[IncomingTurn],
    idempotency: IdempotentRequest | None,
    kind: type[AnswerT],
    answer: Callable[[Transaction, list[tuple[StoredTurn, str, str | None]]], AnswerT],
) -> AnswerT:
    """Store screened turns in one transaction, in their order.

    `answer` gets each with its user_id and the notice for its receipt.
    """
    reads = read_turns(context, turns)
    erased: list[ErasedEvents | None] = []

    def store(tx: Transaction) -> AnswerT:
        recorded: dict[str, str] = {}  # by session: the user it was last named with
        parts = []
        for turn, read in zip(turns, reads, strict=True):
            user_id, _ = session_user(tx, caller, turn.user_id, turn.session_id)
            remind = None
            if turn.user_id is not None and recorded.get(turn.session_id) != user_id:
                recorded[turn.session_id] = user_id
                named = None if turn.session_id == DEFAULT_SESSION else turn.session_id
                remind = name_session_user(tx, caller, user_id, named, context.clock())
            of_user = replace(turn, user_id=user_id)
            stored = store_turn(context, tx, of_user, read, member=caller.member)
            notices = filter(None, (turn.notice, remind and remind(), stored.links.notice))
            parts.append((stored, user_id, " ".join(notices) or None))
        erased[:] = [stored.links.erased for stored, *_ in parts]  # it may be repeated
        return answer(tx, parts)

    result = write_once(context, caller.account_id, idempotency, kind, store)
    update_index(context, erased)
    return result


class EventUnknown(NotFound):
    """There is no such event in your account. Use an event_id that a search or a write returned."""


def write_event(
    context: Context,
    caller: Caller,
    event: EventWrite,
    idempotency: IdempotentRequest | None = None,
) -> EventWritten:
    """Store a turn that need not belong to an ongoing conversation.

    Durable and searchable on return. Raises TimeNotInFuture, and like `store_turn_idempotently`.
    """

    def answer(_: Transaction, stored: StoredTurn, notice: str | None) -> EventWritten:
        return EventWritten(saved=True, event_id=stored.event_id, detail=notice)

    turn = _incoming(context, event, event.user_id, event.session_id)
    return store_turn_idempotently(context, caller, turn, idempotency, EventWritten, answer)


def event_detail(context: Context, caller: Caller, event_id: str) -> Event:
    """Return one event with its full text.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """

    def read(tx: Transaction) -> Event:
        return event_of(tx, own_event(tx, caller, event_id))

    return context.store.read(read, account_id=caller.account_id)


def event_of(tx: Transaction, row: Row) -> Event:
    """Return an event with its fate; `row` is that of `own_event`."""
    fate = tx.one(SQL.fate_of, id=row.id)
    links = links_of_turn(tx, row.id)
    return read_row(
        Event,
        row,
        raw_dialogue=raw_dialogue(row.query, row.response, read_sides(row)),
        source=read_sides(row),
        expires_at=None if fate.expires_ms is None else rfc3339(fate.expires_ms),
        pinned=bool(fate.pinned),
        withdrawn_by=fate.withdrawal_id,
        superseded_by=fate.revision_id or links.superseded_by,
        supersedes=links.supersedes,
        may_supersede=links.may_supersede,
        near_duplicate_of=fate.original_id,
        author=None
        if fate.author is None
        else Author(account=fate.author, user_id=fate.author_user),
        second_look=None
        if fate.looked_ms is None
        else LookRecord(
            status="pass" if fate.last_passed else "fail",
            passed=fate.passed,
            failed=fate.failed,
            looked_at=rfc3339(fate.looked_ms),
        ),
    )


def own_event(tx: Transaction, caller: Caller, event_id: str) -> Row:
    """Return the row of an event.

    Raises EventUnknown for an id that does not exist or that the caller may not read.
    """
    row = tx.one_or_none(SQL.event_by_id, event_id=event_id)
    if row is None or caller.pinned_user_id not in (None, row.user_id):
        raise EventUnknown
    return row


def event_to_change(tx: Transaction, caller: Caller, event_id: str) -> Row:
    """Return the row of an event that the caller may change or erase.

    Raises EventUnknown, and NotAuthor for what another member wrote into a team.
    """
    row = own_event(tx, caller, event_id)
    require_event_author(tx, caller, row.id)
    return row


def raw_dialogue(query: str, response: str, source: TurnSource | None = None) -> str:
    """Return both sides of a turn verbatim, each after its speaker; blank sides are omitted.

    A side that comes from another `source` than its speaker says so.
    """
    said = source or USUAL
    user = "User" if said.query == "user" else f"User ({said.query})"
    assistant = "Assistant" if said.response == "model" else f"Assistant ({said.response})"
    sides = ((user, query), (assistant, response))
    return "\n\n".join(f"{speaker}: {text}" for speaker, text in sides if text.strip())


# --- Store many turns in one call: all of them, or none --------------------------------------

FAULTS_MAX = 20  # faults that an error lists


def write_batch(
    context: Context,
    caller: Caller,
    batch: TurnBatch,
    idempotency: IdempotentRequest | None = None,
) -> BatchWritten:
    """Store the turns of a batch in their order, in one transaction.

    Durable and searchable on return. Each is stored like an event: it belongs to no step and owes
    nothing. Raises InvalidRequest naming every turn that cannot be stored, KeyIsReadOnly,
    PinnedToOtherUser, IdempotencyKeyReused, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    if (first := stored_answer(context, idempotency)) is not None:
        return BatchWritten.model_validate_json(first)
    turns = _screened(context, caller, batch)

    def answer(_: Transaction, parts: list[tuple[StoredTurn, str, str | None]]) -> BatchWritten:
        receipts = [
            BatchReceipt(event_id=stored.event_id, user_id=user_id, detail=notice)
            for stored, user_id, notice in parts
        ]
        return BatchWritten(saved=True, receipts=receipts)

    return _store_screened(context, caller, turns, idempotency, BatchWritten, answer)


def _screened(context: Context, caller: Caller, batch: TurnBatch) -> list[IncomingTurn]:
    """Screen every turn. Raises InvalidRequest with the pointers of all that cannot be stored."""
    screened: list[IncomingTurn] = []
    faults: list[dict[str, str]] = []
    for place, turn in enumerate(batch.turns):
        try:
            user_id, session_id = turn.user_id or batch.user_id, batch.session_of(turn)
            incoming = _incoming(context, turn, user_id, session_id)
            screened.append(screen_turn(context, caller, incoming))
        except InvalidRequest as error:
            named = error.extra.get("errors") or [{"pointer": "", "detail": error.detail}]
            faults += [{**one, "pointer": f"/turns/{place}{one['pointer']}"} for one in named]
    if faults:
        first = faults[0]
        detail = f"{first['pointer'][1:]}: {first['detail'].rstrip('.')}."
        raise InvalidRequest(detail, errors=faults[:FAULTS_MAX])
    return screened


def _incoming(
    context: Context,
    turn: EventWrite | BatchTurn,
    user_id: str | None,
    session_id: str,
) -> IncomingTurn:
    """Return a turn as it came in. Raises TimeNotInFuture."""
    return IncomingTurn(
        user_id=user_id,
        session_id=session_id,
        text=EventText(
            query=turn.query,
            response=turn.response,
            topic=turn.topic,
            occurred_ms=milliseconds(turn.occurred_at, context.clock()),
        ),
        offset_minutes=offset_minutes(turn.occurred_at),
        expires_ms=future_ms(context, turn.expires_at),
        source=turn.source,
        raw_metadata=turn.metadata,
    )

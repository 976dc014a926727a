"""Store and read single events and batches of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...accounts import require_write
from ...accounts.idempotency import IdempotentRequest, stored_answer, write_once
from ...accounts.teams import require_event_author
from ...context import Caller, Context
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
from ...protocol.search import Author
from ...protocol.sources import USUAL, TurnSource
from ...protocol.text import rfc3339
from ...search import Embedder, EventText, IndexEntry, analysis_id, index_entries
from ...search.embedders.port import NoEmbedder
from ...store import Row, Transaction
from ..links import links_of_turn
from ..spaces import (
    SQL,
    ErasedEvents,
    flag_names,
    future_ms,
    milliseconds,
    offset_minutes,
    read_metadata,
    read_sides,
    update_index,
)
from .turns import (
    IncomingTurn,
    ReadTurn,
    SessionUsers,
    StoredTurn,
    is_long,
    read_turn,
    screen_turn,
    store_screened,
    store_turn_idempotently,
    with_spoken,
)

# --- Save an event, and read one in full -----------------------------------------------------


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
    return Event(
        event_id=row.event_id,
        user_id=row.user_id,
        session_id=row.session_id,
        topic=row.topic,
        query=row.query,
        response=row.response,
        raw_dialogue=raw_dialogue(row.query, row.response, read_sides(row)),
        source=read_sides(row),
        flags=flag_names(row.flags),
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
        metadata=read_metadata(row.metadata),
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

PIECE_TURNS = 16  # turns embedded at once: one request to an endpoint that embeds
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
    reads = _read(context, turns)
    erased: list[ErasedEvents | None] = []

    def store(tx: Transaction) -> BatchWritten:
        erased.clear()  # a transaction may be repeated
        users = SessionUsers(context, tx, caller)
        receipts = []
        for turn, read in zip(turns, reads, strict=True):
            stored, user_id, notice = store_screened(context, tx, users, turn, read)
            erased.append(stored.links.erased)
            receipts.append(BatchReceipt(event_id=stored.event_id, user_id=user_id, detail=notice))
        return BatchWritten(saved=True, receipts=receipts)

    answer = write_once(context, caller.account_id, idempotency, BatchWritten, store)
    update_index(context, erased)
    return answer


def _screened(context: Context, caller: Caller, batch: TurnBatch) -> list[IncomingTurn]:
    """Screen every turn. Raises InvalidRequest with the pointers of all that cannot be stored."""
    screened: list[IncomingTurn] = []
    faults: list[dict[str, str]] = []
    for place, turn in enumerate(batch.turns):
        try:
            screened.append(_screened_turn(context, caller, batch, turn))
        except InvalidRequest as error:
            named = error.extra.get("errors") or [{"pointer": "", "detail": error.detail}]
            faults += [{**one, "pointer": f"/turns/{place}{one['pointer']}"} for one in named]
    if faults:
        first = faults[0]
        detail = f"{first['pointer'][1:]}: {first['detail'].rstrip('.')}."
        raise InvalidRequest(detail, errors=faults[:FAULTS_MAX])
    return screened


def _screened_turn(
    context: Context, caller: Caller, batch: TurnBatch, turn: BatchTurn
) -> IncomingTurn:
    user_id = turn.user_id or batch.user_id
    incoming = _incoming(context, turn, user_id, batch.session_of(turn))
    return screen_turn(context, caller, incoming)


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
        given=turn.metadata,
    )


def _read(context: Context, turns: Sequence[IncomingTurn]) -> list[ReadTurn]:
    """Return turns with their index entries, embedded piece by piece.

    After an endpoint failed it is not asked again: the entries have words alone, as while it is
    down, and maintenance adds the vectors. Raises EmbedderUnavailable.
    """
    entries: list[IndexEntry] = []
    writer: Embedder = context.writer
    turns = [replace(turn, text=with_spoken(turn.text)) for turn in turns]
    for piece in _pieces(turns):
        embedder = NoEmbedder() if is_long(piece[0].text) else writer
        created = index_entries(embedder, [turn.text for turn in piece])
        if created[0].by != analysis_id(embedder):
            writer = NoEmbedder()
        entries += created
    return [
        read_turn(context, turn.text, replace(entry, flags=entry.flags + turn.flags), turn.source)
        for entry, turn in zip(entries, turns, strict=True)
    ]


def _pieces(turns: Sequence[IncomingTurn]) -> Iterator[Sequence[IncomingTurn]]:
    """Cut turns into pieces of at most PIECE_TURNS; a long turn is a piece of its own."""
    start = 0
    for place in range(1, len(turns) + 1):
        if (
            place == len(turns)
            or place - start == PIECE_TURNS
            or is_long(turns[place - 1].text)
            or is_long(turns[place].text)
        ):
            yield turns[start:place]
            start = place

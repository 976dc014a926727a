"""Store many turns in one call: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...accounts import require_write
from ...accounts.idempotency import IdempotentRequest, idempotent, stored_answer
from ...context import Caller, Context
from ...protocol.errors import InvalidRequest
from ...protocol.memory import BatchReceipt, BatchTurn, BatchWritten, TurnBatch
from ...search import Embedder, EventText, IndexEntry, analysis_id, index_entries
from ...search.embedders.port import NoEmbedder
from ...store import Transaction
from ..spaces import ErasedEvents, future_ms, milliseconds, offset_minutes, update_index
from .turns import (
    EventPlace,
    ScreenedTurn,
    SessionUsers,
    TurnTimes,
    is_long,
    screen_turn,
    store_screened,
)

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
    entries = _entries(context, turns)
    erased: list[ErasedEvents | None] = []

    def store(tx: Transaction) -> str:
        erased.clear()  # a transaction may be repeated
        users = SessionUsers(context, tx, caller)
        receipts = []
        for turn, entry in zip(turns, entries, strict=True):
            stored, user_id, notice = store_screened(
                context, tx, users, turn, entry, account_id=caller.account_id
            )
            erased.append(stored.links.erased)
            receipts.append(BatchReceipt(event_id=stored.event_id, user_id=user_id, detail=notice))
        return BatchWritten(saved=True, receipts=receipts).model_dump_json()

    answer = context.store.write(
        lambda tx: idempotent(tx, idempotency, context.clock(), lambda: store(tx)),
        account_id=caller.account_id,
    )
    update_index(context, erased)
    return BatchWritten.model_validate_json(answer)


def _screened(context: Context, caller: Caller, batch: TurnBatch) -> list[ScreenedTurn]:
    """Screen every turn. Raises InvalidRequest with the pointers of all that cannot be stored."""
    screened: list[ScreenedTurn] = []
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
) -> ScreenedTurn:
    place = EventPlace(
        user_id=turn.user_id or batch.user_id,
        session_id=batch.session_of(turn),
        named_session=batch.named_session_of(turn),
    )
    text = EventText(
        query=turn.query,
        response=turn.response,
        topic=turn.topic,
        occurred_ms=milliseconds(turn.occurred_at, context.clock()),
    )
    times = TurnTimes(offset_minutes(turn.occurred_at), future_ms(context, turn.expires_at))
    return screen_turn(context, caller, place, text, times)


def _entries(context: Context, turns: Sequence[ScreenedTurn]) -> list[IndexEntry]:
    """Return the index entries of turns, embedded piece by piece.

    After an endpoint failed it is not asked again: the entries have words alone, as while it is
    down, and maintenance adds the vectors. Raises EmbedderUnavailable.
    """
    entries: list[IndexEntry] = []
    writer: Embedder = context.writer
    for piece in _pieces(turns):
        embedder = NoEmbedder() if is_long(piece[0].text) else writer
        created = index_entries(embedder, [turn.text for turn in piece])
        if created[0].by != analysis_id(embedder):
            writer = NoEmbedder()
        entries += created
    return [
        replace(entry, flags=entry.flags + turn.flags)
        for entry, turn in zip(entries, turns, strict=True)
    ]


def _pieces(turns: Sequence[ScreenedTurn]) -> Iterator[Sequence[ScreenedTurn]]:
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

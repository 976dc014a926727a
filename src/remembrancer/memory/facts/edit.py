"""Add, change and delete facts, by request of a person or an agent, and erase expired ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ...accounts import name_session_user, require_write, session_user_id, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...accounts.teams import require_fact_author
from ...context import Caller, Context
from ...protocol.errors import InvalidRequest
from ...protocol.facts import FactAdd, FactChange, FactRemoved, FactStored
from ...protocol.text import rfc3339
from ...protocol.trust import SOURCES
from ...store import Row, Transaction
from ..filters import change_metadata
from ..intake import Intake, OnlyEchoedText
from ..layers import add_fact_keys, drop_layer, fact_layer, layer_entry, move_layer, wish_in
from ..spaces import SQL as SPACES
from ..spaces import ErasedEvents, future_ms, milliseconds, update_index
from .listing import read_facts
from .write import (
    EXPIRED,
    REMOVED,
    SQL,
    SUPERSEDED,
    FactNotCurrent,
    NewFact,
    StoredFact,
    current_fact,
    own_fact,
    store_fact,
)

EXPIRED_BATCH = 100  # facts erased in one step of the sweep


class WrongValidity(InvalidRequest):
    """valid_to must be later than valid_from."""


def add_instruction(
    context: Context, caller: Caller, request: FactAdd, idempotency: IdempotentRequest | None = None
) -> FactStored:
    """Store a standing instruction, whatever its wording. Raises as `add_fact`."""
    return add_fact(context, caller, request, idempotency, is_wish=True)


def add_fact(
    context: Context,
    caller: Caller,
    request: FactAdd,
    idempotency: IdempotentRequest | None = None,
    *,
    is_wish: bool = False,
) -> FactStored:
    """Store a fact. Durable and searchable on return.

    Raises KeyIsReadOnly, PinnedToOtherUser, TimeNotInFuture, WrongValidity, FactUnknown and
    FactNotCurrent for `replaces`, FactReplacesItself, OnlyEchoedText, IdempotencyKeyReused,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, request.user_id)  # first: an invalid one is refused before any work
    now_ms = context.clock()
    intake, text = _screened(context, request.text)
    fact = NewFact(
        text=text,
        entry=layer_entry(context, text),
        source=request.source,
        valid_from_ms=milliseconds(request.valid_from, now_ms),
        valid_to_ms=None if request.valid_to is None else milliseconds(request.valid_to, 0),
        expires_ms=future_ms(context, request.expires_at),
        pinned=request.pinned,
        metadata=intake.take_metadata(request.metadata),
        is_wish=is_wish,
    )
    _check_validity(fact.valid_from_ms, fact.valid_to_ms)

    def write(tx: Transaction) -> str:
        user_id = session_user_id(tx, caller, request.user_id, request.session_id)
        if request.user_id is not None:
            name_session_user(tx, caller, user_id, request.session_id, now_ms)
        space = tx.one(SPACES.open_space, user_id=user_id, now_ms=now_ms)
        replaces = current_fact(tx, caller, request.replaces, space.id)
        stored = store_fact(context, tx, caller, space.id, fact, replaces=replaces)
        return _answer(tx, caller, stored, user_id, intake.notice, now_ms)

    return _stored(context, caller, idempotency, write)


def change_fact(
    context: Context,
    caller: Caller,
    fact_id: str,
    request: FactChange,
    idempotency: IdempotentRequest | None = None,
) -> FactStored:
    """Change the wording, times or pin of a fact; its old wording becomes a version of it.

    Raises KeyIsReadOnly, FactUnknown, NotAuthor for the expiry, FactNotCurrent, TimeNotInFuture,
    WrongValidity, FactReplacesItself, OnlyEchoedText, IdempotencyKeyReused, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)
    now_ms = context.clock()
    intake, text, entry = Intake(settings=context.settings), None, None
    if request.text is not None:
        intake, text = _screened(context, request.text)
        entry = layer_entry(context, text)
    expires_ms = future_ms(context, request.expires_at)
    metadata = intake.take_metadata(request.metadata)

    def write(tx: Transaction) -> str:
        row = own_fact(tx, caller, fact_id)
        if request.expires_at is not None or "expires_at" in request.clear:
            # Who may not erase a fact may decide neither when it is erased nor that it is kept.
            require_fact_author(tx, caller, row.id)
        if row.status == SUPERSEDED and request.status == "current":
            _revive(tx, row)
            row = own_fact(tx, caller, fact_id)
        elif row.status in (SUPERSEDED, EXPIRED, REMOVED):
            raise FactNotCurrent
        times: dict[str, Any] = {
            "valid_from_ms": milliseconds(request.valid_from, row.valid_from_ms),
            "valid_to_ms": None
            if "valid_to" in request.clear
            else milliseconds(request.valid_to, row.valid_to_ms),
            "expires_ms": None if "expires_at" in request.clear else expires_ms or row.expires_ms,
        }
        _check_validity(times["valid_from_ms"], times["valid_to_ms"])
        pinned = bool(row.pinned) if request.pinned is None else request.pinned
        if text is None or entry is None or text.strip() == row.text:
            tx.run(SQL.change_fact, id=row.id, pinned=int(pinned), **times)
            if request.metadata is not None:
                place = {"space_id": row.space_id, "item": row.id}
                change_metadata(tx, "facts", fact_id, stored=metadata, **place)
            stored = StoredFact(row=row.id, fact_id=fact_id, is_changed=True)
        else:
            if request.valid_from is None:
                times["valid_from_ms"] = now_ms
            if request.valid_to is None and (row.valid_to_ms or now_ms + 1) <= now_ms:
                times["valid_to_ms"] = None  # the new wording begins after the old one ended
            kept = row.metadata if request.metadata is None else metadata
            fields = {**times, "pinned": pinned, "metadata": kept}
            new = NewFact(text=text, entry=entry, source=SOURCES[row.source], **fields)
            stored = _reword(context, tx, caller, row, new)
        return _answer(tx, caller, stored, row.user_id, intake.notice, now_ms)

    return _stored(context, caller, idempotency, write)


def _reword(
    context: Context, tx: Transaction, caller: Caller, old: Row, fact: NewFact
) -> StoredFact:
    """Store another wording under the id of a fact; the old one becomes a version of it.

    A wording that another fact has which holds is that fact.
    """
    stored = store_fact(context, tx, caller, old.space_id, fact, replaces=old)
    if stored.is_known:
        return stored
    rows = {"old": old.id, "new": stored.row}
    tx.run(SQL.keep_as_version, old=old.id, version_id=context.ids("f_"))
    tx.run(SQL.take_identity, fact_id=old.fact_id, **rows)
    tx.run(SQL.move_predecessors, **rows)
    tx.run(SQL.move_sources_of_fact, **rows)
    supersedes = [one for one in stored.supersedes if one != old.fact_id]
    return replace(stored, fact_id=old.fact_id, is_changed=True, supersedes=supersedes)


def remove_fact(
    context: Context, caller: Caller, fact_id: str, idempotency: IdempotentRequest | None = None
) -> FactRemoved:
    """Erase the text of a fact for good; its id and times stay, so that chains stay whole.

    Raises KeyIsReadOnly, FactUnknown, NotAuthor, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    now_ms = context.clock()
    erased: list[ErasedEvents | None] = []

    def write(tx: Transaction) -> str:
        row = own_fact(tx, caller, fact_id)
        require_fact_author(tx, caller, row.id)
        erased[:] = _erase_wordings(tx, row, status=REMOVED)
        return FactRemoved(
            removed=True, fact_id=fact_id, user_id=row.user_id, at=rfc3339(now_ms)
        ).model_dump_json()

    answer = context.store.write(
        lambda tx: idempotent(tx, idempotency, now_ms, lambda: write(tx)),
        account_id=caller.account_id,
    )
    update_index(context, erased)
    return FactRemoved.model_validate_json(answer)


def _erase_wordings(tx: Transaction, row: Row, *, status: int) -> list[ErasedEvents | None]:
    """Erase the text of a fact and of its versions; `row` has id, fact_id and space_id."""
    wordings = [row, *tx.all(SQL.versions, id=row.id)]
    return [erase_fact(tx, row.space_id, one, status=status) for one in wordings]


def erase_fact(tx: Transaction, space_id: int, row: Row, *, status: int) -> ErasedEvents | None:
    """Erase the text of a fact, and everything derived from it. `row` has `id` and `fact_id`.

    Returns the new revision of the space, if it has one.
    """
    tx.run(SQL.erase_fact, id=row.id, status=status)
    tx.run(SQL.erase_sources, fact=row.id)
    tx.run(SQL.drop_keys, fact=row.id)
    change_metadata(tx, "facts", row.fact_id, space_id=space_id, item=row.id, stored=None)
    return drop_layer(tx, space_id, row.id)


def erase_expired_facts(context: Context) -> bool:
    """Erase one batch of facts whose time is over; return False if there was none.

    Raises StoreUnavailable.
    """
    now_ms = context.clock()
    rows = context.store.read(lambda tx: tx.all(SQL.expiring, now_ms=now_ms, most=EXPIRED_BATCH))

    def erase(row: Row, tx: Transaction) -> list[ErasedEvents | None]:
        return _erase_wordings(tx, row, status=EXPIRED)

    for row in rows:
        erased = context.store.write(partial(erase, row), account_id=row.account_id)
        update_index(context, erased)
    return bool(rows)


def _revive(tx: Transaction, row: Row) -> None:
    if tx.one_or_none(SQL.equal_fact, space_id=row.space_id, text=row.text) is not None:
        raise FactNotCurrent("Another current fact has the same text.")
    tx.run(SQL.revive_fact, id=row.id)
    add_fact_keys(tx, row.space_id, row.id, row.text)
    move_layer(tx, item=row.id, layer=fact_layer(wish_in(row.text, row.source)))


def _screened(context: Context, text: str) -> tuple[Intake, str]:
    intake = Intake(settings=context.settings)
    stored = intake.take_if(text)
    if stored is None or not stored.strip():
        raise OnlyEchoedText
    return intake, stored


def _check_validity(valid_from_ms: int | None, valid_to_ms: int | None) -> None:
    if valid_from_ms is not None and valid_to_ms is not None and valid_to_ms <= valid_from_ms:
        raise WrongValidity


def _answer(
    tx: Transaction,
    caller: Caller,
    stored: StoredFact,
    user_id: str,
    notice: str | None,
    now_ms: int,
) -> str:
    [fact] = read_facts(tx, caller, [stored.row], now_ms)
    return FactStored(
        saved=True,
        user_id=user_id,
        outcome="known" if stored.is_known else "changed" if stored.is_changed else "stored",
        fact=fact,
        may_supersede=stored.may_supersede,
        detail=notice,
    ).model_dump_json()


def _stored(
    context: Context,
    caller: Caller,
    idempotency: IdempotentRequest | None,
    write: Callable[[Transaction], str],
) -> FactStored:
    answer = context.store.write(
        lambda tx: idempotent(tx, idempotency, context.clock(), lambda: write(tx)),
        account_id=caller.account_id,
    )
    return FactStored.model_validate_json(answer)

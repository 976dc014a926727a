"""Keep a turn: its text as it was said, and what search derives from it, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol.errors import InvalidRequest
from ...protocol.fence import unfenced
from ...search import EventText, IndexEntry, index_entries
from ...search.text.screening import find_secrets, mask_secrets
from ...settings import Settings
from ...store import Row, Transaction, embedder_id
from ..spaces import SQL, row_id

SECRET = "secret"  # noqa: S105 - no password but a flag: it holds a key, a token or a password


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """Where a turn was kept."""

    event_id: str
    row: int
    session: Row  # as `count_turn` gives it


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAddress:
    """The session of a space, by the names people know them by."""

    account_id: int
    user_id: str
    session_id: str


def store_turn(
    context: Context,
    tx: Transaction,
    address: SessionAddress,
    said: EventText,
    derived: IndexEntry,
    *,
    task_open: bool | None = None,
) -> StoredTurn:
    """Write one turn; durable and searchable once the transaction is.

    With `task_open` it is the turn of the session's step, and says whether the task goes on.
    """
    now_ms = context.clock()
    claimed = tx.one(
        SQL.claim_number, account_id=address.account_id, user_id=address.user_id, now_ms=now_ms
    )
    is_open = None if task_open is None else int(task_open)
    session = tx.one(
        SQL.count_turn,
        space_id=claimed.id,
        session_id=address.session_id,
        now_ms=now_ms,
        task_open=is_open,
    )
    row, event_id = row_id(claimed.id, claimed.number), context.ids("e_")
    texts = {
        "topic": said.topic,
        "query": said.query,
        "response": said.response,
        "flags": ",".join(derived.flags),
    }
    tx.run(
        SQL.add_event,
        id=row,
        event_id=event_id,
        session=session.id,
        occurred_ms=said.occurred_ms,
        created_ms=now_ms,
        **texts,
    )
    index = {
        "id": row,
        "session": session.id,
        "occurred_ms": said.occurred_ms,
        "words": derived.words,
        "vectors": derived.vectors,
    }
    if not tx.run(SQL.add_index, derived_by=derived.by, **index):  # the first of what derived it
        embedder_id(tx, derived.by, make=True)
        tx.run(SQL.add_index, derived_by=derived.by, **index)
    return StoredTurn(event_id=event_id, row=row, session=session)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPlace:
    """Where a caller wants a turn kept; `user_id` None is the caller's own space."""

    user_id: str | None
    session_id: str


# of the turn where it was kept, and of what was noticed about it
Answer = Callable[[Transaction, StoredTurn, str | None], str]


def store_turn_idempotently(
    context: Context,
    caller: Caller,
    place: EventPlace,
    turn: EventText,
    given: IdempotentRequest | None,
    answer: Answer,
) -> str:
    """Keep a turn and give what `answer` makes of it (JSON) in the same transaction, or the first
    answer when it was sent again.

    Raises NothingOfItsOwn, Forbidden for a read-only key or a pinned one with another user_id,
    Conflict when the Idempotency-Key was used with another body, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, place.user_id)
    intake = Intake(settings=context.settings)
    query, response = intake.take(turn.query), intake.take(turn.response)
    if not query.strip() and not response.strip():
        raise OnlyEchoedText
    said = replace(turn, query=query, response=response)
    derived = index_entries(context.embedder, [said])[0]
    derived = replace(derived, flags=derived.flags + intake.flags)
    address = SessionAddress(
        account_id=caller.account_id, user_id=user_id, session_id=place.session_id
    )

    def store(tx: Transaction) -> str:
        return answer(tx, store_turn(context, tx, address, said, derived), intake.noticed)

    def store_once(tx: Transaction) -> str:
        return idempotent(tx, given, context.clock(), lambda: store(tx))

    write = store if given is None else store_once
    return context.store.write(write, account_id=caller.account_id)


class OnlyEchoedText(InvalidRequest):
    """It is only text that this service gave out, which is not kept again."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """Takes texts of one request in, and notes what it did to them."""

    settings: Settings
    given_back: int = 0  # characters left out because this service gave them
    kinds: list[str] = field(default_factory=list)  # of the secrets found, each once

    def take(self, text: str) -> str:
        """The text as it is to be kept."""
        own, cut = unfenced(text)
        self.given_back += cut
        return self.screen(own)

    def screen(self, text: str) -> str:
        """The text as it is to be kept, what this service gave out included:

        for what comes from elsewhere.
        """
        found = find_secrets(text)
        self.kinds += [
            kind
            for kind in dict.fromkeys(secret.kind for secret in found)
            if kind not in self.kinds
        ]
        return mask_secrets(text, found) if found and self.settings.secrets == "mask" else text

    def take_if(self, text: str | None) -> str | None:
        """The same for a text that may be absent or blank, which both give None."""
        if text is None or not text.strip():
            return None
        return self.take(text) or None

    @property
    def flags(self) -> tuple[str, ...]:
        """What is to be noted on the event."""
        return (SECRET,) if self.kinds else ()

    @property
    def noticed(self) -> str | None:
        """What was noticed, in a sentence or two; None for nothing."""
        told = []
        if self.given_back:
            told.append(
                f"{self.given_back:,} characters were given by this service and are not kept again."
            )
        if self.kinds:
            how = (
                "was kept with marks in its place"
                if self.settings.secrets == "mask"
                else "is in it: revoke it and make a new one"
            )
            told.append(f"A secret ({', '.join(self.kinds)}) {how}.")
        return " ".join(told) or None

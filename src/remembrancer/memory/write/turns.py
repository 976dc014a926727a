"""Store a turn: its text and its index entry, in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ...accounts import name_session_user, require_write, session_user_id, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol.errors import InvalidRequest
from ...protocol.fence import unfenced
from ...protocol.service_keys import WARNING, mask_service_keys
from ...search import EventText, IndexEntry, index_entries
from ...search.text.screening import find_secrets, mask_secrets
from ...settings import Settings
from ...store import Row, Transaction, embedder_id
from ..facts.from_turns import store_instructions
from ..spaces import SQL, row_id

SECRET = "secret"  # noqa: S105 - a flag: the text contains a key, a token or a password


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTurn:
    """The id, the row id and the session of a stored turn."""

    event_id: str
    row: int
    session: Row  # as returned by `count_turn`


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAddress:
    """The session of a space, by public names."""

    account_id: int
    user_id: str
    session_id: str


def store_turn(
    context: Context,
    tx: Transaction,
    address: SessionAddress,
    text: EventText,
    entry: IndexEntry,
    *,
    remembered: bool = False,
    task_open: bool | None = None,
    occurred_offset: int = 0,
) -> StoredTurn:
    """Write one turn. It is durable and searchable once the transaction is.

    If `remembered`, it is the turn of the session's current step. `task_open` says whether the
    session's task continues; None says nothing. `occurred_offset`: minutes east of UTC.
    """
    now_ms = context.clock()
    space = tx.one(SQL.claim_number, user_id=address.user_id, now_ms=now_ms)
    is_open = None if task_open is None else int(task_open)
    session = tx.one(
        SQL.count_turn,
        space_id=space.id,
        session_id=address.session_id,
        now_ms=now_ms,
        remembered=int(remembered),
        task_open=is_open,
    )
    row, event_id = row_id(space.id, space.number), context.ids("e_")
    texts = {
        "topic": text.topic,
        "query": text.query,
        "response": text.response,
        "flags": ",".join(entry.flags),
    }
    tx.run(
        SQL.add_event,
        id=row,
        event_id=event_id,
        session=session.id,
        step=session.step if remembered else None,
        occurred_ms=text.occurred_ms,
        occurred_offset=occurred_offset,
        created_ms=now_ms,
        **texts,
    )
    add_index(tx, row, session.id, text.occurred_ms, entry)
    store_instructions(
        context,
        tx,
        space_id=space.id,
        session=session.id,
        event=row,
        message=text.query,
        occurred_ms=text.occurred_ms,
    )
    return StoredTurn(event_id=event_id, row=row, session=session)


def add_index(tx: Transaction, row: int, session: int, occurred_ms: int, entry: IndexEntry) -> None:
    """Store the index entry of an event; `row` is its row id, `session` that of its session."""
    index = {
        "id": row,
        "session": session,
        "occurred_ms": occurred_ms,
        "words": entry.words,
        "vectors": entry.vectors,
    }
    if not tx.run(SQL.add_index, derived_by=entry.by, **index):  # the embedder has no number yet
        embedder_id(tx, entry.by, make=True)
        tx.run(SQL.add_index, derived_by=entry.by, **index)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPlace:
    """The space and session to store a turn in; `user_id` None means the session's user.

    `named_session` is the session that the request itself names, None for the default.
    """

    user_id: str | None
    session_id: str
    named_session: str | None


# Builds the answer (JSON) from the stored turn and the notice about its text.
Answer = Callable[[Transaction, StoredTurn, str | None], str]


def store_turn_idempotently(
    context: Context,
    caller: Caller,
    place: EventPlace,
    turn: EventText,
    idempotency: IdempotentRequest | None,
    answer: Answer,
    occurred_offset: int = 0,
) -> str:
    """Store a turn and return the answer (JSON) that `answer` builds in the same transaction, or
    the first answer if the request was repeated.

    `occurred_offset` is in minutes east of UTC. Raises OnlyEchoedText, KeyIsReadOnly,
    PinnedToOtherUser, IdempotencyKeyReused, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, place.user_id)  # first: an invalid one is refused before any work
    intake = Intake(settings=context.settings)
    query, response = intake.take(turn.query), intake.take(turn.response)
    if not query.strip() and not response.strip():
        raise OnlyEchoedText
    topic = None if turn.topic is None else intake.screen(turn.topic)
    text = replace(turn, query=query, response=response, topic=topic)
    entry = index_entries(context.embedder, [text])[0]
    entry = replace(entry, flags=entry.flags + intake.flags)

    def store(tx: Transaction) -> str:
        user_id = session_user_id(tx, caller, place.user_id, place.named_session)
        notices = [intake.notice]
        if place.user_id is not None:
            notices.append(
                name_session_user(tx, caller, user_id, place.named_session, context.clock())
            )
        address = SessionAddress(
            account_id=caller.account_id, user_id=user_id, session_id=place.session_id
        )
        stored = store_turn(context, tx, address, text, entry, occurred_offset=occurred_offset)
        return answer(tx, stored, " ".join(filter(None, notices)) or None)

    return context.store.write(
        lambda tx: idempotent(tx, idempotency, context.clock(), lambda: store(tx)),
        account_id=caller.account_id,
    )


class OnlyEchoedText(InvalidRequest):
    """The text consists only of text that this service returned; it is not stored again."""


@dataclass(slots=True, kw_only=True)
class Intake:
    """Screens the texts of one request, and records what it removed or found."""

    settings: Settings
    echoed_characters: int = 0  # removed because this service returned them
    kinds: list[str] = field(default_factory=list)  # of the secrets, without duplicates
    has_service_key: bool = False  # masked, whatever the setting says

    def take(self, text: str) -> str:
        """Return the text to store: without echoed text, and screened."""
        own, cut = unfenced(text)
        self.echoed_characters += cut
        return self.screen(own)

    def screen(self, text: str) -> str:
        """Return the text to store from another source, which may contain echoed text."""
        masked = mask_service_keys(text)
        self.has_service_key |= masked != text
        text = masked
        secrets = find_secrets(text)
        self.kinds += [
            kind
            for kind in dict.fromkeys(secret.kind for secret in secrets)
            if kind not in self.kinds
        ]
        return mask_secrets(text, secrets) if secrets and self.settings.secrets == "mask" else text

    def take_if(self, text: str | None) -> str | None:
        """Return the text to store, or None for an absent or blank text."""
        if text is None or not text.strip():
            return None
        return self.take(text) or None

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags to store with the event."""
        return (SECRET,) if self.kinds or self.has_service_key else ()

    @property
    def notice(self) -> str | None:
        """A notice about removed text and secrets; None if there is nothing to say."""
        sentences = []
        if self.echoed_characters:
            sentences.append(
                f"{self.echoed_characters:,} characters came from this service "
                "and are not stored again."
            )
        if self.kinds:
            action = (
                "was masked"
                if self.settings.secrets == "mask"
                else "is stored in it: revoke it and create a new one"
            )
            sentences.append(f"A secret ({', '.join(self.kinds)}) {action}.")
        if self.has_service_key:
            sentences.append(WARNING)
        return " ".join(sentences) or None

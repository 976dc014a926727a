"""Facts: written with a turn or alone, listed, changed and removed."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from ...accounts import name_session_user, require_write, session_user_id, space_user_id
from ...accounts.idempotency import IdempotentRequest, write_once
from ...accounts.teams import authors_of_facts, require_fact_author, sign_fact
from ...context import Caller, Context
from ...cubes.fit import share_words, terms_of
from ...protocol.errors import Conflict, InvalidRequest, NotFound
from ...protocol.facts import (
    Fact,
    FactAdd,
    FactChange,
    FactList,
    FactRemoved,
    FactsQuery,
    FactStatus,
    FactStored,
    FactVersion,
    InstructionList,
)
from ...protocol.text import DAY_MS, rfc3339
from ...protocol.trust import RANKS, SOURCES, TextSource, may_replace
from ...search import IndexEntry, first_vectors, load_succession
from ...store import Row, Transaction, load_queries
from ...store.rows import read_row
from ..changes import change
from ..filters import change_metadata, index_metadata, passing_or_all
from ..instructions import Instruction, replaces_instruction
from ..intake import Intake
from ..layers import (
    Layer,
    add_fact_keys,
    add_layer,
    drop_layer,
    fact_layer,
    layer_entry,
    move_layer,
    wish_in,
    wish_of,
)
from ..projects import is_elsewhere, metadata_of_statement, project_of, without_project
from ..spaces import (
    AFTER_ALL,
    ErasedEvents,
    future_ms,
    milliseconds,
    past_ms,
    split_page,
    update_index,
)
from ..spaces import SQL as SPACES

SQL = load_queries("remembrancer.memory.facts", "facts.sql")
RELATED_MAX = 50  # facts with a common key that a new fact is compared with, newest first
WISHES_MAX = 100  # instructions and preferences that a new one is compared with, newest first
# Kinds and statuses, as stored.
KINDS: tuple[Literal["fact", "instruction", "preference"], ...]
KINDS = ("fact", "instruction", "preference")
STATUSES: tuple[FactStatus, ...] = ("current", "superseded", "expired", "removed")
HINTS_MAX = 5  # facts that a new one may supersede
COMPARED_MAX = 256  # newest facts whose vectors are compared with that of a new one
# Log odds that a fact replaces another one, from which it does, and from which it may: chosen on
# pairs of languages that were left out (bench/train_succession.py).
CERTAIN_MIN, LIKELY_MIN = 2.2, 0.0
CURRENT, SUPERSEDED, EXPIRED, REMOVED = range(4)  # places in STATUSES
VERSION = 2  # `origin` of an earlier wording of a fact; 0: stated, 1: recognised in a turn


class FactUnknown(NotFound):
    """There is no such fact, or it is not yours. Use a fact_id that a search or list returned."""


class FactNotCurrent(Conflict):
    """The fact was superseded, removed, or has expired. Name the fact that holds now."""


class FactReplacesItself(InvalidRequest):
    """The fact that it replaces has the same text. Name another fact, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    """A fact to store. Times are in ms since 1970; `event` is the row of the turn it came with."""

    text: str
    entry: IndexEntry  # of its `layer_text`
    source: TextSource
    valid_from_ms: int
    valid_to_ms: int | None = None
    expires_ms: int | None = None
    pinned: bool = False
    session: int | None = None
    event: int | None = None
    metadata: str | None = None  # as it is stored
    instruction: Instruction | None = None  # recognised in the turn; None: the text may be one
    is_wish: bool = False  # told to be one, whatever its wording


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """A stored fact and its relation to others: identifiers of facts."""

    row: int
    fact_id: str
    is_known: bool = False  # the space has had the same fact
    is_changed: bool = False  # in place
    supersedes: list[str] = field(default_factory=list)
    superseded_by: str | None = None  # a fact that holds since a later time
    may_supersede: list[str] = field(default_factory=list)

    @property
    def notice(self) -> str | None:
        """Sentences about the links, for a receipt; None if there is nothing to say."""
        sentences = []
        if self.supersedes:
            sentences.append(f"It supersedes {', '.join(self.supersedes)}.")
        if self.superseded_by:
            sentences.append(f"{self.superseded_by}, which holds since later, supersedes it.")
        if self.may_supersede:
            sentences.append(
                f"It may supersede {', '.join(self.may_supersede)}: name the one that ended as "
                "critical_replaces."
            )
        return " ".join(sentences) or None


def store_fact(
    context: Context,
    tx: Transaction,
    caller: Caller | None,
    space_id: int,
    fact: NewFact,
    *,
    replaces: Row | None = None,
) -> StoredFact:
    """Store a fact, stripped of surrounding white space; an equal one that holds is the same fact.

    It takes the place of `replaces`, a row of `current_fact`, and of facts that `changes` says it
    replaces; if it holds since an earlier time, those take its place. `caller` stores it; None: it
    was recognised in a turn.
    """
    source = RANKS[fact.source]
    instruction = fact.instruction or wish_in(fact.text, source)
    if instruction is None and fact.is_wish and source <= RANKS["model"]:
        instruction = Instruction(fact.text, None)
    now_ms, text, is_stated = context.clock(), fact.text.strip(), int(fact.instruction is None)
    known = {"space_id": space_id, "text": text, "source": source}
    tx.run(SQL.renew_equal, **known, stated=is_stated, now_ms=now_ms)
    new = tx.one_or_none(
        SQL.add_fact,
        **known,
        fact_id=context.ids("f_"),
        session=fact.session,
        event=fact.event,
        **_kind_of(instruction),
        origin=1 - is_stated,
        pinned=int(fact.pinned),
        valid_from_ms=fact.valid_from_ms,
        valid_to_ms=fact.valid_to_ms,
        expires_ms=fact.expires_ms,
        # The label of a member's key is no business of a team.
        key_id=None if caller is None or caller.member else caller.key_id,
        metadata=fact.metadata,
        now_ms=now_ms,
    )
    ended = [] if replaces is None else [replaces.fact_id]
    if new is None:
        stored = _restated(tx, space_id, fact, instruction, ended)
    else:
        place = {"space_id": space_id, "item": new.id}
        add_layer(tx, layer=fact_layer(instruction), entry=fact.entry, **place)
        index_metadata(tx, "facts", stored=fact.metadata, **place)
        stored = StoredFact(row=new.id, fact_id=new.fact_id, supersedes=ended)
        if caller is not None:
            sign_fact(tx, caller, new.id)
    if replaces is not None:
        supersede(tx, older=replaces.id, newer=stored.row, from_ms=fact.valid_from_ms)
    if stored.is_known:
        return stored
    if fact.event is not None and caller is not None:
        stored = _end_same(tx, space_id, stored, fact, instruction)
    if instruction is not None:
        stored = _end_wishes(tx, space_id, stored, fact, instruction)
    return _linked(context, tx, space_id, stored, fact)


def _restated(
    tx: Transaction, space_id: int, fact: NewFact, instruction: Instruction | None, ended: list[str]
) -> StoredFact:
    """Return the fact with the same text that holds; it is a wish if the new one states one."""
    equal = tx.one(SQL.equal_fact, space_id=space_id, text=fact.text.strip())
    if equal.fact_id in ended:
        raise FactReplacesItself
    _share(tx, space_id, equal, fact)
    if instruction is not None and not equal.kind:
        tx.run(SQL.set_kind, id=equal.id, **_kind_of(instruction))
        move_layer(tx, item=equal.id, layer=fact_layer(instruction))
    if fact.event is not None and fact.event != equal.event:
        tx.run(SQL.add_source, fact=equal.id, event=fact.event)
    return StoredFact(row=equal.id, fact_id=equal.fact_id, is_known=True, supersedes=ended)


def _end_same(
    tx: Transaction,
    space_id: int,
    stored: StoredFact,
    fact: NewFact,
    instruction: Instruction | None,
) -> StoredFact:
    """Let a fact take the place of what was recognised in its turn in other words.

    It is then trusted as that is, and a wish if that is one.
    """
    ended, rank = [], RANKS[fact.source]
    for row in tx.all(SQL.stated_in_turn, space_id=space_id, event=fact.event, id=stored.row):
        if may_replace(rank, row.source) and share_words(row.text, fact.text):
            tx.run(SQL.set_source, id=stored.row, source=min(rank, row.source))
            supersede(tx, older=row.id, newer=stored.row, from_ms=fact.valid_from_ms)
            ended.append(row.fact_id)
            if instruction is None and row.fact_kind:
                kind = {"kind": row.fact_kind, "condition": row.condition}
                tx.run(SQL.set_kind, id=stored.row, **kind)
                move_layer(tx, item=stored.row, layer=fact_layer(wish_of(row)))
    return replace(stored, supersedes=[*stored.supersedes, *ended])


def _kind_of(instruction: Instruction | None) -> dict[str, Any]:
    if instruction is None:
        return {"kind": 0, "condition": None}
    return {"kind": KINDS.index(instruction.kind), "condition": instruction.condition}


def _share(tx: Transaction, space_id: int, equal: Row, fact: NewFact) -> None:
    """Let a fact of one project that is said in another belong to the person."""
    if project_of(equal.metadata) not in (None, project_of(fact.metadata)):
        place = {"space_id": space_id, "item": equal.id}
        stored = without_project(equal.metadata)
        change_metadata(tx, "facts", equal.fact_id, stored=stored, **place)


def _end_wishes(
    tx: Transaction, space_id: int, stored: StoredFact, fact: NewFact, instruction: Instruction
) -> StoredFact:
    """Let a new instruction take the place of those about the same thing."""
    ended = []
    for row in tx.all(SQL.current_wishes, space_id=space_id, id=stored.row, most=WISHES_MAX):
        older = wish_of(row)
        if older is None or project_of(row.metadata) != project_of(fact.metadata):
            continue
        is_same = terms_of(row.text) == terms_of(fact.text) and older.kind == instruction.kind
        replaces = is_same or replaces_instruction(older, instruction)
        if row.valid_from_ms <= fact.valid_from_ms and replaces:
            supersede(tx, older=row.id, newer=stored.row, from_ms=fact.valid_from_ms)
            ended.append(row.fact_id)
    return replace(stored, supersedes=[*stored.supersedes, *ended])


def _linked(
    context: Context, tx: Transaction, space_id: int, stored: StoredFact, fact: NewFact
) -> StoredFact:
    """Link a new fact with those that it replaces, or with one that holds since later."""
    supersedes, may_supersede, later = list(stored.supersedes), [], []
    for other, is_certain in _changed(context, tx, space_id, stored.row, fact):
        ranks = RANKS[fact.source], other.source
        is_older = other.valid_from_ms <= fact.valid_from_ms
        if not (is_certain and may_replace(*(ranks if is_older else ranks[::-1]))):
            may_supersede.append(other.fact_id)
        elif is_older:
            supersede(tx, older=other.id, newer=stored.row, from_ms=fact.valid_from_ms)
            supersedes.append(other.fact_id)
        else:
            later.append(other)
    successor = min(later, key=lambda one: one.valid_from_ms, default=None)
    if successor is not None:
        supersede(tx, older=stored.row, newer=successor.id, from_ms=successor.valid_from_ms)
    return replace(
        stored,
        supersedes=supersedes,
        superseded_by=None if successor is None else successor.fact_id,
        may_supersede=may_supersede[:HINTS_MAX],
    )


def _changed(
    context: Context, tx: Transaction, space_id: int, row: int, fact: NewFact
) -> list[tuple[Row, bool]]:
    """Return facts that a new one (its row) replaces, or that replace it, and if that is certain.

    Those that rules of wording link, then those whose vectors say so.
    """
    found: dict[int, tuple[Row, bool]] = {}
    project = project_of(fact.metadata)
    for other in _related(tx, space_id, row, fact.text):
        if is_elsewhere(other.metadata, project):
            continue
        texts = (other.text, fact.text)
        is_older = other.valid_from_ms <= fact.valid_from_ms
        replacement = change(*(texts if is_older else texts[::-1]))
        if replacement is not None:
            found[other.id] = other, replacement.certain
    for other, odds in _by_meaning(context, tx, space_id, row, fact):
        is_certain = found.get(other.id, (other, False))[1]
        if odds >= LIKELY_MIN and not is_certain and not is_elsewhere(other.metadata, project):
            found[other.id] = other, odds >= CERTAIN_MIN
    return list(found.values())


def _by_meaning(
    context: Context, tx: Transaction, space_id: int, row: int, fact: NewFact
) -> Iterator[tuple[Row, float]]:
    """Yield the newest facts with the log odds that the later of two replaces the earlier one."""
    succession = load_succession(context.embedder.name)
    if succession is None or fact.entry.vectors is None:
        return
    others = tx.all(
        SQL.newest_facts, space_id=space_id, id=row, by=fact.entry.by, most=COMPARED_MAX
    )
    blobs = [fact.entry.vectors, *(other.vectors for other in others)]
    vectors = first_vectors(blobs, context.layout.width)
    new, old = vectors[:1], vectors[1:]
    replaced, replacing = succession(old, new)[:, 0], succession(new, old)[0]
    for other, by_new, by_old in zip(others, replaced.tolist(), replacing.tolist(), strict=True):
        yield other, by_new if other.valid_from_ms <= fact.valid_from_ms else by_old


def supersede(tx: Transaction, *, older: int, newer: int, from_ms: int) -> None:
    """Let a fact take the place of another from a time on (ms)."""
    tx.run(SQL.supersede_fact, older=older, newer=newer, from_ms=from_ms)
    tx.run(SQL.drop_keys, fact=older)
    move_layer(tx, item=older, layer=Layer.OLD_FACT)


def _related(tx: Transaction, space_id: int, fact: int, text: str) -> list[Row]:
    keys = add_fact_keys(tx, space_id, fact, text)
    if not keys:
        return []
    return tx.all(SQL.related, space_id=space_id, id=fact, keys=json.dumps(keys), most=RELATED_MAX)


def own_fact(tx: Transaction, caller: Caller, fact_id: str) -> Row:
    """Return the row of a fact. Raises FactUnknown if the caller may not use it."""
    row = tx.one_or_none(SQL.fact_by_id, fact_id=fact_id)
    if row is None or caller.pinned_user_id not in (None, row.user_id):
        raise FactUnknown
    return row


def current_fact(tx: Transaction, caller: Caller, fact_id: str | None, space_id: int) -> Row | None:
    """Return the row of a fact of a space that another may replace; None for None.

    Raises FactUnknown for a fact of another space, FactNotCurrent.
    """
    if fact_id is None:
        return None
    row = own_fact(tx, caller, fact_id)
    if row.space_id != space_id:
        raise FactUnknown
    if row.status != CURRENT:
        raise FactNotCurrent
    return row


# --- Store the wishes and facts that a user states in a turn ----------------------------------


class Stated(NamedTuple):
    """A wish or a fact that a user states in a message, with its index entry."""

    instruction: Instruction
    entry: IndexEntry


def store_stated(
    context: Context,
    tx: Transaction,
    stated: Sequence[Stated],
    *,
    space_id: int,
    session: int,
    event: int,
    occurred_ms: int,
    metadata: str | None = None,
) -> None:
    """Store wishes and facts with their turn as the source. `session` and `event` are row ids."""
    for instruction, entry in stated:
        fact = NewFact(
            text=instruction.text,
            entry=entry,
            source="user",
            valid_from_ms=min(occurred_ms, context.clock()),
            session=session,
            event=event,
            metadata=metadata_of_statement(metadata, instruction.text),
            instruction=None if instruction.kind == "fact" else instruction,
        )
        store_fact(context, tx, None, space_id, fact)


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
    intake = Intake(settings=context.settings)
    text = intake.take_own(request.text)
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

    def write(tx: Transaction) -> FactStored:
        user_id = session_user_id(tx, caller, request.user_id, request.session_id)
        if request.user_id is not None:
            name_session_user(tx, caller, user_id, request.session_id, now_ms)
        space = tx.one(SPACES.open_space, user_id=user_id, now_ms=now_ms)
        replaces = current_fact(tx, caller, request.replaces, space.id)
        stored = store_fact(context, tx, caller, space.id, fact, replaces=replaces)
        return _answer(tx, caller, stored, user_id, intake.notice, now_ms)

    return write_once(context, caller.account_id, idempotency, FactStored, write)


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
        text = intake.take_own(request.text)
        entry = layer_entry(context, text)
    expires_ms = future_ms(context, request.expires_at)
    metadata = intake.take_metadata(request.metadata)

    def write(tx: Transaction) -> FactStored:
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

    return write_once(context, caller.account_id, idempotency, FactStored, write)


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
    erased: list[ErasedEvents | None] = []

    def write(tx: Transaction) -> FactRemoved:
        row = own_fact(tx, caller, fact_id)
        require_fact_author(tx, caller, row.id)
        erased[:] = _erase_wordings(tx, row, status=REMOVED)
        at = rfc3339(context.clock())
        return FactRemoved(removed=True, fact_id=fact_id, user_id=row.user_id, at=at)

    answer = write_once(context, caller.account_id, idempotency, FactRemoved, write)
    update_index(context, erased)
    return answer


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
) -> FactStored:
    [fact] = read_facts(tx, caller, [stored.row], now_ms)
    return FactStored(
        saved=True,
        user_id=user_id,
        outcome="known" if stored.is_known else "changed" if stored.is_changed else "stored",
        fact=fact,
        may_supersede=stored.may_supersede,
        detail=notice,
    )


SOURCES_MAX = 20  # events listed with a fact


def list_facts(context: Context, caller: Caller, query: FactsQuery) -> FactList:
    """Return a page of a user's facts, newest first.

    Raises PinnedToOtherUser, TimeInFuture, StoreUnavailable.
    """
    as_of_ms = past_ms(context, query.as_of)
    status = None if query.status == "all" or as_of_ms is not None else query.status

    def read(tx: Transaction) -> tuple[str, list[Fact], Row | None]:
        user_id = session_user_id(tx, caller, query.user_id, query.session_id)
        space = tx.one_or_none(SPACES.space_of, user_id=user_id)
        if space is None:
            return user_id, [], None
        condition, values = passing_or_all(query.filters, "facts")
        rows = tx.all(
            SQL.facts_page.replace("true", condition),
            space_id=space.id,
            which=query.which,
            below=query.below or AFTER_ALL,
            status=None if status is None else STATUSES.index(status),
            as_of_ms=as_of_ms,
            now_ms=context.clock(),
            most=query.limit + 1,
            **values,
        )
        page, last = split_page(rows, query.limit)
        return user_id, read_facts(tx, caller, [row.id for row in page], context.clock()), last

    user_id, facts, last = context.store.read(read, account_id=caller.account_id)
    return FactList(user_id=user_id, facts=facts, next=last and last.id)


def list_instructions(context: Context, caller: Caller, query: FactsQuery) -> InstructionList:
    """Return a page of a user's standing instructions and preferences, newest first.

    Raises PinnedToOtherUser, TimeInFuture, StoreUnavailable.
    """
    page = list_facts(context, caller, query.model_copy(update={"which": "instructions"}))
    return InstructionList(user_id=page.user_id, instructions=page.facts, next=page.next)


def status_of(row: Row, now_ms: int) -> FactStatus:
    """Return the status of a fact; `row` has status, valid_to_ms and expires_ms."""
    is_over = any(end is not None and end <= now_ms for end in (row.valid_to_ms, row.expires_ms))
    return STATUSES[EXPIRED if row.status == CURRENT and is_over else row.status]


def read_facts(tx: Transaction, caller: Caller, ids: Sequence[int], now_ms: int) -> list[Fact]:
    """Return facts by their row ids, in this order; those of a team with their authors."""
    if not ids:
        return []
    row_ids = json.dumps(list(ids))
    rows = {row.id: row for row in tx.all(SQL.facts_whole, ids=row_ids)}
    sources: dict[int, list[str]] = defaultdict(list)
    for row in tx.all(SQL.sources_of, ids=row_ids):
        sources[row.fact].append(row.event_id)
    replaced: dict[int, list[Row]] = defaultdict(list)
    for row in tx.all(SQL.superseded_of, ids=row_ids):
        replaced[row.fact].append(row)
    facts = [_fact(rows[one], sources[one], replaced[one], now_ms) for one in ids if one in rows]
    if caller.member is None:
        return facts
    authors = authors_of_facts(tx, [fact.fact_id for fact in facts])
    return [fact.model_copy(update={"author": authors.get(fact.fact_id)}) for fact in facts]


def _fact(row: Row, sources: list[str], replaced: list[Row], now_ms: int) -> Fact:
    is_version = row.origin == VERSION
    events = ([row.event_id] if row.event_id else []) + sources
    return read_row(
        Fact,
        row,
        fact_id=row.superseded_by if is_version else row.fact_id,
        text=row.text or None,
        kind=KINDS[row.kind],
        recognised=row.origin == 1,
        status=status_of(row, now_ms),
        superseded_by=row.superseded_by if row.status == SUPERSEDED and not is_version else None,
        supersedes=[one.fact_id for one in replaced if one.origin != VERSION],
        versions=[
            read_row(FactVersion, one) for one in replaced if one.origin == VERSION and one.text
        ],
        event_ids=list(dict.fromkeys(events))[:SOURCES_MAX],
    )


# --- One fact with its timeline: the facts that it superseded and those that superseded it ---

TIMELINE_MAX = 100  # facts of a timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class FactTimeline:
    """A fact and its timeline: the fact itself and all before and after it, oldest first."""

    user_id: str
    fact: Fact
    timeline: Sequence[Fact]  # at most TIMELINE_MAX
    is_truncated: bool  # older ones are left out


def fact_timeline(context: Context, caller: Caller, fact_id: str) -> FactTimeline:
    """Return a fact with its timeline. Raises FactUnknown, StoreUnavailable."""

    def read(tx: Transaction) -> FactTimeline:
        row, now_ms = own_fact(tx, caller, fact_id), context.clock()
        [fact] = read_facts(tx, caller, [row.id], now_ms)
        rows = tx.all(SQL.timeline, id=row.id, most=TIMELINE_MAX + 1)
        newest, last = split_page(rows, TIMELINE_MAX)
        return FactTimeline(
            user_id=row.user_id,
            fact=fact,
            timeline=read_facts(tx, caller, [one.id for one in reversed(newest)], now_ms),
            is_truncated=last is not None,
        )

    return context.store.read(read, account_id=caller.account_id)


# --- The facts of a start pack: pinned ones, then the most useful ----------------------------

FACTS_MAX = 200  # of a pack; candidates of each kind as well
HALF_LIFE_DAYS = 90.0  # of the usefulness of a fact since it was last shown


def start_facts(tx: Transaction, space_id: int, now_ms: int, as_of_ms: int | None) -> list[Row]:
    """Return the facts that hold, pinned ones first, then the most useful: text and kind.

    Useful are those that searches showed often and lately, and new ones. With `as_of_ms` (ms since
    1970): the facts that held then, pinned ones first, then the newest.
    """
    if as_of_ms is not None:
        return tx.all(
            SQL.facts_as_of, space_id=space_id, as_of_ms=as_of_ms, now_ms=now_ms, most=FACTS_MAX
        )
    rows = tx.all(SQL.facts_for_start, space_id=space_id, now_ms=now_ms, most=FACTS_MAX)
    rows.sort(key=lambda row: (row.pinned, _usefulness(row, now_ms), row.id), reverse=True)
    return rows[:FACTS_MAX]


def _usefulness(row: Row, now_ms: int) -> float:
    days: float = max(now_ms - row.used_ms, 0) / DAY_MS
    return float(math.log2(2 + row.uses) * 0.5 ** (days / HALF_LIFE_DAYS))


def note_uses(tx: Transaction, fact_ids: Sequence[str], now_ms: int) -> None:
    """Count that an answer showed facts."""
    tx.run(SQL.note_uses, fact_ids=json.dumps(list(fact_ids)), now_ms=now_ms)

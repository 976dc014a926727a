"""Store critical facts and standing instructions, from requests and from turns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ...accounts.teams import sign_fact
from ...context import Caller, Context
from ...cubes.fit import share_words, terms_of
from ...protocol.errors import Conflict, InvalidRequest, NotFound
from ...protocol.trust import RANKS, TextSource, may_replace
from ...search import IndexEntry, first_vectors, load_succession
from ...store import Row, Transaction, load_queries
from ..changes import change
from ..filters import change_metadata, index_metadata
from ..instructions import Instruction, replaces_instruction
from ..layers import Layer, add_fact_keys, add_layer, fact_layer, move_layer, wish_in, wish_of
from ..projects import is_elsewhere, metadata_of_statement, project_of, without_project

# --- Store a fact, and link it with the facts whose place it takes ---------------------------

SQL = load_queries("remembrancer.memory.facts", "facts.sql")
RELATED_MAX = 50  # facts with a common key that a new fact is compared with, newest first
WISHES_MAX = 100  # instructions and preferences that a new one is compared with, newest first
KINDS: tuple[Literal["fact", "instruction", "preference"], ...] = (  # as stored
    "fact",
    "instruction",
    "preference",
)
HINTS_MAX = 5  # facts that a new one may supersede
COMPARED_MAX = 256  # newest facts whose vectors are compared with that of a new one
# Log odds that a fact replaces another one, from which it does, and from which it may: chosen on
# pairs of languages that were left out (bench/train_succession.py).
CERTAIN_MIN, LIKELY_MIN = 2.2, 0.0
CURRENT, SUPERSEDED, EXPIRED, REMOVED = range(4)  # statuses, as stored
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

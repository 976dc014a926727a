"""Store the records of each member of an export: `KINDS`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...accounts import NO_KEY
from ...accounts.prompts import SQL as PROMPTS
from ...context import Caller, Context
from ...cubes.lessons import SQL as CUBES
from ...cubes.lessons import Lesson, count_votes, insert_cube, prepare_cube
from ...protocol.notices import without_notices
from ...search import EntryMaker, EventText, index_entries
from ...store import Row, Transaction
from ...store.rows import columns_of
from ..facts.life import CURRENT, EXPIRED, REMOVED, STATUSES, SUPERSEDED, VERSION
from ..facts.life import KINDS as FACT_KINDS
from ..facts.life import SQL as FACTS
from ..files.commands import SQL as MEMORY_FILES
from ..files.commands import charge_bytes
from ..filters import index_metadata
from ..instructions import Instruction
from ..layers import Layer, add_fact_keys, add_layer, fact_layer, layer_text
from ..links import link_changes
from ..spaces import SQL as SPACES
from ..spaces import milliseconds, offset_minutes, row_id
from ..summaries.l1 import SQL as SUMMARIES
from ..write.turns import add_index, with_original
from .check import SQL, ExportCheck, map_state, memory_file_state
from .importer import FACT
from .records import (
    CubeRecord,
    EventRecord,
    FactRecord,
    MapRecord,
    MemoryFileRecord,
    OriginRecord,
    PromptRecord,
    SessionRecord,
    SummaryRecord,
    UserRecord,
    VoteRecord,
)
from .source import ExportSource

REVISION_UNKNOWN = 0  # `superseded_by` of a draft until its revision is stored; no row has the id 0
NO_CUBE = "no cube"  # outcome of a vote on a cube that the target does not have

Outcome = Counter[str]  # numbers of records: stored, present, left
Aliases = dict[str, int]  # fact ids of the export -> rows of equal facts that the target had
Entries = Mapping[Any, Any]  # what was prepared for new records, by identifier
TakeEntries = Callable[[], Entries]  # waits for what was begun


@dataclass(frozen=True, slots=True)
class RestoreRun:
    """The memory that an import writes to, its checked records, and what makes index entries."""

    context: Context
    caller: Caller
    source: ExportSource
    check: ExportCheck
    maker: EntryMaker
    aliases: Aliases = field(default_factory=dict)


@dataclass(slots=True)
class RestoreWrite:
    """One transaction of an import, and the rows of users that it has looked up."""

    run: RestoreRun
    tx: Transaction
    records: Sequence[Any] = ()  # that it stores
    _spaces: dict[str, int] = field(default_factory=dict)
    _sessions: dict[tuple[int, str], int] = field(default_factory=dict)
    _numbers: dict[int, Iterator[int]] = field(default_factory=dict)

    def space(self, user_id: str, created_ms: int | None = None) -> int:
        """Return the id of a user's space; create it if necessary."""
        if user_id not in self._spaces:
            now_ms = self.run.context.clock() if created_ms is None else created_ms
            row = self.tx.one(SPACES.open_space, user_id=user_id, now_ms=now_ms)
            self._spaces[user_id] = int(row.id)
        return self._spaces[user_id]

    def session(self, space_id: int, session_id: str) -> int:
        """Return the row id of a session; create it if it was erased meanwhile."""
        at = {"space_id": space_id, "session_id": session_id}
        if (space_id, session_id) not in self._sessions:
            row = self.tx.one_or_none(SPACES.session_of, **at) or self.tx.one(
                SPACES.open_session, **at, now_ms=self.run.context.clock()
            )
            self._sessions[space_id, session_id] = int(row.id)
        return self._sessions[space_id, session_id]

    def session_or_none(self, space_id: int, session_id: str | None) -> int | None:
        """Return the row id of a session, or None for None."""
        return None if session_id is None else self.session(space_id, session_id)

    def event(self, event_id: str | None) -> int | None:
        """Return the row id of an event; None for None, or if it was erased meanwhile."""
        row: Row | None = None
        if event_id is not None:
            row = self.tx.one_or_none(SQL.event_row, event_id=event_id)
        return None if row is None else int(row.id)

    def next_number(self, space_id: int, user_id: str) -> int:
        """Return the number of the next event of a space, one of those claimed for all records."""
        if space_id not in self._numbers:
            count = sum(record.user_id == user_id for record in self.records)
            first = self.tx.one(SQL.claim_numbers, space_id=space_id, count=count).number
            self._numbers[space_id] = iter(range(first, first + count))
        return next(self._numbers[space_id])


# --- Users, sessions, origins, prompts, memory files and votes: rows without index entries --------


def _add_user(write: RestoreWrite, record: UserRecord, _: Entries) -> str:
    if write.tx.one_or_none(SPACES.space_of, user_id=record.user_id) is not None:
        return "present"
    write.space(record.user_id, milliseconds(record.created_at, write.run.context.clock()))
    return "stored"


def _add_session(write: RestoreWrite, record: SessionRecord, _: Entries) -> str:
    """Store a session; an existing one goes on from the later step."""
    columns = columns_of(record) | {"space_id": write.space(record.user_id)}
    existing = write.tx.one_or_none(SPACES.session_of, **columns)
    if existing is not None:
        write.tx.run(SQL.advance_session, **columns, session=existing.id)
        return "present"
    write.tx.run(SQL.add_session, **columns)
    return "stored"


def recount_sessions(write: RestoreWrite, *, sessions: Sequence[SessionRecord]) -> None:
    """Let existing sessions count the turns that were added to them."""
    for record in sessions:
        session = write.session(write.space(record.user_id), record.session_id)
        write.tx.run(SQL.recount_turns, session=session)


def _add_origin(write: RestoreWrite, record: OriginRecord, _: Entries) -> str:
    """Store the origin of an imported event; one that the target has stays."""
    at = {"space_id": write.space(record.user_id), "origin": record.origin}
    event = FACT if record.event_id is None else write.event(record.event_id)
    existing = write.tx.one_or_none(SPACES.event_of_origin, **at)
    if existing is not None:
        return "present" if existing.event == event else "left"
    if event is None:
        return "erased meanwhile"
    write.tx.run(SPACES.add_origin, **at, event=event)
    return "stored"


def _add_prompt(write: RestoreWrite, record: PromptRecord, _: Entries) -> str:
    """Store a prompt; one that the user has stays."""
    existing = write.tx.one_or_none(SQL.prompt_of, user_id=record.user_id)
    if existing is not None:
        return "present" if existing.text == record.text else "left"
    columns = columns_of(record)
    write.tx.run(PROMPTS.set_prompt, **columns, now_ms=columns["updated_ms"])
    return "stored"


def _add_memory_file(write: RestoreWrite, record: MemoryFileRecord, _: Entries) -> str:
    """Store a version of a memory file, unless versions of its path differ."""
    state = memory_file_state(write.tx, record)
    if state != "absent" or (record.user_id, record.path) in write.run.check.left_files:
        return "present" if state == "same" else "left"
    size, columns = len((record.text or "").encode()), columns_of(record)
    columns |= {"space_id": write.space(record.user_id), "now_ms": columns["created_ms"]}
    write.tx.run(MEMORY_FILES.outdate_file, **columns)
    write.tx.run(MEMORY_FILES.add_version, **columns, bytes=size, key_id=NO_KEY)
    write.tx.run(MEMORY_FILES.charge_files, space_id=columns["space_id"], bytes=charge_bytes(size))
    return "stored"


def _add_vote(write: RestoreWrite, record: VoteRecord, _: Entries) -> str:
    """Store a vote on a cube that the account can see; a vote that the user has cast stays."""
    columns = columns_of(record)
    cube = write.tx.one_or_none(SQL.vote_of, **columns)
    if cube is None:
        return NO_CUBE
    if cube.vote is not None:
        return "present" if cube.vote == record.vote else "left"
    write.tx.run(CUBES.rate, **columns, cube=cube.id, now_ms=columns["rated_ms"])
    if cube.author != write.run.caller.account_id:  # the author's votes are not counted
        count_votes(write.tx, cube.id)
    return "stored"


# --- Turns ----------------------------------------------------------------------------------------


def _begin_events(run: RestoreRun, records: Sequence[EventRecord]) -> TakeEntries:
    """Begin the index entries of turns. Superseded drafts and withdrawn turns have none."""
    indexed = [record for record in records if not (record.superseded or record.withdrawn)]
    take = run.maker.begin([_text(record) for record in indexed])
    return lambda: dict(zip((record.event_id for record in indexed), take(), strict=True))


def _text(record: EventRecord) -> EventText:
    return EventText(
        query=record.query,
        response=record.response,
        topic=record.topic,
        occurred_ms=milliseconds(record.occurred_at, 0),
    )


def _add_event(write: RestoreWrite, record: EventRecord, entries: Entries) -> str:
    tx, entry, columns = write.tx, entries.get(record.event_id), columns_of(record)
    space_id = write.space(record.user_id)
    session = write.session(space_id, record.session_id)
    row, original = row_id(space_id, write.next_number(space_id, record.user_id)), None
    if entry is not None:
        entry, original = with_original(tx, entry, space_id, session)
    flags = [*record.flags, *(entry.flags if entry else ())]
    columns |= {
        "id": row,
        "session": session,
        "flags": ",".join(dict.fromkeys(flags)),
        "occurred_offset": offset_minutes(record.occurred_at),
        "superseded_by": REVISION_UNKNOWN if record.superseded else None,
        "withdrawn_by": row if record.withdrawn else None,
        "twin": None if entry is None or entry.twin is None else entry.twin.number,
        "repeats": original,
    }
    tx.run(SQL.add_event, **columns)
    index_metadata(tx, "events", space_id=space_id, item=row, stored=columns["metadata"])
    if entry is not None:
        add_index(tx, row, session, columns["occurred_ms"], entry)
        message = "" if entry.is_machine_notice else without_notices(record.query)
        link_changes(
            tx,
            space_id=space_id,
            event=row,
            message=message,
            source=columns["query_source"],
            occurred_ms=columns["occurred_ms"],
        )
    if record.withdraws:
        space = {"low": row_id(space_id, 0), "high": row_id(space_id + 1, 0)}
        tx.run(SQL.withdrawn_in, by=row, ids=json.dumps(record.withdraws), **space)
    if record.second_look is not None:
        tx.run(SQL.add_look, session=session, event=row, **columns_of(record.second_look))
    return "stored"


def link_events(write: RestoreWrite, *, links: Sequence[tuple[str, str]]) -> None:
    """Name the revisions of drafts: pairs of event ids, the draft first."""
    for source, target in links:
        write.tx.run(SQL.link_event, source=source, target=target)


# --- Facts, L1s and maps --------------------------------------------------------------------------


def _begin_facts(run: RestoreRun, records: Sequence[FactRecord]) -> TakeEntries:
    return _begin_texts(
        run, {one.fact_id: layer_text(one.text) for one in records if one.text.strip()}
    )


def _begin_summaries(run: RestoreRun, records: Sequence[SummaryRecord]) -> TakeEntries:
    return _begin_texts(run, {one.l1_id: layer_text(one.text, one.topic) for one in records})


def _begin_maps(run: RestoreRun, records: Sequence[MapRecord]) -> TakeEntries:
    """Make the entries of versions that the target does not have.

    Each version is the newest of its space while it is stored, so that an interrupted import
    leaves a map that search finds.
    """
    new = run.context.store.read(
        lambda tx: [one for one in records if map_state(tx, one) == "absent"],
        account_id=run.caller.account_id,
    )
    return _begin_texts(run, {(one.user_id, one.version): layer_text(one.text) for one in new})


def _begin_texts(run: RestoreRun, texts: dict[Any, EventText]) -> TakeEntries:
    entries = index_entries(run.context.writer, list(texts.values())) if texts else []
    return lambda: dict(zip(texts, entries, strict=True))


def _add_fact(write: RestoreWrite, record: FactRecord, entries: Entries) -> str:
    """Store a fact with its life. A current fact whose text the user has is that fact."""
    tx, space_id = write.tx, write.space(record.user_id)
    text, status = _life(write.run.context, record)
    if status == CURRENT:
        equal = tx.one_or_none(FACTS.equal_fact, space_id=space_id, text=text)
        if equal is not None:
            write.run.aliases[record.fact_id] = equal.id
            _add_sources(write, equal.id, equal.event, record)
            return "present"
    event = write.event(record.event_id)
    columns = columns_of(record) | {
        "space_id": space_id,
        "session": write.session_or_none(space_id, record.session_id),
        "event": event,
        "text": text,
        "status": status,
        "kind": FACT_KINDS.index(record.kind),
        "origin": VERSION if record.is_version else int(record.recognised),
        "pinned": int(record.pinned and bool(text)),
    }
    row = tx.one(SQL.add_fact, **columns)
    index_metadata(tx, "facts", space_id=space_id, item=row.id, stored=columns["metadata"])
    entry = entries.get(record.fact_id)
    if not text or entry is None:
        return "stored"
    _add_sources(write, row.id, event, record)
    layer = Layer.OLD_FACT if status == SUPERSEDED else fact_layer(_instruction(record))
    add_layer(tx, space_id=space_id, layer=layer, item=row.id, entry=entry)
    if status == CURRENT:
        add_fact_keys(tx, space_id, row.id, text)
    return "stored"


def _life(context: Context, record: FactRecord) -> tuple[str, int]:
    """Return the text and the status to store: an expired text is not stored."""
    status, expires_ms = STATUSES.index(record.status), columns_of(record)["expires_ms"]
    if status == REMOVED:
        return "", status
    if expires_ms is not None and expires_ms <= context.clock():
        return "", max(status, EXPIRED)
    return record.text.strip(), status


def _add_sources(write: RestoreWrite, fact: int, first: int | None, record: FactRecord) -> None:
    for event_id in filter(None, [record.event_id, *record.sources]):
        event = write.event(event_id)
        if event is not None and event != first:
            write.tx.run(FACTS.add_source, fact=fact, event=event)


def _instruction(record: FactRecord) -> Instruction | None:
    if record.kind == "fact":
        return None
    return Instruction(record.text, record.condition, record.kind)


def link_facts(write: RestoreWrite, *, links: Sequence[tuple[str, str]]) -> None:
    """Name the successors of superseded facts: pairs of fact ids, the older first."""
    for source, target in links:
        row = write.tx.one_or_none(SQL.fact_row, fact_id=target)
        newer = write.run.aliases.get(target) if row is None else row.id
        if newer is not None:
            write.tx.run(SQL.link_fact, source=source, newer=newer)


def _add_summary(write: RestoreWrite, record: SummaryRecord, entries: Entries) -> str:
    space_id = write.space(record.user_id)
    session = write.session(space_id, record.session_id)
    row = write.tx.one(SQL.add_l1, **columns_of(record), space_id=space_id, session=session)
    entry = entries[record.l1_id]
    add_layer(write.tx, space_id=space_id, layer=Layer.SUMMARY, item=row.id, entry=entry)
    write.tx.run(SUMMARIES.count_l1, space_id=space_id)
    return "stored"


def _add_map(write: RestoreWrite, record: MapRecord, entries: Entries) -> str:
    """Store a version of a map, unless the map of its user differs."""
    state, entry = map_state(write.tx, record), entries.get((record.user_id, record.version))
    if record.user_id in write.run.check.left_maps:
        entry = None
    if entry is None or state != "absent":  # or stored by a concurrent import
        return "present" if state == "same" else "left"
    columns = columns_of(record) | {
        "space_id": write.space(record.user_id),
        "text": record.text.strip(),
    }
    write.tx.run(SQL.add_map, **columns)
    if record.made_by != "note":
        map_of = {"space_id": columns["space_id"], "layer": Layer.MAP, "item": record.version}
        add_layer(write.tx, **map_of, entry=entry)
    return "stored"


def note_maps(write: RestoreWrite, *, users: Sequence[UserRecord]) -> None:
    """Let the maps of users cover the L1s that they covered."""
    for record in users:
        if record.user_id not in write.run.check.left_maps:
            space_id = write.space(record.user_id)
            write.tx.run(SQL.note_mapped, space_id=space_id, l1_mapped=record.l1_mapped)


# --- Cubes ----------------------------------------------------------------------------------------


_LESSON = ("kind", "topic", "essence", "rules", "evidence", "model", "for_account", "source")


def _begin_cubes(run: RestoreRun, records: Sequence[CubeRecord]) -> TakeEntries:
    """Check published cubes again; trust comes from votes in the target alone."""
    prepared = {
        one.cube_id: prepare_cube(
            run.context,
            Lesson(
                publish=one.status != "private", **{name: getattr(one, name) for name in _LESSON}
            ),
        )
        for one in records
    }
    return lambda: prepared


def _add_cube(write: RestoreWrite, record: CubeRecord, entries: Entries) -> str:
    prepared, session, columns = entries[record.cube_id], None, columns_of(record)
    if record.user_id is not None and record.session_id is not None:
        session = write.session(write.space(record.user_id), record.session_id)
    insert_cube(
        write.tx,
        replace(prepared, cube_id=record.cube_id),
        user_id=record.user_id or write.run.caller.account_name,
        session=session,
        status="retired" if record.status == "retired" else prepared.status,
        created_ms=columns["created_ms"],
        expires_ms=columns["expires_ms"],
    )
    return "stored"


def merge_cubes(write: RestoreWrite) -> None:
    """Let stored cubes be served as others, once all of a batch are stored."""
    for record in write.records:
        if record.merged_into is not None:
            write.tx.run(SQL.merge_cube, cube_id=record.cube_id, into=record.merged_into)


def _nothing(*_: Any) -> TakeEntries:
    return dict


@dataclass(frozen=True, slots=True)
class Kind:
    """The way in which records of a member are stored.

    `add` stores one, with what was prepared for those of its batch, and returns the outcome.
    `prepare` begins that, before the transaction, and returns a function that returns it.
    """

    add: Callable[[RestoreWrite, Any, Entries], str]
    prepare: Callable[[RestoreRun, Sequence[Any]], TakeEntries] = _nothing


KINDS = {
    "users.jsonl": Kind(_add_user),
    "sessions.jsonl": Kind(_add_session),
    "events.jsonl": Kind(_add_event, _begin_events),
    "origins.jsonl": Kind(_add_origin),
    "facts.jsonl": Kind(_add_fact, _begin_facts),
    "summaries.jsonl": Kind(_add_summary, _begin_summaries),
    "maps.jsonl": Kind(_add_map, _begin_maps),
    "prompts.jsonl": Kind(_add_prompt),
    "memory_files.jsonl": Kind(_add_memory_file),
    "cubes.jsonl": Kind(_add_cube, _begin_cubes),
    "votes.jsonl": Kind(_add_vote),
}

"""Store the prompts, memory files, cubes, votes and created files of an export."""

from __future__ import annotations

from collections.abc import Sequence

from ...accounts import NO_KEY
from ...accounts.prompts import SQL as PROMPTS
from ...context import Caller, Context
from ...cubes.lessons import SQL as CUBES
from ...cubes.lessons import Lesson, PreparedCube, prepare_cube
from ...cubes.votes import count_votes
from ...files.files import FileOwner
from ...files.restored import restore_file
from ...store import Transaction, embedder_id
from ..files.commands import SQL as MEMORY_FILES
from ..files.commands import charge_bytes
from ..spaces import milliseconds
from .archive import Archive
from .check import SQL, memory_file_state, rows_named
from .records import CubeRecord, FileRecord, MemoryFileRecord, PromptRecord, VoteRecord
from .restored_turns import Outcome, open_session, open_space

NO_CUBE = "no cube"  # outcome of a vote on a cube that the target does not have


def write_prompts(context: Context, caller: Caller, records: Sequence[PromptRecord]) -> Outcome:
    """Store prompts; one that the user has stays."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            existing = tx.one_or_none(SQL.prompt_of, user_id=record.user_id)
            if existing is not None:
                outcome["present" if existing.text == record.text else "left"] += 1
                continue
            tx.run(
                PROMPTS.set_prompt,
                user_id=record.user_id,
                text=record.text,
                now_ms=milliseconds(record.updated_at, 0),
            )
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def write_memory_files(
    context: Context,
    caller: Caller,
    left_files: set[tuple[str, str]],
    records: Sequence[MemoryFileRecord],
) -> Outcome:
    """Store versions of memory files, but none of paths whose versions differ."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            state = memory_file_state(tx, record)
            if state != "absent" or (record.user_id, record.path) in left_files:
                outcome["present" if state == "same" else "left"] += 1
                continue
            _add_memory_file(context, tx, record)
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def _add_memory_file(context: Context, tx: Transaction, record: MemoryFileRecord) -> None:
    space_id = open_space(context, tx, record.user_id)
    size = len((record.text or "").encode())
    tx.run(MEMORY_FILES.outdate_file, space_id=space_id, path=record.path)
    tx.run(
        MEMORY_FILES.add_version,
        space_id=space_id,
        path=record.path,
        version=record.version,
        is_current=int(record.is_current),
        change=record.change,
        other_path=record.other_path,
        bytes=size,
        flags=",".join(record.flags),
        key_id=NO_KEY,
        now_ms=milliseconds(record.created_at, 0),
        text=record.text,
    )
    tx.run(MEMORY_FILES.charge_files, space_id=space_id, bytes=charge_bytes(size))


def write_cubes(context: Context, caller: Caller, records: Sequence[CubeRecord]) -> Outcome:
    """Store cubes. Published ones are checked again; trust comes from votes in the target alone."""
    before = context.store.read(
        lambda tx: rows_named(tx, "cubes.jsonl", records), account_id=caller.account_id
    )
    prepared = {
        record.cube_id: _prepared(context, record)
        for record in records
        if record.cube_id not in before
    }

    def write(tx: Transaction) -> Outcome:
        existing = rows_named(tx, "cubes.jsonl", records)
        new = [record for record in records if record.cube_id not in existing]
        for record in new:
            _add_cube(context, tx, record, prepared[record.cube_id])
        for record in new:  # once all are stored: a later one may be served in the place of another
            if record.merged_into is not None:
                tx.run(SQL.merge_cube, cube_id=record.cube_id, into=record.merged_into)
        return Outcome(stored=len(new), present=len(records) - len(new))

    return context.store.write(write, account_id=caller.account_id)


def _prepared(context: Context, record: CubeRecord) -> PreparedCube:
    lesson = Lesson(
        kind=record.kind,
        topic=record.topic,
        essence=record.essence,
        rules=record.rules,
        evidence=record.evidence,
        publish=record.status != "private",
        model=record.model,
    )
    return prepare_cube(context, lesson)


def _add_cube(
    context: Context, tx: Transaction, record: CubeRecord, prepared: PreparedCube
) -> None:
    session = None
    if record.user_id is not None:
        space_id = open_space(context, tx, record.user_id)
        session = open_session(context, tx, space_id, record.session_id)
    lesson, status = prepared.lesson, prepared.visibility
    row = tx.one(
        CUBES.add_cube,
        cube_id=record.cube_id,
        session=session,
        kind=lesson.kind,
        topic=lesson.topic,
        essence=lesson.essence,
        rules=lesson.rules,
        evidence=lesson.evidence,
        model=lesson.model,
        status="retired" if record.status == "retired" else status,
        now_ms=milliseconds(record.created_at, 0),
        expires_ms=None if record.expires_at is None else milliseconds(record.expires_at, 0),
    )
    tx.run(
        CUBES.add_index,
        id=row.id,
        words=prepared.entry.words,
        vectors=prepared.entry.vectors,
        embedder=embedder_id(tx, prepared.entry.by, make=True),
    )


def write_votes(context: Context, caller: Caller, records: Sequence[VoteRecord]) -> Outcome:
    """Store votes on cubes that the account can see; a vote that the user has cast stays."""

    def write(tx: Transaction) -> Outcome:
        outcome = Outcome()
        for record in records:
            cube = tx.one_or_none(SQL.vote_of, cube_id=record.cube_id, user_id=record.user_id)
            if cube is None:
                outcome[NO_CUBE] += 1
                continue
            if cube.vote is not None:
                outcome["present" if cube.vote == record.vote else "left"] += 1
                continue
            tx.run(
                CUBES.rate,
                cube=cube.id,
                user_id=record.user_id,
                vote=record.vote,
                reason=record.reason,
                now_ms=milliseconds(record.rated_at, 0),
            )
            if cube.author != caller.account_id:  # the author's votes are not counted
                count_votes(tx, cube.id)
            outcome["stored"] += 1
        return outcome

    return context.store.write(write, account_id=caller.account_id)


def write_files(
    context: Context, caller: Caller, archive: Archive, records: Sequence[FileRecord]
) -> Outcome:
    """Store created files and their contents, each in its own transaction."""
    outcome = Outcome()
    for record in records:
        outcome += _write_file(context, caller, archive, record)
    return outcome


def _write_file(context: Context, caller: Caller, archive: Archive, record: FileRecord) -> Outcome:
    if context.store.read(
        lambda tx: rows_named(tx, "files.jsonl", [record]), account_id=caller.account_id
    ):
        return Outcome(present=1)
    owner = FileOwner(
        account_id=caller.account_id, pinned_user_id=record.user_id, made_by=record.made_by
    )
    restore_file(
        context,
        owner,
        filename=record.filename,
        blob=record.sha256,
        size_bytes=record.bytes,
        created_ms=milliseconds(record.created_at, 0),
        content=archive.blob(record.sha256),
    )
    return Outcome(stored=1)

"""Write the lessons of an account to a pack, and store those of a pack or of the starter pack.

A lesson is recognised by its texts: whatever the account has already is not stored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import ValidationError

from .. import __version__
from ..accounts import require_write
from ..accounts.signing import base64url, public_bytes, signing_key
from ..context import Caller, Context, Records
from ..protocol.limits import CUBE_EVIDENCE_CHARACTERS_MAX, PUBLISHED_EVIDENCE_CHARACTERS_MAX
from ..protocol.text import beginning
from ..store import Row, Transaction, load_queries
from . import publishing
from .lessons import Lesson, PreparedCube, prepare_cube, store_cube, visible_evidence
from .packs import (
    EvidenceKind,
    LessonTexts,
    Pack,
    PackLesson,
    PackProof,
    PackRecord,
    lesson_texts,
    write_pack,
)
from .starter import EVIDENCE, StarterLesson, load_starter

SQL = load_queries("remembrancer.cubes", "packs.sql")
PackStatus = Literal["private", "published", "trusted", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPack:
    """A written pack: its content, the public key that signed it (base64url), and its size."""

    content: bytes
    key: str
    lessons: int
    omitted: tuple[tuple[str, str], ...]  # cube_id and the reason why it is not in the pack


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedLessons:
    """Result of adding lessons to an account: numbers of lessons, and what screening refused."""

    stored: int
    published: int  # of the stored ones
    present: int  # stored before
    refused: tuple[tuple[str, str], ...]  # topic of a stored one, and why it may not be published


def list_cubes(records: Records, caller: Caller) -> list[Row]:
    """Return the account's cubes, oldest first.

    Each row has cube_id, kind, topic, status, useful and useless (accounts), helped and failed
    (turns of the account).
    """
    return _cubes(records, caller, None)


def export_pack(
    records: Records, caller: Caller, *, name: str, status: PackStatus | None = None
) -> ExportedPack:
    """Return a pack of the account's lessons, signed with the key of the service.

    `status` None means published and trusted ones; `all` adds private ones. Retired lessons, those
    that expire, and those that an import would refuse are left out. Raises PackTooLarge,
    StoreUnavailable.
    """
    lessons: dict[LessonTexts, PackLesson] = {}
    omitted = []
    proofs = _proofs()
    for row in _cubes(records, caller, None if status == "all" else status):
        if row.status == "retired" or (status is None and row.status == "private"):
            continue
        if row.expires_ms is not None:
            omitted.append((row.cube_id, "it expires"))
            continue
        try:
            lesson = _pack_lesson(row, proofs)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            omitted.append((row.cube_id, f"{first['loc'][0]}: {first['msg']}"))
            continue
        if lesson.texts in lessons:
            omitted.append((row.cube_id, f"it repeats {lessons[lesson.texts].cube_id}"))
            continue
        lessons[lesson.texts] = lesson
    key = records.store.write(lambda tx: signing_key(tx, records.clock()))
    created_at = datetime.fromtimestamp(records.clock() / 1000, UTC)
    return ExportedPack(
        content=write_pack(
            key, list(lessons.values()), name=name, created_at=created_at, service=__version__
        ),
        key=base64url(public_bytes(key)),
        lessons=len(lessons),
        omitted=tuple(omitted),
    )


def import_pack(
    context: Context, caller: Caller, pack: Pack, *, publish: bool = False
) -> AddedLessons:
    """Store the lessons of a pack that the account does not have, in one transaction.

    They are private; with `publish` they are published unless the screening of `cube_publish`
    refuses them. Without it they are screened, too: agents read them, whoever wrote them. Their
    record is part of their evidence and counts as no vote. Raises KeyIsReadOnly, StoreUnavailable,
    EmbedderUnavailable.
    """
    lessons = [
        Lesson(
            kind=one.kind,
            topic=one.topic,
            essence=one.essence,
            rules=one.rules_markdown,
            evidence=_evidence_label(one, pack, is_public=publish),
            publish=publish,
        )
        for one in pack.lessons
    ]
    return _add_lessons(context, caller, lessons)


def add_starter(context: Context, caller: Caller) -> AddedLessons:
    """Store and publish the starter pack, as far as the account does not have it.

    Raises KeyIsReadOnly, StoreUnavailable, EmbedderUnavailable.
    """
    lessons = [
        Lesson(
            kind=one.kind,
            topic=one.topic,
            essence=one.essence,
            rules=one.rules,
            evidence=one.evidence,
            publish=True,
        )
        for one in load_starter()
    ]
    return _add_lessons(context, caller, lessons)


def _add_lessons(context: Context, caller: Caller, lessons: Sequence[Lesson]) -> AddedLessons:
    require_write(caller)

    def known_texts(tx: Transaction) -> dict[LessonTexts, int]:
        return {_texts_of(row): row.id for row in tx.all(SQL.account_texts, after=0)}

    before = context.store.read(known_texts, account_id=caller.account_id)
    newest = max(before.values(), default=0)
    missing = [one for one in lessons if _texts_of(one) not in before]
    prepared = [prepare_cube(context, one) for one in missing]  # slow: outside the transaction

    def store(tx: Transaction) -> list[PreparedCube]:
        # Again, because another import may have run meanwhile, and secrets were masked above.
        existing = set(before)
        existing.update(_texts_of(row) for row in tx.all(SQL.account_texts, after=newest))
        fresh = list(_unknown(prepared, existing))
        for one in fresh:
            store_cube(context, tx, session=None, prepared=one)
        return fresh

    stored = context.store.write(store, account_id=caller.account_id) if prepared else []
    return AddedLessons(
        stored=len(stored),
        published=sum(one.visibility == "published" for one in stored),
        present=len(lessons) - len(stored),
        refused=tuple((one.lesson.topic, why) for one in stored if (why := _refusal(one))),
    )


def _refusal(cube: PreparedCube) -> str | None:
    """Return the reason why a private cube may not be published."""
    lesson = cube.lesson
    texts = {"topic": lesson.topic, "essence": lesson.essence, "rules": lesson.rules}
    if cube.visibility == "published":
        return None
    return cube.refused or publishing.refusal({**texts, "evidence": lesson.evidence})


def _unknown(
    prepared: Iterable[PreparedCube], existing: set[LessonTexts]
) -> Iterator[PreparedCube]:
    """Yield the cubes with other texts than the existing ones, and add theirs to these."""
    for one in prepared:
        texts = _texts_of(one.lesson)
        if texts not in existing:
            existing.add(texts)
            yield one


def _texts_of(lesson: Lesson | StarterLesson | Row) -> LessonTexts:
    return lesson_texts(lesson.topic, lesson.essence, lesson.rules)


def _cubes(records: Records, caller: Caller, status: str | None) -> list[Row]:
    return records.store.read(
        lambda tx: tx.all(SQL.account_cubes, status=status), account_id=caller.account_id
    )


def _proofs() -> dict[LessonTexts, PackProof]:
    """Return the programs that prove the lessons of the starter pack."""
    return {
        _texts_of(one): PackProof(fails=one.fails, error=one.error, passes=one.passes)
        for one in load_starter()
    }


def _pack_lesson(row: Row, proofs: dict[LessonTexts, PackProof]) -> PackLesson:
    """Return a cube as a line of a pack. Raises ValidationError if an import would refuse it."""
    label = visible_evidence(row.evidence, is_own=False)
    kind: EvidenceKind = "label" if label == row.evidence else "event"
    proof = proofs.get(_texts_of(row)) if row.evidence == EVIDENCE else None
    return PackLesson(
        cube_id=row.cube_id,
        kind=row.kind,
        topic=row.topic,
        essence=row.essence,
        rules_markdown=row.rules,
        evidence_kind=kind if proof is None else "reproduced",
        evidence=label,
        record=PackRecord(
            useful=row.useful,
            useless=row.useless,
            status=row.status,
            helped=row.helped,
            failed=row.failed,
        ),
        proof=proof,
    )


def _evidence_label(lesson: PackLesson, pack: Pack, *, is_public: bool) -> str:
    """Return the evidence of an imported lesson: its own, its origin, and its record there."""
    record = lesson.record
    votes, turns = record.useful + record.useless, record.helped + record.failed
    parts = [f"pack {pack.name} signed by {pack.key_id}"]
    if votes:
        parts.append(f"useful to {record.useful} of {votes} accounts")
    if turns:
        parts.append(f"{record.helped} of {turns} turns ended well")
    origin = f" ({', '.join(parts)})"
    most = PUBLISHED_EVIDENCE_CHARACTERS_MAX if is_public else CUBE_EVIDENCE_CHARACTERS_MAX
    return beginning(lesson.evidence, most - len(origin)) + origin

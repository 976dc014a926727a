"""The lessons of an account: their list, and those of the service that it has not yet."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..accounts import require_write
from ..context import Caller, Context, Records
from ..store import Row, Transaction, load_queries
from . import publishing
from .lessons import Lesson, PreparedCube, prepare_cube, store_cube
from .starter import StarterLesson, load_starter

LessonTexts = tuple[str, ...]
SQL = load_queries("remembrancer.cubes", "account_lessons.sql")


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
    return records.store.read(lambda tx: tx.all(SQL.account_cubes), account_id=caller.account_id)


def add_starter(context: Context, caller: Caller) -> AddedLessons:
    """Store and publish the starter pack, as far as the account does not have it.

    A lesson is recognised by its texts. Raises KeyIsReadOnly, StoreUnavailable,
    EmbedderUnavailable.
    """
    require_write(caller)

    def known_texts(tx: Transaction) -> dict[LessonTexts, int]:
        return {_texts_of(row): row.id for row in tx.all(SQL.account_texts, after=0)}

    before = context.store.read(known_texts, account_id=caller.account_id)
    newest = max(before.values(), default=0)
    lessons = load_starter()
    prepared = [  # slow: outside the transaction
        prepare_cube(
            context,
            Lesson(
                kind=one.kind,
                topic=one.topic,
                essence=one.essence,
                rules=one.rules,
                evidence=one.evidence,
                publish=True,
                source="import",
                for_account=True,
            ),
        )
        for one in lessons
        if _texts_of(one) not in before
    ]

    def store(tx: Transaction) -> list[PreparedCube]:
        # Again, because another addition may have run meanwhile.
        existing = set(before)
        existing.update(_texts_of(row) for row in tx.all(SQL.account_texts, after=newest))
        fresh = list(_unknown(prepared, existing))
        for one in fresh:
            store_cube(context, tx, user_id=None, session=None, prepared=one)
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
    """Return the texts of a lesson without differences in case, white space and width (NFKC)."""
    return tuple(
        " ".join(unicodedata.normalize("NFKC", text).casefold().split())
        for text in (lesson.topic, lesson.essence, lesson.rules)
    )

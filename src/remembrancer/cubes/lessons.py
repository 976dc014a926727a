"""Keep a lesson: privately, or for everybody when its author wants that and its text allows it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..accounts import default_user_id, require_write
from ..accounts.idempotency import IdempotentRequest, idempotent
from ..context import Caller, Context
from ..protocol.cubes import CubeCreate, CubeCreated, Visibility
from ..protocol.errors import NotFound
from ..protocol.line import CubeKind
from ..search import EventText, IndexEntry, index_entries
from ..search.text.screening import find_secrets, mask_secrets
from ..store import Transaction, embedder_id, load_queries
from . import publishing

SQL = load_queries("remembrancer.cubes", "cubes.sql")
EVENT_ID = re.compile(r"e_[0-9a-z]{13}")


class EvidenceUnknown(NotFound):
    """The evidence looks like an event_id, but there is no such event in your account. Use one that
    a search or a write returned.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What an agent learned, in its own words."""

    kind: CubeKind
    topic: str
    essence: str
    rules: str
    evidence: str  # an event_id of the author's account, or a label
    publish: bool = False
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCube:
    """A lesson with all that takes time done, for a transaction to keep."""

    lesson: Lesson
    cube_id: str
    derived: IndexEntry
    visibility: Visibility
    refused: str | None  # why it is private although it was to be published


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCube:
    """A lesson that was kept."""

    cube_id: str
    visibility: Visibility
    refused: str | None


def create(
    context: Context, caller: Caller, asked: CubeCreate, given: IdempotentRequest | None = None
) -> CubeCreated:
    """Keep a private lesson; durable, and shown by the account's next search that it bears on, when
    this returns.

    Raises ReadOnly, EvidenceUnknown, IdempotencyKeyReused, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    lesson = Lesson(
        kind=asked.cube_type,
        topic=asked.topic,
        essence=asked.essence,
        rules=asked.rules_markdown,
        evidence=asked.evidence,
        model=asked.model,
    )
    prepared = prepare_cube(context, lesson)

    def keep(tx: Transaction) -> str:
        check_evidence(tx, caller, asked.evidence)
        session = _session(tx, caller, asked.session_id)
        made = store_cube(
            context, tx, account_id=caller.account_id, session=session, prepared=prepared
        )
        return CubeCreated(
            saved=True, cube_id=made.cube_id, visibility="private", cube_status="private"
        ).model_dump_json()

    def write(tx: Transaction) -> str:
        return idempotent(tx, given, context.clock(), lambda: keep(tx))

    return CubeCreated.model_validate_json(context.store.write(write, account_id=caller.account_id))


def prepare_cube(context: Context, lesson: Lesson) -> PreparedCube:
    """Derive what search needs of a lesson and decide whether it may be published. Not for a
    transaction: both take time.

    Raises EmbedderUnavailable.
    """
    refused = publishing.refusal(_texts(lesson)) if lesson.publish else None
    if context.settings.secrets == "mask":
        told = {
            name: mask_secrets(text, find_secrets(text)) for name, text in _texts(lesson).items()
        }
        lesson = replace(
            lesson,
            topic=told["topic"],
            essence=told["essence"],
            rules=told["rules"],
            evidence=told["evidence"],
        )
    return PreparedCube(
        lesson=lesson,
        cube_id=context.ids("c_"),
        derived=index_entries(
            context.embedder, [cube_text(lesson.topic, lesson.essence, lesson.rules)]
        )[0],
        visibility="published" if lesson.publish and refused is None else "private",
        refused=refused,
    )


def store_cube(
    context: Context,
    tx: Transaction,
    *,
    account_id: int,
    session: int | None,
    prepared: PreparedCube,
) -> StoredCube:
    """Write a prepared lesson.

    `session` is the row id of the session it was learned in, if that is known.
    """
    lesson, derived = prepared.lesson, prepared.derived
    row = tx.one(
        SQL.add_cube,
        cube_id=prepared.cube_id,
        account_id=account_id,
        session=session,
        kind=lesson.kind,
        topic=lesson.topic,
        essence=lesson.essence,
        rules=lesson.rules,
        evidence=lesson.evidence,
        model=lesson.model,
        status=prepared.visibility,
        now_ms=context.clock(),
    )
    by = embedder_id(tx, derived.by, make=True)
    tx.run(SQL.add_index, id=row.id, words=derived.words, vectors=derived.vectors, embedder=by)
    return StoredCube(
        cube_id=prepared.cube_id, visibility=prepared.visibility, refused=prepared.refused
    )


def find_equal(
    tx: Transaction, *, account_id: int, session: int, lesson: Lesson
) -> StoredCube | None:
    """The cube that the session made of the same lesson before, if it did."""
    texts = {"topic": lesson.topic, "essence": lesson.essence, "rules": lesson.rules}
    row = tx.one_or_none(SQL.same_cube, account_id=account_id, session=session, **texts)
    return (
        None
        if row is None
        else StoredCube(cube_id=row.cube_id, visibility=_visibility(row.status), refused=None)
    )


def best_cubes(tx: Transaction, *, account_id: int, most: int) -> list[str]:
    """Lessons that every session of an account may begin with, each as one text, most useful first,
    then newest.

    The account's own, those it voted for, and trusted ones; none of a stranger's that nobody has
    tried.
    """
    rows = tx.all(SQL.best_lessons, account_id=account_id, most=most)
    return [f"{row.topic}: {row.essence}\n{row.rules}" for row in rows]


def _visibility(status: str) -> Visibility:
    return "private" if status == "private" else "published"


def check_evidence(tx: Transaction, caller: Caller, evidence: str) -> None:
    """Raises EvidenceUnknown for an event_id that is not of the caller's account, or not of the one
    user a key is pinned to.
    """
    named_id = evidence.strip()
    if not EVENT_ID.fullmatch(named_id):
        return
    event = tx.one_or_none(SQL.event_of_account, event_id=named_id, account_id=caller.account_id)
    if event is None or caller.pinned_user_id not in (None, event.user_id):
        raise EvidenceUnknown


def cube_text(topic: str, essence: str, rules: str) -> EventText:
    """A lesson as search takes it in:

    what it says on one side, its rules on the other. Its time is of no account.
    """
    return EventText(query=f"{topic}. {essence}", response=rules, topic=None, occurred_ms=0)


def _texts(lesson: Lesson) -> dict[str, str]:
    texts = {
        "topic": lesson.topic,
        "essence": lesson.essence,
        "rules": lesson.rules,
        "evidence": lesson.evidence,
    }
    return texts if lesson.model is None else {**texts, "model": lesson.model}


def _session(tx: Transaction, caller: Caller, session_id: str | None) -> int | None:
    """The row id of a session of the caller's own space; None when it was not named, or nothing
    ever happened in it.
    """
    if session_id is None:
        return None
    row = tx.one_or_none(
        SQL.session_of,
        account_id=caller.account_id,
        user_id=default_user_id(caller),
        session_id=session_id,
    )
    return None if row is None else int(row.id)


def erase_all(tx: Transaction, account_id: int) -> int:
    """Erase the lessons of an account, shared ones too, and the words of its votes; how many
    lessons there were.
    """
    for statement in (SQL.erase_ratings_of, SQL.erase_shown_of, SQL.erase_index_of):
        tx.run(statement, account_id=account_id)
    erased = tx.run(SQL.erase_cubes_of, account_id=account_id)
    tx.run(SQL.silence, account_id=account_id)
    tx.run(SQL.revise)
    return erased


def move_evidence(tx: Transaction, account_id: int, old: str, new: str) -> None:
    """Let the account's lessons that rest on one turn rest on another: ids of events."""
    tx.run(SQL.move_evidence, account_id=account_id, old=old, new=new)

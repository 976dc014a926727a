"""Store cubes, privately or published, count the votes on them, and renew their index entries."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from ..accounts import name_session_user, require_write, space_user_id
from ..accounts.idempotency import IdempotentRequest, write_once
from ..context import Caller, Context
from ..protocol.cubes import CubeMade, CubeStatus, CubeVote, CubeVoted, Visibility, Votes
from ..protocol.errors import NotFound
from ..protocol.line import CubeKind
from ..protocol.recalled import marked
from ..protocol.service_keys import mask_service_keys, service_key_warning
from ..protocol.trust import RANKS, SOURCES, TextSource
from ..screening import find_secrets, mask_secrets
from ..search import EventText, IndexEntry, analysis_id, index_entries
from ..store import Row, Transaction, embedder_id, load_queries
from ..store.rows import columns_of
from . import publishing
from .rules import status_of

SQL = load_queries("remembrancer.cubes", "cubes.sql")
EVENT_ID = re.compile(r"e_[0-9a-z]{13}")
_AUTHORS_EVENT = "an event of its author"
_NAMED_IDS = re.compile(rf"(?<![0-9A-Za-z_]){EVENT_ID.pattern}(?![0-9A-Za-z_])")
# A search waits for their embedding, tens of milliseconds at most.
RENEWED_PER_STEP = 16


class EvidenceUnknown(NotFound):
    """The evidence names an event_id, but your account has no such event. Use one that a search or
    a write returned, or a label without an event_id.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson in the words of its agent."""

    kind: CubeKind
    topic: str
    essence: str
    rules: str
    evidence: str  # an event_id of the author's account, or a label
    publish: bool = False
    model: str | None = None
    source: TextSource = "model"
    for_account: bool = False  # while it is private, all users of the account see it

    @property
    def texts(self) -> dict[str, str]:
        """Its texts, by the names of publishing.BOUNDS."""
        texts = {name: getattr(self, name) for name in ("topic", "essence", "rules", "evidence")}
        return texts if self.model is None else {**texts, "model": self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCube:
    """A cube whose slow preparation is done, ready to be stored in a transaction."""

    lesson: Lesson
    cube_id: str
    entry: IndexEntry
    refused: str | None  # why it was not published as requested
    notice: str | None = None  # about a key in its texts

    @property
    def status(self) -> CubeStatus:
        """The status to store it with."""
        return "published" if self.lesson.publish and self.refused is None else "private"

    @property
    def visibility(self) -> Visibility:
        """Its readers with that status."""
        return _visibility(self.status, is_for_account=self.lesson.for_account)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCube:
    """A stored cube."""

    cube_id: str
    visibility: Visibility
    refused: str | None
    row: int = 0  # row id
    merged_into: str | None = None  # the cube_id that is served in its place
    notice: str | None = None  # what became of a cube that says the same

    @property
    def message(self) -> CubeMade:
        """The part of an answer about it."""
        return CubeMade(
            cube_id=self.cube_id, visibility=self.visibility, merged_into=self.merged_into
        )


def prepare_cube(context: Context, lesson: Lesson) -> PreparedCube:
    """Compute the index entry of a cube, and decide whether it may be published.

    Call it outside of transactions: both are slow. Raises EmbedderUnavailable.
    """
    texts = lesson.texts
    refused = publishing.refusal(texts) if lesson.publish else None
    notice = service_key_warning(*texts.values())
    masked: dict[str, Any] = {name: mask_service_keys(text) for name, text in texts.items()}
    if context.settings.secrets == "mask":
        masked = {name: mask_secrets(text, find_secrets(text)) for name, text in masked.items()}
    lesson = replace(lesson, **masked)
    text = cube_text(lesson.topic, lesson.essence, lesson.rules)
    return PreparedCube(
        lesson=lesson,
        cube_id=context.ids("c_"),
        entry=index_entries(context.writer, [text])[0],
        refused=refused,
        notice=notice,
    )


def store_cube(
    context: Context,
    tx: Transaction,
    *,
    user_id: str | None,
    session: int | None,
    prepared: PreparedCube,
    expires_ms: int | None = None,
) -> StoredCube:
    """Store a prepared cube.

    `user_id` is the user whose cube it is, and `session` the row id of the session that created it,
    if known. It is erased at `expires_ms` (ms since 1970).
    """
    row = insert_cube(
        tx,
        prepared,
        user_id=user_id,
        session=session,
        status=prepared.status,
        created_ms=context.clock(),
        expires_ms=expires_ms,
    )
    return StoredCube(
        cube_id=prepared.cube_id,
        visibility=prepared.visibility,
        refused=prepared.refused,
        row=row,
    )


def insert_cube(
    tx: Transaction,
    prepared: PreparedCube,
    *,
    user_id: str | None,
    session: int | None,
    status: CubeStatus,
    created_ms: int,
    expires_ms: int | None,
) -> int:
    """Store the row of a cube and its index entry; return its row id. `session` is a row id."""
    lesson, entry = prepared.lesson, prepared.entry
    row = tx.one(
        SQL.add_cube,
        cube_id=prepared.cube_id,
        user_id=user_id,
        session=session,
        status=status,
        now_ms=created_ms,
        expires_ms=expires_ms,
        **columns_of(lesson),
    )
    embedder = embedder_id(tx, entry.by, make=True)
    tx.run(SQL.add_index, id=row.id, words=entry.words, vectors=entry.vectors, embedder=embedder)
    return int(row.id)


def find_equal(tx: Transaction, *, session: int, lesson: Lesson) -> StoredCube | None:
    """Return the identical cube that the session created before, if any."""
    texts = {"topic": lesson.topic, "essence": lesson.essence, "rules": lesson.rules}
    row = tx.one_or_none(SQL.same_cube, session=session, **texts)
    if row is None:
        return None
    return StoredCube(cube_id=row.cube_id, visibility=visibility_of(row), refused=None)


def best_cubes(tx: Transaction, *, user_id: str, most: int) -> list[str]:
    """Return cubes for the start of any session of a user, each as one text, most useful first.

    The user's own and the account's cubes, those the user rated useful, and trusted ones, but none
    that the user rated otherwise.
    """
    rows = tx.all(SQL.best_cubes, user_id=user_id, most=most)
    return [marked(f"{row.topic}: {row.essence}\n{row.rules}", SOURCES[row.source]) for row in rows]


def visibility_of(row: Row) -> Visibility:
    """Return who sees a cube; `row` has status and for_account."""
    return _visibility(row.status, is_for_account=bool(row.for_account))


def _visibility(status: CubeStatus, *, is_for_account: bool) -> Visibility:
    if status != "private":
        return "published"
    return "account" if is_for_account else "private"


def check_evidence(
    tx: Transaction, caller: Caller, evidence: str, source: TextSource
) -> TextSource:
    """Return the source of a lesson that somebody draws from its evidence, a text.

    It is the least trusted of `source` and the events that the text names. Raises EvidenceUnknown
    for an event_id that the caller may not read.
    """
    places = [RANKS[source]]
    for event_id in dict.fromkeys(_NAMED_IDS.findall(evidence)):
        event = tx.one_or_none(SQL.event_of_account, event_id=event_id)
        if event is None or caller.pinned_user_id not in (None, event.user_id):
            raise EvidenceUnknown
        places += event.query_source, event.response_source
    return SOURCES[max(places)]


def visible_evidence(evidence: str, *, is_own: bool) -> str:
    """Return the evidence of a cube as a user may see it: event ids are its author's alone."""
    return evidence if is_own else _NAMED_IDS.sub(_AUTHORS_EVENT, evidence)


def cube_text(topic: str, essence: str, rules: str) -> EventText:
    """Return the text of a cube for search: topic and essence on one side, rules on the other.

    Its time is not used.
    """
    return EventText(query=f"{topic}. {essence}", response=rules, topic=None, occurred_ms=0)


def erase_all(context: Context, tx: Transaction) -> int:
    """Erase the cubes of the account, shared ones too, and the reasons and users of its votes.

    Returns the number of cubes.
    """
    for statement in (
        SQL.separate_all_of,
        SQL.erase_ratings_of,
        SQL.erase_shown_of,
        SQL.erase_index_of,
    ):
        tx.run(statement)
    erased = tx.run(SQL.erase_cubes_of)
    for voter in tx.all(SQL.voters):
        anonymize_votes(context, tx, voter.user_id)
    tx.run(SQL.revise)
    return erased


def erase_cube(tx: Transaction, cube: int) -> None:
    """Erase one cube of the account (its row id), with its votes."""
    for statement in (
        SQL.separate,
        SQL.erase_ratings_of_cube,
        SQL.erase_shown_of_cube,
        SQL.erase_index_of_cube,
        SQL.erase_cube,
    ):
        tx.run(statement, id=cube)
    tx.run(SQL.revise)


def erase_private(tx: Transaction, user_id: str) -> int:
    """Erase the private cubes of a user and return their number; others lose the user's name."""
    private = tx.all(SQL.private_of, user_id=user_id)
    for row in private:
        erase_cube(tx, row.id)
    tx.run(SQL.forget_author, user_id=user_id)
    return len(private)


def anonymize_votes(context: Context, tx: Transaction, user_id: str) -> None:
    """Erase the name of a user from its votes, and the reasons. The votes still count.

    Votes are kept because accounts share their result: otherwise forgetting a user could make a
    retired cube return to all accounts. Each forgotten user gets a random name, so that an
    account's majority stays the same. Ratings that count nowhere are erased: 0, and those of the
    account's own cubes.
    """
    tx.run(SQL.erase_uncounted_ratings, user_id=user_id)
    tx.run(SQL.anonymize_ratings, user_id=user_id, tombstone=context.ids("erased_"))


class CubeUnknown(NotFound):
    """There is no such cube, or it is another user's private cube. Use a cube_id that a search
    returned.
    """


def vote(
    context: Context,
    caller: Caller,
    request: CubeVote,
    idempotency: IdempotentRequest | None = None,
) -> CubeVoted:
    """Rate a cube that the user can see, replacing the user's previous rating.

    An account counts once, for the side of most of its users; a tie counts for neither. Votes of
    the author's account are stored but not counted. Searches no longer return the cube to a user
    who rated it -1. Raises KeyIsReadOnly, PinnedToOtherUser, CubeUnknown, IdempotencyKeyReused,
    StoreUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, request.user_id)
    now_ms = context.clock()

    def count(tx: Transaction) -> CubeVoted:
        cube = tx.one_or_none(SQL.visible, cube_id=request.cube_id, user_id=user_id)
        if cube is None:
            raise CubeUnknown
        tx.run(
            SQL.rate,
            cube=cube.id,
            user_id=user_id,
            vote=request.vote,
            reason=None if request.reason is None else mask_service_keys(request.reason),
            now_ms=now_ms,
        )
        counts, status = count_votes(tx, cube.id)
        reminder = name_session_user(tx, caller, user_id, request.session_id, now_ms)
        uncounted = _why_uncounted(tx, cube.id, request.vote)
        notices = (uncounted, service_key_warning(request.reason), reminder())
        votes = Votes(useful=counts.useful, useless=counts.useless)
        return CubeVoted(
            voted=True,
            cube_id=request.cube_id,
            user_id=user_id,
            cube_status=status,
            votes=votes,
            detail=" ".join(filter(None, notices)) or None,
        )

    return write_once(context, caller.account_id, idempotency, CubeVoted, count)


OWN_VOTE = "It does not count: the cube is of your own account."
SAME_ACCOUNT = (
    "It changes no count: an account counts once, for the side of most of its users, and other "
    "users of your account have voted."
)


def _why_uncounted(tx: Transaction, cube: int, vote: int) -> str | None:
    """Return why a stored vote on a cube (its row id) changes no count; None if it does."""
    row = tx.one(SQL.votes_of_account, cube=cube)
    if row.is_own:
        return OWN_VOTE
    # The side of the account: that of its sum; a tie is none.
    is_decided = row.total == 0 or row.total * (row.total - vote) > 0
    return SAME_ACCOUNT if row.voters > 1 and is_decided else None


def count_votes(tx: Transaction, cube: int) -> tuple[Row, CubeStatus]:
    """Count the votes on a cube (its row id) and set its status.

    Returns a row with useful and useless, and the status.
    """
    # Always counted from the ratings: incremented counters drift under concurrent writes.
    counts = tx.one(SQL.recount, id=cube)
    status: CubeStatus = (
        "private" if counts.status == "private" else status_of(counts.useful, counts.useless)
    )
    if status != counts.status:
        tx.run(SQL.set_status, id=cube, status=status)
    return counts, status


def reindex_cubes(context: Context) -> bool:
    """Renew one batch of stale cubes; return False if there was none.

    Raises StoreUnavailable, EmbedderUnavailable.
    """
    analysis = analysis_id(context.embedder)

    def find_stale(tx: Transaction) -> list[Row]:
        return tx.all(
            SQL.stale, embedder=embedder_id(tx, analysis, make=False), most=RENEWED_PER_STEP
        )

    stale = context.store.read(find_stale)
    if not stale:
        return False
    entries = index_entries(
        context.embedder,
        [cube_text(row.topic, row.essence, row.rules) for row in stale],
        needs_vectors=True,
    )

    def write(tx: Transaction) -> None:
        number = embedder_id(tx, analysis, make=True)
        for row, entry in zip(stale, entries, strict=True):
            tx.run(
                SQL.set_index, id=row.id, words=entry.words, vectors=entry.vectors, embedder=number
            )
        # The last batch increases the revision in its own transaction, so that no index stays
        # behind the rows.
        if not tx.all(SQL.stale, embedder=number, most=1):
            tx.run(SQL.revise)

    # Not flushed: a batch that a power cut loses is renewed again.
    context.store.write(write, flush=False)
    return True

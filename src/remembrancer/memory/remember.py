"""Remember a turn and its parts: summaries, a critical fact, a cube, duties."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .. import cubes
from ..accounts import (
    name_session_user,
    require_write,
    session_user,
    space_user_id,
    user_reminder,
)
from ..accounts.idempotency import IdempotentRequest, write_once
from ..context import Caller, Context
from ..protocol import limits
from ..protocol.cubes import CubeMade
from ..protocol.errors import InvalidRequest
from ..protocol.memory import Receipt, Remembered, Turn
from ..protocol.notices import is_notice
from ..protocol.sources import USUAL, TurnSource
from ..protocol.text import is_placeholder, says_nothing
from ..protocol.trust import TextSource, least
from ..search import EventText, IndexEntry, index_entries
from ..store import Row, Transaction
from .duties import is_l1_due, is_l2_due
from .facts.life import NewFact, current_fact, store_fact
from .history.forget import Replacement, replace_turn, supersede_draft
from .intake import Intake
from .layers import layer_text
from .projects import metadata_of_statement
from .spaces import SQL, ErasedEvents, future_ms, milliseconds, offset_minutes, update_index
from .summaries.l1 import store_l1
from .summaries.maps import store_agents_map
from .tasks import end_tasks, open_task
from .write.turns import (
    IncomingTurn,
    ReadTurn,
    open_place,
    read_turns,
    store_turn,
    with_spoken,
)

# --- Prepare the parts of a turn before its transaction: screen their texts and embed them ---

# Evidence label of a cube that was sent without a turn and without evidence.
NO_EVIDENCE = "told by the agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedParts:
    """The parts to write, prepared before the transaction because models are slow."""

    turn: IncomingTurn  # of no user yet
    read: ReadTurn | None  # None: it has no text
    texts: dict[str, str | None]  # of `l1_summary`, `l2_map`, `critical` and `duty`
    cube: cubes.PreparedCube | None
    layer_entries: dict[str, IndexEntry]  # of the texts for layers, by part
    named_ms: int | None  # the time of the turn, if the request names one
    cube_expires_ms: int | None
    notices: dict[str, str]  # by part
    echoed_parts: frozenset[str]  # parts that contained only text of this service


def prepare_parts(context: Context, turn: Turn) -> PreparedParts:
    """Screen and embed the parts of a turn. Raises TimeNotInFuture, EmbedderUnavailable."""
    expires_ms = future_ms(context, turn.expires_at)
    cube_expires_ms = future_ms(context, turn.cube_expires_at, field="cube_expires_at")
    notices: dict[str, str] = {}
    echoed_parts: set[str] = set()

    def screen(part: str, *texts: str | None) -> list[str | None]:
        intake = Intake(settings=context.settings)
        stored = [intake.take_if(text) for text in texts]
        if intake.notice:
            notices[part] = intake.notice
        if intake.echoed_characters and not any(stored):
            echoed_parts.add(part)
        flags.update({part: intake.flags})
        return stored

    flags: dict[str, tuple[str, ...]] = {}
    query, response, topic = screen("turn", turn.query, turn.response, turn.topic)
    said = {
        "l1_summary": None if is_placeholder(turn.l1_summary) else turn.l1_summary,
        "l2_map": None if is_placeholder(turn.l2_map) else turn.l2_map,
        "critical": None if _is_no_fact(turn.critical) else turn.critical,
        "duty": turn.duty_reason,
    }
    texts = {part: screen(part, text)[0] for part, text in said.items()}
    intake = Intake(settings=context.settings)
    metadata = intake.take_metadata(turn.metadata)
    if intake.notice:
        notices["turn"] = " ".join(filter(None, (notices.get("turn"), intake.notice)))
    text = EventText(
        query=query or "",
        response=response or "",
        topic=topic,
        occurred_ms=milliseconds(turn.occurred_at, context.clock()),
    )
    incoming = IncomingTurn(
        user_id=None,
        session_id=turn.session_id,
        text=with_spoken(text),
        offset_minutes=offset_minutes(turn.occurred_at),
        expires_ms=expires_ms,
        source=turn.source,
        metadata=metadata,
        flags=flags["turn"],
    )
    cube = _prepare_cube(context, turn) if turn.has_cube else None
    if cube is not None and cube.notice:
        notices["cube"] = cube.notice
    return PreparedParts(
        turn=incoming,
        read=read_turns(context, [incoming])[0] if query or response else None,
        texts=texts,
        cube=cube,
        layer_entries=_layer_entries(context, topic, texts),
        named_ms=None if turn.occurred_at is None else milliseconds(turn.occurred_at, 0),
        cube_expires_ms=cube_expires_ms,
        notices=notices,
        echoed_parts=frozenset(echoed_parts),
    )


def _is_no_fact(text: str | None) -> bool:
    """Return True if a critical fact says that there is none, or is a machine notice."""
    return is_placeholder(text) or (text is not None and is_notice(text))


def _layer_entries(
    context: Context, topic: str | None, texts: dict[str, str | None]
) -> dict[str, IndexEntry]:
    layers = {part: text for part, text in texts.items() if text is not None and part != "duty"}
    entries = index_entries(
        context.writer,
        [
            layer_text(text, topic if part == "l1_summary" else None)
            for part, text in layers.items()
        ],
    )
    return dict(zip(layers, entries, strict=True))


def _prepare_cube(context: Context, turn: Turn) -> cubes.PreparedCube:
    lesson = cubes.Lesson(
        kind=turn.cube_type or turn.kind or "fact",
        topic=turn.cube_topic or "",
        essence=turn.cube_essence or "",
        rules=turn.cube_rules or "",
        evidence=NO_EVIDENCE if is_placeholder(turn.cube_evidence) else turn.cube_evidence or "",
        publish=turn.cube_publish,
        model=None if is_placeholder(turn.model) else turn.model,
        for_account=turn.cube_visibility == "account",
    )
    return cubes.prepare_cube(context, lesson)


# --- Remember a turn and its parts: summaries, a critical fact, a cube, duties ---------------
# Each part gets a receipt: stored, already known, or skipped with a reason.

_DUPLICATE_MS = limits.DEDUPE_MINUTES * 60_000


def remember(
    context: Context, caller: Caller, turn: Turn, idempotency: IdempotentRequest | None = None
) -> Remembered:
    """Store a turn and its parts in one transaction: all or nothing.

    Durable and searchable on return. Raises KeyIsReadOnly, PinnedToOtherUser, TimeNotInFuture,
    NothingToSummarise, NotFound for evidence that the caller may not read, IdempotencyKeyReused,
    StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    space_user_id(caller, turn.user_id)  # first: an invalid one is refused before any work
    if caller.member is not None and (turn.has_cube or turn.duty is not None):
        raise NotInTeam
    parts = prepare_parts(context, turn)

    erased: list[ErasedEvents | None] = []

    def write_parts(tx: Transaction) -> Remembered:
        user_id, chosen_from = session_user(tx, caller, turn.user_id, turn.session_id)
        writing = _TurnWrite(context, tx, caller, user_id, chosen_from, turn, parts)
        answer = writing.answer()
        erased[:] = writing.erased
        return answer

    answer = write_once(context, caller.account_id, idempotency, Remembered, write_parts)
    update_index(context, erased)
    return answer


class NotInTeam(InvalidRequest):
    """Cubes and duties belong to your own account. Send them without `team`."""


@dataclass(slots=True)
class _TurnWrite:
    """One call of `remember` inside its transaction."""

    context: Context
    tx: Transaction
    caller: Caller
    user_id: str
    chosen_from: Row | None  # the users of the session, if the request names none of two
    turn: Turn
    parts: PreparedParts
    receipts: list[Receipt] = field(default_factory=list)
    event_id: str | None = None
    event_row: int | None = None
    erased: list[ErasedEvents | None] = field(default_factory=list)
    is_withdrawn: bool = False  # the user asked not to remember the turn

    def answer(self) -> Remembered:
        """Write every part and return the answer."""
        now_ms = self.context.clock()
        named = None
        if self.turn.user_id is not None:
            named = name_session_user(
                self.tx, self.caller, self.user_id, self.turn.session_id, now_ms
            )
        session = self._store_turn(now_ms)
        self._store_summaries(session)
        self._store_fact(session)
        cube = self._store_cube(session.space_id)
        self._close_duty(session, now_ms)
        self._note_task(session)
        if {"l1_summary", "l2_map"} & self.parts.layer_entries.keys() or any(self.erased):
            session = self.tx.one(SQL.session_state, session=session.id)
        owes = self.caller.has_protocol
        reminder = named() if named is not None else None
        if self.chosen_from is not None:
            reminder = user_reminder(self.chosen_from, self.user_id, self.turn.session_id, now_ms)
        return Remembered(
            saved=any(receipt.outcome != "skipped" for receipt in self.receipts),
            event_id=self.event_id,
            user_id=self.user_id,
            step=session.step if owes else 0,
            cube=cube,
            l1_due=owes and is_l1_due(session.turns - session.turns_summarised),
            l2_due=owes and is_l2_due(session.l1_count, session.l1_mapped),
            receipts=self.receipts,
            reminders=[reminder] if reminder and owes else None,
        )

    def _add_receipt(
        self, part: str, outcome: str, id: str | None = None, detail: str | None = None
    ) -> None:
        sentences = " ".join(filter(None, (detail, self.parts.notices.get(part)))) or None
        fields = {"part": part, "outcome": outcome, "id": id, "detail": sentences}
        self.receipts.append(Receipt.model_validate(fields))

    def _skip(self, part: str) -> None:
        text = getattr(self.turn, part, None)
        reason = "It says that there is nothing to store."
        if says_nothing(text):
            reason = "It is blank."
        elif text is not None and is_notice(text):
            reason = "It is a machine notice."
        self._add_receipt(
            part, "skipped", detail=None if part in self.parts.echoed_parts else reason
        )

    def _store_turn(self, now_ms: int) -> Row:
        """Store the turn, if there is one; return its session."""
        read, old = self.parts.read, self.turn.replaces
        if read is None:
            if self.turn.has_turn:
                self._skip("turn")
            if old is not None:
                detail = "The request has no turn to replace it with."
                self._add_receipt("replaces", "skipped", old, detail)
            address = {"user_id": self.user_id, "session_id": self.turn.session_id}
            return open_place(self.context, self.tx, **address)
        stored = store_turn(
            self.context,
            self.tx,
            replace(self.parts.turn, user_id=self.user_id),
            read,
            member=self.caller.member,
            in_protocol=self.caller.has_protocol,
            named_ms=self.parts.named_ms,
            since_ms=now_ms - _DUPLICATE_MS,
        )
        session, self.event_id, self.event_row = stored.session, stored.event_id, stored.row
        if stored.is_known:
            if self.caller.has_protocol:
                self.tx.later(SQL.note_remembered, session=session.id)
            detail = f"The same turn was stored less than {limits.DEDUPE_MINUTES} minutes ago."
            self._add_receipt("turn", "known", stored.event_id, detail)
        else:
            self.erased.append(stored.links.erased)
            self.is_withdrawn = stored.links.is_withdrawn
            notices = filter(None, (self._supersede_drafts(session), stored.links.notice))
            self._add_receipt("turn", "stored", stored.event_id, " ".join(notices) or None)
        if old is not None and self.event_id != old:
            revision = Replacement(stored.event_id, stored.row, session.id)
            self.erased.append(replace_turn(self.tx, self.caller, old, revision))
            self._add_receipt("replaces", "erased", old)
        return session

    def _supersede_drafts(self, session: Row) -> str | None:
        """Let this turn take the place of earlier answers to its message at its step.

        Return a notice, or None if there is no draft. Without a search there is no step to tell
        a revision from a new turn.
        """
        text = self.parts.turn.text
        if not session.has_drafts or not text.query.strip():
            return None
        assert self.event_id
        assert self.event_row
        revision = Replacement(self.event_id, self.event_row, session.id)
        drafts = [
            draft
            for draft in self.tx.all(
                SQL.drafts_of_step,
                session=session.id,
                step=session.step,
                query=text.query,
                id=self.event_row,
            )
            if draft.event_id != self.turn.replaces  # erased below
        ]
        for draft in drafts:
            self.erased.append(supersede_draft(self.tx, draft, revision))
        if not drafts:
            return None
        ids = ", ".join(draft.event_id for draft in drafts)
        return (
            f"It supersedes {ids}, an earlier answer to this message at this step. That is no "
            "longer found by searches and stays readable by its id."
        )

    def _store_summaries(self, session: Row) -> None:
        texts, entries = self.parts.texts, self.parts.layer_entries
        if texts["l1_summary"] is not None:
            l1 = store_l1(
                self.context,
                self.tx,
                space_id=session.space_id,
                session=session.id,
                text=texts["l1_summary"],
                entry=entries["l1_summary"],
                topic=self.parts.turn.text.topic,
                message_count=None,
            )
            self._add_receipt(
                "l1_summary", "known" if l1.is_known else "stored", l1.l1_id, l1.warning
            )
        elif self.turn.l1_summary is not None:
            self._skip("l1_summary")
        if texts["l2_map"] is not None:
            sent = store_agents_map(
                self.context,
                self.tx,
                space_id=session.space_id,
                text=texts["l2_map"],
                entry=entries["l2_map"],
            )
            self._add_receipt(
                "l2_map", "known" if sent.is_known else "stored", str(sent.version), sent.warning
            )
        elif self.turn.l2_map is not None:
            self._skip("l2_map")

    @property
    def _source(self) -> TextSource:
        """The source of what the model derives from the turn."""
        sides = self.turn.source if self.parts.read is None else self.parts.read.source
        known = sides if isinstance(sides, TurnSource) else USUAL
        return least("model", known.query, known.response)

    def _store_fact(self, session: Row) -> None:
        text = self.parts.texts["critical"]
        if text is None:
            if self.turn.critical is not None:
                self._skip("critical")
            elif self.turn.critical_replaces is not None:
                detail = "critical_replaces names a fact, but there is no critical to replace it."
                self._add_receipt("critical", "skipped", detail=detail)
            return
        if self.is_withdrawn:
            detail = "The user took this message back or asked not to remember it."
            self._add_receipt("critical", "skipped", detail=detail)
            return
        replaces = current_fact(self.tx, self.caller, self.turn.critical_replaces, session.space_id)
        now_ms = self.context.clock()
        fact = NewFact(
            text=text,
            entry=self.parts.layer_entries["critical"],
            source=self._source,
            # A client's clock may be ahead; what it states now holds now.
            valid_from_ms=min(milliseconds(self.turn.occurred_at, now_ms), now_ms),
            session=session.id,
            event=self.event_row,
            expires_ms=self.parts.turn.expires_ms,
            metadata=metadata_of_statement(self.parts.turn.metadata, text),
        )
        stored = store_fact(
            self.context, self.tx, self.caller, session.space_id, fact, replaces=replaces
        )
        self._add_receipt(
            "critical", "known" if stored.is_known else "stored", stored.fact_id, stored.notice
        )

    def _store_cube(self, space_id: int) -> CubeMade | str:
        prepared = self.parts.cube
        if prepared is None:
            if any(text is not None for text in self.turn.cube_texts):
                detail = "Its texts are blank or say that there is nothing to store."
                self._add_receipt("cube", "skipped", detail=detail)
            return (
                f"none: {self.parts.texts['duty'] or ''}"
                if self.turn.duty == "cube_nothing"
                else "none was proposed"
            )
        # Read again, because the turn was just counted.
        session = self.tx.one(SQL.session_of, space_id=space_id, session_id=self.turn.session_id)
        evidence = prepared.lesson.evidence
        source = cubes.check_evidence(self.tx, self.caller, evidence, self._source)
        existing = cubes.find_equal(self.tx, session=session.id, lesson=prepared.lesson)
        if existing is not None:
            self._add_receipt("cube", "known", existing.cube_id)
            return existing.message
        if not cubes.may_propose(session.turns, session.cube_turn):
            reason = (
                f"A session can create one cube every {limits.TURNS_PER_CUBE_MIN} turns. "
                "Propose it again later."
            )
            self._add_receipt("cube", "skipped", detail=reason)
            return reason
        lesson = replace(prepared.lesson, source=source)
        if self.event_id and lesson.evidence == NO_EVIDENCE:
            lesson = replace(lesson, evidence=self.event_id)
        prepared = replace(prepared, lesson=lesson)
        stored = cubes.propose(
            self.context,
            self.tx,
            self.caller,
            prepared,
            user_id=self.user_id,
            session=session.id,
            improves=self.turn.cube_improves,
            expires_ms=self.parts.cube_expires_ms,
        )
        self.tx.later(SQL.note_cube, session=session.id)
        notices = " ".join(filter(None, (stored.refused, stored.notice)))
        self._add_receipt("cube", "stored", stored.cube_id, notices or None)
        return stored.message

    def _close_duty(self, session: Row, now_ms: int) -> None:
        if self.turn.duty is None:
            return
        reason = self.parts.texts["duty"] or ""
        self.tx.later(
            SQL.close_duty,
            session=session.id,
            step=session.step,
            duty=self.turn.duty,
            reason=reason,
            now_ms=now_ms,
        )
        if self.turn.duty == "cube_nothing":
            self.tx.later(SQL.close_cube_duty, session=session.id)
            self._add_receipt("duty", "stored", detail="No cube was created from this turn.")
            return
        rated = cubes.close_ratings(self.tx, session=session.id, reason=reason, now_ms=now_ms)
        self._add_receipt(
            "duty",
            "stored",
            detail=f"Rated 0: {', '.join(rated)}."
            if rated
            else "No cube of this session was waiting for a rating.",
        )

    def _note_task(self, session: Row) -> None:
        """Open a task with this turn, or end what is done."""
        message = self.parts.turn.text.query
        if self.turn.task_done is False and self.event_id is not None:
            open_task(self.tx, session.id, self.event_id, message)
        if not self.turn.task_done:
            return
        others = end_tasks(
            self.context,
            self.tx,
            space_id=session.space_id,
            session=session.id,
            session_id=self.turn.session_id,
            task_id=self.turn.task_id,
            message=message,
        )
        detail = f"Tasks of other sessions are finished: {', '.join(others)}." if others else None
        self._add_receipt("task_done", "stored", detail=detail)

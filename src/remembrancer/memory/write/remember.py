"""Remember a turn with whatever the agent learned from it:

each part kept, known already, or left out for a reason that is told.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ... import cubes
from ...accounts import require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, idempotent
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.cubes import CubeMade
from ...protocol.memory import Receipt, Remembered, Turn
from ...protocol.text import says_nothing
from ...search import EventText, IndexEntry, index_entries
from ...store import Row, Transaction
from ..duties import is_l1_due, is_l2_due
from ..facts import store_fact
from ..history.forget import ErasedEvents, Replacement, replace_turn
from ..spaces import SQL, milliseconds
from ..summaries.l1 import store_l1
from ..summaries.maps import AGENT, newest_version, store_map
from .turns import Intake, SessionAddress, store_turn

# the label of a cube that came without a turn and without evidence
NO_EVIDENCE = "told by the agent"
_RETRIED_MS = limits.DEDUPE_MINUTES * 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedParts:
    """What is to be written, made before the transaction:

    models are slow and the write lock is not ours to hold.
    """

    said: EventText | None
    derived: IndexEntry | None
    l1: str | None
    map: str | None
    fact: str | None
    cube: cubes.PreparedCube | None
    noticed: dict[str, str]  # by part
    only_ours: frozenset[str]  # parts that were nothing but text of this service


def remember(
    context: Context, caller: Caller, turn: Turn, given: IdempotentRequest | None = None
) -> Remembered:
    """Keep a turn and its parts in one transaction: all or nothing. Durable and searchable when it
    returns.

    Raises Forbidden for a read-only key or a pinned one with another user_id, NothingToSummarise,
    NotFound for evidence that is not the caller's, Conflict when the Idempotency-Key was used with
    another body, StoreUnavailable, EmbedderUnavailable.
    """
    require_write(caller)
    user_id = space_user_id(caller, turn.user_id)
    parts = _prepare(context, turn)

    erased: list[ErasedEvents] = []

    def make(tx: Transaction) -> str:
        writing = _Writing(context, tx, caller, user_id, turn, parts)
        answer = writing.answer().model_dump_json()
        erased[:] = [writing.erased] if writing.erased else []
        return answer

    answer = context.store.write(
        lambda tx: idempotent(tx, given, context.clock(), lambda: make(tx)),
        account_id=caller.account_id,
    )
    for gone in erased:
        context.index_cache.erase(gone.space_id, gone.numbers, revision=gone.revision)
    return Remembered.model_validate_json(answer)


def _prepare(context: Context, turn: Turn) -> PreparedParts:
    noticed: dict[str, str] = {}
    only_ours: set[str] = set()

    def take(part: str, *texts: str | None) -> list[str | None]:
        intake = Intake(settings=context.settings)
        taken = [intake.take_if(text) for text in texts]
        if intake.noticed:
            noticed[part] = intake.noticed
        if intake.given_back and not any(text and text.strip() for text in taken):
            only_ours.add(part)
        flags.update({part: intake.flags})
        return taken

    flags: dict[str, tuple[str, ...]] = {}
    query, response, topic = take("turn", turn.query, turn.response, turn.topic)
    said = derived = None
    if query or response:
        occurred_ms = milliseconds(turn.occurred_at, context.clock())
        said = EventText(
            query=query or "", response=response or "", topic=topic, occurred_ms=occurred_ms
        )
        derived = index_entries(context.embedder, [said])[0]
        derived = replace(derived, flags=derived.flags + flags["turn"])
    [l1], [l2], [fact] = (
        take("l1_summary", turn.l1_summary),
        take("l2_map", turn.l2_map),
        take("critical", turn.critical),
    )
    return PreparedParts(
        said=said,
        derived=derived,
        l1=l1,
        map=l2,
        fact=fact,
        cube=_proposed(context, turn) if turn.has_cube else None,
        noticed=noticed,
        only_ours=frozenset(only_ours),
    )


def _proposed(context: Context, turn: Turn) -> cubes.PreparedCube:
    lesson = cubes.Lesson(
        kind=turn.cube_type or "fact",
        topic=turn.cube_topic or "",
        essence=turn.cube_essence or "",
        rules=turn.cube_rules or "",
        evidence=NO_EVIDENCE if says_nothing(turn.cube_evidence) else turn.cube_evidence or "",
        publish=turn.cube_publish,
        model=None if says_nothing(turn.model) else turn.model,
    )
    return cubes.prepare_cube(context, lesson)


@dataclass(slots=True)
class _Writing:
    """One call of remember, inside its transaction."""

    context: Context
    tx: Transaction
    caller: Caller
    user_id: str
    turn: Turn
    parts: PreparedParts
    receipts: list[Receipt] = field(default_factory=list)
    event_id: str | None = None
    event_row: int | None = None
    erased: ErasedEvents | None = None

    def answer(self) -> Remembered:
        now_ms = self.context.clock()
        space = self.tx.one(
            SQL.open_space, account_id=self.caller.account_id, user_id=self.user_id, now_ms=now_ms
        )
        session = self.tx.one(
            SQL.open_session, space_id=space.id, session_id=self.turn.session_id, now_ms=now_ms
        )
        self._keep_turn(session, now_ms)
        self._keep_summaries(space, session)
        self._keep_fact(space, session)
        cube = self._keep_cube(space.id)
        self._close_duty(session, now_ms)
        self._close_task(session)
        stands = self.tx.one(SQL.standing, session=session.id)
        return Remembered(
            saved=any(receipt.outcome != "skipped" for receipt in self.receipts),
            event_id=self.event_id,
            step=stands.step,
            cube=cube,
            l1_due=is_l1_due(stands.turns, stands.turns_summarised),
            l2_due=is_l2_due(stands.l1_count, stands.l1_mapped),
            receipts=self.receipts,
        )

    def _told(
        self, part: str, outcome: str, id: str | None = None, detail: str | None = None
    ) -> None:
        told = " ".join(text for text in (detail, self.parts.noticed.get(part)) if text) or None
        self.receipts.append(
            Receipt.model_validate({"part": part, "outcome": outcome, "id": id, "detail": told})
        )

    def _skipped(self, part: str) -> None:
        self._told(
            part, "skipped", detail=None if part in self.parts.only_ours else "It says nothing."
        )

    def _keep_turn(self, session: Row, now_ms: int) -> None:
        said, derived = self.parts.said, self.parts.derived
        if said is None or derived is None:
            if self.turn.has_turn:
                self._skipped("turn")
            if self.turn.replaces is not None:
                self._told(
                    "replaces",
                    "skipped",
                    self.turn.replaces,
                    "There is no turn that takes its place.",
                )
            return
        told_ms = None if self.turn.occurred_at is None else said.occurred_ms
        sides = {"query": said.query, "response": said.response, "told_ms": told_ms}
        same = self.tx.one_or_none(
            SQL.same_turn, session=session.id, since_ms=now_ms - _RETRIED_MS, **sides
        )
        goes_on = not self.turn.task_done
        if same is not None:
            self.event_id, self.event_row = same.event_id, same.id
            self.tx.run(SQL.note_remembered, session=session.id, task_open=int(goes_on))
            self._told(
                "turn",
                "known",
                same.event_id,
                f"The same turn was kept less than {limits.DEDUPE_MINUTES} minutes ago.",
            )
        else:
            address = SessionAddress(
                account_id=self.caller.account_id,
                user_id=self.user_id,
                session_id=self.turn.session_id,
            )
            kept = store_turn(self.context, self.tx, address, said, derived, task_open=goes_on)
            self.event_id, self.event_row = kept.event_id, kept.row
            self._told("turn", "stored", kept.event_id)
        if self.turn.replaces is not None and self.event_id != self.turn.replaces:
            self._replace(self.turn.replaces, session)

    def _replace(self, event_id: str, session: Row) -> None:
        assert self.event_id
        assert self.event_row
        self.erased = replace_turn(
            self.tx, self.caller, event_id, Replacement(self.event_id, self.event_row, session.id)
        )
        self._told("replaces", "erased", event_id)

    def _keep_summaries(self, space: Row, session: Row) -> None:
        if self.parts.l1 is not None:
            l1 = store_l1(
                self.context,
                self.tx,
                space_id=space.id,
                session=session.id,
                text=self.parts.l1,
                topic=self.turn.topic,
                message_count=None,
            )
            self._told("l1_summary", "known" if l1.known else "stored", l1.l1_id, l1.warning)
        elif self.turn.l1_summary is not None:
            self._skipped("l1_summary")
        if self.parts.map is not None:
            before = newest_version(self.tx, space.id)
            version = store_map(
                self.context, self.tx, space_id=space.id, text=self.parts.map, made_by=AGENT
            )
            self._told("l2_map", "known" if version == before else "stored", str(version))
        elif self.turn.l2_map is not None:
            self._skipped("l2_map")

    def _keep_fact(self, space: Row, session: Row) -> None:
        if self.parts.fact is not None:
            new = store_fact(
                self.context,
                self.tx,
                space_id=space.id,
                session=session.id,
                event=self.event_row,
                text=self.parts.fact,
            )
            self._told("critical", "stored" if new else "known")
        elif self.turn.critical is not None:
            self._skipped("critical")

    def _keep_cube(self, space_id: int) -> CubeMade | str:
        prepared = self.parts.cube
        if prepared is None:
            return (
                f"none: {self.turn.duty_reason}"
                if self.turn.duty == "cube_nothing"
                else "none was proposed"
            )
        account_id = self.caller.account_id
        # with the turn just kept
        session = self.tx.one(SQL.session_of, space_id=space_id, session_id=self.turn.session_id)
        cubes.check_evidence(self.tx, self.caller, prepared.lesson.evidence)
        known = cubes.find_equal(
            self.tx, account_id=account_id, session=session.id, lesson=prepared.lesson
        )
        if known is not None:
            self._told("cube", "known", known.cube_id)
            return CubeMade(cube_id=known.cube_id, visibility=known.visibility)
        if not cubes.may_propose(session.turns, session.cube_turn):
            why = f"A session makes at most one cube in {limits.TURNS_PER_CUBE_MIN} turns: propose it again later."
            self._told("cube", "skipped", detail=why)
            return why
        if self.event_id and prepared.lesson.evidence == NO_EVIDENCE:
            prepared = replace(prepared, lesson=replace(prepared.lesson, evidence=self.event_id))
        made = cubes.store_cube(
            self.context, self.tx, account_id=account_id, session=session.id, prepared=prepared
        )
        self.tx.run(SQL.note_cube, session=session.id)
        self._told("cube", "stored", made.cube_id, made.refused)
        return CubeMade(cube_id=made.cube_id, visibility=made.visibility)

    def _close_duty(self, session: Row, now_ms: int) -> None:
        if self.turn.duty is None:
            return
        reason = self.turn.duty_reason or ""
        self.tx.run(
            SQL.close_duty,
            session=session.id,
            step=session.step,
            duty=self.turn.duty,
            reason=reason,
            now_ms=now_ms,
        )
        if self.turn.duty == "cube_nothing":
            self._told("duty", "stored", detail="No cube was made of this turn.")
            return
        rated = cubes.close_ratings(
            self.tx,
            account_id=self.caller.account_id,
            session=session.id,
            reason=reason,
            now_ms=now_ms,
        )
        self._told(
            "duty",
            "stored",
            detail=f"Rated 0: {', '.join(rated)}."
            if rated
            else "No cube of this session waited for a rating.",
        )

    def _close_task(self, session: Row) -> None:
        if not self.turn.task_done:
            return
        self.tx.run(SQL.close_task, session=session.id)
        self._told("task_done", "stored")

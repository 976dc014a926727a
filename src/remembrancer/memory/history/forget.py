"""Erase turns, periods, sessions and users, with a signed receipt."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from ... import cubes, feedback
from ...accounts import prompts, require_write, space_user_id
from ...accounts.idempotency import IdempotentRequest, delete_answers, write_once
from ...accounts.keys import forget_session_users
from ...accounts.signing import (
    base64url,
    existing_signing_key,
    from_base64url,
    key_id,
    public_bytes,
    replace_signing_key,
    retired_keys,
    signing_key,
    verify,
)
from ...accounts.teams import caller_in, membership_in, require_role
from ...context import Caller, Context, Records
from ...cubes.lessons import SQL as CUBES_SQL
from ...files import files
from ...permissions.audit import SQL as AUDIT
from ...permissions.audit import add_entry, canonical
from ...permissions.teams import end_team
from ...protocol.errors import Conflict, Forbidden
from ...protocol.forget import (
    EVENT_IDS_MAX,
    FORMAT,
    Erased,
    ErasureAudit,
    ErasureScope,
    ErasureStatement,
    EventErased,
    Forget,
    Forgotten,
    ReceiptKey,
    ReceiptKeys,
    SignedReceipt,
)
from ...protocol.teams import TeamDeleted, TeamDeletion
from ...protocol.text import rfc3339
from ...store import Row, Transaction, load_queries
from ..files.commands import erase_files
from ..filters import passing
from ..layers import prune_layers, prune_with
from ..links import ALL_TIME_MS, EraseRange, erase_links, leave_index
from ..spaces import SQL as SPACES
from ..spaces import (
    ErasedEvents,
    drop_indexes,
    milliseconds,
    number_of,
    revised,
    row_id,
    space_of,
    update_index,
)
from ..write.turns import event_to_change

# --- Sign receipts of erasures with Ed25519, so that anybody with the public key can verify them
# The private key is in the store, made on first use. Rotation replaces it and leaves its public
# half.

SQL = load_queries("remembrancer.memory.history", "forget.sql")
_PAGE = 10_000
Answer = TypeVar("Answer", EventErased, Forgotten)


class ReceiptInvalid(Exception):
    """The receipt does not verify; the message says why."""


@dataclass(slots=True)
class EventIds:
    """The ids of erased turns: a digest of all, and the ids themselves while they are few."""

    count: int = 0
    total: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, rows: list[Row]) -> None:
        """Add the `event_id` of each row."""
        for row in rows:
            self.total += int.from_bytes(hashlib.sha256(row.event_id.encode()).digest(), "big")
            if self.count < EVENT_IDS_MAX:
                self.first.append(row.event_id)
            self.count += 1

    def add_range(self, tx: Transaction, erase_range: EraseRange) -> None:
        """Add all turns of a range of ids, page by page."""
        low = erase_range.low
        while rows := tx.all(SQL.ids_of_events, low=low, high=erase_range.high, most=_PAGE):
            self.add(rows)
            low = rows[-1].id + 1

    @property
    def listed(self) -> list[str] | None:
        """The ids in alphabetical order; None if they are too many to list."""
        return sorted(self.first) if self.count <= EVENT_IDS_MAX else None

    @property
    def digest(self) -> str:
        """The sum of their SHA-256, modulo 2^256, in hex."""
        return f"{self.total % 2**256:064x}"


def pseudonym(receipt_id: str, kind: str, name: str) -> str:
    """Return the salted hash of a name."""
    return hashlib.sha256(f"{receipt_id}\n{kind}\n{name}".encode()).hexdigest()


def named_scope(receipt_id: str, kind: str, **values: str | None) -> ErasureScope:
    """Return a scope with hashes in place of names; `after` and `before` stay."""
    hashed = {
        key: value if key in ("after", "before") else pseudonym(receipt_id, key, value)
        for key, value in values.items()
        if value is not None
    }
    return ErasureScope.model_validate({"kind": kind, **hashed})


def scope_of(request: Forget, user_id: str | None) -> dict[str, str | None]:
    """Return the selection of a request for its receipt."""
    if user_id is None:
        return {"kind": "account"}
    times = [
        None if moment is None else rfc3339(milliseconds(moment, 0))
        for moment in (request.after, request.before)
    ]
    kind = "user"
    if request.path is not None:
        kind = "files"
    elif request.filters is not None:
        kind = "filters"
    elif any(times):
        kind = "period"
    elif request.session_id is not None:
        kind = "session"
    return {
        "kind": kind,
        "user": user_id,
        "session": request.session_id,
        "path": request.path,
        "filters": None if request.filters is None else canonical(request.filters),
        "after": times[0],
        "before": times[1],
    }


def sign_erasure(
    records: Records,
    tx: Transaction,
    caller: Caller,
    scope: dict[str, str | None],
    counts: dict[str, int],
    event_ids: EventIds,
) -> SignedReceipt:
    """Record an erasure in the audit trail, and return a signed statement about it.

    Call it in the transaction of the erasure. `scope` has `kind` and the names of the selection.
    """
    now_ms, receipt_id = records.clock(), records.ids("er_")
    seq = add_entry(tx, caller, now_ms, kind="erase", receipt_id=receipt_id)
    statement = ErasureStatement(
        receipt_id=receipt_id,
        at=rfc3339(now_ms),
        account=pseudonym(receipt_id, "account", caller.account_name),
        scope=named_scope(receipt_id, **scope),  # type: ignore[arg-type]
        counts={name: count for name, count in counts.items() if count},
        event_ids=event_ids.listed,
        event_ids_digest=event_ids.digest,
        audit=ErasureAudit(seq=seq, hash=tx.one(AUDIT.head).hash),
    )
    text = canonical(statement.model_dump())
    key = signing_key(tx, now_ms)
    return SignedReceipt(
        statement=text,
        key_id=key_id(public_bytes(key)),
        signature=base64url(key.sign(text.encode())),
    )


def receipt_keys(records: Records) -> ReceiptKeys:
    """Return the public keys, the one that signs now first, creating it on first use."""

    def write(tx: Transaction) -> ReceiptKeys:
        own = _jwk(public_bytes(signing_key(tx, records.clock())))
        retired = [_jwk(bytes(row.secret), row.created_ms) for row in retired_keys(tx)]
        return ReceiptKeys(keys=[own, *retired])

    if records.store.read(existing_signing_key) is None:
        return records.store.write(write)
    return records.store.read(write)


def rotate_receipt_key(records: Records) -> ReceiptKey:
    """Replace the signing key; return the new public key.

    The old private key is erased. Its public half stays, so that old receipts verify.
    """
    now_ms = records.clock()
    new = records.store.write(lambda tx: public_bytes(replace_signing_key(tx, now_ms)))
    return _jwk(new)


def verify_receipt(receipt: SignedReceipt, keys: ReceiptKeys) -> ErasureStatement:
    """Return the statement of a receipt that one of the keys signed. Raises ReceiptInvalid."""
    key = next((key for key in keys.keys if key.kid == receipt.key_id), None)
    if key is None:
        raise ReceiptInvalid(f"The receipt is signed with {receipt.key_id}, which is not a key.")
    try:
        public = from_base64url(key.x)
        if key_id(public) != key.kid:
            raise ReceiptInvalid(f"The key {key.kid} does not have its id.")
        if not verify(public, from_base64url(receipt.signature), receipt.statement.encode()):
            raise ReceiptInvalid("The signature is not of this statement and key.")
        statement = ErasureStatement.model_validate_json(receipt.statement)
    except (ValueError, ValidationError) as error:
        raise ReceiptInvalid("The receipt or the key is damaged.") from error
    if statement.format != FORMAT:
        raise ReceiptInvalid(f"The statement has the format {statement.format!r}.")
    return statement


def _jwk(public: bytes, retired_ms: int | None = None) -> ReceiptKey:
    return ReceiptKey(
        kid=key_id(public),
        x=base64url(public),
        retired_at=None if retired_ms is None else rfc3339(retired_ms),
    )


# --- Erase one turn, a session, a period, a user, or all data of an account, with everything
#     derived
# An L1 summarises turns: it is erased with them when a session, a period or a user is forgotten. A
# map summarises the L1s of all sessions: once an L1 is erased, every version of the map is erased,
# and the next one is built from the remaining L1s.
#
# Votes of a forgotten user still count, without reasons and under a random name.


class NotConfirmed(Conflict):
    """Erasing a whole user or account requires its name in `confirm`."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"To erase everything, send {name!r} in confirm as well. "
            "To see what would be erased, send dry_run."
        )


class NotLatest(Conflict):
    """Only the latest turn of the same session can be replaced: a draft the user never saw."""


class _DryRun(Exception):
    """Rolls back the transaction of a dry run and carries its answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Replacement:
    """The turn that replaces another: its id, its row, its session's row."""

    event_id: str
    row: int
    session: int


@dataclass(slots=True)
class _Outcome:
    """The turns of an erasure, and what is left to do once it is durable."""

    blobs: list[str] = field(default_factory=list)
    erased: list[ErasedEvents] = field(default_factory=list)
    event_ids: EventIds = field(default_factory=EventIds)
    spaces: list[int] = field(default_factory=list)  # erased as a whole


def erase_event(
    context: Context,
    caller: Caller,
    event_id: str,
    idempotency: IdempotentRequest | None = None,
    *,
    dry_run: bool = False,
) -> EventErased:
    """Erase one turn permanently, or report what would be erased with it.

    Raises KeyIsReadOnly, EventUnknown, NotAuthor, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    outcome, once = _Outcome(), None if dry_run else idempotency

    def write(tx: Transaction) -> EventErased:
        answer = _erase_one(context, tx, caller, event_id, outcome)
        if dry_run:
            raise _DryRun(answer.model_copy(update={"erased": False, "receipt": None}))
        return answer

    erase = partial(write_once, context, caller.account_id, once, EventErased, write)
    return _finished(context, outcome, erase)


def _erase_one(
    context: Context, tx: Transaction, caller: Caller, event_id: str, outcome: _Outcome
) -> EventErased:
    row = event_to_change(tx, caller, event_id)
    erase_range = EraseRange(space_id=space_of(row.id), low=row.id, high=row.id + 1)
    session = tx.one(SPACES.session_of, space_id=erase_range.space_id, session_id=row.session_id).id
    l1_ids = [l1.l1_id for l1 in summaries_of_event(tx, session, [row.created_ms])]
    facts = _erase_facts(tx, erase_range)
    erased = _erase_turns(tx, erase_range, tx.all(SQL.events_to_erase, **erase_range.values))
    outcome.erased = [prune_with(tx, erased)]
    user_id = tx.one(SQL.user_of_space, id=erase_range.space_id).user_id
    scope = {"kind": "event", "user": user_id, "session": row.session_id}
    event_ids = EventIds()
    event_ids.add([row])
    return EventErased(
        erased=True,
        event_id=event_id,
        facts=facts,
        told_in=l1_ids,
        at=rfc3339(context.clock()),
        receipt=sign_erasure(context, tx, caller, scope, {"events": 1, "facts": facts}, event_ids),
    )


def _erase_turns(tx: Transaction, erase_range: EraseRange, rows: Sequence[Row]) -> ErasedEvents:
    """Erase turns and everything derived from them except facts and L1s.

    `rows` are all turns of the range. Every erasure of some turns ends here.
    """
    space_id, values = erase_range.space_id, erase_range.values
    numbers = [number_of(row.id) for row in rows]
    _erase_drafts(tx, space_id, rows)
    by_session: dict[int, set[int]] = defaultdict(set)
    for row in rows:
        delete_answers(tx, row.event_id)
        if row.superseded_by is None:  # drafts are not counted as turns
            by_session[row.session].add(row.id)
    for session, ids in by_session.items():
        counts, uncovered = _uncovered_turns(tx, session)
        turns = counts.turns - len(ids)
        summarised = counts.turns_summarised - len(ids - uncovered)
        tx.run(SQL.set_counts, session=session, turns=turns, summarised=summarised)
    erase_links(tx, values)
    for statement in (SQL.erase_shown, SQL.erase_looks, SQL.end_erased_tasks):
        tx.run(statement, space_id=space_id, **values)
    tx.run(SQL.erase_search, space_id=space_id, numbers=numbers)
    tx.run(SQL.erase_index, **values)
    tx.run(SQL.erase_events, **values)
    return revised(tx, space_id, numbers)


def _uncovered_turns(tx: Transaction, session: int) -> tuple[Row, set[int]]:
    """Return the counts of a session, and the ids of its turns that no L1 covers."""
    counts = tx.one(SQL.session_counts, session=session)
    most = counts.turns - counts.turns_summarised
    return counts, {turn.id for turn in tx.all(SQL.latest_turns, session=session, most=most)}


def _erase_drafts(tx: Transaction, space_id: int, rows: Sequence[Row]) -> None:
    """Erase the drafts of these turns that are not among them: they hold nearly the same text."""
    ids_by_session: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        ids_by_session[row.session].append(row.id)
    erased_ids = {row.id for row in rows}
    for session, ids in ids_by_session.items():
        for draft in tx.all(SQL.drafts_of_events, session=session, ids=json.dumps(ids)):
            if draft.id not in erased_ids:
                erase_range = EraseRange(space_id=space_id, low=draft.id, high=draft.id + 1)
                _erase_turns(tx, erase_range, [draft])


def supersede_draft(tx: Transaction, draft: Row, replacement: Replacement) -> ErasedEvents:
    """Let a revision take the place of a draft of the same turn.

    The draft stays readable by its id, but is in no index and counts as no turn. Its facts and the
    evidence of its cubes then belong to the revision. `draft` has id and event_id.
    """
    counts, uncovered = _uncovered_turns(tx, replacement.session)
    space_id, turns = space_of(draft.id), counts.turns - 1
    tx.run(SQL.supersede, id=draft.id, revision=replacement.row)
    # If an L1 covers the draft, it covers the turn.
    summarised = counts.turns_summarised if draft.id in uncovered else turns
    tx.run(SQL.set_counts, session=replacement.session, turns=turns, summarised=summarised)
    tx.run(SQL.move_facts, space_id=space_id, old=draft.id, new=replacement.row)
    tx.run(SQL.move_sources, old=draft.id, new=replacement.row)
    tx.run(CUBES_SQL.move_evidence, old=draft.event_id, new=replacement.event_id)
    return leave_index(tx, space_id, [draft.id])


def replace_turn(
    tx: Transaction, caller: Caller, event_id: str, replacement: Replacement
) -> ErasedEvents:
    """Erase a session's previous turn after another took its place.

    What belonged to the old turn then belongs to the new one. Raises EventUnknown, NotLatest.
    """
    old = event_to_change(tx, caller, event_id)
    latest = [
        row.id
        for row in tx.all(SQL.latest_turns, session=replacement.session, most=2)
        if row.id != replacement.row
    ]
    if old.id not in latest[:1]:
        raise NotLatest
    space_id = space_of(old.id)
    counts = tx.one(SQL.session_counts, session=replacement.session)
    # The two latest turns are the new one and this one.
    is_summarised = counts.turns - counts.turns_summarised < 2
    tx.run(SQL.move_looks, session=replacement.session, old=old.id, new=replacement.row)
    tx.run(SQL.move_facts, space_id=space_id, old=old.id, new=replacement.row)
    tx.run(SQL.move_sources, old=old.id, new=replacement.row)
    tx.run(SQL.move_task, session=replacement.session, old=event_id, new=replacement.event_id)
    tx.run(CUBES_SQL.move_evidence, old=event_id, new=replacement.event_id)
    erase_range = EraseRange(space_id=space_id, low=old.id, high=old.id + 1)
    erased = _erase_turns(tx, erase_range, tx.all(SQL.events_to_erase, **erase_range.values))
    if is_summarised:
        turns = tx.one(SQL.session_counts, session=replacement.session).turns
        tx.run(SQL.set_counts, session=replacement.session, turns=turns, summarised=turns)
    return erased


def summaries_of_event(tx: Transaction, session: int, times_ms: Sequence[int]) -> list[Row]:
    """Return the L1s of a session that cover turns stored at these times.

    Each L1 covers the turns since the one before it.
    """
    l1s = tx.all(SQL.l1s_of, session=session)
    l1_times = [l1.created_ms for l1 in l1s]
    places = sorted({bisect_left(l1_times, time) for time in times_ms})
    return [l1s[place] for place in places if place < len(l1s)]


def forget(
    context: Context,
    caller: Caller,
    request: Forget,
    idempotency: IdempotentRequest | None = None,
    also: Callable[[Transaction], None] = lambda _: None,
) -> Forgotten:
    """Erase what a request selects, or report what would be erased. Durable on return.

    `also` is done in the same transaction. Raises KeyIsReadOnly, PinnedToOtherUser, Forbidden,
    NotConfirmed, IdempotencyKeyReused, StoreUnavailable.
    """
    require_write(caller)
    user_id = None if request.account else space_user_id(caller, request.user_id)
    if request.account and caller.pinned_user_id is not None:
        raise Forbidden("This key is pinned to one user. Use an unpinned key to erase the account.")
    name = caller.account_name if user_id is None else user_id
    if not request.dry_run and not request.is_narrowed and request.confirm != name:
        raise NotConfirmed(name)
    outcome, once = _Outcome(), None if request.dry_run else idempotency

    def write(tx: Transaction) -> Forgotten:
        outcome.blobs.clear()
        outcome.event_ids = EventIds()
        counts = (
            _forget_account(context, tx, outcome)
            if user_id is None
            else _forget_user(context, tx, user_id, request, outcome)
        )
        answer = Forgotten(erased=False, counts=counts, at=rfc3339(context.clock()))
        if request.dry_run:
            raise _DryRun(answer)
        scope, numbers, receipt = scope_of(request, user_id), counts.model_dump(), None
        if any(numbers.values()):  # else there is nothing to record
            receipt = sign_erasure(context, tx, caller, scope, numbers, outcome.event_ids)
        also(tx)
        return answer.model_copy(update={"erased": True, "receipt": receipt})

    erase = partial(write_once, context, caller.account_id, once, Forgotten, write)
    return _finished(context, outcome, erase)


def _forget_user(
    context: Context, tx: Transaction, user_id: str, request: Forget, outcome: _Outcome
) -> Erased:
    space = tx.one_or_none(SPACES.space_of, user_id=user_id)
    counts = {"prompts": 0, "files": 0}
    if not request.is_narrowed:
        counts["prompts"] = prompts.erase(tx, user_id)
        forget_session_users(tx, user_id)
        _erase_rules(tx, user_id)
        counts["cubes"] = cubes.erase_private(tx, user_id)
        cubes.anonymize_votes(context, tx, user_id)
        counts["files"] = files.erase_all(tx, outcome.blobs, pinned_to=user_id)
    if space is not None or not request.is_narrowed:
        delete_answers(tx)  # also without a space: the answer of a vote names the user
    if space is None:
        return Erased(**counts)
    if request.path is not None:
        return Erased(memory_files=erase_files(tx, space.id, request.path))
    if not request.is_narrowed:
        return Erased(**counts, **_erase_space(context, tx, space.id, outcome))
    session = None
    if request.session_id is not None:
        row = tx.one_or_none(SPACES.session_of, space_id=space.id, session_id=request.session_id)
        if row is None:
            return Erased()
        session = row.id
    is_dated = request.after is not None or request.before is not None
    erase_range = EraseRange(
        space_id=space.id,
        low=row_id(space.id, 0),
        high=row_id(space.id, space.events_made),
        session=session,
        after_ms=milliseconds(request.after, ALL_TIME_MS[0]),
        before_ms=milliseconds(request.before, ALL_TIME_MS[1]),
        only=_ids_passing(tx, space.id, request.filters),
    )
    whole_session = None if is_dated or request.filters is not None else session
    counts = _forget_range(tx, erase_range, outcome, whole_session=whole_session)
    if whole_session is not None:
        forget_session_users(tx, user_id, request.session_id)
    if request.filters is not None and not is_dated:
        counts["facts"] += _erase_facts_passing(tx, space.id, session, request.filters)
        outcome.erased = [prune_with(tx, one) for one in outcome.erased]
    return Erased(**counts)


def _ids_passing(tx: Transaction, space_id: int, filters: Mapping[str, Any] | None) -> str | None:
    """Return the rows of the turns that pass filters, a JSON array; None without filters."""
    if filters is None:
        return None
    condition, values = passing(filters, "events")
    rows = tx.all(SQL.ids_passing.replace("true", condition), space_id=space_id, **values)
    return json.dumps([row.id for row in rows])


def _erase_facts_passing(
    tx: Transaction, space_id: int, session: int | None, filters: Mapping[str, Any]
) -> int:
    """Erase the facts that pass filters, also those that came with no turn."""
    condition, values = passing(filters, "facts")
    erase = SQL.erase_facts_passing.replace("true", condition)
    facts = tx.run(erase, space_id=space_id, session=session, **values)
    _prune_facts(tx, space_id)
    return facts


def forget_turn(tx: Transaction, erase_range: EraseRange) -> tuple[dict[str, int], ErasedEvents]:
    """Erase the turn of a range, with the facts and L1s that tell of it; return the counts."""
    outcome = _Outcome()
    counts = _forget_range(tx, erase_range, outcome, whole_session=None)
    return counts, outcome.erased[0]


def _forget_range(
    tx: Transaction, erase_range: EraseRange, outcome: _Outcome, *, whole_session: int | None
) -> dict[str, int]:
    """Erase turns with their facts and L1s, and the session row of a whole session."""
    times: dict[int, list[int]] = defaultdict(list)
    turns = tx.all(SQL.events_to_erase, **erase_range.values)
    for row in turns:
        times[row.session].append(row.created_ms)
    facts = _erase_facts(tx, erase_range)
    erased = _erase_turns(tx, erase_range, turns)
    outcome.event_ids.add(turns)
    if whole_session is None:
        l1s = [
            l1.id
            for session, times_ms in times.items()
            for l1 in summaries_of_event(tx, session, times_ms)
        ]
    else:
        l1s = [l1.id for l1 in tx.all(SQL.l1s_of, session=whole_session)]
        facts += tx.run(
            SQL.erase_facts_of_session, space_id=erase_range.space_id, session=whole_session
        )
        _prune_facts(tx, erase_range.space_id)
    counts = {
        "events": len(erased.numbers),
        "facts": facts,
        **_erase_l1s(tx, erase_range.space_id, l1s),
        "sessions": 0,
    }
    outcome.erased = [prune_with(tx, erased)]
    if whole_session is not None:
        _erase_session(tx, whole_session)
        counts["sessions"] = 1
    return counts


def _erase_facts(tx: Transaction, erase_range: EraseRange) -> int:
    """Erase the facts that only these turns stated; return their number."""
    space_id, values = erase_range.space_id, erase_range.values
    tx.run(SQL.erase_fact_sources, **values)
    tx.run(SQL.move_stated_facts, space_id=space_id, **values)
    tx.run(SQL.prune_first_sources)
    facts = tx.run(SQL.erase_facts, space_id=space_id, **values)
    _prune_facts(tx, space_id)
    return facts


def _prune_facts(tx: Transaction, space_id: int) -> None:
    """Erase what was derived from facts that were erased."""
    tx.run(SQL.prune_sources)
    tx.run(SQL.prune_keys, space_id=space_id)
    tx.run(SQL.prune_values, space_id=space_id)
    tx.run(SQL.loosen_successors, space_id=space_id)


def _erase_l1s(tx: Transaction, space_id: int, l1s: Sequence[int]) -> dict[str, int]:
    for l1 in l1s:
        tx.run(SQL.erase_l1, id=l1)
    maps = 0
    if l1s:
        maps = tx.run(SQL.erase_maps, space_id=space_id)
        tx.run(SQL.uncount_l1s, space_id=space_id, erased=len(l1s))
        delete_answers(tx)  # the answer that made a map has its text, and no id
    return {"summaries": len(l1s), "maps": maps}


def _erase_session(tx: Transaction, session: int) -> None:
    for statement in (
        SQL.erase_looks_of,
        SQL.erase_shown_cubes,
        SQL.erase_duties,
        SQL.erase_steps,
        SQL.erase_shown_of,
        SQL.loosen_cubes,
        SQL.erase_session,
    ):
        tx.run(statement, session=session)


def _erase_space(
    context: Context, tx: Transaction, space_id: int, outcome: _Outcome
) -> dict[str, int]:
    """Erase a whole space.

    Its row stays without the user's name: reusing its number would match an old index.
    """
    space = tx.one(SPACES.space_by_id, id=space_id)
    erase_range = EraseRange(
        space_id=space_id, low=row_id(space_id, 0), high=row_id(space_id, space.events_made)
    )
    outcome.event_ids.add_range(tx, erase_range)
    tx.run(SQL.erase_search_of_space, space_id=space_id)
    tx.run(SQL.erase_index, **erase_range.values)
    sessions = [row.id for row in tx.all(SQL.sessions_in, space_id=space_id)]
    counts = {"events": 0, "facts": 0, "summaries": 0, "sessions": len(sessions)}
    counts["facts"] = tx.run(SQL.erase_facts_of_space, space_id=space_id)
    _prune_facts(tx, space_id)
    for session in sessions:
        for l1 in tx.all(SQL.l1s_of, session=session):
            counts["summaries"] += tx.run(SQL.erase_l1, id=l1.id)
    counts["maps"] = tx.run(SQL.erase_maps, space_id=space_id)
    prune_layers(tx, space_id)
    erase_links(tx, erase_range.values)
    tx.run(SQL.erase_shown, space_id=space_id, **erase_range.values)
    counts["events"] = tx.run(SQL.erase_events, **erase_range.values)
    for session in sessions:
        _erase_session(tx, session)
    tx.run(SQL.erase_origins, space_id=space_id)
    counts["memory_files"] = erase_files(tx, space_id)
    tx.run(SQL.bury_space, space_id=space_id, tombstone=context.ids("erased_"))
    outcome.spaces.append(space_id)
    return counts


def _forget_account(context: Context, tx: Transaction, outcome: _Outcome) -> Erased:
    total: dict[str, int] = defaultdict(int)
    for space in tx.all(SQL.spaces_of):
        for kind, count in _erase_space(context, tx, space.id, outcome).items():
            total[kind] += count
    delete_answers(tx)
    total["prompts"] = prompts.erase(tx)
    forget_session_users(tx)
    _erase_rules(tx, None)
    total["files"] = files.erase_all(tx, outcome.blobs)
    total["cubes"] = cubes.erase_all(context, tx)
    total["feedback"] = feedback.erase_all(tx)
    return Erased(**total)


def _erase_rules(tx: Transaction, user_id: str | None) -> None:
    tx.run(SQL.erase_rules, user_id=user_id)
    tx.run(SQL.erase_sweeps, user_id=user_id)


def _finished(context: Context, outcome: _Outcome, erase: Callable[[], Answer]) -> Answer:
    """Erase; once that is durable, update cached indexes and remove unused blobs.

    Returns the answer, that of a dry run without more.
    """
    try:
        answer = erase()
    except _DryRun as dry:
        return cast(Answer, dry.answer)
    update_index(context, outcome.erased)
    drop_indexes(context, outcome.spaces)
    files.remove_blobs(context, outcome.blobs)
    return answer


# --- Delete a team: its memory, its members and its invitations ------------------------------


class TeamNotConfirmed(Conflict):
    """Deleting a team erases its memory. Send the team's name in `confirm` as well."""


def delete_team(
    context: Context,
    caller: Caller,
    team: str,
    request: TeamDeletion,
    _idempotency: IdempotentRequest | None = None,
) -> TeamDeleted:
    """Erase the memory of a team with a signed receipt, and end the team. For its owners.

    Both are one transaction: every write of a member is erased by it, or comes later and is refused
    (accounts.teams.working_in); a crash leaves the whole team, or none. A repeated request finds no
    team: 404. Raises KeyIsReadOnly, TeamUnknown, RoleTooLow, TeamNotConfirmed, StoreUnavailable.
    """
    require_write(caller)
    own = context.store.read(
        lambda tx: membership_in(tx, caller, team), account_id=caller.account_id
    )
    require_role(own.role, "owner")
    if request.confirm != own.name:
        raise TeamNotConfirmed
    everything = replace(caller_in(caller, own), pinned_user_id=None)

    def end(tx: Transaction) -> None:
        current = membership_in(tx, caller, own.team_id)  # another request may have ended it
        require_role(current.role, "owner")
        end_team(tx, caller, current, context.clock())

    erased = forget(context, everything, Forget(account=True, confirm=own.team_id), also=end)
    return TeamDeleted(
        deleted=True, team_id=own.team_id, counts=erased.counts, receipt=erased.receipt
    )

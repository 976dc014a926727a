"""Read what belongs together in a space: its names, projects, dates and amounts."""

from __future__ import annotations

from dataclasses import dataclass

from ..accounts import space_user_id
from ..context import Caller, Context
from ..search import entities_of_turn
from ..store import Row, Transaction
from .spaces import SQL as SPACES
from .write.associations import SQL

SUBJECTS_MAX = 12
FREQUENT_MAX = 200  # entities among which the subjects are chosen
ASSOCIATES_MAX = 6  # of one subject
CANDIDATES_MAX = 50  # entities most often beside a subject, among which its associates are chosen
SUBJECT_KINDS = ("name", "identifier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Associate:
    """An entity that occurs together with a subject."""

    text: str
    turns: int  # with both
    event_id: str  # the newest of them


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociatedSubject:
    """A name or identifier of a space with what belongs to it, the strongest association first."""

    text: str
    turns: int  # with it
    event_id: str  # the newest of them
    associates: tuple[Associate, ...]


def list_subjects(context: Context, caller: Caller, user_id: str | None) -> list[AssociatedSubject]:
    """Return what most turns of a user are about, and what occurs together with each.

    Two entities belong together the more, the more of their turns they share: turns with both,
    divided by the geometric mean of the turns with each. Raises PinnedToOtherUser,
    StoreUnavailable.
    """
    name = space_user_id(caller, user_id)

    def read(tx: Transaction) -> list[AssociatedSubject]:
        space = tx.one_or_none(SPACES.space_of, user_id=name)
        if space is None:
            return []
        rows = tx.all(SQL.most_frequent, space_id=space.id, most=FREQUENT_MAX)
        subjects = [row for row in rows if row.key.partition(":")[0] in SUBJECT_KINDS]
        return [_subject(tx, space.id, row) for row in subjects[:SUBJECTS_MAX]]

    return context.store.read(read, account_id=caller.account_id)


def association(both: int, one: int, other: int) -> float:
    """Return the strength of an association, 0..1: of turns with both and with each of two.

    Source: Ochiai, Bulletin of the Japanese Society of Scientific Fisheries 22, 1957.
    """
    return float(both / (one * other) ** 0.5)


def _subject(tx: Transaction, space_id: int, row: Row) -> AssociatedSubject:
    pairs = tx.all(SQL.pairs_of, space_id=space_id, key=row.key, most=CANDIDATES_MAX)
    pairs.sort(key=lambda pair: -association(pair.events, row.events, pair.turns))
    text, event_id = _newest(tx, space_id, row.key, None)
    associates = []
    for pair in pairs[:ASSOCIATES_MAX]:
        other, newest = _newest(tx, space_id, row.key, pair.other)
        associates.append(Associate(text=other, turns=pair.events, event_id=newest))
    return AssociatedSubject(
        text=text, turns=row.events, event_id=event_id, associates=tuple(associates)
    )


def _newest(tx: Transaction, space_id: int, key: str, other: str | None) -> tuple[str, str]:
    """Return an entity as the newest turn with it writes it, and the id of that turn.

    With `other`, the turn has both and the text is that of the other entity.
    """
    turn = tx.one(SQL.newest_turn_with, space_id=space_id, key=key, other=other)
    entity_key = other or key
    for entity in entities_of_turn(turn.query, turn.response):
        if entity.key == entity_key:
            return entity.text, turn.event_id
    return entity_key.partition(":")[2], turn.event_id

"""Read what belongs together in a space: its names, projects, topics, dates and amounts."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
NODES_MAX = 22  # names and identifiers of a map
TOPICS_MAX = 8
NEWEST_TURNS_MAX = 2_000  # turns whose topics are counted, and turns of an entity
SESSIONS_OF_NODE_MAX = 3
LINKS_OF_NODE_MAX = 6


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """A name, an identifier or a topic of a space. `sessions`: names and numbers of turns."""

    key: str
    kind: str  # name, identifier or topic
    text: str
    turns: int
    sessions: Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class MapLink:
    """Two nodes that occur in the same turns, by their places in the list of nodes."""

    one: int
    other: int
    turns: int


@dataclass(frozen=True, slots=True)
class AssociationMap:
    """The subjects of a space and what links them."""

    nodes: list[MapNode]
    links: list[MapLink]


def association_map(context: Context, caller: Caller, user_id: str | None) -> AssociationMap:
    """Return the names, identifiers and topics of most turns of a user, and their links.

    Topics are those of the newest NEWEST_TURNS_MAX turns. Each node keeps its strongest links.
    Raises PinnedToOtherUser, StoreUnavailable.
    """
    name = space_user_id(caller, user_id)

    def read(tx: Transaction) -> AssociationMap:
        space = tx.one_or_none(SPACES.space_of, user_id=name)
        if space is None:
            return AssociationMap([], [])
        rows = tx.all(SQL.most_frequent, space_id=space.id, most=FREQUENT_MAX)
        rows = [row for row in rows if row.key.partition(":")[0] in SUBJECT_KINDS][:NODES_MAX]
        latest = {"space_id": space.id, "newest": NEWEST_TURNS_MAX}
        topics = tx.all(SQL.topics_of_latest, most=TOPICS_MAX, **latest)
        nodes = [
            *(_entity_node(tx, space.id, row) for row in rows),
            *(_topic_node(tx, row, latest) for row in topics),
        ]
        return AssociationMap(nodes, _links(tx, nodes, rows, latest))

    return context.store.read(read, account_id=caller.account_id)


def _entity_node(tx: Transaction, space_id: int, row: Row) -> MapNode:
    sessions = tx.all(
        SQL.sessions_with,
        space_id=space_id,
        key=row.key,
        newest=NEWEST_TURNS_MAX,
        most=SESSIONS_OF_NODE_MAX,
    )
    return MapNode(
        key=row.key,
        kind=row.key.partition(":")[0],
        text=_newest(tx, space_id, row.key, None)[0],
        turns=row.events,
        sessions=[(one.session_id, one.turns) for one in sessions],
    )


def _topic_node(tx: Transaction, row: Row, latest: dict[str, int]) -> MapNode:
    sessions = tx.all(SQL.sessions_of_topic, topic=row.topic, most=SESSIONS_OF_NODE_MAX, **latest)
    return MapNode(
        key=f"topic:{row.topic}",
        kind="topic",
        text=row.topic,
        turns=row.turns,
        sessions=[(one.session_id, one.turns) for one in sessions],
    )


def _links(
    tx: Transaction, nodes: list[MapNode], rows: list[Row], latest: dict[str, int]
) -> list[MapLink]:
    """Return the links of the map, each once; every node has its strongest ones."""
    places = {node.key: place for place, node in enumerate(nodes)}
    turns: dict[tuple[int, int], int] = {}
    for row in rows:
        pairs = tx.all(SQL.pairs_of, space_id=latest["space_id"], key=row.key, most=CANDIDATES_MAX)
        for pair in pairs:
            if pair.other in places:
                one, other = sorted((places[row.key], places[pair.other]))
                turns[one, other] = pair.events
    topics = json.dumps([node.text for node in nodes if node.kind == "topic"])
    keys = json.dumps([row.key for row in rows])
    for row in tx.all(SQL.entities_of_topics, topics=topics, keys=keys, **latest):
        turns[places[row.key], places[f"topic:{row.topic}"]] = row.turns
    strength = {
        pair: association(count, nodes[pair[0]].turns, nodes[pair[1]].turns)
        for pair, count in turns.items()
    }
    kept_links = {
        pair
        for place in range(len(nodes))
        for pair in sorted(
            (pair for pair in strength if place in pair), key=lambda pair: (-strength[pair], pair)
        )[:LINKS_OF_NODE_MAX]
    }
    return [MapLink(*pair, turns[pair]) for pair in sorted(kept_links)]


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

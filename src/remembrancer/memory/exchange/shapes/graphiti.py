"""Zep and Graphiti: messages of sessions, episodes, and edges as facts with their validity.

The shape was read from getzep/graphiti, graphiti_core/edges.py (EntityEdge), graphiti_core/nodes.py
(EpisodicNode), server/graph_service/dto/common.py (Message), server/graph_service/dto/ingest.py
(AddMessagesRequest) and mcp_server/src/utils/formatting.py; Zep's edges and messages from
help.getzep.com (reference of graph/edge/get and thread.get).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ....protocol.sources import USUAL
from .documents import Entry, Sample, SourceDocument, entries, numbered_messages, whole_objects
from .records import (
    SYSTEM,
    TOOL_RESULT,
    DialogueMessage,
    DialoguePart,
    DialogueSession,
    InvalidRecord,
    LeftOutRecord,
    Record,
    ShapeFact,
    ShapeTurn,
    digest,
    objects,
    readable_id,
    readable_topic,
    start_before,
    statement,
    text_of,
    time_of,
    turns,
)

DERIVED = "summary derived from facts"
_FACTS, _EPISODES = ("edges", "facts"), ("episodes",)
_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_OTHER_ROLES = {"system": SYSTEM, "norole": SYSTEM, "tool": TOOL_RESULT, "function": TOOL_RESULT}
# "Ada(user): text" or "user: text", as Graphiti writes messages into episodes
_SPOKEN = re.compile(
    r"(?:[^\n():]{0,100}\((user|assistant|system)\)|(user|assistant|system|human|ai))\s*:\s*(.*)",
    re.DOTALL | re.IGNORECASE,
)


def matches(sample: Sample) -> bool:
    """Return True for edges, episodes, or sessions of messages with `role_type`."""
    return any(
        _is_edge(item)
        or _is_episode(item)
        or _is_session(item)
        or any(_is_edge(one) for key in _FACTS for one in objects(item.get(key)))
        or any(_is_episode(one) for key in _EPISODES for one in objects(item.get(key)))
        for item in sample.items
    )


def _is_edge(item: dict[str, Any]) -> bool:
    return isinstance(item.get("fact"), str) and "source_node_uuid" in item


def _is_episode(item: dict[str, Any]) -> bool:
    return (
        isinstance(item.get("content"), str) and "source_description" in item and "source" in item
    )


def _is_session(item: dict[str, Any]) -> bool:
    messages = objects(item.get("messages"))
    has_name = any(key in item for key in ("session_id", "thread_id", "group_id"))
    return bool(messages) and (
        any("role_type" in one for one in messages)
        or (has_name and any("uuid" in one and "content" in one for one in messages))
    )


def read(document: SourceDocument) -> Iterator[Record]:
    """Yield edges as facts, and messages and episodes as turns.

    A fact holds from `valid_at` (else the episode's or the edge's own time) to `invalid_at` (else
    `expired_at`).
    """
    sample = document.sample()
    if any(_is_session(item) for item in sample.items):
        for entry in whole_objects(document):
            yield from [entry] if isinstance(entry, InvalidRecord) else _session(entry)
        return
    for entry in entries(document):
        if isinstance(entry, InvalidRecord):
            yield entry
        elif entry.key in _FACTS or (entry.key is None and _is_edge(entry.value)):
            yield _fact(entry)
        elif entry.key in _EPISODES or (entry.key is None and _is_episode(entry.value)):
            yield from _episode(entry)
        elif entry.key in ("nodes", "communities"):
            yield LeftOutRecord(place=entry.place, reason=DERIVED)
        elif entry.key is None:
            yield InvalidRecord(place=entry.place, detail="expected an edge or an episode")


def _fact(entry: Entry) -> Record:
    edge, place = entry.value, entry.place
    if not text_of(edge, "fact"):
        return InvalidRecord(place=place, detail="`fact` is not a text")
    times = {}
    for key in ("valid_at", "invalid_at", "expired_at", "reference_time", "created_at"):
        times[key], invalid = time_of(edge.get(key), place)
        if invalid:
            return invalid
    ends = times["invalid_at"] or times["expired_at"]
    starts = times["valid_at"] or times["reference_time"] or times["created_at"]
    if not times["valid_at"] or times["invalid_at"] is None:
        starts = start_before(starts, ends)
    group = text_of(edge, "group_id")
    return statement(
        ShapeFact(
            place=place,
            text=edge["fact"],
            origin=digest("graphiti", text_of(edge, "uuid"), edge["fact"], str(ends)),
            user_id=readable_id(group) if group else None,
            valid_from=starts,
            valid_to=ends,
        ),
        session_id=group or "graphiti",
    )


def _episode(entry: Entry) -> Iterator[Record]:
    episode, place = entry.value, entry.place
    at, invalid = time_of(episode.get("valid_at") or episode.get("created_at"), place)
    content = text_of(episode, "content")
    if invalid or not content:
        yield invalid or InvalidRecord(place=place, detail="`content` is not a text")
        return
    spoken = _SPOKEN.match(content) if episode.get("source") == "message" else None
    role = (spoken[1] or spoken[2]).lower() if spoken else ""
    if role == "system":
        yield LeftOutRecord(place=place, reason=SYSTEM)
        return
    is_answer = spoken is None or _ROLES[role] == "assistant"
    text = spoken[3] if spoken else content
    group = text_of(episode, "group_id")
    yield ShapeTurn(
        place=place,
        query="" if is_answer else text,
        response=text if is_answer else "",
        source=USUAL if spoken else "import",
        origin=digest("graphiti", text_of(episode, "uuid"), content),
        session_id=readable_id(group or "graphiti") or "graphiti",
        user_id=readable_id(group) if group else None,
        topic=readable_topic(episode.get("name")),
        occurred_at=at,
    )


def _session(entry: Entry) -> Iterator[Record]:
    session = entry.value
    key = text_of(session, "session_id", "thread_id", "group_id") or "zep"
    user_id = text_of(session, "user_id", "group_id")
    started_at, invalid = time_of(session.get("created_at"), entry.place)
    if invalid:
        yield invalid
    if not isinstance(session.get("messages"), list):
        yield InvalidRecord(place=entry.place, detail="it has no list `messages`")
        return

    parts = (
        one if isinstance(one, InvalidRecord) else _message(one.value, one.place)
        for one in numbered_messages(session["messages"], entry.place)
    )
    yield from turns(
        parts,
        DialogueSession(
            shape="graphiti",
            key=key,
            user_id=readable_id(user_id) if user_id else None,
            started_at=started_at,
        ),
    )
    yield from (
        _fact(Entry(place=f"{entry.place}, fact {number}", value=edge))
        for number, edge in enumerate(objects(session.get("facts")), 1)
    )


def _message(message: dict[str, Any], place: str) -> DialoguePart:
    kind = text_of(message, "role_type", "role").lower()
    if kind in _OTHER_ROLES:
        return LeftOutRecord(place=place, reason=_OTHER_ROLES[kind])
    if kind not in _ROLES or not isinstance(message.get("content"), str):
        return InvalidRecord(place=place, detail="a message needs `role_type` and `content`")
    return DialogueMessage(
        place=place,
        role=_ROLES[kind],
        text=message["content"],
        id=text_of(message, "uuid") or place.rpartition(" ")[2],
        at=message.get("timestamp") or message.get("created_at"),
    )

"""Evidence recall of a peer: the share of the turns that answer a question in its ten best items,
and of their sessions.

All conversations of a set are in one store, each of them the memory of a user.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from bench.evidence import Array, interval
from bench.locomo import Conversation, Event, conversations
from bench.peers.client import PeerProcess
from bench.peers.environments import PeerKind
from bench.peers.port import Item, Question
from bench.peers.vectors import Encoding
from bench.retrieval import measured
from bench.sets import FILES, in_pairs

MOST = 10
CONVERSATIONS = {"BEAM-500K": 4}  # the first ones; each has as many texts as the whole of LoCoMo


def sets_in(data: Path) -> dict[str, list[Conversation]]:
    """Return the sets of a folder, or of the file of LoCoMo, whose turns are also taken alone."""
    folder, only = (data, None) if data.is_dir() else (data.parent, data.name)
    result: dict[str, list[Conversation]] = {}
    for name in ("LoCoMo", "BEAM-500K"):
        path = folder / FILES[name]
        if not path.exists() or only not in (None, path.name):
            continue
        if name == "LoCoMo":
            result["LoCoMo, a turn an item"] = conversations(path)
        samples = json.loads(path.read_text("utf-8"))[: CONVERSATIONS.get(name)]
        result[f"{name}, two turns an item"] = in_pairs(samples)
    return result


def items_of(conversation: Conversation, user: str, encoding: Encoding) -> list[Item]:
    """Return the events of a conversation as items of a user; an id ends with the number."""
    texts = [_dated(event) for event in conversation.events]
    return [
        Item(
            f"{user}-{number}",
            user,
            text,
            vector,
            event.query,
            event.response,
            str(event.session),
            event.occurred_ms,
        )
        for number, (event, text, vector) in enumerate(
            zip(conversation.events, texts, encoding.vectors(texts), strict=True)
        )
    ]


def _dated(event: Event) -> str:
    """Return both sides of an event after its date, which peers have no other place for.

    On LoCoMo this adds 0.01 to 0.03 to the recall of a hybrid search by hand.
    """
    day = datetime.fromtimestamp(event.occurred_ms / 1000, UTC)
    return f"{day.day} {day:%B %Y}: {event.query}\n{event.response}".strip()


def questions_of(conversation: Conversation, user: str, encoding: Encoding) -> list[Question]:
    """Return the questions of a conversation."""
    texts = [question.text for question in conversation.questions]
    vectors = encoding.query_vectors(texts)
    return [Question(user, text, vector, MOST) for text, vector in zip(texts, vectors, strict=True)]


def recalls(
    kind: PeerKind, spaces: Sequence[Conversation], encoding: Encoding, cache: Path
) -> Array:
    """Return the recall of each question: (questions, 2), of turns and of sessions.

    Raises PeerUnavailable.
    """
    result = []
    users = {f"user{place}": one for place, one in enumerate(spaces)}
    items = [item for user, one in users.items() for item in items_of(one, user, encoding)]
    questions = {user: questions_of(one, user, encoding) for user, one in users.items()}
    with tempfile.TemporaryDirectory() as name:
        peer = PeerProcess(kind, Path(name) / "store", cache, encoding)
        stored = peer.add(items)
        peer.settle()
        for user, conversation in users.items():
            ids, _ = peer.search(questions[user])
            for question, best in zip(conversation.questions, ids, strict=True):
                own = [stored[one] for one in best if stored[one].startswith(f"{user}-")]
                numbers = [int(one.removeprefix(f"{user}-")) for one in own]
                turns = measured(conversation, question, numbers)[f"recall@{MOST}"]
                result.append((turns, _session_recall(conversation, question.evidence, numbers)))
        peer.close()
    return np.array(result)


def _session_recall(
    conversation: Conversation, evidence: frozenset[str], numbers: Sequence[int]
) -> float:
    needed = {one.session for one in conversation.events if evidence & set(one.turns)}
    return len(needed & {conversation.events[one].session for one in numbers}) / len(needed)


def cell(values: Array) -> str:
    """Format the mean recall of turns with its bootstrap 95 % interval, and that of sessions."""
    turns, sessions = values.T
    low, high = interval([turns])
    return f"{turns.mean():.3f} [{low:.2f}, {high:.2f}] / {sessions.mean():.3f}"

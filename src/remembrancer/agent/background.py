"""The background of an answer: facts, instructions, summaries, and the session so far."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..accounts import space_user_id
from ..context import Caller, Context
from ..memory.spaces import SQL
from ..memory.summaries.maps import MapUnknown, map_version
from ..protocol import limits
from ..protocol.chat import Earlier
from ..protocol.recalled import answer_items
from ..protocol.search import MemoryAnswer, SummaryHit
from ..protocol.summaries import MapQuery
from ..store import Row, Transaction
from .extractive_answer import QUOTED_TOPIC, sanitize

_ASKS_FOR_SUMMARY = re.compile(
    r"\b(?:summari[sz]e|summary|recap|overview|what (?:have|did) we (?:decide|agree|discuss)"
    r"|zusammenfass\w*|überblick|résum\w*|resum\w*|riassum\w*|riepilog\w*)\b"
    r"|подытож|итог|обобщи|总结|概括|概述",
    re.IGNORECASE,
)


def background_items(answer: MemoryAnswer) -> list[str]:
    """Return the instructions, facts and summaries of an answer as texts for a model."""
    layers = {"facts", "instructions", "summaries"}
    return answer_items(answer.model_dump(mode="json", include=layers))


def background_quotes(answer: MemoryAnswer) -> list[str]:
    """Return the facts and summaries of an answer as lines to quote, with refs where there are."""
    lines = [
        f"- fact since {fact.valid_from[:10]}: “{_line(fact.text)}”{_ref(fact.event_id)}"
        for fact in answer.facts
    ]
    return lines + [
        f"- map: “{_line(one.text)}”"
        if one.l1_id is None
        else f"- summary of session {one.session_id}: “{_line(one.text)}” ({one.l1_id})"
        for one in answer.summaries
    ]


def with_map(
    context: Context, caller: Caller, user_id: str, message: str, answer: MemoryAnswer
) -> MemoryAnswer:
    """Return the answer with the newest map if the message asks for a summary and found none."""
    if answer.summaries or not _ASKS_FOR_SUMMARY.search(message):
        return answer
    try:
        newest = map_version(context, caller, MapQuery(user_id=user_id))
    except MapUnknown:
        return answer
    summary = SummaryHit(
        l1_id=None,
        map_version=newest.version,
        session_id=None,
        topic=None,
        text=newest.map_text[: limits.CHAT_EVENT_CHARACTERS_MAX],
        score=0.0,
    )
    return answer.model_copy(update={"summaries": [summary]})


def session_messages(
    context: Context, caller: Caller, user_id: str, session_id: str
) -> list[Earlier]:
    """Return the latest turns of a session as messages, oldest first. Raises StoreUnavailable.

    Of a turn that was answered by quotes, only the user's message.
    """

    def read(tx: Transaction) -> Sequence[Row]:
        space = tx.one_or_none(SQL.space_of, user_id=space_user_id(caller, user_id))
        if space is None:
            return []
        session = {"space_id": space.id, "session_id": session_id}
        return tx.all(SQL.session_turns, **session, most=limits.CHAT_SESSION_TURNS_MAX)

    rows = context.store.read(read, account_id=caller.account_id)
    messages = []
    for row in reversed(rows):
        messages.append(Earlier(role="user", content=row.query))
        if row.topic != QUOTED_TOPIC:
            messages.append(Earlier(role="assistant", content=row.response))
    return [message for message in messages if message.content.strip()]


def _line(text: str) -> str:
    """Return a stored text on one line, without marks that could imitate ours."""
    return " ".join(sanitize(text).split())


def _ref(event_id: str | None) -> str:
    return f" (ref: {event_id})" if event_id else ""

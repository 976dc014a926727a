"""A service with a scripted chat model, used through the `openai` package."""

from __future__ import annotations

from typing import Any

from endpoint import Endpoint

from remembrancer.context import Context

MESSAGES = [
    {"role": "system", "content": "You are a pirate."},
    {"role": "user", "content": "When does the ferry leave?"},
]
TOOL = {"type": "function", "function": {"name": "timetable", "parameters": {"type": "object"}}}


class Served:
    """A running service, an OpenAI client connected to it, and its model."""

    def __init__(self, context: Context, client: Any, model: Endpoint) -> None:
        self.context, self.client, self.model = context, client, model

    def ask(self, **more: Any) -> Any:
        """Ask about the ferry."""
        return self.client.chat.completions.create(
            **{"model": "memory", "messages": MESSAGES, **more}
        )


def events(context: Context) -> list[tuple[str, str, str]]:
    """Return the session, query and response of each stored event."""
    sql = (
        "select s.session_id, e.query, e.response from events e join sessions s on s.id "
        "= e.session order by e.id"
    )
    return [tuple(row) for row in context.store.read(lambda tx: tx.all(sql))]

"""The service behind its HTTP interface, in this process, and plain FTS5 over the same texts."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from remembrancer.accounts import caller_for
from remembrancer.context import assemble
from remembrancer.memory.links import TurnLinks
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.memory.write import turns as turns_module
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryAnswer, MemoryQuery
from remembrancer.settings import read

_WORD = re.compile(r"\w+")


class Service:
    """A service with one account. Its data is in `folder`, and stays there."""

    def __init__(self, folder: Path) -> None:
        self.context = assemble(read(data=folder))
        self.caller = caller_for(self.context)

    def say(
        self,
        user_id: str,
        session_id: str,
        query: str,
        response: str,
        at: datetime | None = None,
        **parts: Any,
    ) -> str:
        """Store a turn and return its event id; `parts` are further fields of a turn."""
        turn = Turn(
            user_id=user_id,
            session_id=session_id,
            query=query,
            response=response,
            occurred_at=at,
            **parts,
        )
        event_id = remember(self.context, self.caller, turn).event_id
        assert event_id is not None
        return event_id

    def ask(self, user_id: str, question: str, **options: Any) -> MemoryAnswer:
        """Search the memory of a user; `options` are further fields of a query."""
        query = MemoryQuery(user_id=user_id, query_text=question, interact=False, **options)
        return recall(self.context, self.caller, query)

    def close(self) -> None:
        """Close the store."""
        self.context.close()


@contextmanager
def service() -> Iterator[Service]:
    """Open a service in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        one = Service(Path(folder))
        try:
            yield one
        finally:
            one.close()


@contextmanager
def without_change_rules() -> Iterator[None]:
    """Leave out the rules of turns that change: links and withdrawals."""
    with ExitStack() as stack:
        for module, name, other in (
            (turns_module, "withdrawal_in", lambda _: None),
            (turns_module, "link_related", lambda *_, **__: TurnLinks()),
        ):
            stack.enter_context(patch.object(module, name, other))
        yield


class FtsIndex:
    """Texts in plain FTS5: Porter stems, BM25, any word of a question."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._ids = list(texts)
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "create virtual table texts using fts5 (text, tokenize = 'porter unicode61')"
        )
        self._db.executemany(
            "insert into texts (rowid, text) values (?, ?)", enumerate(texts.values())
        )

    def best(self, question: str, most: int) -> list[str]:
        """Return the ids of the best texts for a question, best first."""
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        if not words:
            return []
        rows = self._db.execute(
            "select rowid from texts where texts match ? order by bm25(texts) limit ?",
            (words, most),
        )
        return [self._ids[number] for (number,) in rows]

"""The statements that a database server is asked for a turn: each is a round trip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from engines import empty_store
from service import new_key

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.context import Context
from remembrancer.memory.write.batch import write_batch
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.memory_batch import TurnBatch
from remembrancer.store import open_store
from remembrancer.store.postgresql.pool import Connection

STATEMENTS_MAX = 6  # of a turn, with `begin` and `commit`
TURNS = (
    ("I live in Hamburg, near the harbour.", "Noted: Hamburg."),
    ("My sister Eva moved to Lisbon in May 2024.", "Portugal is warm, give Eva my regards."),
    ("We planted garlic in the garden in Lisbon.", "In October, 5 cm deep."),
    ("The order QX7T2M costs 45 euros.", "QX7T2M arrives on 3 March 2026."),
)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    store = open_store(empty_store("postgresql", tmp_path), durability="normal")
    with closing(testing.context(tmp_path, store=store)) as opened:
        yield opened


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the statements that the driver sends from now on."""
    statements: list[str] = []

    def recorded(function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        def send(target: Any, *values: Any, **options: Any) -> Any:
            statements.append(name or str(values[0]))
            return function(target, *values, **options)

        return send

    monkeypatch.setattr(psycopg.Cursor, "execute", recorded(psycopg.Cursor.execute))
    monkeypatch.setattr(Connection, "rollback", recorded(Connection.rollback, "rollback"))
    return statements


def test_a_turn_asks_for_few_statements(context: Context, requests: list[str]) -> None:
    """Its links with earlier turns and its entities are stored with it."""
    caller = authenticate(context, new_key(context))
    for session in ("first", "second"):
        for query, response in TURNS:
            requests.clear()
            turn = Turn(query=query, response=response, user_id="ada", session_id=session)
            remember(context, caller, turn)

            if (session, query) != ("first", TURNS[0][0]):  # which numbers the embedder
                assert len(requests) <= STATEMENTS_MAX, requests


def test_a_turn_of_a_batch_asks_for_three(context: Context, requests: list[str]) -> None:
    """The transaction and the user of the session are those of the batch."""
    caller = authenticate(context, new_key(context))
    turns = [{"query": query, "response": response} for query, response in TURNS]
    batch = TurnBatch.model_validate({"turns": turns, "user_id": "ada"})
    write_batch(context, caller, batch)
    requests.clear()

    write_batch(context, caller, batch)

    assert len(requests) <= 3 * len(TURNS) + 3, requests

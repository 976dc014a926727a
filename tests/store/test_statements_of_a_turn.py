"""The statements that a database server is asked for a turn: each is a round trip."""

from __future__ import annotations

from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Context
from remembrancer.memory.write.batch import write_batch
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.memory_batch import TurnBatch

STATEMENTS_MAX = 6  # of a turn, with `begin` and `commit`
TURNS = (
    ("I live in Hamburg, near the harbour.", "Noted: Hamburg."),
    ("My sister Eva moved to Lisbon in May 2024.", "Portugal is warm, give Eva my regards."),
    ("We planted garlic in the garden in Lisbon.", "In October, 5 cm deep."),
    ("The order QX7T2M costs 45 euros.", "QX7T2M arrives on 3 March 2026."),
)


def test_a_turn_asks_for_few_statements(database: Context, statements: list[str]) -> None:
    """Its links with earlier turns and its entities are stored with it."""
    caller = authenticate(database, new_key(database))
    for session in ("first", "second"):
        for query, response in TURNS:
            statements.clear()
            turn = Turn(query=query, response=response, user_id="ada", session_id=session)
            remember(database, caller, turn)

            if (session, query) != ("first", TURNS[0][0]):  # which numbers the embedder
                assert len(statements) <= STATEMENTS_MAX, statements


def test_a_turn_of_a_batch_asks_for_three(database: Context, statements: list[str]) -> None:
    """The transaction and the user of the session are those of the batch."""
    caller = authenticate(database, new_key(database))
    turns = [{"query": query, "response": response} for query, response in TURNS]
    batch = TurnBatch.model_validate({"turns": turns, "user_id": "ada"})
    write_batch(database, caller, batch)
    statements.clear()

    write_batch(database, caller, batch)

    assert len(statements) <= 3 * len(TURNS) + 3, statements

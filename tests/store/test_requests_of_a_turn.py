"""The requests that a database server gets for a turn: each is a round trip."""

from __future__ import annotations

from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Context
from remembrancer.memory.remember import remember
from remembrancer.memory.write.turns import write_batch
from remembrancer.protocol.memory import Turn, TurnBatch

REQUESTS_MAX = 2  # of a turn: the second one commits it
TURNS = (
    ("I live in Hamburg, near the harbour.", "Noted: Hamburg."),
    ("My sister Eva moved to Lisbon in May 2024.", "Portugal is warm, give Eva my regards."),
    ("We planted garlic in the garden in Lisbon.", "In October, 5 cm deep."),
    ("The order QX7T2M costs 45 euros.", "QX7T2M arrives on 3 March 2026."),
)


def test_an_added_turn_takes_two_round_trips(database: Context, requests: list[list[str]]) -> None:
    """Its links with earlier turns are stored with it."""
    caller = authenticate(database, new_key(database))
    for session in ("first", "second"):
        for query, response in TURNS:
            requests.clear()
            turn = Turn(query=query, response=response, user_id="ada", session_id=session)
            remember(database, caller, turn)

            if (session, query) != ("first", TURNS[0][0]):  # which numbers the embedder
                assert len(requests) <= REQUESTS_MAX, requests
                assert requests[-1][-1] == "commit"


def test_a_turn_of_a_batch_takes_one_round_trip(
    database: Context, requests: list[list[str]]
) -> None:
    """Its rows are sent with the request for the next turn."""
    caller = authenticate(database, new_key(database))
    turns = [{"query": query, "response": response} for query, response in TURNS]
    batch = TurnBatch.model_validate({"turns": turns, "user_id": "ada"})
    write_batch(database, caller, batch)
    requests.clear()

    write_batch(database, caller, batch)

    assert len(requests) <= len(TURNS) + 2, requests

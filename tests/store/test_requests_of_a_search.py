"""The requests that a database server gets for a search: each is a round trip."""

from __future__ import annotations

from typing import Any

from cubes.agents import KETTLE
from service import new_key

from remembrancer.accounts.keys import authenticate
from remembrancer.context import Caller, Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryAnswer, MemoryQuery

# Of a search: two for what it returns, whose commit is not awaited, and two to count the step.
REQUESTS_MAX = 4
PLACE: dict[str, Any] = {"user_id": "ada", "session_id": "boat"}


def search(context: Context, caller: Caller, text: str, *, interact: bool = True) -> MemoryAnswer:
    query = MemoryQuery(query_text=text, interact=interact, **PLACE)
    return recall(context, caller, query)


def test_a_key_is_looked_up_in_one_round_trip(database: Context, requests: list[list[str]]) -> None:
    """In every request, so that a revoked key is refused at once by every server."""
    key = new_key(database)
    authenticate(database, key)  # which records its use, once a minute
    requests.clear()

    authenticate(database, key)

    assert len(requests) == 1, requests


def test_a_search_of_a_loaded_space_takes_four_round_trips(
    database: Context, requests: list[list[str]]
) -> None:
    """For the space with its session, for the texts of the hits, and to count the step."""
    caller = authenticate(database, new_key(database))
    for number in range(3):
        remember(database, caller, Turn(query=f"Ferry {number}?", response="Pier 3.", **PLACE))
        search(database, caller, "ferry")
        requests.clear()

        answer = search(database, caller, "ferry")

        assert (answer.step, len(answer.hits)) == (2 * number + 2, number + 1)
        assert answer.duty_error is not None  # the step before this one has no turn
        assert len(requests) <= REQUESTS_MAX, requests


def test_a_search_that_counts_no_step_takes_four(
    database: Context, requests: list[list[str]]
) -> None:
    """Two are for the search; then it records its session's user and what it may cite."""
    caller = authenticate(database, new_key(database))
    remember(database, caller, Turn(query="Which pier?", response="Pier 3.", **PLACE))
    search(database, caller, "pier")
    requests.clear()

    assert search(database, caller, "pier", interact=False).hits
    assert len(requests) <= REQUESTS_MAX, requests


def test_focus_words_are_looked_for_in_many_events_at_a_time(
    database: Context, requests: list[list[str]]
) -> None:
    caller = authenticate(database, new_key(database))
    for number in range(20):
        turn = Turn(query=f"Trip {number}: the red ferry?", response=f"Pier {number}.", **PLACE)
        remember(database, caller, turn)
    search(database, caller, "ferry")
    requests.clear()

    query = MemoryQuery(query_text="ferry", focus_words=["red ferry"], **PLACE)
    answer = recall(database, caller, query)

    assert answer.focus_missing is None
    assert len(requests) <= REQUESTS_MAX + 1, requests


def test_facts_summaries_and_cubes_add_few_round_trips(
    database: Context, requests: list[list[str]]
) -> None:
    """Each kind of result has one or two statements, however many results there are."""
    caller = authenticate(database, new_key(database))
    turn = {
        "query": "How is the kettle descaled?",
        "response": "With vinegar.",
        "critical": "The kettle of Ada is descaled with vinegar.",
        "l1_summary": "Ada asked how a kettle is descaled. Vinegar was recommended.",
        **{f"cube_{name}": value for name, value in KETTLE.items() if name != "kind"},
    }
    remember(database, caller, Turn.model_validate({**turn, **PLACE}))
    for _ in range(4):
        search(database, caller, "What about the weather?")
    requests.clear()

    answer = search(database, caller, "How is a kettle descaled?")

    assert all((answer.hits, answer.facts, answer.summaries, answer.shared_cubes))
    assert len(requests) <= REQUESTS_MAX + 6, requests


def test_statements_of_a_search_are_planned_once(database: Context) -> None:
    """Not for each search: a plan for known values must not look cheaper than one for any."""
    caller = authenticate(database, new_key(database))
    for interact in (False, True):
        for number in range(16):
            remember(database, caller, Turn(query=f"Pier {number}?", response="Yes.", **PLACE))
            search(database, caller, "pier", interact=interact)
            query = MemoryQuery(query_text="pier", user_id="ada", interact=interact)
            recall(database, caller, query)  # of no session that it names

    plans = database.store.read(
        lambda tx: tx.all(
            "select statement, custom_plans, generic_plans from pg_prepared_statements"
            " where statement like '%spaces%' and statement like '%session_id%'"
            " and statement not like '%events_made +%'"
        )
    )

    assert len(plans) >= 2
    # PostgreSQL plans the first five executions for their values.
    assert [row for row in plans if row.custom_plans > 5] == []

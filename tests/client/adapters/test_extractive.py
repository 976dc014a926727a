"""Extractive answers: which passages are quoted and which are not."""

from __future__ import annotations

from client.runtime.scripted_turn import HIT

from remembrancer.client.adapters.extractive import HEADER, extractive_answer
from remembrancer.protocol.search import Hit


def hit(query: str, response: str, event_id: str = "e_1") -> Hit:
    """Return a hit."""
    return HIT.model_copy(update={"query": query, "response": response, "event_id": event_id})


def test_nearest_sentence_is_quoted_with_the_next() -> None:
    event = hit(
        "Hello.", "The sea is calm. The ferry leaves at 9.40. It costs 12 euros. Is that all?"
    )

    assert extractive_answer("When does the ferry leave?", [event]) == (
        f"{HEADER}\n\n- \u201cThe ferry leaves at 9.40.\u201d (ref: e_1) "
        "\u201cIt costs 12 euros.\u201d (ref: e_1)"
    )


def test_at_most_three_distinct_events_are_quoted() -> None:
    same = [hit("q?", "It leaves at 9:40.", f"e_{n}") for n in range(3)]
    others = [hit("q?", f"It leaves from pier {n}.", f"e_{n}") for n in range(3, 9)]

    lines = extractive_answer("When?", [*same, *others]).splitlines()[2:]

    assert [line.rpartition(": ")[2] for line in lines] == ["e_0)", "e_3)", "e_4)"]

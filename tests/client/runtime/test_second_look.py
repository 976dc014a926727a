"""The runtime with the real second look: invented claims are found and revised."""

from __future__ import annotations

import pytest
from client.runtime.test_drivers import scripted

from remembrancer.client import Client
from remembrancer.client.runtime import Draft, Runtime
from remembrancer.protocol.memory import Turn

QUESTION = "When does the ferry leave?"


def save_the_ferry(client: Client) -> str:
    """Save a turn about the ferry; return its event id."""
    turn = Turn(query=QUESTION, response="It leaves at 9:40.", user_id="ada")
    return str(client.remember_turn(turn).event_id)


def test_answer_that_claims_nothing_from_memory_is_not_checked(client: Client) -> None:
    """Values that memory did not return need no ref (specification.md#look-when)."""
    save_the_ferry(client)
    draft, _ = scripted("Your new timer runs for 25 minutes.\n{seal}")
    runtime = Runtime(client, draft, user_id="ada")

    reply = runtime.turn("Start a timer of 25 minutes before the ferry.")

    assert (reply.passed, reply.drafts, reply.notes) == (None, 1, ())
    assert (runtime.counts.looks_not_needed, runtime.counts.calls["second look"]) == (1, 0)


@pytest.mark.parametrize("answer", ["The ferry leaves at 9:40.", "The ferry leaves at 9:45."])
def test_answer_that_repeats_memory_without_a_ref_is_revised(client: Client, answer: str) -> None:
    """A repeated value needs a ref, right or wrong (specification.md#look-when)."""
    save_the_ferry(client)
    draft, prompts = scripted(f"{answer}\n{{seal}}", "I looked it up.\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn(QUESTION)

    assert reply.drafts == 2
    assert "claim_marked" in prompts[1][-1]["content"]


def test_results_of_tools_need_no_ref(client: Client) -> None:
    """A draft function can name the results of its tools (specification.md#look-when)."""
    text = f"The ferry leaves at 9:55 now, no longer at 9:40 (ref: {save_the_ferry(client)})."
    draft = Draft(text, ("timetable: ferry 9:55",))

    reply = Runtime(client, lambda _: draft, user_id="ada").turn("When does it leave today?")

    assert (reply.passed, reply.drafts) == (True, 1)

"""A session starts with the critical facts of its user, and stops where memory cannot be searched.

See specification.md#turn-start and specification.md#turn-search-failed.
"""

from __future__ import annotations

from client.runtime.scripted_turn import new_conversation, run_turn, search_answer

from remembrancer.client.errors import UnreachableError
from remembrancer.client.runtime.session import CallFailed, RuntimeOptions
from remembrancer.protocol.search import FactHit
from remembrancer.protocol.summaries import StartPack, StartParts

ALLERGY = "allergic to penicillin"
CATS = "has two cats"


def start_pack(*facts: str) -> StartPack:
    """Return a start pack with these facts."""
    parts = StartParts(instructions=[], map="", facts=list(facts), summaries=[], cubes=[])
    return StartPack(
        prompt_text="", user_id="ada", constitution_version=1, tokens=1, left_out=0, parts=parts
    )


def test_first_prompt_has_the_critical_facts() -> None:
    conversation = new_conversation()
    conversation.state.start_facts = None

    first = run_turn(conversation, "None.", start_pack=start_pack(ALLERGY, CATS))
    second = run_turn(conversation, "None.")

    for turn in (first, second):  # the history holds only messages and answers
        assert f"[fact] {ALLERGY}\n[fact] {CATS}" in turn.prompts[0][-1]["content"]
    assert first.steps[:3] == ["search", "start pack", "draft"]
    assert "start pack" not in second.steps


def test_a_fact_that_the_search_returns_is_not_repeated() -> None:
    conversation = new_conversation()
    conversation.state.start_facts = [ALLERGY, CATS]
    hit = FactHit(
        fact_id="f_1",
        text=ALLERGY,
        source="user",
        status="current",
        valid_from="2026-01-01T00:00:00.000Z",
        event_id=None,
        score=0.5,
    )

    prompt = run_turn(conversation, "None.", search=search_answer(facts=[hit])).prompts[0][-1]

    assert prompt["content"].count(ALLERGY) == 1
    assert f"[fact] {CATS}" in prompt["content"]


def test_facts_fill_at_most_a_third_of_the_budget() -> None:
    conversation = new_conversation(memory_tokens_max=30)
    conversation.state.start_facts = [ALLERGY, "x" * 200, CATS]

    prompt = run_turn(conversation, "None.").prompts[0][-1]["content"]

    assert ALLERGY in prompt
    assert "x" * 200 not in prompt


def test_failed_search_stops_the_turn_by_default() -> None:
    conversation = new_conversation(without_memory="stop")

    turn = run_turn(conversation, "None.", search=CallFailed(UnreachableError("no answer")))

    assert turn.steps == ["search"]
    assert turn.reply.answer == (
        "Memory is not available, so I stopped before answering. Nothing was saved. Please send "
        "your message again later."
    )
    assert turn.reply.failures
    assert conversation.counts.turns_stopped == 1
    assert RuntimeOptions(user_id="ada").without_memory == "stop"

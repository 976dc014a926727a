"""A session starts with the critical facts of its user, and stops where memory cannot be searched.

See specification.md#turn-start and specification.md#turn-search-failed.
"""

from __future__ import annotations

from client.runtime.scripted_turn import new_conversation, run_turn

from remembrancer.client.errors import UnreachableError
from remembrancer.client.runtime.session import CallFailed, RuntimeOptions
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
    conversation.start_facts = None

    first = run_turn(conversation, "None.", start_pack=start_pack(ALLERGY, CATS))
    second = run_turn(conversation, "None.")

    for turn in (first, second):  # the history holds only messages and answers
        assert f"[fact] {ALLERGY}\n[fact] {CATS}" in turn.prompts[0][-1]["content"]
    assert first.steps[:3] == ["search", "start pack", "draft"]
    assert "start pack" not in second.steps


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

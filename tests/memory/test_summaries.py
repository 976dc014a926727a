"""An L1 covers the turns of its session since the last L1; its queries read no other data."""

from __future__ import annotations

from memory.asking import Memory

from remembrancer.memory.summaries.l1 import summarize
from remembrancer.protocol.summaries import Summary, SummarySaved


def saved_summary(memory: Memory, text: str, session_id: str = "s", **more: object) -> SummarySaved:
    """Save an L1; return the response."""
    body = {"user_id": memory.user_id, "session_id": session_id, "summary_text": text, **more}
    return summarize(memory.context, memory.caller, Summary.model_validate(body))


def test_turns_of_other_sessions_and_users_do_not_count(memory: Memory) -> None:
    memory.tell("q" * 60, "r" * 40, session_id="s")
    memory.tell("q" * 500, "r" * 500, session_id="t")
    memory.of("bob").tell("q" * 500, "r" * 500, session_id="s")

    assert saved_summary(memory, "x" * 6).ratio == 0.06


def test_length_is_counted_in_characters(memory: Memory) -> None:
    memory.tell("字" * 60, "👩" * 40, session_id="s")

    assert saved_summary(memory, "字" * 6).ratio == 0.06


def test_summary_longer_than_its_turns_has_a_ratio_above_1(memory: Memory) -> None:
    memory.tell("?", "", session_id="s")

    assert saved_summary(memory, "Nothing came of it.").ratio == 19.0

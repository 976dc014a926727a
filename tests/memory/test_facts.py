"""Critical facts: each stored once, newest first."""

from __future__ import annotations

from memory.asking import Memory

from remembrancer.memory.summaries.start_pack import start_pack
from remembrancer.protocol.summaries import StartQuery


def facts(memory: Memory) -> list[str]:
    """Return the facts as in a start pack."""
    parts = start_pack(
        memory.context, memory.caller, StartQuery(user_id=memory.user_id, format="json")
    ).parts
    assert parts is not None
    return parts.facts


def test_facts_are_newest_first_without_duplicates(memory: Memory) -> None:
    for text in (
        "Ada gets seasick.",
        "Ada lives in Oslo.",
        "  Ada gets seasick.\n",
        "ada gets seasick.",
    ):
        memory.tell(text, "Noted.", critical=text)

    assert facts(memory) == ["ada gets seasick.", "Ada lives in Oslo.", "Ada gets seasick."]


def test_facts_are_separate_per_user(memory: Memory) -> None:
    other = memory.of("bob")
    for one in (memory, other):
        one.tell("q", "r", critical="The attic key is with Holm.")
    other.tell("q2", "r", critical="Bob is allergic to nuts.")

    assert facts(memory) == ["The attic key is with Holm."]
    assert facts(other) == ["Bob is allergic to nuts.", "The attic key is with Holm."]

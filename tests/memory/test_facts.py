"""Critical facts: each kept once, the newest first."""

from __future__ import annotations

from memory.asking import Memory

from remembrancer.memory.summaries.start_pack import start_pack
from remembrancer.protocol.summaries import StartQuery


def facts(memory: Memory) -> list[str]:
    """The facts as a start pack has them."""
    parts = start_pack(
        memory.context, memory.caller, StartQuery(user_id=memory.user_id, format="json")
    ).parts
    assert parts is not None
    return parts.facts


def test_the_newest_comes_first_and_each_but_once(memory: Memory) -> None:
    for text in (
        "Ada gets seasick.",
        "Ada lives in Oslo.",
        "  Ada gets seasick.\n",
        "ada gets seasick.",
    ):
        memory.tell(text, "Noted.", critical=text)

    assert facts(memory) == ["ada gets seasick.", "Ada lives in Oslo.", "Ada gets seasick."]


def test_a_fact_of_one_user_is_unknown_to_another(memory: Memory) -> None:
    other = memory.of("bob")
    for one in (memory, other):
        one.tell("q", "r", critical="The attic key is with Holm.")
    other.tell("q2", "r", critical="Bob is allergic to nuts.")

    assert facts(memory) == ["The attic key is with Holm."]
    assert facts(other) == ["Bob is allergic to nuts.", "The attic key is with Holm."]

"""Users with many facts: what a write reads, and what a search returns."""

from __future__ import annotations

from memory.asking import Memory


def test_summary_is_returned_beside_many_better_facts(memory: Memory) -> None:
    """Each kind has candidates of its own."""
    for number in range(30):
        memory.tell(f"q{number}", "r", critical=f"Ferry {number} leaves the harbour at noon.")
    memory.tell("q", "r", l1_summary="Ada asked about the harbour and then about many trains.")

    answer = memory.ask("When does the ferry leave the harbour?")

    assert len(answer.facts) > 1
    assert [one.text for one in answer.summaries] == [
        "Ada asked about the harbour and then about many trains."
    ]

"""Users with many facts: what a write reads, and what a search returns."""

from __future__ import annotations

import pytest
from memory.asking import Memory
from memory.plans import plan

from remembrancer.memory.facts.write import SQL


@pytest.mark.parametrize("name", ["related", "superseded_of", "facts_whole"])
def test_statements_of_a_write_do_not_read_all_facts(memory: Memory, name: str) -> None:
    """All facts of an account are under the same first column of `facts_fact_id`."""
    steps = plan(memory.context, getattr(SQL, name))

    assert "facts_fact_id" not in steps
    assert "SEARCH facts USING" in steps


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

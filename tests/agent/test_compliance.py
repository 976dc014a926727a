"""Compliance metrics use indexes, and a second look that cannot be counted still succeeds."""

from __future__ import annotations

import pytest
from memory.asking import Memory, memory_in
from memory.plans import plan

from remembrancer.agent import compliance
from remembrancer.agent.second_look import second_look
from remembrancer.context import Context
from remembrancer.protocol.agent import ComplianceQuery, SecondLook


@pytest.fixture
def memory(context: Context) -> Memory:
    """Return Ada's empty memory."""
    return memory_in(context)


def test_metrics_queries_use_indexes(context: Context) -> None:
    plans = {name: plan(context, sql) for name, sql in vars(compliance.SQL).items()}

    assert "steps USING INDEX steps_asked (asked_ms>?)" in plans["steps_since"]
    assert "shown_cubes USING INDEX shown_cubes_step (session=? AND step=?)" in plans["cubes_since"]
    assert "looks USING INDEX looks_looked (looked_ms>?)" in plans["looks_since"]
    assert "events USING" in plans["turns_since"]
    assert [
        name for name in ("steps_since", "cubes_since", "looks_since") if "SCAN" in plans[name]
    ] == []
    assert {line for line in plans["session_counts"].split("\n") if "SCAN" in line} <= {
        f"SCAN {table}" for table in ("found", "cubes", "seen", "taken")
    }


def test_second_looks_in_the_browser_are_not_counted(memory: Memory, context: Context) -> None:
    memory.tell("q", "r")

    second_look(context, memory.caller, SecondLook(draft="r"))  # without a key, as in the console

    assert compliance.compliance(context, memory.caller, ComplianceQuery()).total.looks == 0

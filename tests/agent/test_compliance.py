"""Compliance metrics use indexes, and a second look that cannot be counted still succeeds."""

from __future__ import annotations

import pytest
from memory.asking import Memory, memory_in

from remembrancer.agent import compliance
from remembrancer.agent.second_look import second_look
from remembrancer.context import Context
from remembrancer.protocol.agent import ComplianceQuery, SecondLook


@pytest.fixture
def memory(context: Context) -> Memory:
    """Return Ada's empty memory."""
    return memory_in(context)


def test_second_looks_in_the_browser_are_not_counted(memory: Memory, context: Context) -> None:
    memory.tell("q", "r")

    second_look(context, memory.caller, SecondLook(draft="r"))  # without a key, as in the console

    assert compliance.compliance(context, memory.caller, ComplianceQuery()).total.looks == 0

"""Fixtures of the memory tests: an empty memory for each test."""

from __future__ import annotations

import pytest
from memory.asking import Memory, memory_in

from remembrancer.context import Context


@pytest.fixture
def memory(context: Context) -> Memory:
    """Return Ada's empty memory in the owner's account."""
    return memory_in(context)

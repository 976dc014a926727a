"""A fresh memory for each test of the room."""

from __future__ import annotations

import pytest
from memory.asking import Memory, memory_in

from remembrancer.context import Context


@pytest.fixture
def memory(context: Context) -> Memory:
    """Ada's memory, empty, in the owner's account."""
    return memory_in(context)

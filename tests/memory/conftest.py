"""Fixtures of the memory tests: an empty memory for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory.asking import Memory, memory_in
from memory.exchange.imports import Imports

from remembrancer.context import Context


@pytest.fixture
def memory(context: Context) -> Memory:
    """Return Ada's empty memory in the owner's account."""
    return memory_in(context)


@pytest.fixture
def imports(memory: Memory, folder: Path) -> Imports:
    """Return imports into Ada's empty memory."""
    return Imports(memory, folder)

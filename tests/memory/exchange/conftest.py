"""Fixtures of the import tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory.asking import Memory
from memory.exchange.imports import Imports


@pytest.fixture
def imports(memory: Memory, folder: Path) -> Imports:
    """Return imports into Ada's empty memory."""
    return Imports(memory, folder)

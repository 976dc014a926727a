"""Three accounts on one store."""

from __future__ import annotations

import pytest
from cubes.agents import Agent

from remembrancer.context import Context


@pytest.fixture
def ada(context: Context) -> Agent:
    """The owner."""
    return Agent(context, "ada")


@pytest.fixture
def bob(context: Context, ada: Agent) -> Agent:
    """A member."""
    return Agent(context, "bob")


@pytest.fixture
def cleo(context: Context, bob: Agent) -> Agent:
    """Another member."""
    return Agent(context, "cleo")

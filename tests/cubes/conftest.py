"""Fixtures of the cube tests: three accounts on one store."""

from __future__ import annotations

import pytest
from cubes.agents import Agent

from remembrancer.context import Context


@pytest.fixture
def ada(context: Context) -> Agent:
    """Return the owner."""
    return Agent(context, "ada")


@pytest.fixture
def bob(context: Context, ada: Agent) -> Agent:
    """Return a member."""
    return Agent(context, "bob")


@pytest.fixture
def cleo(context: Context, bob: Agent) -> Agent:
    """Return another member."""
    return Agent(context, "cleo")

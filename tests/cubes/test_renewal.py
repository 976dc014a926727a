"""Cube indexes are renewed after a change of the embedder, while searches continue."""

from __future__ import annotations

from pathlib import Path

from cubes.agents import Agent
from memory.asking import Concepts

from remembrancer import testing
from remembrancer.memory.maintenance import Maintenance

HOUND = {
    "topic": "hounds",
    "essence": "A hound wants to be walked before noon.",
    "rules": "- MUST walk it before noon.",
}


def finds_by_meaning(agent: Agent) -> bool:
    """Return True if "puppy", a word in no cube, finds the cube about hounds."""
    return [cube.topic for cube in agent.matching_cubes("puppy")] == ["hounds"]


def store_cubes(folder: Path, cubes: int) -> None:
    """Store shared and private cubes of two accounts, one of them about hounds, with another embedder."""
    context = testing.context(folder, embedder=Concepts("concepts/1"))
    ada, bob = Agent(context, "ada"), Agent(context, "bob")
    for n in range(cubes - 1):
        (ada.publish if n % 2 else bob.make)()
    ada.publish(**HOUND)
    context.close()


def test_upkeep_renews_cubes_after_the_events(folder: Path) -> None:
    store_cubes(folder, 3)
    context = testing.context(folder, embedder=Concepts("concepts/2"))

    while Maintenance(context).step():
        pass

    assert finds_by_meaning(Agent(context, "ada"))
    context.close()

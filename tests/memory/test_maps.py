"""Maps: length, versions, concurrent writes."""

from __future__ import annotations

import threading
from functools import partial

from memory.asking import Memory
from together import together

from remembrancer.memory.summaries.maps import (
    map_version,
    update_map,
)
from remembrancer.protocol.summaries import MapQuery, MapRequest, MapUpdated, MapVersion


def updated_map(memory: Memory) -> MapUpdated:
    """Update the map; return the response."""
    return update_map(memory.context, memory.caller, MapRequest(user_id=memory.user_id))


def version(memory: Memory, number: int | None = None) -> MapVersion:
    """Return a version of the map."""
    return map_version(
        memory.context, memory.caller, MapQuery(user_id=memory.user_id, version=number)
    )


def test_map_is_about_five_percent_of_its_l1s(memory: Memory) -> None:
    """'L2 length is about 5% of the L1 text.'"""
    l1s = [
        " ".join(
            f"On day {n} of stage {stage} the crew of boat {n * 7 + stage} "
            f"repaired {n} planks in harbour {stage}."
            for n in range(40)
        )
        for stage in range(20)
    ]
    for number, text in enumerate(l1s):
        memory.tell(f"stage {number}", "r" * len(text), l1_summary=text)

    assert 0.04 <= len(updated_map(memory).map_text) / sum(map(len, l1s)) <= 0.052


def test_agent_text_stays_in_all_later_maps_under_concurrent_writes(memory: Memory) -> None:
    """Otherwise a map of headlines could silently replace one that an agent has just written."""
    gate = threading.Barrier(6)
    agents_left = [3]

    def agent(name: str) -> None:
        gate.wait()
        for n in range(20):
            memory.tell(
                f"{name} {n}",
                "r",
                session_id=name,
                l1_summary=f"Agent {name} finished stage {n}.",
                l2_map=f"Stage {n} of {name}.",
            )
        agents_left[0] -= 1

    def service() -> None:
        gate.wait()
        while agents_left[0]:
            updated_map(memory)

    together(*(partial(agent, name) for name in "abc"), *[service] * 3)

    updated_map(memory)
    maps = [version(memory, number + 1) for number in range(version(memory).versions)]
    own = ""
    for one in maps:
        own = one.map_text if one.made_by == "agent" else own
        assert one.map_text.startswith(own)
    assert len([one for one in maps if one.made_by == "agent"]) == 60

"""Maps: length, versions, concurrent writes."""

from __future__ import annotations

import threading

import pytest
from memory.asking import Memory

from remembrancer.memory.layers import layer_text
from remembrancer.memory.spaces import SQL
from remembrancer.memory.summaries.maps import (
    MAP_CHARACTERS_LEAST,
    map_version,
    store_map,
    update_map,
)
from remembrancer.protocol.summaries import MapQuery, MapRequest, MapUpdated, MapVersion
from remembrancer.search import index_entries


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


def test_map_of_a_short_text_has_a_minimum_length(memory: Memory) -> None:
    memory.tell("q", "r", l1_summary="The roof was mended by Holm. " * 3)

    assert "The roof was mended by Holm." in updated_map(memory).map_text
    assert len(updated_map(memory).map_text) < MAP_CHARACTERS_LEAST


def test_unchanged_map_keeps_its_version(memory: Memory) -> None:
    memory.tell("q", "r")
    space = memory.context.store.read(
        lambda tx: tx.one(SQL.space_of, account_id=memory.caller.account_id, user_id="ada")
    )

    def keep(text: str) -> int:
        entry = index_entries(memory.context.embedder, [layer_text(text)])[0]
        return memory.context.store.write(
            lambda tx: store_map(
                memory.context, tx, space_id=space.id, text=text, made_by="agent", entry=entry
            ),
            account_id=memory.caller.account_id,
        )

    assert [keep(text) for text in ("Oslo.", " Oslo.\n", "Oslo, boat.", "Oslo.")] == [1, 1, 2, 3]
    assert version(memory).map_text == "Oslo."


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

    threads = [threading.Thread(target=agent, args=(name,)) for name in "abc"] + [
        threading.Thread(target=service) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    updated_map(memory)
    maps = [version(memory, number + 1) for number in range(version(memory).versions)]
    own = ""
    for one in maps:
        own = one.map_text if one.made_by == "agent" else own
        assert one.map_text.startswith(own)
    assert len([one for one in maps if one.made_by == "agent"]) == 60


@pytest.mark.parametrize("text", ["?!", "===", "\U0001f642"])
def test_l1_without_words_creates_no_map(memory: Memory, text: str) -> None:
    memory.tell("q", "r", l1_summary=text)

    assert updated_map(memory) == MapUpdated(updated=False, map_text="", l1_count=1, version=0)

"""Memories of mem0: how they are recognised, and which facts they become."""

from __future__ import annotations

import json

import pytest
from memory.exchange.imports import OWNER, SAMPLES, Imports, ms

from remembrancer.memory.exchange.shapes.table import ShapeUnknown, detect


def test_mem0_memories_are_facts_and_replaced_ones_ended(imports: Imports) -> None:
    imports.stored(SAMPLES / "mem0")

    assert imports.facts() == [
        ("alex", "Lives in Oslo", ms("2026-02-01T18:00:00Z"), None),
        (
            "alex",
            "Has a dentist appointment",
            ms("2026-01-01T00:00:00Z"),
            ms("2026-01-15T00:00:00Z"),
        ),
        ("alex", "Drinks coffee", ms("2025-01-01T00:00:00Z"), ms("2025-06-01T00:00:00Z")),
        (OWNER, "Enjoys green tea", ms("2025-06-01T00:00:00Z"), None),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"memory": "16 GB"},
        {"memory": "16 GB", "user_id": "ann", "processor": "8 cores"},
        {"memory": 16, "user_id": "ann"},
    ],
)
def test_objects_that_may_be_of_another_product_need_the_name_of_a_shape(
    imports: Imports, other: dict[str, object]
) -> None:
    others = [{"memory": "Likes tea", "user_id": "ann"}, other]
    path = imports.written("a.json", json.dumps(others))

    with pytest.raises(ShapeUnknown, match=r"Known shapes: .*mem0.*--shape NAME"):
        detect(path)


def test_mem0_memory_replaced_since_an_import_ends(imports: Imports) -> None:
    memory = {"id": "1", "memory": "Drinks coffee", "created_at": "2025-01-01T00:00:00Z"}
    imports.stored(imports.written("a.json", json.dumps([memory])))
    replaced = {**memory, "replaced_by": "2", "updated_at": "2025-06-01T00:00:00Z"}
    imports.stored(imports.written("a.json", json.dumps([replaced])))

    assert imports.facts() == [
        (OWNER, "Drinks coffee", ms("2025-01-01T00:00:00Z"), ms("2025-06-01T00:00:00Z"))
    ]

"""Measure what associations add to storing a turn: milliseconds and bytes.

    python -m bench.associations FOLDER

FOLDER contains files in LoCoMo's format (bench/sets.py). The first turns of a conversation of each
set are stored in two stores, alternating: in one as the service does, in the other without
entities. Real embedder; commits do not wait for the disk, which would hide the difference.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from bench.locomo import Conversation, Event
from bench.report import table, write_section
from bench.sets import read_sets
from bench.spaces import load_vectors
from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context
from remembrancer.memory.write.events import write_event
from remembrancer.protocol.memory import EventWrite
from remembrancer.search import (
    Embedder,
    open_embedder,
)
from remembrancer.search.index import entries

TURNS = 300  # of each conversation


class Stores:
    """Two stores of the same turns, with and without their entities."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.folders = {True: folder / "with", False: folder / "without"}
        self.contexts: dict[bool, Context] = {}
        for key, place in self.folders.items():
            place.mkdir()
            self.contexts[key] = testing.context(place, embedder=embedder)
            keys.create(self.contexts[key], account="owner")

    def store(self, event: Event, *, with_entities: bool) -> float:
        """Store a turn in one of the stores; return the milliseconds of processor time."""
        context = self.contexts[with_entities]
        turn = EventWrite(
            query=event.query,
            response=event.response,
            occurred_at=datetime.fromtimestamp(event.occurred_ms / 1000, UTC),
            user_id="owner",
            session_id=str(event.session),
        )
        none = mock.patch.object(entries, "entity_keys", return_value=())
        with nullcontext() if with_entities else none:
            start = time.process_time()
            write_event(context, caller_for(context), turn)
            return (time.process_time() - start) * 1000

    def close(self) -> dict[bool, int]:
        """Close both; return their sizes in bytes."""
        for context in self.contexts.values():
            context.close()
        return {
            key: sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            for key, place in self.folders.items()
        }


def cost(conversation: Conversation, embedder: Embedder) -> list[str]:
    """Return medians of milliseconds without and with entities, their ratio, and bytes a turn."""
    ms: dict[bool, list[float]] = {True: [], False: []}
    events = [event for event in conversation.events if event.query][:TURNS]
    with TemporaryDirectory() as folder:
        stores = Stores(Path(folder), embedder)
        for number, event in enumerate(events):
            for with_entities in (number % 2 == 0, number % 2 == 1):
                ms[with_entities].append(stores.store(event, with_entities=with_entities))
        sizes = stores.close()
    without, counted = (float(np.median(ms[key])) for key in (False, True))
    added = (sizes[True] - sizes[False]) / len(events)
    return [
        f"{without:.2f}",
        f"{counted:.2f}",
        f"{counted / without:.3f}x",
        f"{sizes[False] / len(events):,.0f}",
        f"{added:+,.0f}",
    ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cache", type=Path, help="file that keeps the vectors between runs")
    arguments = parser.parse_args()
    sets = read_sets(arguments.folder)
    if arguments.cache:
        load_vectors(arguments.cache)
    embedder = open_embedder("multilingual")
    embedder.encode(["The first call loads the model."])
    rows = [[name, *cost(spaces[0], embedder)] for name, spaces in sets.items()]
    heads = ["set", "ms without", "ms with", "ratio", "bytes a turn without", "added"]
    write_section(
        "associations",
        "Associations",
        "python -m bench.associations FOLDER",
        "Processor time of storing one of the first "
        f"{TURNS} turns of a conversation, median, and bytes of the store.\n\n"
        + table(heads, rows),
    )


if __name__ == "__main__":
    main()

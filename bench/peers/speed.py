"""Cost of searches and additions in the memory of one user, for one peer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.http import SEARCHES, disk_mb
from bench.load import DAY_MS, SEED, START_MS, TURNS_A_SESSION, Turns
from bench.peers.client import PeerProcess
from bench.peers.environments import PeerKind
from bench.peers.port import Item, Question
from bench.peers.recall import MOST
from bench.peers.vectors import Encoding
from remembrancer.context import assemble
from remembrancer.settings import Settings

ADDED, WARM = 200, 10
USER = "user"


@dataclass(frozen=True, slots=True)
class Load:
    """Items to fill a memory with, items to add one at a time, and questions."""

    filling: list[Item]
    added: list[Item]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Speed:
    """Figures of one peer, its own embedding included if it embeds."""

    search_ms: list[float]
    search_cpu_ms: float
    later_cpu_ms: float  # of a search after the additions
    add_ms: list[float]
    add_cpu_ms: float
    memory_mb: float
    disk_mb: float  # per 1,000 items


def load_of(data: Path, events: int, encoding: Encoding) -> Load:
    """Return a load that is recombined from the turns of a file (bench/load.py)."""
    with tempfile.TemporaryDirectory() as name:
        context = assemble(Settings(data=Path(name), embedder="none"))
        turns = Turns(data, context)
        context.close()
    total = events + WARM + ADDED
    pairs = [(turns.text(), turns.text()) for _ in range(total)]
    texts = [f"{query}\n{response}" for query, response in pairs]
    items = [
        Item(
            f"e{number}",
            USER,
            text,
            vector,
            query,
            response,
            str(number // TURNS_A_SESSION),
            START_MS + number * DAY_MS // 50,
        )
        for number, ((query, response), text, vector) in enumerate(
            zip(pairs, texts, encoding.vectors(texts), strict=True)
        )
    ]
    chosen = np.random.default_rng(SEED).permutation(len(turns.questions))[: 2 * SEARCHES + WARM]
    chosen_texts = [turns.questions[at] for at in chosen]
    return Load(
        items[:events],
        items[events:],
        [
            Question(USER, *pair, MOST)
            for pair in zip(chosen_texts, encoding.query_vectors(chosen_texts), strict=True)
        ],
    )


def speed_of(kind: PeerKind, load: Load, encoding: Encoding, cache: Path) -> Speed:
    """Fill a store, search it, add to it, and search it again. Raises PeerUnavailable."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        peer = PeerProcess(kind, folder, cache, encoding)
        peer.add(load.filling)
        peer.settle()
        half = (len(load.questions) - WARM) // 2
        peer.search(load.questions[:WARM])
        search_ms, search_cpu_ms = _searched(peer, load.questions[WARM : WARM + half])
        peer.add_each(load.added[:WARM])
        before = peer.cpu_ms()
        add_ms = peer.add_each(load.added[WARM:])
        add_cpu_ms = (peer.cpu_ms() - before) / len(add_ms)
        _, later_cpu_ms = _searched(peer, load.questions[WARM + half :])
        memory_mb = peer.memory_mb()
        stored = len(load.filling) + len(load.added)
        result = Speed(
            search_ms,
            search_cpu_ms,
            later_cpu_ms,
            add_ms,
            add_cpu_ms,
            memory_mb,
            disk_mb(folder) / stored * 1000,
        )
        peer.close()
        return result


def _searched(peer: PeerProcess, questions: Sequence[Question]) -> tuple[list[float], float]:
    """Return the milliseconds of each search, and the CPU ms of one."""
    before = peer.cpu_ms()
    _, took = peer.search(questions)
    return took, (peer.cpu_ms() - before) / len(questions)

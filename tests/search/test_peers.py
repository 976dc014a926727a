"""The comparison with peers (bench/peers): recall, kills, failures and what it says of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.locomo import Conversation, Event, Question
from bench.peers import port
from bench.peers.client import PeerProcess
from bench.peers.environments import OWN, PEERS, PeerKind, PeerUnavailable
from bench.peers.kills import killed
from bench.peers.recall import recalls
from bench.peers.report import Figures, behind, speed_table
from bench.peers.speed import Speed
from bench.peers.vectors import EmbedderCost

BY_HAND, SERVER = PEERS["by-hand"], PEERS[OWN]
FORGETFUL = PeerKind("forgetful", "tests.search.forgetful_peer")
SPEED = Speed([4.0], 4.0, 4.0, [4.0], 4.0, 100.0, 2.0)
COST = EmbedderCost(question_ms=1.0, item_ms=2.0, parts_ms=3.0, memory_mb=50.0)


class WordVectors:
    """Vectors that count the words of a text: similar where texts share words."""

    name, dimensions = "none", 64

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """See Encoding."""
        return [self._vector(text) for text in texts]

    query_vectors = vectors

    def _vector(self, text: str) -> bytes:
        vector = np.zeros(self.dimensions, "f4")
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % self.dimensions] += 1
        return bytes((vector / np.linalg.norm(vector)).astype("f4"))


def conversation(name: str, texts: Sequence[str], evidence: set[str]) -> Conversation:
    """Return a conversation with a turn for each text and one question about the kettle."""
    events = tuple(
        Event(1, text, "", 1_767_225_600_000 + place, (f"D1:{place}",))
        for place, text in enumerate(texts)
    )
    question = Question("Where is the copper kettle?", frozenset(evidence), 4)
    return Conversation(name, events, (question,))


NAMES = ("Ada", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hal")
THINGS = (
    "ladder",
    "oar",
    "saddle",
    "quilt",
    "bell",
    "anvil",
    "lamp",
    "drum",
    "rope",
    "net",
    "vase",
)
PLACES = ("home", "uphill")
# Each differs in its words: what differs in its digits alone may be ranked as a repetition.
FILLER = [
    f"{name} carried the {thing} {place}." for place in PLACES for thing in THINGS for name in NAMES
]
SPACES = [
    conversation("a", ["The copper kettle is in the barn.", *FILLER], {"D1:0"}),
    conversation(
        "b", [*FILLER, "Ada sold the copper kettle.", "Who knows?"], {f"D1:{len(FILLER)}", "D1:7"}
    ),
    conversation("c", FILLER, {"D1:3"}),
]


@pytest.mark.parametrize("kind", [BY_HAND, SERVER], ids=lambda kind: kind.name)
def test_recall_counts_the_evidence_among_the_best_items_of_the_user(
    kind: PeerKind, tmp_path: Path
) -> None:
    """One of two turns that answer counts half."""
    values = recalls(kind, SPACES[:2], WordVectors(), tmp_path)

    assert values.tolist() == [1.0, 0.5]


def test_item_that_no_search_finds_is_no_recall(tmp_path: Path) -> None:
    [value] = recalls(FORGETFUL, SPACES[2:], WordVectors(), tmp_path)

    assert value == 0.0


def test_durable_peer_loses_nothing_when_it_is_killed(tmp_path: Path) -> None:
    """Of the service, tests/servers/test_servers_that_die.py says the same."""
    losses = killed(BY_HAND, 2, FILLER, WordVectors(), tmp_path)

    assert losses.acknowledged >= losses.kills == 2
    assert (losses.missing, losses.reason) == (0, "")


def test_every_item_of_a_forgetful_peer_is_counted_as_missing(tmp_path: Path) -> None:
    losses = killed(FORGETFUL, 2, FILLER, WordVectors(), tmp_path)

    assert losses.missing == losses.acknowledged > 0


def test_failure_of_a_peer_says_why(tmp_path: Path) -> None:
    absent = PeerKind("absent", "bench.peers.absent")

    with pytest.raises(PeerUnavailable, match=r"No module named 'bench\.peers\.absent'"):
        PeerProcess(absent, tmp_path / "store", tmp_path, WordVectors())


def test_costs_of_all_processes_are_read_while_the_peer_runs(tmp_path: Path) -> None:
    peer = PeerProcess(BY_HAND, tmp_path / "store", tmp_path, WordVectors())
    [vector] = WordVectors().vectors(["tea"])
    item = port.Item("1", "ada", "tea", vector, "tea", "", "s", 0)

    took = peer.add_each([item])
    cpu_ms, memory_mb = peer.cpu_ms(), peer.memory_mb()
    peer.close()

    assert len(took) == 1
    assert cpu_ms > 0
    assert memory_mb > 1


def test_report_names_each_column_in_which_a_peer_is_ahead() -> None:
    faster = replace(SPEED, search_cpu_ms=1.0)
    figures = {
        OWN: Figures(recall={"LoCoMo": np.array([0.5])}, speed=SPEED),
        "by-hand": Figures(recall={"LoCoMo": np.array([1.0])}, speed=faster),
    }

    lines = behind(figures, COST)

    assert "recall, LoCoMo: FTS5 + exact vectors by hand 1.000" in lines[0]
    assert "search CPU ms, ours 4.0: FTS5 + exact vectors by hand 2.0" in lines[1]
    assert len(lines) == 2


def test_embedder_is_added_to_peers_and_taken_from_ours_in_brackets() -> None:
    figures = {OWN: Figures(speed=SPEED), "by-hand": Figures(speed=SPEED)}

    own, peer = speed_table(figures, COST).splitlines()[2:]

    assert own.split(" | ")[1] == "4.0 (3.0)"
    assert peer.split(" | ")[1] == "5.0 (4.0)"

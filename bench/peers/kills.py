"""Count the acknowledged items that a peer loses when it is killed while it stores others."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peers.client import PeerProcess
from bench.peers.environments import PeerKind, PeerUnavailable
from bench.peers.port import Item, Question
from bench.peers.vectors import Encoding

SEED = 11
ACKNOWLEDGED_MAX, WAIT_S_MAX = 40, 0.02
ROUND_ITEMS = 2 * ACKNOWLEDGED_MAX
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Losses:
    """Kills of a peer, the items it acknowledged, and those that a search does not find after."""

    kills: int
    acknowledged: int
    missing: int
    reason: str = ""  # why it does not open any more

    def cell(self) -> str:
        """Format the counts."""
        text = f"{self.missing} of {self.acknowledged}"
        return f"{text}: after kill {self.kills} it does not open" if self.reason else text


def killed(
    kind: PeerKind, rounds: int, texts: Sequence[str], encoding: Encoding, cache: Path
) -> Losses:
    """Kill a peer at random moments while it stores items; search for them after each restart.

    After the last restart, all items of all rounds are searched for.
    The texts must differ in their words, so that each is the best match of itself.
    """
    chance = random.Random(SEED)
    acknowledged: list[tuple[Item, str]] = []
    latest: list[tuple[Item, str]] = []
    missing: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "store"
        for number in range(rounds + 1):
            try:
                peer = PeerProcess(kind, folder, cache, encoding)
                missing |= not_found(peer, latest if number < rounds else acknowledged)
            except PeerUnavailable as error:
                lost = len(acknowledged)
                return Losses(number, lost, lost, str(error).replace("\n", " "))
            if number == rounds:
                peer.close()
                break
            items = probes(texts, number, encoding)
            ids = peer.add_until(items, chance.randint(1, ACKNOWLEDGED_MAX))
            time.sleep(chance.random() * WAIT_S_MAX)  # the kill hits any part of an addition
            ids += peer.kill()
            latest = list(zip(items, ids, strict=False))
            acknowledged += latest
    return Losses(rounds, len(acknowledged), len(missing))


def probes(texts: Sequence[str], number: int, encoding: Encoding) -> list[Item]:
    """Return the items of a round, each with a word of its own."""
    chosen = [
        f"The code is zq{number}x{place}. {texts[(number * ROUND_ITEMS + place) % len(texts)]}"
        for place in range(ROUND_ITEMS)
    ]
    return [
        Item(f"k{number}-{place}", "user", text, vector, text, "", "kills", 1_767_225_600_000)
        for place, (text, vector) in enumerate(zip(chosen, encoding.vectors(chosen), strict=True))
    ]


def not_found(peer: PeerProcess, acknowledged: Sequence[tuple[Item, str]]) -> set[str]:
    """Return the stored ids of the items that their own text does not find."""
    questions = [Question(item.user, item.text, item.vector, DEPTH) for item, _ in acknowledged]
    ids, _ = peer.search(questions)
    return {
        stored_id
        for (_, stored_id), best in zip(acknowledged, ids, strict=True)
        if stored_id not in best
    }

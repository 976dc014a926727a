"""A peer that acknowledges items without storing them, for tests of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.peers.port import Item, Peer, Question


class ForgetfulPeer(Peer):
    """Items in the memory of the process alone."""

    def __init__(self) -> None:
        """Start empty."""
        self._ids: dict[str, str] = {}

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        self._ids |= {item.text: item.item_id for item in items}
        return [item.item_id for item in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        return [self._ids[question.text]] if question.text in self._ids else []


def open_peer(_folder: Path, _dimensions: int) -> Peer:
    """Open the store in a folder."""
    return ForgetfulPeer()

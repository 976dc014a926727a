"""Links between turns of conversations in which nothing is known to change.

Over the messages of LoCoMo, BEAM and RealMem, `turn_links` compares the pairs of messages that the
service compares when it stores a turn: those of one speaker that share a key of a state, the
newest of each kind of key. A link for certain between two of them counts as wrong, and is printed
to be read.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.changes.sources import CONVERSATIONS
from bench.report import table
from remembrancer.memory.changes import change, state_keys
from remembrancer.memory.links import RELATED_MAX

START = 200  # characters of a message that are printed


class Compared(NamedTuple):
    """Two messages of one speaker, and whether the newer one is linked: None, hint, certain."""

    older: str
    newer: str
    is_certain: bool | None


def turn_links(path: Path) -> Iterator[Compared]:
    """Yield the pairs of messages that the service compares."""
    for sample in json.loads(path.read_text("utf-8")):
        by_key: dict[tuple[str, str], list[str]] = defaultdict(list)
        for turn in _turns(sample["conversation"]):
            if turn["speaker"].lower() in ("assistant", "ai"):
                continue
            message = turn["text"]
            keys = [(turn["speaker"], key) for key in state_keys(message)]
            for older in _related(by_key, keys):
                if older != message:
                    result = change(older, message)
                    yield Compared(older, message, None if result is None else result.certain)
            for key in keys:
                by_key[key].append(message)


def _turns(conversation: dict[str, Any]) -> Iterator[dict[str, str]]:
    return itertools.chain.from_iterable(
        value for value in conversation.values() if isinstance(value, list)
    )


def _related(
    by_key: dict[tuple[str, str], list[str]], keys: list[tuple[str, str]]
) -> dict[str, None]:
    """Return the newest messages with a common key, for keys with an attribute and for others."""
    related: dict[str, None] = {}
    for has_attribute in (True, False):
        some = [key for key in keys if ("|" in key[1]) is has_attribute]
        messages = dict.fromkeys(text for key in some for text in reversed(by_key.get(key, [])))
        related |= dict.fromkeys(list(messages)[:RELATED_MAX])
    return related


def link_table(folder: Path) -> str:
    """Return the table of compared pairs and links, and print each link that is certain."""
    rows = []
    for name, file in CONVERSATIONS.items():
        pairs = list(turn_links(folder / file))
        certain = [pair for pair in pairs if pair.is_certain]
        for pair in certain:
            print(f"LINK ({name}): {pair.older[:START]!r} | {pair.newer[:START]!r}")
        hints = sum(pair.is_certain is False for pair in pairs)
        rows.append([name, f"{len(pairs):,}", str(len(certain)), str(hints)])
    return table(["turns of", "compared pairs", "linked for certain: wrong", "hints"], rows)

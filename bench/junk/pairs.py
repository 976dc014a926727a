"""Measure near-duplicate recognition on labelled pairs (`pairs.toml`)."""

from __future__ import annotations

from typing import Any

from bench.junk.day import load
from bench.report import table
from remembrancer.search.text.machine_text import Twin, is_machine_turn, twin_of


def is_joined(pair: dict[str, Any]) -> bool:
    """Return True if the service would join the two turns of a pair."""
    one, other = (_twin(*pair[side]) for side in ("one", "other"))
    if one is None or one != other:
        return False
    return pair.get("same_session", False) or not one.in_session


def _twin(query: str, response: str) -> Twin | None:
    return twin_of(query, response, is_machine=is_machine_turn(query, response))


def report(half: str | None = None) -> str:
    """Return precision and recall by half as a table."""
    rows = []
    for name, table_of_half in load("pairs.toml").items():
        if half not in (None, name):
            continue
        labelled = [(pair["same"], is_joined(pair)) for pair in table_of_half["pairs"]]
        joined = sum(joined for _, joined in labelled)
        right = sum(same and joined for same, joined in labelled)
        same = sum(same for same, _ in labelled)
        rows.append(
            [
                name.replace("_", " "),
                str(len(labelled)),
                str(same),
                f"{right / joined if joined else 1:.3f}",
                f"{right / same if same else 1:.3f}",
            ]
        )
    return table(["pairs of turns", "pairs", "near duplicates", "precision", "recall"], rows)

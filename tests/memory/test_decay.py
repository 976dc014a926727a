"""With a half-life older turns rank lower; without one age does not count."""

from __future__ import annotations

from pathlib import Path

from memory.asking import opened

from remembrancer.settings import Settings

OLD = ("The towel in the bathroom is blue.", "2023-01-01T00:00:00Z")
NEW = (OLD[0], "2025-12-01T00:00:00Z")


def order(folder: Path, *, decay_days: int) -> list[str]:
    """Return the times of the hits, best first."""
    settings = Settings(data=folder, embedder="none", durability="normal", decay_days=decay_days)
    with opened(folder, settings=settings) as memory:
        for message, occurred_at in (OLD, NEW):
            memory.tell(message, occurred_at=occurred_at, session_id=occurred_at)
        return [
            hit.occurred_at[:4] for hit in memory.ask("Is the towel in the bathroom blue?").hits
        ]


def test_age_counts_only_with_a_half_life(tmp_path: Path) -> None:
    """Of two equal turns the newer one is first with a half-life; none is left out."""
    assert order(tmp_path / "none", decay_days=0) == ["2023", "2025"]
    assert order(tmp_path / "half", decay_days=200) == ["2025", "2023"]

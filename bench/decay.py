"""Measure the effect of the setting `decay_days` on recall.

    python -m bench.decay DATA...

Each DATA is a file of conversations in the format of LoCoMo. An event is two turns. Age is counted
from the last turn of a conversation. A question may concern any time of it, so that a half-life
can only help a set whose questions ask for recent turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.locomo import Conversation, conversations
from bench.report import table, write_section
from bench.spaces import ranking, view_of
from remembrancer.search import Decay, Embedder, load_ranker, open_embedder

HALF_LIVES = (0, 365, 90, 30, 7)  # days; 0: age does not count
DAY_MS = 86_400_000
DEPTH = 10


def recalls(histories: Sequence[Conversation], embedder: Embedder) -> list[float]:
    """Return the evidence recall@10 for each half-life: the means over questions."""
    ranker = load_ranker(embedder.name)
    shares: list[list[float]] = [[] for _ in HALF_LIVES]
    for conversation in histories:
        view = view_of(conversation, embedder)
        now_ms = max(event.occurred_ms for event in conversation.events)
        for question in conversation.questions:
            candidates = ranking(view, question.text, embedder)
            for place, days in enumerate(HALF_LIVES):
                candidates.decay = Decay(now_ms, days * DAY_MS) if days else None
                best = candidates.ranked(ranker, {}, DEPTH)
                turns = {turn for one in best for turn in conversation.events[one.event].turns}
                share = len(question.evidence & turns) / len(question.evidence)
                shares[place].append(share)
    return [sum(some) / len(some) for some in shares]


def main() -> None:
    """Measure every set and write the section."""
    parser = argparse.ArgumentParser(prog="bench.decay", description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    options = parser.parse_args()
    embedder = open_embedder("multilingual")
    rows = []
    for path in options.data:
        histories = [one.paired() for one in conversations(path)]
        rows.append([path.stem, *(f"{value:.3f}" for value in recalls(histories, embedder))])
    heads = ["set", "age does not count", *(f"half-life {days} days" for days in HALF_LIVES[1:])]
    title = "Recall@10 when older turns rank lower"
    write_section("decay", title, "python -m bench.decay DATA...", table(heads, rows))


if __name__ == "__main__":
    main()

"""Measure that recall of the right turns does not fall, beside another commit.

    python -m bench.junk.recall CHECKOUT DATA...

CHECKOUT is a checkout of this project at another commit, each DATA a file of conversations in the
format of LoCoMo. Both checkouts store the same events (two turns each) and answer the same
questions over HTTP.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench.cost import HERE, server
from bench.http import Server
from bench.junk.service import call
from bench.locomo import Conversation, conversations
from bench.report import table, write_section

DEPTH = 10


def recall_of(checkout: Path, sets: dict[str, list[Conversation]]) -> dict[str, float]:
    """Return the evidence recall@10 of a checkout by set: the mean over questions."""
    with tempfile.TemporaryDirectory() as folder, server(checkout, Path(folder)) as one:
        return {name: _recall(one, name, of_set) for name, of_set in sets.items()}


def _recall(one: Server, name: str, of_set: list[Conversation]) -> float:
    shares = []
    for conversation in of_set:
        user_id = f"{name}-{conversation.name}"
        turns: dict[str, tuple[str, ...]] = {}
        for event in conversation.events:
            if not (event.query + event.response).strip():
                continue
            body: dict[str, Any] = {
                "user_id": user_id,
                "session_id": f"s{event.session}",
                "query": event.query,
                "response": event.response,
                "occurred_at": datetime.fromtimestamp(event.occurred_ms / 1000, UTC).isoformat(),
            }
            turns[call(one, "POST", "event/write", body)["event_id"]] = event.turns
        for question in conversation.questions:
            body = {
                "user_id": user_id,
                "query_text": question.text,
                "top_k": DEPTH,
                "interact": False,
            }
            hits = call(one, "POST", "memory", body)["hits"]
            served = {turn for hit in hits for turn in turns[hit["event_id"]]}
            shares.append(len(question.evidence & served) / len(question.evidence))
    return sum(shares) / len(shares)


def main() -> None:
    """Measure both checkouts and write the section."""
    parser = argparse.ArgumentParser(prog="bench.junk.recall", description=__doc__)
    parser.add_argument("checkout", type=Path, help="another checkout of this project")
    parser.add_argument("data", type=Path, nargs="+")
    options = parser.parse_args()
    sets = {path.stem: [one.paired() for one in conversations(path)] for path in options.data}
    with ThreadPoolExecutor(2) as both:
        before, now = both.map(partial(recall_of, sets=sets), (options.checkout, HERE))
    rows = [
        [name, f"{old:.4f}", f"{new:.4f}", f"{100 * (new - old):+.2f}"]
        for name, old, new in ((name, before[name], now[name]) for name in sets)
    ]
    heads = ["set", "recall@10 before", "now", "points"]
    title = "Recall beside the commit before machine notices"
    command = "python -m bench.junk.recall CHECKOUT DATA..."
    write_section("junk-recall", title, command, table(heads, rows))


if __name__ == "__main__":
    main()

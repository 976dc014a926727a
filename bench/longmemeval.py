"""Measure LongMemEval: sessions and turns found among the haystack of each question.

    python -m bench.longmemeval FILE [--most 100]

Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory", ICLR 2025.
FILE is `longmemeval_s.json` or another file of that format; the project does not contain it.
Questions that the haystack does not answer are left out. An event is a user's turn and the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.locomo import Conversation, Event, Question
from bench.sessions import pairs, run

_DATE = "%Y/%m/%d (%a) %H:%M"


def haystacks(path: Path) -> Iterator[Conversation]:
    """Yield the questions of a file with their memories."""
    for row in json.loads(path.read_text("utf-8")):
        if not row["question_id"].endswith("_abs"):
            yield _haystack(row)


def _haystack(row: dict[str, Any]) -> Conversation:
    events: list[Event] = []
    evidence: set[str] = set()
    columns = (row[f"haystack_{one}"] for one in ("session_ids", "dates", "sessions"))
    for number, (name, date, turns) in enumerate(zip(*columns, strict=True)):
        start = int(datetime.strptime(date, _DATE).replace(tzinfo=UTC).timestamp() * 1000)
        ids = [f"{name}:{place}" for place in range(len(turns))]
        marked = {one for one, turn in zip(ids, turns, strict=True) if turn.get("has_answer")}
        if name in row["answer_session_ids"]:
            evidence |= marked or set(ids)
        events += pairs(number, [turn["content"] for turn in turns], ids, start)
    question = Question(row["question"], frozenset(evidence), 0, kind=row["question_type"])
    return Conversation(row["question_id"], tuple(events), (question,))


if __name__ == "__main__":
    run("longmemeval", "LongMemEval: sessions and turns found", __doc__, haystacks)

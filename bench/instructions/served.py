"""Ask the service the questions of BEAM whose evidence is an instruction or a preference.

Every two turns of a conversation are one event, imported as a file is. A question counts as served
if one of its messages is in an event among the ten hits, or if an instruction or preference of the
answer was recognised in such an event. The ranking of the instructions has no weights that were
fitted on BEAM; the rules that recognise them were made on other messages (labelled.py) and checked
on BEAM.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.instructions.channel import KINDS
from bench.report import table
from bench.service import FtsIndex, Service
from remembrancer.memory.exchange.importer import ImportedTurn, store
from remembrancer.memory.spaces import SQL as SPACES
from remembrancer.search import EventText
from remembrancer.store import Transaction

HITS = 10
LATER = timedelta(hours=1)  # of a session without a date, after the one before it
_DATE = "%I:%M %p on %d %B, %Y"
_START = datetime(2024, 1, 1, tzinfo=UTC)


def events_of(sample: dict[str, Any]) -> Iterator[tuple[ImportedTurn, list[str]]]:
    """Yield the events of a conversation with the ids of their messages."""
    conversation, at = sample["conversation"], _START
    for session, turns in conversation.items():
        if not isinstance(turns, list):
            continue
        date = conversation.get(f"{session}_date_time")
        at = datetime.strptime(date, _DATE).replace(tzinfo=UTC) if date else at + LATER
        for number in range(0, len(turns), 2):
            pair = turns[number : number + 2]
            texts = [turn["text"] for turn in pair] + [""]
            occurred = at + timedelta(seconds=number)
            text = EventText(
                query=texts[0],
                response=texts[1],
                topic=None,
                occurred_ms=int(occurred.timestamp() * 1_000),
            )
            event = ImportedTurn(
                origin=f"{sample['sample_id']}/{session}/{number}",
                user_id=str(sample["sample_id"]),
                session_id=session,
                text=text,
                occurred_offset=0,
                flags=(),
            )
            yield event, [turn["dia_id"] for turn in pair]


def event_ids(service: Service, events: list[ImportedTurn]) -> list[str]:
    """Return the event ids of the imported events of one user."""

    def read(tx: Transaction) -> list[str]:
        space = tx.one(SPACES.space_of, user_id=events[0].user_id)
        rows = [
            tx.one(SPACES.event_of_origin, space_id=space.id, origin=event.origin).event
            for event in events
        ]
        return [str(tx.one(SPACES.hit, id=row).event_id) for row in rows]

    return service.context.store.read(read, account_id=service.caller.account_id)


def counts_of(service: Service, sample: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Import a conversation, unless it was, and count the served questions by kind and way."""
    events, messages = zip(*events_of(sample), strict=True)
    store(service.context, service.caller, events)
    ids = event_ids(service, list(events))
    texts = {
        name: f"{event.text.query}\n{event.text.response}"
        for name, event in zip(ids, events, strict=True)
    }
    fts = FtsIndex(texts)
    event_of = {message: name for name, some in zip(ids, messages, strict=True) for message in some}
    result: Counter[tuple[str, str]] = Counter()
    for question in sample["qa"]:
        kind = question["kind"]
        if kind not in KINDS:
            continue
        evidence = {event_of[message] for message in question["evidence"] if message in event_of}
        answer = service.ask(str(sample["sample_id"]), question["question"], top_k=HITS)
        is_rendered = any(one.event_id in evidence for one in answer.instructions)
        hit = any(one.event_id in evidence for one in answer.hits)
        best = fts.best(question["question"], HITS)
        result[kind, "questions"] += 1
        result[kind, "instructions"] += is_rendered
        result[kind, "hits"] += hit
        result[kind, "either"] += is_rendered or hit
        result[kind, "fts"] += not evidence.isdisjoint(best)
        if not (is_rendered or hit):
            print(f"NOT SERVED ({sample['sample_id']}, {kind}): {question['question']}")
    return result


def served_table(path: Path, folder: Path | None) -> str:
    """Return the shares of BEAM's questions that the service serves; its store is in `folder`."""
    total: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        service = Service(folder or Path(temporary))
        for sample in json.loads(path.read_text("utf-8")):
            total.update(counts_of(service, sample))
        service.close()
    rows = [
        [
            kind,
            str(total[kind, "questions"]),
            *(
                f"{total[kind, way] / total[kind, 'questions']:.3f}"
                for way in ("either", "instructions", "hits", "fts")
            ),
        ]
        for kind in KINDS
    ]
    heads = [
        "questions", "number", f"instructions or {HITS} hits", "instructions shown",
        f"{HITS} hits alone", f"FTS5, {HITS} events",
    ]  # fmt: skip
    return table(heads, rows)

"""Turns that change, end or are taken back, asked of the service: two sets of other projects.

tc-event-hard (Jackson8787/traditional-chinese-event-memory-benchmark) asks for the old state of
something that changed. AutoMemoryBench has sessions with updates, deletions and notes that expire,
and questions with required memories. Two turns of a conversation are one event, those of
AutoMemoryBench with their answer. Each question is asked three ways: of the service, of the service
without the rules of turns that change (see `without_change_rules`), and of FTS5 over the same
texts.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from bench.report import table
from bench.service import FtsIndex, Service, service, without_change_rules

HITS = 10
_DATE = "%I:%M %p on %d %B, %Y"
_NEAR = ("near_miss", "conflict", "distractor")  # kinds of memories that no question requires


class Event(NamedTuple):
    """Two sides of a turn with the ids of its messages."""

    session_id: str
    at: datetime
    query: str
    response: str
    ids: tuple[str, ...]


class Match(NamedTuple):
    """A hit: the ids of its messages, and whether it is marked as replaced."""

    ids: tuple[str, ...]
    is_marked: bool = False


Search = Callable[[str], list[Match]]


@dataclass(frozen=True, slots=True)
class Sample:
    """A conversation of one user and its questions."""

    user_id: str
    events: list[Event]
    questions: list[dict[str, Any]]
    memories: dict[str, str] = field(default_factory=dict)  # of AutoMemoryBench, by message
    state: dict[str, Any] = field(default_factory=dict)  # which memories hold in the end


def change_samples(path: Path) -> list[Sample]:
    """Read tc-event-hard."""
    samples = []
    for sample in json.loads(path.read_text("utf-8")):
        events = []
        for session, turns in sample["conversation"].items():
            if not isinstance(turns, list):
                continue
            start = datetime.strptime(
                sample["conversation"][f"{session}_date_time"], _DATE
            ).replace(tzinfo=UTC)
            for number in range(0, len(turns), 2):
                pair = turns[number : number + 2]
                texts = [turn["text"] for turn in pair] + [""]
                ids = tuple(turn["dia_id"] for turn in pair)
                at = start + timedelta(seconds=number)
                events.append(Event(session, at, texts[0], texts[1], ids))
        samples.append(Sample(sample["sample_id"], _in_the_past(events), sample["qa"]))
    return samples


def update_samples(path: Path) -> list[Sample]:
    """Read AutoMemoryBench."""
    return [
        Sample(
            case["case_id"],
            _in_the_past(list(_session_events(case["sessions"]))),
            [query for query in case["queries"] if query["task_type"] != "no_memory"],
            {
                turn: memory["memory_id"]
                for memory in case["gold_memory_units"]
                for turn in memory["source_turn_ids"]
            },
            case["state_contracts"][-1],
        )
        for domain in json.loads(path.read_text("utf-8")).values()
        for case in domain["cases"]
    ]


def _session_events(sessions: Iterable[dict[str, Any]]) -> Iterator[Event]:
    for session in sessions:
        at = datetime.fromisoformat(session["timestamp"])
        turns = [*session["turns"], {"role": "user"}]
        for number, (turn, following) in enumerate(itertools.pairwise(turns)):
            if turn["role"] == "assistant":
                continue
            is_answered = following["role"] == "assistant"
            yield Event(
                session["session_id"],
                at + timedelta(seconds=number),
                turn["content"],
                following["content"] if is_answered else "",
                (turn["turn_id"], following["turn_id"]) if is_answered else (turn["turn_id"],),
            )


def _in_the_past(events: list[Event]) -> list[Event]:
    """Return the events with all times shifted by the same, so that none is in the future."""
    shift = max(event.at for event in events) - datetime.now(UTC) + timedelta(days=1)
    shift = max(shift, timedelta(0))
    return [event._replace(at=event.at - shift) for event in events]


def stored(one: Service, sample: Sample) -> Search:
    """Store a conversation and return a search in it."""
    ids = {
        one.say(sample.user_id, event.session_id, event.query, event.response, event.at): event.ids
        for event in sample.events
    }

    def search(question: str) -> list[Match]:
        hits = one.ask(sample.user_id, question, top_k=HITS).hits
        return [Match(ids[hit.event_id], hit.superseded_by is not None) for hit in hits]

    return search


def in_fts(sample: Sample) -> Search:
    """Return a search by FTS5."""
    texts = {
        str(number): f"{event.query}\n{event.response}"
        for number, event in enumerate(sample.events)
    }
    index = FtsIndex(texts)
    return lambda question: [
        Match(sample.events[int(number)].ids) for number in index.best(question, HITS)
    ]


def three_ways(
    samples: Sequence[Sample], count: Callable[[Sample, Search], Counter[str]]
) -> dict[str, Counter[str]]:
    """Return the counts over all samples of each way of asking."""
    totals: dict[str, Counter[str]] = {}
    with service() as one:
        totals["service"] = _total(count(sample, stored(one, sample)) for sample in samples)
    with without_change_rules(), service() as one:
        totals["service without these rules"] = _total(
            count(sample, stored(one, sample)) for sample in samples
        )
    totals["FTS5"] = _total(count(sample, in_fts(sample)) for sample in samples)
    return totals


def _total(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def count_changes(sample: Sample, search: Search) -> Counter[str]:
    """Count the questions of tc-event-hard whose old state, and whose whole evidence, is a hit."""
    counts: Counter[str] = Counter()
    for question in sample.questions:
        ids = {name for hit in search(question["question"]) for name in hit.ids}
        evidence = set(question["evidence"])
        counts["questions"] += 1
        counts["old"] += question["evidence"][0] in ids
        counts["both"] += evidence <= ids
        counts["evidence"] += len(evidence)
        counts["evidence hits"] += len(ids & evidence)
    return counts


def count_updates(sample: Sample, search: Search) -> Counter[str]:
    """Count required, deleted, superseded and near memories of AutoMemoryBench among the hits."""
    counts: Counter[str] = Counter()
    deleted = set(sample.state["deleted_memory_ids"])
    successors = {
        change["from_memory_id"]: change["to_memory_id"]
        for change in sample.state["transitions"]
        if change["transition_type"] == "update"
    }
    newest = next(iter(successors.values()), None)
    superseded = set(sample.state["superseded_memory_ids"])
    for question in sample.questions:
        hits = search(question["prompt"])
        memories = [{sample.memories.get(name) for name in hit.ids} - {None} for hit in hits]
        every = set().union(*memories)
        required = set(question["gold_memory_ids"])
        counts["questions"] += 1
        counts["hits"] += len(hits)
        counts["required"] += len(required)
        counts["required hits"] += len(required & every)
        counts["deleted"] += sum(bool(some & deleted) for some in memories)
        counts["near"] += sum(_is_near(some) for some in memories)
        newest_place = next((at for at, some in enumerate(memories) if newest in some), len(hits))
        for place, (hit, some) in enumerate(zip(hits, memories, strict=True)):
            if some & superseded:
                counts["superseded"] += 1
                counts["not below"] += place < newest_place
                counts["not marked"] += not hit.is_marked
    return counts


def _is_near(memories: set[str | None]) -> bool:
    return any(name and name.removeprefix("m_e_").startswith(_NEAR) for name in memories)


def change_table(path: Path) -> str:
    """Return the table of tc-event-hard."""
    rows = [
        [
            name,
            str(counts["questions"]),
            f"{counts['old'] / counts['questions']:.3f}",
            f"{counts['evidence hits'] / counts['evidence']:.3f}",
            f"{counts['both'] / counts['questions']:.3f}",
        ]
        for name, counts in three_ways(change_samples(path), count_changes).items()
    ]
    heads = [
        "tc-event-hard", "questions", f"old state, recall@{HITS}", f"all evidence, recall@{HITS}",
        "questions with all of it",
    ]  # fmt: skip
    return table(heads, rows)


def update_table(path: Path) -> str:
    """Return the table of AutoMemoryBench."""
    rows = [
        [
            name,
            str(counts["questions"]),
            f"{counts['required hits'] / counts['required']:.3f}",
            f"{counts['deleted']:,} of {counts['hits']:,}",
            f"{counts['superseded']:,}",
            f"{counts['not below']:,}",
            f"{counts['not marked']:,}",
            f"{counts['near'] / counts['questions']:.2f}",
        ]
        for name, counts in three_ways(update_samples(path), count_updates).items()
    ]
    heads = [
        "AutoMemoryBench", "questions", f"required, recall@{HITS}",
        "hits that were deleted or expired", "superseded hits",
        "not below their successor", "not marked", "near misses a question",
    ]  # fmt: skip
    return table(heads, rows)

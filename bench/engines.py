"""Compare search and writes on SQLite, PostgreSQL and a plain SQL baseline.

    python -m bench.engines --data locomo-dev.json [--parts large] [--users 10000]
        [--events 1000000] [--questions 50]

PostgreSQL is measured with loaded indexes and with database search. The systems alternate for each
question, so that load on the machine affects all of them. Question vectors are computed before. CPU
time includes this process and all processes of the database server. The baseline is plain SQL with
pgvector and full-text search (bench/engines_baseline.py).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.engines_baseline import Baseline
from bench.engines_data import CachedEmbedder, Events, StoredEvent, put
from bench.locomo import Conversation
from bench.report import table, write_section
from remembrancer import testing
from remembrancer.accounts import caller_for, keys
from remembrancer.context import Context
from remembrancer.memory.recall.postgresql_index import advance_index
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.spaces import number_of
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search import open_embedder
from remembrancer.settings import Settings
from remembrancer.testing.postgres import Postgres

T = TypeVar("T")
# From a user's number and a question to the numbers of ten events, best first.
Search = Callable[[int, str], list[int]]
BASELINE = "baseline: pgvector and full text, plain SQL"
DATABASE = "PostgreSQL, database search"
MEMORY, SQLITE = "PostgreSQL, loaded index", "SQLite, loaded index"
EVENTS_A_USER = 100
ADDED = 100
TITLES = {
    "conversations": "five conversations",
    "users": "many small spaces",
    "large": "one space of {events:,} events",
}
SERVER = {
    "fsync": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
}
INDEX_BYTES = 2_000  # memory per vector while the baseline builds its index


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a user's memory and the turns that answer it.

    `turns` has the turns of each event, by number.
    """

    user: int
    text: str
    evidence: frozenset[str] = frozenset()
    turns: Sequence[tuple[str, ...]] = ()

    def recall(self, event_numbers: Sequence[int]) -> float:
        """Return the share of the evidence among these events."""
        turns = {
            turn
            for number in event_numbers
            if number < len(self.turns)
            for turn in self.turns[number]
        }
        return len(self.evidence & turns) / len(self.evidence)


@dataclass(slots=True)
class Measurement:
    """The times and results of one system."""

    ms: list[float] = field(default_factory=list)
    cpu_ms: float = 0.0
    results: list[list[int]] = field(default_factory=list)


class Clock:
    """Wall and CPU time, including that of the database server."""

    def __init__(self, postgres: Postgres) -> None:
        self._server = postgres.pid

    def cpu_ms(self) -> float:
        """Return the CPU time of this process and the server so far."""
        served = (
            Path(f"/proc/{self._server}/task/{self._server}/children").read_text("ascii").split()
        )
        return time.process_time() * 1000 + sum(self._of(pid) for pid in served)

    @staticmethod
    def _of(pid: str) -> float:
        try:
            return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1e6
        except (FileNotFoundError, ProcessLookupError):
            return 0.0

    def take(self, measurement: Measurement, act: Callable[[], T]) -> T:
        """Run it and record its time."""
        cpu, start = self.cpu_ms(), time.perf_counter()
        result = act()
        measurement.ms.append((time.perf_counter() - start) * 1000)
        measurement.cpu_ms += self.cpu_ms() - cpu
        return result


def measure(
    clock: Clock, systems: dict[str, Search], questions: Sequence[Question]
) -> dict[str, Measurement]:
    """Measure each question on each system in turn, after a warm-up."""
    measurements = {name: Measurement() for name in systems}
    for question in questions:
        # Computes the vectors of all systems but the baseline, which embeds the unchanged question.
        systems[SQLITE](question.user, question.text)
        systems[BASELINE](question.user, question.text)
    for user, text in {question.user: question.text for question in questions}.items():
        for search in systems.values():
            search(user, text)
    for question in questions:
        for name, search in systems.items():
            one = measurements[name]
            one.results.append(
                clock.take(
                    one,
                    lambda search=search, question=question: search(question.user, question.text),  # type: ignore[misc]
                )
            )
    return measurements


def rows_of(measurements: dict[str, Measurement], questions: Sequence[Question]) -> list[list[str]]:
    """Return one row per system, with ratios to the baseline."""
    rows = []
    baseline = measurements[BASELINE]
    for name, one in measurements.items():
        recalls = (
            [share_found(questions, of.results) for of in (one, baseline)]
            if questions[0].evidence
            else []
        )
        ordered = sorted(one.ms)
        p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        figures = [
            f"{p50:.2f}",
            f"{p99:.1f}",
            f"{one.cpu_ms / len(one.ms):.2f}",
            f"{p50 / statistics.median(baseline.ms):.2f}x",
        ]
        rows.append(
            [
                name,
                *figures,
                *([f"{recalls[0]:.3f}", f"{recalls[0] / recalls[1]:.2f}x"] if recalls else []),
            ]
        )
    return rows


def share_found(questions: Sequence[Question], results: Sequence[Sequence[int]]) -> float:
    """Return the mean share of the evidence that was found."""
    return statistics.fmean(
        question.recall(events) for question, events in zip(questions, results, strict=True)
    )


class Engines:
    """The systems, with identically filled stores."""

    def __init__(self, folder: Path, postgres: Postgres, embedder: CachedEmbedder) -> None:
        self.url, self.baseline = postgres.schema(), Baseline(postgres.schema(), embedder)
        common = {"embedder": "none", "index_memory_bytes": 8 << 30}
        postgresql = Settings(data=folder, store=self.url, database_search_events=0, **common)  # type: ignore[arg-type]
        self.sqlite = testing.context(
            folder,
            settings=Settings(data=folder, **common),  # type: ignore[arg-type]
            embedder=embedder,
        )
        self.memory = testing.context(folder, settings=postgresql, embedder=embedder)
        self.database = testing.context(
            folder, settings=replace(postgresql, database_search_events=1), embedder=embedder
        )
        for context in (self.sqlite, self.memory):
            keys.create(context, account="bench")

    def put(
        self, events: Events, users: int, *, conversations: Sequence[Conversation], synthetic: int
    ) -> None:
        """Fill all stores alike: per user one conversation, if any, and `synthetic` events."""
        for context, url in ((self.sqlite, ""), (self.memory, self.url)):
            put(
                context,
                url,
                caller_for(context).account_id,
                [(f"u{n}", self._of(events, n, conversations, synthetic)) for n in range(users)],
            )
        for number in range(users):
            self.baseline.put(number, self._of(events, number, conversations, synthetic))
        self.baseline.analyze()

    def _of(
        self, events: Events, user: int, conversations: Sequence[Conversation], synthetic: int
    ) -> Iterator[StoredEvent]:
        first = 0
        for conversation in conversations if synthetic else conversations[user : user + 1]:
            yield from events.turns_of(conversation, first)
            first += 1_000
        events.seed(user)
        yield from events.synthetic(synthetic, first)

    def build_indexes(self) -> float:
        """Let the database build its indexes; return the seconds it took."""
        start = time.perf_counter()
        while advance_index(self.database):
            pass
        self.memory.store.run_outside_transaction("vacuum analyze")
        return time.perf_counter() - start

    def systems(self) -> dict[str, Search]:
        """Return all systems, with loaded indexes, and the baseline."""
        ours = {SQLITE: self.sqlite, MEMORY: self.memory, DATABASE: self.database}
        return {name: search_of(context) for name, context in ours.items()} | {
            BASELINE: self.baseline.search
        }

    def adding(self, clock: Clock) -> list[list[str]]:
        """Return table rows: the time to add one event on each system, without embedding."""
        measurements = {name: Measurement() for name in (SQLITE, MEMORY, BASELINE)}
        systems = {SQLITE: self.sqlite, MEMORY: self.memory}
        # The baseline has no accounts: finding the caller is left out.
        adding = {
            name: partial(remember, context, caller_for(context))
            for name, context in systems.items()
        }
        for number in range(ADDED):
            text = (
                f"Ada: the {number}th ferry to Elba leaves from pier {number % 7} after noon, and "
                "the captain waves."
            )
            turn = Turn(query=text, response="", user_id="u0", session_id="adding")
            self.baseline.add(0, 1 << 30 | number << 1, text)  # warm-up: computes the vector
            for name, add in adding.items():
                clock.take(measurements[name], partial(add, turn))
            clock.take(
                measurements[BASELINE],
                lambda number=number, text=text: self.baseline.add(
                    0, 1 << 30 | number << 1 | 1, text
                ),  # type: ignore[misc]
            )
        baseline = statistics.median(measurements[BASELINE].ms)
        times = {
            name: (statistics.median(one.ms), one.cpu_ms / ADDED)
            for name, one in measurements.items()
        }
        return [
            [name, f"{ms:.2f}", f"{cpu:.2f}", f"{ms / baseline:.2f}x"]
            for name, (ms, cpu) in times.items()
        ]

    def first_searches(self, question: Question, folder: Path) -> list[list[str]]:
        """Return table rows: the time of a server's first search."""
        rows = []
        for name, context in ((MEMORY, self.memory), (DATABASE, self.database)):
            with closing(
                testing.context(folder, settings=context.settings, embedder=context.embedder)
            ) as cold:
                start = time.perf_counter()
                search_of(cold)(question.user, question.text)
                rows.append([name, f"{(time.perf_counter() - start) * 1000:,.0f}"])
        return rows

    def close(self) -> None:
        """Close the stores."""
        self.baseline.close()
        for context in (self.sqlite, self.memory, self.database):
            context.close()


def search_of(context: Context) -> Search:
    """Return the search of the service."""
    caller = caller_for(context)

    def search(user: int, text: str) -> list[int]:
        answer = recall(
            context,
            caller,
            MemoryQuery(query_text=text, user_id=f"u{user}", interact=False, top_k=10),
        )
        return [
            number_of(int(hit.event_id[2:])) for hit in answer.hits if hit.event_id[2:].isdigit()
        ]

    return search


HEADS = ["system", "search p50 ms", "search p99 ms", "CPU ms", "p50 / baseline"]
RECALL = ["recall@10", "recall / baseline"]


def few_conversations(clock: Clock, engines: Engines, events: Events, most: int) -> str:
    """Measure with one conversation per user and evenly spaced questions."""
    engines.put(events, len(events.conversations), conversations=events.conversations, synthetic=0)
    engines.build_indexes()
    questions = [
        Question(
            user, question.text, question.evidence, [event.turns for event in conversation.events]
        )
        for user, conversation in enumerate(events.conversations)
        for question in conversation.questions
    ]
    questions = questions[:: -(-len(questions) // most)]
    measurements = measure(clock, engines.systems(), questions)
    turns = sum(len(one.events) for one in events.conversations)
    text = (
        f"**{len(events.conversations)} conversations, {turns:,} turns**, {len(questions)} "
        "questions:\n\n"
    )
    return text + table(HEADS + RECALL, rows_of(measurements, questions))


def many_users(clock: Clock, engines: Engines, events: Events, users: int, most: int) -> str:
    """Measure many small spaces."""
    engines.put(events, users, conversations=(), synthetic=EVENTS_A_USER)
    texts = [
        question.text
        for conversation in events.conversations
        for question in conversation.questions
    ]
    questions = [Question((place * 37) % users, texts[place]) for place in range(most)]
    systems = {name: search for name, search in engines.systems().items() if name != DATABASE}
    measurements = measure(clock, systems, questions)
    text = (
        f"**{users:,} users x {EVENTS_A_USER} events**, {most} questions; spaces this small are "
        "always loaded:\n\n"
    )
    return (
        f"{text}{table(HEADS, rows_of(measurements, questions))}\n\nAdding one event:\n\n"
        f"{table(_ADDING, engines.adding(clock))}"
    )


_ADDING = ["system", "add p50 ms", "CPU ms", "p50 / baseline"]


def one_large(
    clock: Clock, engines: Engines, events: Events, count: int, most: int, folder: Path
) -> str:
    """Measure one user with very many events, including all conversations."""
    turns = [event.turns for conversation in events.conversations for event in conversation.events]
    turns_by_event = [
        tuple(f"{c.name} {turn}" for turn in e.turns)
        for c in events.conversations
        for e in c.events
    ]
    engines.put(events, 1, conversations=events.conversations, synthetic=count - len(turns))
    took = engines.build_indexes()
    engines.baseline.create_indexes(count * INDEX_BYTES)
    candidates = [
        Question(
            0,
            one.text,
            frozenset(f"{conversation.name} {turn}" for turn in one.evidence),
            turns_by_event,
        )
        for conversation in events.conversations
        for one in conversation.questions
    ]
    questions = candidates[:: -(-len(candidates) // most)]
    first = table(["system", "first search ms"], engines.first_searches(questions[0], folder))
    measurements = measure(clock, engines.systems(), questions)
    text = (
        f"**One user with {count:,} events**, {len(questions)} questions; the database built its "
        f"indexes in {took:,.0f} s:\n\n"
    )
    text += table(HEADS + RECALL, rows_of(measurements, questions))
    shared = statistics.fmean(
        len(set(one) & set(other)) / max(len(other), 1)
        for one, other in zip(
            measurements[DATABASE].results, measurements[MEMORY].results, strict=True
        )
    )
    text += (
        f"\n\nShare of the ten in-memory results that database search returns: {shared:.3f}.\n\n"
        f"First search of a new server:\n\n{first}"
    )
    return f"{text}\n\nAdding one event:\n\n{table(_ADDING, engines.adding(clock))}"


@contextmanager
def opened(postgres: Postgres, embedder: CachedEmbedder) -> Iterator[tuple[Engines, Path]]:
    """Create empty systems and delete their files at the end."""
    with (
        tempfile.TemporaryDirectory() as name,
        closing(Engines(Path(name), postgres, embedder)) as engines,
    ):
        yield engines, Path(name)


def main() -> None:
    """Measure each part and write its section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("conversations", "users", "large"),
        default=("conversations", "users", "large"),
        help="Default: all",
    )
    parser.add_argument(
        "--users", type=int, default=1_000, help="number of small spaces. Default: 1000"
    )
    parser.add_argument(
        "--events", type=int, default=100_000, help="size of the large space. Default: 100000"
    )
    parser.add_argument("--questions", type=int, default=150, help="per part. Default: 150")
    options = parser.parse_args()
    embedder = CachedEmbedder(open_embedder("multilingual"))
    events = Events(options.data, embedder)
    command = (
        f"python -m bench.engines --data {options.data.name} --parts {{}} --users {options.users} "
        f"--events {options.events}"
    )
    with Postgres(**SERVER) as postgres:
        clock = Clock(postgres)
        for part in options.parts:
            with opened(postgres, embedder) as (engines, folder):
                if part == "conversations":
                    text = few_conversations(clock, engines, events, options.questions)
                elif part == "users":
                    text = many_users(clock, engines, events, options.users, options.questions)
                else:
                    text = one_large(
                        clock, engines, events, options.events, options.questions, folder
                    )
            full_command = f"{command.format(part)} --questions {options.questions}"
            section = f"engines-{part}" + (f"-{options.events}" if part == "large" else "")
            title = f"Engines: {TITLES[part].format(events=options.events)}"
            write_section(section, title, full_command, text)  # now: the next part may take long


if __name__ == "__main__":
    main()

"""Compare adding and searching on SQLite, on PostgreSQL (loaded and in the database) and by hand.

    python -m bench.engines --data locomo-dev.json [--parts large] [--users 10000]
        [--events 1000000] [--questions 50]

The systems take turns at each question, so that load on the machine affects all of them. Vectors of
questions are computed before. CPU time includes this process and all processes of the database
server. The floor, pgvector and full text by hand, is in `bench/engines_floor.py`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from bench.engines_data import Events, Remembered, StoredEvent, put
from bench.engines_floor import Floor
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
Search = Callable[
    [int, str], list[int]
]  # of a user, by number: the numbers of ten events, best first
FLOOR, DATABASE = "floor: pgvector and full text by hand", "PostgreSQL, by the database"
MEMORY, SQLITE = "PostgreSQL, in memory", "SQLite, in memory"
EVENTS_A_USER = 100
ADDED = 100
NAMED = {
    "conversations": "five conversations",
    "users": "many small memories",
    "large": "one memory of {events:,} events",
}
SERVER = {
    "fsync": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "2GB",
    "max_wal_size": "8GB",
}
INDEX_BYTES = 2_000  # of a vector in memory while its index is made


@dataclass(frozen=True, slots=True)
class Question:
    """A query to a user's memory and the numbers of the events that answer it.

    `turns` are the turns of each event.
    """

    user: int
    text: str
    evidence: frozenset[str] = frozenset()
    turns: Sequence[tuple[str, ...]] = ()

    def recall(self, event_numbers: Sequence[int]) -> float:
        """Return the share of the evidence among these events."""
        outcome = {
            turn
            for number in event_numbers
            if number < len(self.turns)
            for turn in self.turns[number]
        }
        return len(self.evidence & outcome) / len(self.evidence)


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
        finished = act()
        measurement.ms.append((time.perf_counter() - start) * 1000)
        measurement.cpu_ms += self.cpu_ms() - cpu
        return finished


def take_turns(
    clock: Clock, systems: dict[str, Search], questions: Sequence[Question]
) -> dict[str, Measurement]:
    """Each question asked of each system, one after another, when vectors are made and what is read
    into memory is.
    """
    selected = {name: Measurement() for name in systems}
    for question in questions:
        systems[SQLITE](
            question.user, question.text
        )  # makes the vectors of all but the floor, which embeds each question as it is
        systems[FLOOR](question.user, question.text)
    for user, text in {question.user: question.text for question in questions}.items():
        for search in systems.values():
            search(user, text)
    for question in questions:
        for name, search in systems.items():
            one = selected[name]
            one.results.append(
                clock.take(
                    one,
                    lambda search=search, question=question: search(question.user, question.text),  # type: ignore[misc]
                )
            )
    return selected


def rows_of(measurements: dict[str, Measurement], questions: Sequence[Question]) -> list[list[str]]:
    """Return one row per system, with ratios to the floor."""
    rows = []
    floor = measurements[FLOOR]
    for name, one in measurements.items():
        recalls = (
            [share_found(questions, of.results) for of in (one, floor)]
            if questions[0].evidence
            else []
        )
        ordered = sorted(one.ms)
        p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
        outcome = [
            f"{p50:.2f}",
            f"{p99:.1f}",
            f"{one.cpu_ms / len(one.ms):.2f}",
            f"{p50 / statistics.median(floor.ms):.2f}x",
        ]
        rows.append(
            [
                name,
                *outcome,
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

    def __init__(self, folder: Path, postgres: Postgres, embedder: Remembered) -> None:
        self.url, self.floor = postgres.schema(), Floor(postgres.schema(), embedder)
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
        self, events: Events, users: int, *, conversations: Sequence[Conversation], strange: int
    ) -> None:
        """Fill all stores alike:

        each user with a conversation, if there are any, and so many strangers' events.
        """
        for context, url in ((self.sqlite, ""), (self.memory, self.url)):
            put(
                context,
                url,
                caller_for(context).account_id,
                [(f"u{n}", self._of(events, n, conversations, strange)) for n in range(users)],
            )
        for number in range(users):
            self.floor.put(number, self._of(events, number, conversations, strange))
        self.floor.analyze()

    def _of(
        self, events: Events, user: int, conversations: Sequence[Conversation], strange: int
    ) -> Iterator[StoredEvent]:
        first = 0
        for conversation in conversations if strange else conversations[user : user + 1]:
            yield from events.turns_of(conversation, first)
            first += 1_000
        events.begin_again(user)
        yield from events.strange(strange, first)

    def take_in(self) -> float:
        """Let the database build its indexes; return the seconds it took."""
        start = time.perf_counter()
        while advance_index(self.database):
            pass
        self.memory.store.run_outside_transaction("vacuum analyze")
        return time.perf_counter() - start

    def systems(self) -> dict[str, Search]:
        """Return all systems, with warm indexes, and the floor."""
        ours = {SQLITE: self.sqlite, MEMORY: self.memory, DATABASE: self.database}
        return {name: search_of(context) for name, context in ours.items()} | {
            FLOOR: self.floor.search
        }

    def adding(self, clock: Clock) -> list[list[str]]:
        """Return table rows: the time to add one event on each system, without embedding."""
        selected = {name: Measurement() for name in (SQLITE, MEMORY, FLOOR)}
        for number in range(ADDED):
            text = (
                f"Ada: the {number}th ferry to Elba leaves from pier {number % 7} after noon, and "
                "the captain waves."
            )
            turn = Turn(query=text, response="", user_id="u0", session_id="adding")
            self.floor.add(0, 1 << 30 | number << 1, text)  # not counted: the vector is made here
            for name, context in ((SQLITE, self.sqlite), (MEMORY, self.memory)):
                clock.take(
                    selected[name],
                    lambda context=context, turn=turn: remember(context, caller_for(context), turn),  # type: ignore[misc]
                )
            clock.take(
                selected[FLOOR],
                lambda number=number, text=text: self.floor.add(0, 1 << 30 | number << 1 | 1, text),  # type: ignore[misc]
            )
        floor = statistics.median(selected[FLOOR].ms)
        outcome = {
            name: (statistics.median(one.ms), one.cpu_ms / ADDED) for name, one in selected.items()
        }
        return [
            [name, f"{ms:.2f}", f"{cpu:.2f}", f"{ms / floor:.2f}x"]
            for name, (ms, cpu) in outcome.items()
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
        self.floor.close()
        for context in (self.sqlite, self.memory, self.database):
            context.close()


def search_of(context: Context) -> Search:
    """Search with the service."""
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


HEADS = ["system", "search p50 ms", "p99", "CPU ms", "p50 / floor"]
RECALL = ["recall@10", "recall / floor"]


def conversations_alone(clock: Clock, engines: Engines, events: Events, most: int) -> str:
    """Measure with one conversation per user and evenly chosen questions."""
    engines.put(events, len(events.conversations), conversations=events.conversations, strange=0)
    engines.take_in()
    questions = [
        Question(
            user, request.text, request.evidence, [event.turns for event in conversation.events]
        )
        for user, conversation in enumerate(events.conversations)
        for request in conversation.questions
    ]
    questions = questions[:: -(-len(questions) // most)]
    selected = take_turns(clock, engines.systems(), questions)
    turns = sum(len(one.events) for one in events.conversations)
    text = (
        f"**{len(events.conversations)} conversations, {turns:,} turns**, {len(questions)} "
        "questions:\n\n"
    )
    return text + table(HEADS + RECALL, rows_of(selected, questions))


def many_users(clock: Clock, engines: Engines, events: Events, users: int, most: int) -> str:
    """Measure many small memories."""
    engines.put(events, users, conversations=(), strange=EVENTS_A_USER)
    texts = [
        request.text for conversation in events.conversations for request in conversation.questions
    ]
    questions = [Question((place * 37) % users, texts[place]) for place in range(most)]
    systems = {name: search for name, search in engines.systems().items() if name != DATABASE}
    selected = take_turns(clock, systems, questions)
    text = (
        f"**{users:,} users x {EVENTS_A_USER} events**, {most} questions; so small a memory is "
        "always read in:\n\n"
    )
    return (
        f"{text}{table(HEADS, rows_of(selected, questions))}\n\nOne event added:\n\n"
        f"{table(_ADDING, engines.adding(clock))}"
    )


_ADDING = ["system", "add p50 ms", "CPU ms", "p50 / floor"]


def one_large(
    clock: Clock, engines: Engines, events: Events, count: int, most: int, folder: Path
) -> str:
    """Measure one user with very many events, including all conversations."""
    turns = [event.turns for conversation in events.conversations for event in conversation.events]
    named = [
        tuple(f"{c.name} {turn}" for turn in e.turns)
        for c in events.conversations
        for e in c.events
    ]
    engines.put(events, 1, conversations=events.conversations, strange=count - len(turns))
    took = engines.take_in()
    engines.floor.link(count * INDEX_BYTES)
    request = [
        Question(
            0, one.text, frozenset(f"{conversation.name} {turn}" for turn in one.evidence), named
        )
        for conversation in events.conversations
        for one in conversation.questions
    ]
    questions = request[:: -(-len(request) // most)]
    first = table(["system", "first search ms"], engines.first_searches(questions[0], folder))
    selected = take_turns(clock, engines.systems(), questions)
    text = (
        f"**One user with {count:,} events**, {len(questions)} questions; the database took it in "
        f"within {took:,.0f} s:\n\n"
    )
    text += table(HEADS + RECALL, rows_of(selected, questions))
    same = statistics.fmean(
        len(set(one) & set(other)) / max(len(other), 1)
        for one, other in zip(selected[DATABASE].results, selected[MEMORY].results, strict=True)
    )
    text += (
        f"\n\nOf the ten events found in memory the database finds {same:.3f}.\n\nA server that "
        f"has read nothing yet:\n\n{first}"
    )
    return f"{text}\n\nOne event added:\n\n{table(_ADDING, engines.adding(clock))}"


@contextmanager
def opened(postgres: Postgres, embedder: Remembered) -> Iterator[tuple[Engines, Path]]:
    """Create empty systems and delete their files at the end."""
    with (
        tempfile.TemporaryDirectory() as name,
        closing(Engines(Path(name), postgres, embedder)) as engines,
    ):
        yield engines, Path(name)


def main() -> None:
    """Measure, print and write a section of bench/results.md for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("conversations", "users", "large"),
        default=("conversations", "users", "large"),
    )
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=150, help="asked in each part")
    options = parser.parse_args()
    embedder = Remembered(open_embedder("multilingual"))
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
                    outcome = conversations_alone(clock, engines, events, options.questions)
                elif part == "users":
                    outcome = many_users(clock, engines, events, options.users, options.questions)
                else:
                    outcome = one_large(
                        clock, engines, events, options.events, options.questions, folder
                    )
            request = f"{command.format(part)} --questions {options.questions}"
            section = f"engines-{part}" + (f"-{options.events}" if part == "large" else "")
            title = f"Engines: {NAMED[part].format(events=options.events)}"
            write_section(section, title, request, outcome)  # at once: the next part may take long


if __name__ == "__main__":
    main()

"""Compare a search and an added turn with a store written by hand, on both engines, in one process.

    python -m bench.floor --data locomo-dev.json [--users 1000] [--events 100]

The floor keeps such texts and vectors in the same engine: SQLite with FTS5 (bench/peers/by_hand.py)
and PostgreSQL with its text search and pgvector. A search ranks a user's rows by words and by
vector and fuses both; an addition is one transaction. The warm-up knows all vectors, so that the
embedder is in no figure. CPU is that of this process: the database's is in the wall time alone.
Medians of ROUNDS.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import psycopg

from bench.http import searches
from bench.load import Turns
from bench.peers.by_hand import HandMadePeer
from bench.peers.port import CANDIDATES, Item, Peer, Question, any_word, floats, fused
from bench.profile_store import TEXTS, StoreFiller
from bench.report import arguments_of, table, write_section
from bench.spaces import encode
from remembrancer.accounts import caller_for, keys
from remembrancer.context import assemble
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.search.embedders.multilingual import MultilingualEmbedder
from remembrancer.search.embedders.port import Vectors
from remembrancer.settings import Settings
from remembrancer.testing.postgres import Postgres

CALLS, ROUNDS = 60, 5


class PostgresPeer(Peer):
    """One table with a text search vector and a pgvector, ranked by two statements."""

    def __init__(self, url: str) -> None:
        """Create the table in a database."""
        self._db = psycopg.connect(url, autocommit=True)
        self._db.execute(
            "create table items (item_id text primary key, user_id text, text text,"
            " words tsvector generated always as (to_tsvector('english', text)) stored,"
            " vector vector(512))"
        )
        self._db.execute("create index on items (user_id)")

    def add(self, items: Sequence[Item]) -> list[str]:
        """See Peer."""
        with self._db.transaction(), self._db.cursor() as cursor:
            cursor.executemany(
                "insert into items (item_id, user_id, text, vector) values (%s, %s, %s, %s)",
                [(one.item_id, one.user, one.text, str(floats(one.vector))) for one in items],
            )
        return [one.item_id for one in items]

    def search(self, question: Question) -> list[str]:
        """See Peer."""
        words = any_word(question.text).replace('"', "'").replace(" OR ", " | ")
        by_words = self._db.execute(
            "select item_id from items, to_tsquery('english', %s) query where user_id = %s"
            " and words @@ query order by ts_rank(words, query) desc limit %s",
            (words, question.user, CANDIDATES),
        ).fetchall()
        by_vector = self._db.execute(
            "select item_id from items where user_id = %s order by vector <=> %s limit %s",
            (question.user, str(floats(question.vector)), CANDIDATES),
        ).fetchall()
        rankings = ([str(one) for (one,) in rows] for rows in (by_words, by_vector))
        return fused(*rankings, most=question.most)

    def settle(self) -> None:
        """Let the planner know all tables of the database, as its own upkeep does."""
        self._db.execute("analyze")


def median_ms(call: Callable[[str, int], object], users: Sequence[str]) -> tuple[float, float]:
    """Return the median CPU and wall ms of CALLS calls, each for another user."""
    times = []
    for place, user in enumerate(users[:CALLS]):
        cpu, wall = time.process_time(), time.perf_counter()
        call(user, place)
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    cpu_ms, wall_ms = np.median(np.array(times), axis=0) * 1e3
    return float(cpu_ms), float(wall_ms)


class KnownVectors(MultilingualEmbedder):
    """Embeds a text once, so that a call whose texts came before costs no embedding."""

    def __init__(self) -> None:
        super().__init__()
        self._embedder = MultilingualEmbedder()  # shares the loaded model

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return encode(self._embedder, list(texts)) if texts else super().encode(texts)


def rows_of(
    engine: str, settings: Settings, open_floor: Callable[[], Peer], options: argparse.Namespace
) -> list[list[str]]:
    """Return a table row for searches and one for added turns."""
    with closing(assemble(settings, embedders=(KnownVectors(), None))) as context:
        floor = open_floor()  # after ours, which wants an empty database
        keys.create(context, account="owner")
        caller, turns = caller_for(context), Turns(options.data, context)
        users = [f"u{number}" for number in range(options.users)]
        StoreFiller(context, caller.account_id, turns, texts=TEXTS).grow(users, options.events)
        vectors = context.embedder.encode([turns.text() for _ in range(options.events)])

        def item(user: str, number: int, text: str) -> Item:
            vector = vectors[number % len(vectors)].tobytes()
            return Item(f"{user}-{number}", user, text, vector, "", "", "", 0)

        for user in users:
            texts = [f"{turns.text()} {turns.text()}" for _ in range(options.events)]
            floor.add([item(user, *one) for one in enumerate(texts)])
        floor.settle()
        questions = [body["query_text"] for body in searches(turns, "")][:CALLS]
        question_vectors = context.embedder.encode(questions)
        bodies = [(turns.text(), turns.text()) for _ in range(CALLS)]

        def search(user: str, place: int) -> None:
            query = {"query_text": questions[place], "user_id": user, "interact": False}
            recall(context, caller, MemoryQuery.model_validate(query))

        def search_floor(user: str, place: int) -> None:
            vector = question_vectors[place].tobytes()
            floor.search(Question(user, questions[place], vector, 10))

        def add(user: str, place: int) -> None:
            query, response = bodies[place]
            remember(context, caller, Turn(query=query, response=response, user_id=user))

        def add_floor(user: str, place: int) -> None:
            floor.add([item(user, options.events + place, " ".join(bodies[place]))])

        rows = []
        for name, *pair in (("search", search, search_floor), ("add", add, add_floor)):
            rounds = [
                [median_ms(call, users[at * CALLS :]) for call in pair] for at in range(ROUNDS + 1)
            ]  # the first one warms up
            ours, theirs = np.median(np.array(rounds[1:]), axis=0)
            figures = (f"{one:.2f}" for one in (*ours, *theirs))
            rows.append([engine, name, *figures, *(f"{one:.1f}x" for one in ours / theirs)])
        return rows


def main() -> None:
    """Measure both engines and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo file")
    parser.add_argument("--users", type=int, default=1_000, help="at least 360. Default: 1000")
    parser.add_argument("--events", type=int, default=100, help="of each. Default: 100")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Postgres() as server:
        folder = Path(name)
        settings = Settings(data=folder / "one")
        rows = rows_of("SQLite", settings, partial(HandMadePeer, folder, 512), options)
        settings = Settings(data=folder / "two", store=server.database())
        rows += rows_of("PostgreSQL", settings, partial(PostgresPeer, settings.store), options)
    sides = ("ours", "floor")
    heads = ["engine", "call", *(f"{one}, {kind} ms" for one in sides for kind in ("CPU", "wall"))]
    text = f"{options.users:,} users of {options.events} events.\n\n" + table(
        [*heads, "CPU ratio", "wall ratio"], rows
    )
    command = f"python -m bench.floor --users {options.users} --events {options.events}"
    write_section("floor", "Beside a store written by hand", command, text)


if __name__ == "__main__":
    main()

"""The baseline of bench.engines: one table with text and vectors, queried with plain SQL.

It combines PostgreSQL's English full-text search and pgvector's cosine by reciprocal rank fusion.
For a small user it compares all rows; for a large user both indexes supply candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg

from bench.engines_data import ROWS_AT_ONCE, StoredEvent, batched
from remembrancer.search import Embedder, quantize

_TABLE = """
create table baseline (
    user_id bigint not null,
    id bigint not null,
    text text not null,
    vector halfvec(512) not null,
    terms tsvector generated always as (to_tsvector('english', text)) stored,
    primary key (user_id, id)
)
"""
_FUSED = """
, best as (
    select id, sum(1.0 / (60 + place)) as score
    from (select * from near union all select * from lexical) as candidates
    group by id order by score desc limit 10
)
select baseline.id, baseline.text
from best join baseline on baseline.user_id = %(user)s and baseline.id = best.id
order by best.score desc
"""
_SMALL = f"""
with mine as materialized (select id, vector, terms from baseline where user_id = %(user)s),
near as (
    select id, row_number() over (order by vector <=> %(vector)s::halfvec(512)) as place
    from mine order by place limit 50
),
lexical as (
    select id, row_number() over (order by rank desc) as place from (
        select id, ts_rank_cd(terms, query) as rank
        from mine, to_tsquery('english', %(words)s) as query
        where terms @@ query
        order by rank desc limit 50
    ) as ranked
)
{_FUSED}
"""  # noqa: S608  a part of the query
_LARGE = f"""
with near as (
    select id, row_number() over () as place from (
        select id from baseline where user_id = 0
        order by vector <=> %(vector)s::halfvec(512) limit 50
    ) as nearest
),
lexical as (
    select id, row_number() over (order by rank desc) as place from (
        select id, ts_rank_cd(terms, query) as rank
        from baseline, to_tsquery('english', %(words)s) as query
        where user_id = 0 and terms @@ query
        order by rank desc limit 50
    ) as ranked
)
{_FUSED}
"""  # noqa: S608  a part of the query


def as_text(vector: Sequence[int]) -> str:
    """Format a vector for pgvector."""
    return "[" + ",".join(map(str, vector)) + "]"


class Baseline:
    """The table and its queries, on a connection of its own."""

    def __init__(self, url: str, embedder: Embedder) -> None:
        self._connection = psycopg.connect(url, autocommit=True)
        self._embedder = embedder
        self._large = False
        self._connection.execute("drop table if exists baseline")
        self._connection.execute(_TABLE)

    def put(self, user: int, events: Sequence[StoredEvent] | Iterator[StoredEvent]) -> None:
        """Add many events of a user."""
        first = 0
        for some in batched(events, ROWS_AT_ONCE):
            with self._connection.cursor().copy(
                "copy baseline (user_id, id, text, vector) from stdin"
            ) as copy:
                for number, one in enumerate(some, first):
                    copy.write_row((user, number, one.text, as_text(one.vector.tolist())))
            first += len(some)

    def add(self, user: int, number: int, text: str) -> None:
        """Add one event in a transaction of its own."""
        vector = as_text(quantize(self._embedder.encode([text]))[0].tolist())
        self._connection.execute(
            "insert into baseline (user_id, id, text, vector) values (%s, %s, %s, %s)",
            (user, number, text, vector),
        )

    def create_indexes(self, memory_bytes: int) -> None:
        """Create the indexes for a large user."""
        self._connection.execute(f"set maintenance_work_mem = '{memory_bytes >> 10}kB'")
        self._connection.execute("create index on baseline using gin (terms)")
        self._connection.execute(
            "create index on baseline using hnsw (vector halfvec_cosine_ops) where user_id = 0"
        )
        self._connection.execute("set hnsw.ef_search = 100")
        self._connection.execute("analyze baseline")
        self._large = True

    def search(self, user: int, text: str) -> list[int]:
        """Return the numbers of ten events, best first."""
        [(words,)] = self._connection.execute(
            "select replace(plainto_tsquery('english', %s)::text, '&', '|')", [text]
        )
        vector = as_text(quantize(self._embedder.encode([text]))[0].tolist())
        values = {"user": user, "vector": vector, "words": words}
        return [
            row[0] for row in self._connection.execute(_LARGE if self._large else _SMALL, values)
        ]

    def analyze(self) -> None:
        """Update the planner's statistics."""
        self._connection.execute("analyze baseline")

    def close(self) -> None:
        """Close the connection and drop the table."""
        self._connection.execute("drop table baseline")
        self._connection.close()

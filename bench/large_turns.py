"""Measure what a turn of 900 KB costs: its write, and the searches of others meanwhile.

    python -m bench.large_turns --embedder multilingual

Another account searches all the time, before and during the write. The texts are English prose and
code of the standard library, random words, which have three times as many tokens as English, and
digits.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import random
import statistics
import string
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bench.report import table, write_section
from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.testing.servers import Server

SIZE = 900_000
TURNS = 200  # of the account that searches
SEARCHES = 200  # before a write
SOURCE = random.Random(5)
WORDS = ["".join(SOURCE.choices(string.ascii_lowercase, k=3 + n % 7)) for n in range(5_000)]


@cache
def _all_prose() -> str:
    return "\n\n".join(pydoc_data.topics.topics.values())


@cache
def _all_code() -> str:
    folder = Path(sysconfig.get_path("stdlib"))
    return "\n".join(file.read_text("utf-8", "replace") for file in sorted(folder.glob("*.py")))


def prose(size: int) -> str:
    """Return English from a random place of the language reference, repeated if it is too short."""
    text = _all_prose()
    start = SOURCE.randrange(len(text))
    return (text[start:] + text * (size // len(text) + 1))[:size]


def code(size: int) -> str:
    """Return modules of the standard library."""
    return _all_code()[:size]


def random_words(size: int) -> str:
    """Return sentences of words that no language has."""
    sentences = (" ".join(SOURCE.choices(WORDS, k=12)) for _ in range(size // 40))
    return ". ".join(sentences)[:size]


TEXTS: dict[str, Callable[[int], str]] = {
    "prose": prose,
    "code": code,
    "random words": random_words,
    "digits": lambda size: ("0123456789" * 10 + "\n") * (size // 101),
}


class Searcher:
    """An account with a small memory that searches again and again."""

    def __init__(self, server: Server, key: str) -> None:
        self.server, self.key = server, key
        for n in range(TURNS):
            turn = {"query": f"How is {WORDS[n]} {WORDS[n + 1]}?", "response": prose(200)}
            server.post("/api/v7/remember", turn, key=key)

    def search(self, n: int) -> float:
        """Search once; return the milliseconds."""
        words = f"how is {WORDS[n % TURNS]} {WORDS[n % TURNS + 1]}"
        body = {"query_text": words, "user_id": "bob", "interact": False}
        start = time.perf_counter()
        assert self.server.post("/api/v7/memory", body, key=self.key).status == 200
        return (time.perf_counter() - start) * 1_000

    def during(self, work: Callable[[], float]) -> tuple[float, list[float]]:
        """Do some work; return its seconds, and the milliseconds of the searches meanwhile."""
        times: list[float] = []
        is_over = threading.Event()

        def search() -> None:
            while not is_over.is_set():
                times.append(self.search(len(times)))

        thread = threading.Thread(target=search)
        thread.start()
        seconds = work()
        is_over.set()
        thread.join()
        return seconds, times


def measure(embedder: str) -> list[list[str]]:
    """Return a row for each kind of text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = testing.context(folder)
        writer, reader = (
            keys.create(context, account=account).key.reveal() for account in ("owner", "bob")
        )
        context.close()
        with Server(folder, REMEMBRANCER_EMBEDDER=embedder) as server:
            searcher, rows = Searcher(server, reader), []
            for kind, make in TEXTS.items():
                text = make(SIZE)

                def write(text: str = text, kind: str = kind) -> float:
                    start = time.perf_counter()
                    turn = {"query": "Look at this.", "response": text, "session_id": kind}
                    assert server.post("/api/v7/remember", turn, key=writer).status == 200
                    return time.perf_counter() - start

                idle = [searcher.search(n) for n in range(SEARCHES)]
                seconds, busy = searcher.during(write)
                rows.append(
                    [embedder, kind, f"{seconds:.2f}", *_quantiles(idle), *_quantiles(busy)]
                )
    return rows


def _quantiles(times: list[float]) -> tuple[str, str]:
    ordered = sorted(times)
    return f"{statistics.median(ordered):.1f}", f"{ordered[int(len(ordered) * 0.99)]:.1f}"


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--embedder", action="append")
    options = parser.parse_args()
    rows = [row for one in options.embedder or ["multilingual", "none"] for row in measure(one)]
    head = (
        "embedder",
        "text",
        "write, s",
        "idle p50, ms",
        "idle p99",
        "during p50, ms",
        "during p99",
    )
    command = "python -m bench.large_turns"
    text = "Another account searches before a turn of 900,000 characters is stored, and meanwhile."
    write_section("large turns", "Large turns", command, f"{text}\n\n{table(head, rows)}")


if __name__ == "__main__":
    main()

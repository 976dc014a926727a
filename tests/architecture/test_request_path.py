"""The path of a request through the code is short: few files from socket to store.

`pytest -s tests/architecture/test_request_path.py` prints the files and functions of each request.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from architecture.tree import CODE
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.server.app import make_app

# 20, 3 for the layers of facts, instructions and summaries, 6 for changes between turns, their use,
# help and snippets, which were one file of 530 lines, 1 for the costs of notices, 1 for
# identifiers, 2 for the features of events and the network that weighs them, 1 for the events
# of a pool, 1 for host names, 2 for turns of accounts, 2 for
# the memory of requests and later refusals, 2 for the outcomes and the trial of cubes, 3 for
# postings, runs of equal values and rows of hits, which were in files of 500 lines, 1 for the cache
# of indexes and 1 for the scales of scores, for the same reason
SEARCH_FILES_MAX = 46
# 35, 3 for standing instructions in a turn, 12 for changed values and what a user takes back, and 4
# for machine notices: shapes, output of tools, near duplicates, costs, 1 for identifiers, 3 for
# associations, 2 for embedders, which were one file, 1 for the events of a pool, 1 for host names,
# 2 for turns of accounts, 1 for later refusals, 2 for the outcomes and the trial of cubes, and 4 for
# postings, runs of equal values, dates in queries and rows of hits, and 1 for the scales of scores
CHAT_FILES_MAX = 72
FOLDER = f"{CODE}/"
# Test support, and the log filter that another test of this process may have installed.
IGNORED = ("testing/", "server/logs.py")


class Tracer:
    """Record the functions of the package called in threads started while it is installed."""

    def __init__(self) -> None:
        self.calls: dict[str, set[str]] | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if (
            self.calls is not None
            and event == "call"
            and name.startswith(FOLDER)
            and not name.removeprefix(FOLDER).startswith(IGNORED)
        ):
            file = name.removeprefix(FOLDER)
            self.calls.setdefault(file, set()).add(frame.f_code.co_qualname)

    def trace(self, title: str, request: Callable[[], Any]) -> list[str]:
        """Run a request; print the functions that it called by file, and return the files."""
        self.calls = {}
        request()
        calls, self.calls = self.calls, None
        functions = sum(map(len, calls.values()))
        print(f"\n{title}: {len(calls)} files, {functions} functions")
        for file, names in sorted(calls.items()):
            print(f"  {file}: {', '.join(sorted(names))}")
        return sorted(calls)


@pytest.fixture
def tracer() -> Iterator[Tracer]:
    """A tracer that every thread of the test runs with."""
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    yield tracer
    sys.setprofile(None)
    threading.setprofile(None)


@pytest.fixture
def memory(tracer: Tracer, tmp_path: Path) -> Iterator[Http]:
    """The service with the built-in embedder and a memory of three turns whose index is loaded."""
    context = testing.context(tmp_path)
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        http.remember("When does the ferry leave?", "At 9:40 from Piombino, pier 3.")
        http.remember("Which hotel?", "Hotel Aurora in Portoferraio.")
        http.memory("hotel")
        yield http
    context.close()


def test_search_passes_few_files(tracer: Tracer, memory: Http) -> None:
    assert memory.memory("When does the ferry leave?")["hits"]

    files = tracer.trace("search", lambda: memory.memory("When does the ferry leave?"))

    assert "memory/recall/recall.py" in files
    assert len(files) <= SEARCH_FILES_MAX


def test_chat_passes_few_files(tracer: Tracer, memory: Http) -> None:
    body = {"message": "When does the ferry leave?", "user_id": "owner"}
    files = tracer.trace("chat", lambda: memory.post("/api/v7/agent/chat", body))

    assert "agent/chat.py" in files
    assert len(files) <= CHAT_FILES_MAX

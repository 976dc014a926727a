"""The path of a request through the code is short: few files and functions from socket to store.

`pytest -s tests/architecture/test_request_path.py` prints the files and functions of each request.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import needed
import pytest
from architecture.tree import CODE
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.server.app import make_app

# Files and functions of the package that each request passes. They may only fall: a lower value is
# written back, so that it is committed with the change that reached it.
BOUNDS = Path(__file__).with_name("request_path.json")
FOLDER = f"{CODE}/"
RUNS = 5
QUESTION = "When does the ferry leave?"
# Test support, and the log filter that another test of this process may have installed.
IGNORED = ("testing/", "server/run.py")
RACES = {"FairThreads._wait"}  # called if the thread waited


class Tracer:
    """Record the functions of the package called in threads started while it is installed."""

    def __init__(self) -> None:
        self.calls: set[tuple[str, str]] | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if (
            self.calls is not None
            and event == "call"
            and not frame.f_code.co_name.startswith("<")  # a lambda or a comprehension
            and frame.f_code.co_qualname not in RACES
            and name.startswith(FOLDER)
            and not name.removeprefix(FOLDER).startswith(IGNORED)
        ):
            self.calls.add((name.removeprefix(FOLDER), frame.f_code.co_qualname))

    def trace(self, title: str, request: Callable[[], Any]) -> dict[str, int]:
        """Run a request several times; print and count what it passes every time.

        What only some of the runs call depends on the order of threads.
        """
        runs = []
        for _ in range(RUNS):
            self.calls = set()
            request()
            calls, self.calls = self.calls, None
            runs.append(calls)
        by_file = defaultdict(list)
        for file, name in sorted(set.intersection(*runs)):
            by_file[file].append(name)
        counts = {"files": len(by_file), "functions": sum(map(len, by_file.values()))}
        print(f"\n{title}: {counts['files']} files, {counts['functions']} functions")
        for file, names in by_file.items():
            print(f"  {file}: {', '.join(names)}")
        return counts


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


@pytest.mark.parametrize(
    ("title", "path", "body"),
    [
        ("search", "/api/v7/memory", {"query_text": QUESTION, "user_id": "owner"}),
        ("remember", "/api/v7/remember", {"query": "And the bus?", "response": "At {n}."}),
        ("chat", "/api/v7/agent/chat", {"message": QUESTION, "user_id": "owner"}),
        ("second look", "/api/v7/agent/second-look", {"draft": "Hotel Aurora in Portoferraio."}),
    ],
)
def test_a_request_passes_no_more_files_and_functions(
    tracer: Tracer, memory: Http, title: str, path: str, body: dict[str, str]
) -> None:
    needed.compiled_part()  # it calls no function of the package that takes its place
    numbers = count(1)

    def request() -> None:
        number = str(next(numbers))
        texts = {name: text.replace("{n}", number) for name, text in body.items()}
        assert memory.post(path, texts).status_code == 200

    request()  # the first one fills caches
    counts = tracer.trace(title, request)

    bounds = json.loads(BOUNDS.read_text("utf-8"))
    lower = {name: min(number, bounds[title][name]) for name, number in counts.items()}
    if lower != bounds[title]:
        BOUNDS.write_text(f"{json.dumps({**bounds, title: lower}, indent=1)}\n", "utf-8")
    assert counts == lower

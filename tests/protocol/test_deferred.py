"""Messages are prepared by their first use, which may be in several threads at once."""

from __future__ import annotations

import json
import sys

from command import captured

PROGRAM = """
import json, threading
from remembrancer.server import app
from remembrancer.protocol.message import Message
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryAnswer, MemoryQuery

def of(kind):
    yield kind
    for one in kind.__subclasses__():
        yield from of(one)

ready = sorted(one.__name__ for one in of(Message) if one.__pydantic_complete__)
gate, results = threading.Barrier(12), []

def use(place):
    gate.wait()
    if place % 3 == 0:
        results.append(type(Turn.model_validate({"query": "q", "response": "r"})).__name__)
    elif place % 3 == 1:
        results.append(type(MemoryQuery.model_validate({"query_text": "q", "user_id": "ada"})).__name__)
    else:
        answer = MemoryAnswer(hits=[], shared_cubes=[], step=0, total_hits=0)
        results.append(json.loads(answer.model_dump_json())["total_hits"])

threads = [threading.Thread(target=use, args=(place,)) for place in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([ready, sorted(map(str, results))]))
"""


def test_messages_are_prepared_by_their_first_use() -> None:
    """To prepare all of them takes a quarter of a start."""
    output = captured([sys.executable, "-c", PROGRAM], check=True).stdout
    ready, results = json.loads(output)

    assert ready == []
    assert results == ["0"] * 4 + ["MemoryQuery"] * 4 + ["Turn"] * 4

"""Serve one peer over lines of JSON, in the peer's own environment.

    python -m bench.peers.worker MODULE FOLDER DIMENSIONS

The first answer names the processes of the store. Then each line of the standard input is a
request: `add` (one answer), `add_each` (one answer for each item, once it is stored), `search`,
`settle` or `close`. This module imports the standard library alone.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.peers.port import Peer, unpacked_item, unpacked_question


def answers(peer: Peer, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answers to a request; `ms` are milliseconds of the peer's calls."""
    if request["do"] == "add":
        yield {"ids": peer.add([unpacked_item(one) for one in request["items"]])}
    elif request["do"] == "add_each":
        for item in [unpacked_item(one) for one in request["items"]]:
            begin = time.perf_counter()
            [stored_id] = peer.add([item])
            yield {"id": stored_id, "ms": (time.perf_counter() - begin) * 1e3}
    elif request["do"] == "search":
        ids, took = [], []
        for question in [unpacked_question(one) for one in request["questions"]]:
            begin = time.perf_counter()
            ids.append(peer.search(question))
            took.append((time.perf_counter() - begin) * 1e3)
        yield {"ids": ids, "ms": took}
    elif request["do"] == "settle":
        peer.settle()
        yield {}
    else:
        raise ValueError(f"unknown request {request['do']!r}")


def main() -> None:
    """Open the peer and answer requests until `close` or the end of the input."""
    module, folder, dimensions = sys.argv[1:]
    # Packages print on the standard output: it becomes the standard error.
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    peer: Peer = importlib.import_module(module).open_peer(Path(folder), int(dimensions))
    print(json.dumps({"processes": peer.processes()}), file=output)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "close":
            break
        for answer in answers(peer, request):
            print(json.dumps(answer), file=output)
    peer.close()


if __name__ == "__main__":
    main()

"""Measure the memory and the speed of checking large imports, and the speed of storing them.

    python -m bench.importing [--megabytes 400]

Two shapes: one JSON list (Claude's export) and JSON lines (transcripts of Claude Code), each at an
eighth of the size and at the whole. The baseline reads the file with `json`: the list at once, the
lines one by one. Every measurement is a process of its own; memory is its growth at the peak.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.report import table, write_section
from remembrancer.accounts import caller_for, keys
from remembrancer.context import assemble
from remembrancer.memory.exchange.importer import read, store
from remembrancer.memory.exchange.survey import open_import, survey
from remembrancer.settings import Settings

SEED, WORDS_PER_MESSAGE, STORED_MEGABYTES = 1, 80, 1
WORDS = ("garlic", "ferry", "harbour", "lamp", "engine", "supply", "über", "привет", "灯台")
WHEN = "2026-01-01T00:00:00Z"


def main() -> None:
    """Measure and write the section, or run one measurement in this process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=400, help="Default: 400")
    parser.add_argument("--data", help="Not used")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FILE"), help="For the program itself")
    options = parser.parse_args()
    if options.one:
        print(measured(*options.one))
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for title, file, pieces in (
            ("JSON list", "conversations.json", conversations),
            ("JSON lines", "session.jsonl", messages),
        ):
            for megabytes in (options.megabytes // 8, options.megabytes):
                path = written(Path(name) / file, pieces, megabytes << 20)
                rows += [
                    [f"{title}, {megabytes} MiB", way, *run(way, path)]
                    for way in ("baseline", "check")
                ]
            path = written(Path(name) / file, pieces, STORED_MEGABYTES << 20)
            rows.append([f"{title}, {STORED_MEGABYTES} MiB", "import", *run("import", path)])
    write_section(
        "importing",
        "Imports: memory and speed",
        f"python -m bench.importing --megabytes {options.megabytes}",
        table(["file", "way", "MiB/s", "messages/s", "memory MiB"], rows),
    )


def run(way: str, path: Path) -> list[str]:
    """Return MiB and messages per second, and MiB of memory, of a process of its own."""
    command = [sys.executable, "-m", "bench.importing", "--one", way, str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, mebibytes = map(float, output.split())
    with path.open("rb") as file:  # not at once: a child inherits the peak of its parent
        texts = sum(chunk.count(b'"text":') + chunk.count(b'"content":') for chunk in file)
    return [
        f"{path.stat().st_size / 2**20 / seconds:.2f}",
        f"{texts / seconds:,.0f}",
        f"{mebibytes:.0f}",
    ]


def measured(way: str, file: str) -> str:
    """Return the seconds and the growth of memory (MiB) of one way to read a file."""
    path, before = Path(file), _peak_mebibytes()
    start = time.perf_counter()
    if way == "check":
        source, shape = open_import(path)
        survey(source, shape)
    elif way == "import":
        _import(path)
    else:
        _baseline(path)
    return f"{time.perf_counter() - start} {_peak_mebibytes() - before}"


def _peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _baseline(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        if path.suffix == ".json":
            json.load(file)
        else:
            for line in file:
                json.loads(line)


def _import(path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        context = assemble(Settings(data=Path(name)))
        keys.create(context, account="bench")
        caller = caller_for(context, "bench")
        store(context, caller, read(context, caller, path))
        context.close()


def written(path: Path, pieces: Callable[[], Iterator[str]], size: int) -> Path:
    """Write a file of about `size` bytes."""
    with path.open("w", encoding="utf-8") as file:
        for piece in pieces():
            file.write(piece)
            if file.tell() >= size:
                break
        file.write("]" if path.suffix == ".json" else "")
    return path


def _text() -> str:
    return " ".join(random.choices(WORDS, k=WORDS_PER_MESSAGE))


def conversations() -> Iterator[str]:
    """Yield conversations of Claude's export, 20 messages each, as parts of a JSON list."""
    random.seed(SEED)
    for number in range(sys.maxsize):
        chat = [
            {
                "uuid": f"{number}-{place}",
                "sender": ("human", "assistant")[place % 2],
                "text": _text(),
                "created_at": WHEN,
            }
            for place in range(20)
        ]
        body = {"uuid": f"c{number}", "name": "t", "created_at": WHEN, "chat_messages": chat}
        yield (",\n" if number else "[") + json.dumps(body, ensure_ascii=False)


def messages() -> Iterator[str]:
    """Yield lines of transcripts of Claude Code, 40 messages per session."""
    random.seed(SEED)
    for number in range(sys.maxsize):
        role = ("user", "assistant")[number % 2]
        line = {
            "type": role,
            "uuid": f"u{number}",
            "sessionId": f"s{number // 40}",
            "timestamp": WHEN,
            "message": {"role": role, "content": _text()},
        }
        yield json.dumps(line, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()

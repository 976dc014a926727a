"""A peer in a process of its own, and what that process costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.http import TICKS
from bench.peers.environments import PeerKind, PeerUnavailable, python_of
from bench.peers.port import Item, Question
from bench.peers.vectors import Encoding
from bench.processes import family
from bench.soak import sample

ROOT = Path(__file__).parents[2]
BATCH = 200
LOG_CHARACTERS = 400  # of a failed peer's output


class PeerProcess:
    """A running peer on a folder. Raises PeerUnavailable where the peer fails."""

    def __init__(self, kind: PeerKind, folder: Path, cache: Path, encoding: Encoding) -> None:
        """Start the process, and wait until the store is open."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log = folder.with_suffix(".log")
        self._kind = kind
        command = [python_of(kind, cache), "-m", "bench.peers.worker", kind.module]
        command += [str(folder), str(encoding.dimensions)]
        paths = [str(ROOT), *([str(ROOT / "src")] if not kind.packages else [])]
        environment = (
            os.environ
            | {
                "PYTHONPATH": os.pathsep.join(paths),
                "REMEMBRANCER_EMBEDDER": encoding.name,
                "OMP_NUM_THREADS": "1",  # as in our server: more contend on matrices of this size
                "OPENBLAS_NUM_THREADS": "1",
            }
            | {"PYTHONPATH": os.pathsep.join(paths)}
        )
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=environment,
                cwd=folder.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._stores = self._read()["processes"] or [self._process.pid]

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._end()
            text = self._log.read_text("utf-8", "replace").strip()
            raise PeerUnavailable(f"{self._kind.name} ended: {text[-LOG_CHARACTERS:]}")
        return json.loads(line)

    def _ask(self, do: str, **more: Any) -> Any:
        self._write(do, **more)
        return self._read()

    def _write(self, do: str, **more: Any) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the next read raises what its log says
            self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._process.stdin.flush()

    def add(self, items: Sequence[Item]) -> dict[str, str]:
        """Store items in batches; return the id of each item by its stored id."""
        result: dict[str, str] = {}
        for start in range(0, len(items), BATCH):
            some = items[start : start + BATCH]
            ids = self._ask("add", items=[item.packed() for item in some])["ids"]
            result |= dict(zip(ids, (item.item_id for item in some), strict=True))
        return result

    def add_each(self, items: Sequence[Item]) -> list[float]:
        """Store items one at a time; return the milliseconds of each."""
        self._write("add_each", items=[item.packed() for item in items])
        return [float(self._read()["ms"]) for _ in items]

    def add_until(self, items: Sequence[Item], most: int) -> list[str]:
        """Begin to store items one at a time; return the stored ids of the first `most`.

        The peer goes on with the others.
        """
        self._write("add_each", items=[item.packed() for item in items])
        return [str(self._read()["id"]) for _ in items[:most]]

    def search(self, questions: Sequence[Question]) -> tuple[list[list[str]], list[float]]:
        """Return the stored ids for each question, best first, and the milliseconds of each."""
        answer = self._ask("search", questions=[question.packed() for question in questions])
        return answer["ids"], answer["ms"]

    def settle(self) -> None:
        """Let the peer do what it advises after many additions."""
        self._ask("settle")

    def cpu_ms(self) -> float:
        """Return the CPU time of all processes of the peer, with that of its client."""
        total = 0.0
        for pid in family(self._process.pid):
            with suppress(OSError):  # it has ended
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) * 1000 / TICKS
        return total

    def memory_mb(self) -> float:
        """Return the memory of the processes of the store (PSS), without a client."""
        return sum(sample(pid, 0.0).pss_mb for pid in self._stores)

    def kill(self) -> list[str]:
        """End all processes at once with SIGKILL; return the stored ids not read until then."""
        for pid in reversed(family(self._process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        lines = self._process.stdout.read().splitlines(keepends=True)
        self._end()
        return [str(json.loads(line)["id"]) for line in lines if line.endswith("\n")]

    def close(self) -> None:
        """Close the store and wait for the end of its process."""
        self._write("close")
        self._end()

    def _end(self) -> None:
        """Wait for the end of the process and close its pipes."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # closing writes what the process did not read
                pipe.close()
        self._process.wait()

"""Outcomes and limits of runs, and the life cycle of the sandbox."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from rounds import rounds
from sandbox.conftest import settings
from sandbox.programs_of_all_levels import (
    THREADS,
    WARNINGS,
    check_threads,
    check_warnings,
)
from sandbox.surroundings import processes

from remembrancer.sandbox import sandbox
from remembrancer.sandbox.plan import OUTPUT_BYTES_LAST
from remembrancer.sandbox.port import SandboxBusy, SandboxUnavailable
from remembrancer.sandbox.sandbox import Sandbox
from remembrancer.sandbox.zygote_runner import ZygoteRunner

SERVER_FOLDERS = (sys.prefix, sys.base_prefix, str(Path(sandbox.__file__).parents[2]))
MARKER = "tenant-marker-6f1c"


def process_ids(sandbox: Sandbox) -> set[int]:
    """Return the ids of the sandbox's processes."""
    assert isinstance(sandbox._runner, ZygoteRunner)
    return processes(sandbox._runner._process.pid)


def open_pidfds(sandbox: Sandbox) -> list[int]:
    """Return a pidfd of each of the sandbox's processes that is still alive."""
    descriptors = []
    for pid in process_ids(sandbox):
        with suppress(ProcessLookupError):
            descriptors.append(os.pidfd_open(pid))
    return descriptors


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("import sys\nsys.exit('gone')", 1, "gone\n"),
        ("import os\nos._exit(7)", 7, ""),
    ],
)
def test_program_can_choose_its_exit_status(
    box: Sandbox, code: str, status: int, expected: str
) -> None:
    run = box.run(code)

    assert (run.exit_code, run.stderr) == (status, expected)


def test_files_are_returned_and_files_left_out_are_named(box: Sandbox) -> None:
    files = "".join(f"open('{name}', 'w').write('x')\n" for name in ("d/a.txt", ".hidden"))
    run = box.run(f"import os\nos.mkdir('d')\n{files}os.symlink('d/a.txt', 'link')")

    assert run.files == [("d/a.txt", b"x")]
    assert run.left_out == [("link", "it is not a regular file")]


def test_number_of_files_is_limited_and_the_rest_is_counted(box: Sandbox) -> None:
    run = box.run("for n in range(100): open(f'{n:03}', 'w').close()")

    assert len(run.files) == box.bounds.files
    assert len(run.files) + len(run.left_out) + run.not_named == 100


def test_endless_program_is_stopped_and_its_output_is_returned(box: Sandbox) -> None:
    run = box.run("print('begun')\nwhile True: pass", seconds=0.3)

    assert (run.stopped, run.stdout) == ("timeout", "begun\n")


def test_long_output_is_truncated_and_flagged(box: Sandbox) -> None:
    run = box.run("print('x' * 1_000_000)")

    assert (run.exit_code, len(run.stdout)) == (0, box.bounds.output_bytes)
    assert (run.stdout_truncated, run.stderr_truncated) == (True, False)


def test_program_with_endless_output_is_stopped(box: Sandbox) -> None:
    run = box.run(f"import sys\nwhile True: sys.stdout.write('x' * {OUTPUT_BYTES_LAST // 8})")

    assert run.stopped == "output"


def test_memory_limit_raises_an_error_in_the_program(box: Sandbox) -> None:
    run = box.run(
        f"try:\n    bytearray({box.bounds.memory_bytes + (64 << 20)})\nexcept MemoryError:\n    "
        "print('no')"
    )

    assert run.stdout == "no\n"


def test_full_disk_raises_an_error_in_the_program(box: Sandbox) -> None:
    run = box.run(
        f"with open('a', 'wb') as f:\n    for _ in range({2 * box.bounds.disk_bytes >> 20}): "
        "f.write(bytes(1 << 20))"
    )

    assert run.error is not None
    assert run.error["type"] == "OSError"


def test_crash_is_reported_by_its_signal(box: Sandbox) -> None:
    run = box.run("import ctypes\nctypes.string_at(0)")

    assert (run.signal, run.exit_code) == ("SIGSEGV", None)


def test_program_cannot_forge_its_exit_code(box: Sandbox) -> None:
    """A program cannot forge its result."""
    run = box.run("""import os\nos.write(3, b'{"result": "42", "exit_code": 0}')\nos._exit(5)""")

    assert run.exit_code == 5


def test_program_sees_nothing_of_the_previous_one(box: Sandbox) -> None:
    box.run(f"import builtins\nbuiltins.left = {MARKER!r}\nopen('left.txt', 'w').write('x')")

    run = box.run("import os\nprint(hasattr(__builtins__, 'left'), os.listdir('.'))")

    assert run.stdout == "False []\n"


def test_concurrent_programs_cannot_reach_each_other(box: Sandbox) -> None:
    """Concurrent programs cannot reach each other (specification.md#sandbox-isolation)."""
    code = """
import os, time
open("mine.txt", "w").write(NAME)
found = set()
for _ in range(40):
    for pid in range(2, 400):
        try: os.kill(pid, 9); found.add(pid)
        except OSError: pass
    found |= {name for folder in (".", "/sandbox") for name in os.listdir(folder)} - {"mine.txt"}
    time.sleep(0.002)
print(open("mine.txt").read(), found)
"""
    with ThreadPoolExecutor(4) as tenants:
        runs = list(tenants.map(lambda n: box.run(f"NAME = '{n}'\n{code}", seconds=60), range(4)))

    assert [run.stdout for run in runs] == [f"{n} set()\n" for n in range(4)]


def test_no_text_of_a_program_remains_in_the_zygote_or_workers(tmp_path: Path) -> None:
    """The zygote never reads a program."""
    box = Sandbox(settings(tmp_path))
    box.start()
    ours = process_ids(box)
    for _ in range(3):
        box.run(f"kept = {MARKER!r} * 100")

    content = [pid for pid in ours if MARKER.encode() * 2 in _memory(pid)]
    box.close()

    assert content == []


def _memory(pid: int) -> bytes:
    """Return the writable memory of a process, as far as it is readable."""
    content = bytearray()
    try:
        with (
            Path(f"/proc/{pid}/maps").open() as maps,
            Path(f"/proc/{pid}/mem").open("rb", 0) as memory,
        ):
            for line in maps:
                span, rights, *_ = line.split()
                if rights.startswith("rw"):
                    start, end = (int(place, 16) for place in span.split("-"))
                    memory.seek(start)
                    content += memory.read(end - start)
    except OSError:
        pass
    return bytes(content)


def test_sandbox_restarts_a_dead_zygote(tmp_path: Path) -> None:
    """The zygote is restarted when it dies."""
    box = Sandbox(settings(tmp_path))
    box.start()
    for pid in process_ids(box):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    run = box.run("print('again')")
    box.close()

    assert run.stdout == "again\n"


@pytest.mark.long
def test_zygote_is_replaced_after_its_maximum_number_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = rounds(7, 20)
    monkeypatch.setattr(sandbox, "_RUNS_MAX", 5)
    box = Sandbox(settings(tmp_path))
    first = box.run("import os\nos.getpid()")
    zygote = box._runner

    outputs = [box.run(f"print({n})").stdout for n in range(count)]
    while any(thread.name == "sandbox" for thread in threading.enumerate()):
        box.run("1")
    replaced = box._runner
    box.close()

    assert first.exit_code == 0
    assert outputs == [f"{n}\n" for n in range(count)]
    assert replaced is not zygote


def test_matplotlib_is_loaded_once_a_program_names_it(tmp_path: Path) -> None:
    box = Sandbox(settings(tmp_path))
    loaded = "import sys\nprint(any('mat' + 'plotlib' == name for name in sys.modules))"
    try:
        assert box.run(loaded).stdout == "False\n"
        hidden = box.run("__import__('mat' + 'plotlib.pyplot').pyplot.plot([1, 2])")
        named = box.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])")
        assert [name for name, _ in hidden.files + named.files] == ["figure-1.png"] * 2
        assert box.run(loaded).stdout == "True\n"
    finally:
        box.close()


def test_close_aborts_a_start_in_progress(tmp_path: Path) -> None:
    """Stopping the service during startup does not wait for the self-test."""
    box = Sandbox(settings(tmp_path))

    def start() -> None:
        with suppress(SandboxUnavailable):
            box.start()

    starting = threading.Thread(target=start)
    starting.start()

    box.close()
    starting.join(timeout=60)

    assert not starting.is_alive()
    with pytest.raises(SandboxUnavailable):
        box.run("1")
    assert box._runner is None


def test_close_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    box = Sandbox(settings(tmp_path))
    box.run("open('a', 'w').write('x')")
    watched: list[int] = []
    while len(watched) < 3:  # the zygote, a worker, and the process that it keeps confined
        watched += open_pidfds(box)

    box.close()

    ended = []
    for descriptor in watched:
        ended += select.select([descriptor], [], [], 30)[0]  # readable once the process is dead
        os.close(descriptor)
    assert ended == watched
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_full_queue_is_rejected_with_retry_after(tmp_path: Path) -> None:
    """A full queue is a 429 with `Retry-After` (specification.md#sandbox-queue)."""
    box = Sandbox(settings(tmp_path, sandbox_parallel=1, sandbox_queue_max=1))
    box.start()
    with ThreadPoolExecutor(6) as callers:
        waiting = [callers.submit(box.run, "import time\ntime.sleep(0.5)") for _ in range(6)]
    refused = [one.exception() for one in waiting if one.exception()]
    box.close()

    assert 1 <= len(refused) <= 4
    assert all(
        isinstance(error, SandboxBusy) and error.extra["retry_after"] >= 1 for error in refused
    )


def test_data_folder_that_programs_could_read_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_VISIBLE_FOLDERS", (*sandbox._VISIBLE_FOLDERS, str(tmp_path)))
    box = Sandbox(settings(tmp_path))

    with pytest.raises(SandboxUnavailable) as refused:
        box.run("1")

    assert "move it" in refused.value.detail


def test_program_may_start_as_many_threads_as_its_limit_says(box: Sandbox) -> None:
    """With stacks of the default size, within the memory limit (specification.md#sandbox-limits)."""
    check_threads(box.run(THREADS))


def test_warnings_and_errors_show_no_path_of_the_server(box: Sandbox) -> None:
    check_warnings(box.run(WARNINGS), *SERVER_FOLDERS)


# `needs` (packages besides numpy and the standard library), `code`, `prints` (null: any output)
BENIGN = json.loads((Path(__file__).parent / "benign-programs.json").read_text("utf-8"))
MODULES = {"pillow": "PIL"}  # packages whose module has another name


def _installed(packages: str) -> bool:
    return all(importlib.util.find_spec(MODULES.get(name, name)) for name in packages.split())


@pytest.mark.parametrize(
    ("packages", "code", "printed"),
    [
        pytest.param(
            *(one["needs"], one["code"], one["prints"]),
            marks=pytest.mark.skipif(
                not _installed(one["needs"]), reason=f"needs {one['needs']}: the extra `sandbox`"
            ),
        )
        for one in BENIGN
    ],
)
def test_ordinary_program_runs_unchanged(
    box: Sandbox, packages: str, code: str, printed: str | None
) -> None:
    run = box.run(code, seconds=60)

    assert (run.exit_code, run.error) == (0, None), run.stderr
    assert printed is None or run.stdout == printed

"""One server of several worker processes: one port, one sandbox, one set of metrics, no lost work.

`test_many_servers.py` has what several processes on one store guarantee.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from command import captured
from servers.test_servers_that_die import Load, lost
from waiting import wait_until

from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.server.slots import SharedNumbers, Slot
from remembrancer.settings import Settings
from remembrancer.store.locations import hold
from remembrancer.testing.servers import Server

from .linear import not_one_counter

WORKERS = 2
SETTINGS = {"REMEMBRANCER_EMBEDDER": "none", "REMEMBRANCER_WORKERS": str(WORKERS)}


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Server]:
    """Yield a server of two workers."""
    with Server(tmp_path / "data", **SETTINGS) as server:
        assert server.get("/readyz").status == 200
        yield server


@pytest.fixture
def key(started: Server, tmp_path: Path) -> str:
    """Return a key of the owner."""
    return new_key_of(tmp_path / "data")


def new_key_of(folder: Path) -> str:
    """Return a new key of the owner of a server's store."""
    with closing(open_records(Settings(data=folder))) as records:
        return keys.create(records, account="owner").key.reveal()


def children(pid: int) -> set[int]:
    """Return the processes that this one started."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def workers(server: Server) -> set[int]:
    """Return the worker processes: those that have the store open."""
    return {pid for pid in children(server.process.pid) if has_store(pid)}


def has_store(pid: int) -> bool:
    """Return True if a process has the store open; False if it has ended meanwhile."""
    names = []
    with suppress(FileNotFoundError):
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed meanwhile
                names.append(path.readlink().name)
    return "remembrancer.sqlite3" in names


def test_worker_that_is_killed_is_replaced_and_loses_no_finished_write(
    started: Server, key: str
) -> None:
    """The connections of the killed one break; all other calls succeed."""
    load = Load([started], key)
    load.wait_for(40)
    before = workers(started)
    os.kill(min(before), signal.SIGKILL)
    load.wait_for(80)
    load.end()

    assert {answer.status for answer in load.others} <= {0}
    assert len(load.others) <= 8  # one call of each client
    assert lost(started, load) == []
    assert not_one_counter(load.steps) == []
    assert len(workers(started)) == WORKERS
    assert len(workers(started) & before) == WORKERS - 1


def test_programs_of_all_workers_run_in_one_sandbox(tmp_path: Path) -> None:
    """At most `sandbox_parallel` at a time, whichever worker got them."""
    settings = {
        **SETTINGS,
        "REMEMBRANCER_SANDBOX_PARALLEL": "1",
        "REMEMBRANCER_SANDBOX_QUEUE_MAX": "1",
    }
    with Server(tmp_path / "data", **settings) as server:
        assert server.get("/readyz").status == 200
        key = new_key_of(tmp_path / "data")

        def run(code: str) -> tuple[int, str]:
            answer = server.post("/api/v7/execute/code", {"code": code}, key=key)
            return answer.status, answer.body.get("stdout", "")

        first = run("print(6 * 7)")
        with ThreadPoolExecutor(8) as clients:
            answers = list(clients.map(run, ["sum(i * i for i in range(20_000_000))"] * 8))

    assert first == (200, "42\n")
    assert Counter(status for status, _ in answers) == {200: 2, 429: 6}


def test_program_of_a_killed_worker_is_stopped(tmp_path: Path) -> None:
    """Its place is free again."""
    settings = {**SETTINGS, "REMEMBRANCER_SANDBOX_PARALLEL": "1"}
    with Server(tmp_path / "data", **settings) as server:
        assert server.get("/readyz").status == 200
        key = new_key_of(tmp_path / "data")
        body = {"code": "while True: pass", "timeout_s": 60}
        endless = threading.Thread(
            target=server.post, args=("/api/v7/execute/code", body), kwargs={"key": key}
        )
        ready = server.post("/api/v7/execute/code", {"code": "print(1)"}, key=key)
        endless.start()
        # until a worker has the request: else it passes on to the next one
        in_flight = "remembrancer_requests_in_flight 2.0"
        wait_until(lambda: in_flight in server.get("/metrics").body.decode().splitlines())
        for pid in workers(server):
            os.kill(pid, signal.SIGKILL)
        endless.join()
        after = server.post("/api/v7/execute/code", {"code": "print(2)"}, key=key)

    assert (ready.status, after.status, after.body["stdout"]) == (200, 200, "2\n")


def test_sandbox_process_that_is_killed_is_replaced(started: Server, key: str) -> None:
    before = started.post("/api/v7/execute/code", {"code": "print(1)"}, key=key)
    [sandbox] = children(started.process.pid) - workers(started)
    os.kill(sandbox, signal.SIGKILL)
    after = started.post("/api/v7/execute/code", {"code": "print(2)"}, key=key)

    assert (before.body["stdout"], after.body["stdout"]) == ("1\n", "2\n")


def test_worker_that_replaces_a_killed_one_has_the_embedder_of_the_others(tmp_path: Path) -> None:
    """The embedder of the last SIGHUP, not that of the server's start (status-embedding-change)."""
    settings = tmp_path / "data" / "remembrancer.toml"
    settings.parent.mkdir(mode=0o700)
    settings.write_text('embedder = "none"\n', "utf-8")
    with Server(settings.parent, REMEMBRANCER_WORKERS=str(WORKERS)) as server:
        assert server.get("/readyz").body["embedding"] == {
            "name": "none",
            "pending": 0,
            "state": "ok",
        }
        settings.write_text('embedder = "multilingual"\n', "utf-8")
        server.process.send_signal(signal.SIGHUP)
        changed = embedder_of_all(server)
        before = workers(server)
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(workers(server) - before) != 0)
        after = embedder_of_all(server)

    assert changed.startswith("multilingual/")
    assert after == changed


def embedder_of_all(server: Server) -> str:
    """Wait until `/readyz` says that no worker changes its embedder; return the only name.

    Each call has a connection of its own, so the workers answer in turn.
    """
    while True:
        answers = [server.get("/readyz").body["embedding"] for _ in range(4 * WORKERS)]
        names = {answer["name"] for answer in answers}
        if len(names) == 1 and names != {"none"} and {one["state"] for one in answers} == {"ok"}:
            return str(names.pop())


def test_metrics_count_the_requests_of_all_workers_also_of_killed_ones(
    started: Server, key: str
) -> None:
    for _ in range(10):
        assert started.get("/api/v7/key", key=key).status == 200
    os.kill(min(workers(started)), signal.SIGKILL)
    requests = 'remembrancer_requests_total{method="GET",route="/api/v7/key",status="200"} 10.0'
    in_flight = "remembrancer_requests_in_flight 1.0"

    def metrics() -> list[str]:
        lines: list[str] = started.get("/metrics").body.decode().splitlines()
        return lines

    # A worker counts a request as answered just after its client has the answer.
    wait_until(lambda: {requests, in_flight} <= set(metrics()))
    lines = metrics()

    assert "# HELP remembrancer_requests_in_flight Requests being answered." in lines
    assert "# TYPE remembrancer_requests_in_flight gauge" in lines
    assert sum(line.startswith("remembrancer_requests_in_flight ") for line in lines) == 1
    wait_until(lambda: f"remembrancer_workers {len(workers(started))}.0" in metrics())


def test_stopping_finishes_requests_in_flight_and_leaves_no_process(
    started: Server, key: str
) -> None:
    family = {*children(started.process.pid)}
    connection = http.client.HTTPConnection("127.0.0.1", started.port, timeout=60)
    body = '{"code": "import time; time.sleep(0.5); print(1)"}'
    connection.request(
        "POST",
        "/api/v7/execute/code",
        body,
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    wait_until(lambda: started.get("/metrics").body.count(b"in_flight 2") != 0)
    started.process.terminate()
    answer = connection.getresponse()

    assert answer.status == 200
    assert b'"stdout":"1\\n"' in answer.read()
    assert started.process.wait(60) == 0
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


def test_killed_parent_takes_its_workers_with_it(started: Server, tmp_path: Path) -> None:
    """The data folder is free at once for the next server."""
    family = children(started.process.pid)
    started.kill()
    with hold(tmp_path / "data"):
        pass
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))  # by the kernel
    with Server(tmp_path / "data", **SETTINGS) as another:
        assert another.get("/readyz").status == 200


def test_error_of_a_worker_at_start_ends_the_server_with_one_line(tmp_path: Path) -> None:
    environment = {**os.environ, "REMEMBRANCER_DATA": str(tmp_path), "REMEMBRANCER_PORT": "0"}
    environment |= {"REMEMBRANCER_RERANKER": "llm", "REMEMBRANCER_WORKERS": "2"}
    tmp_path.chmod(0o700)
    ended = captured([sys.executable, "-m", "remembrancer", "serve"], env=environment, timeout=60)

    assert ended.returncode != 0
    assert "`reranker` is `llm`, but `model_judge` and `model_chat` are empty" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_workers_share_out_what_a_server_may_use() -> None:
    settings = Settings(index_memory_bytes=100 << 20, store_connections=16, search_threads=4)
    share = settings.of_worker(4)

    assert (share.index_memory_bytes, share.store_connections) == (25 << 20, 4)
    assert share.search_threads == 2
    assert share.request_memory_bytes >= 4 * settings.file_bytes_max


def test_connections_in_the_channel_of_a_dead_worker_pass_to_the_next() -> None:
    numbers = SharedNumbers(1)
    one, other = socket.socketpair()
    with closing(Slot(0, numbers)) as slot, one, other:
        assert slot.send(one)
        assert slot.send(other)
        numbers.received[0] += 1  # and then it dies

        slot.prepare()

        assert slot.connections == 1

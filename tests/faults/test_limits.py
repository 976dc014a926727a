"""A process without descriptors or memory: requests are refused, and nothing answered is lost."""

from __future__ import annotations

import http.client
import json
import os
import resource
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from faults.service import Service
from waiting import wait_until

from remembrancer.testing.servers import Answer

ANSWER_SECONDS_MAX = 60
CLIENTS = 40
CGROUPS = (  # folder, name of the limit, name of the usage: version 2, then version 1
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


@contextmanager
def limited(pid: int, which: int, limit: int) -> Iterator[None]:
    """Give a process a soft limit within the block."""
    before = resource.prlimit(pid, which)
    resource.prlimit(pid, which, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, which, before)


def test_connections_beyond_the_descriptors_are_closed_and_others_served(
    service: Service, word: str
) -> None:
    """A file that cannot be opened is a 503 with that reason; then all is as before."""
    first, pid, port = service.remember(word), service.pid, service.server.port
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)
    line.request("GET", "/healthz")
    line.getresponse().read()
    used = max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()) + 1
    with limited(pid, resource.RLIMIT_NOFILE, used + 4), ExitStack() as opened:
        opened.callback(line.close)
        answers = [_first_bytes(port, opened) for _ in range(CLIENTS)]
        refused = _create_file(line, service.key, word)
    again = service.create_file(word)

    assert set(answers) == {b"HTTP/1.1 200", b""}
    assert refused[0] == 503
    assert "too many files are open" in refused[1]
    assert again.status == 200
    assert service.events_with(word) == [first.body["event_id"]]


def _first_bytes(port: int, opened: ExitStack) -> bytes:
    """Send a request on a new connection that stays open; return the beginning of the answer."""
    connection = opened.enter_context(
        socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS_MAX)
    )
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return connection.recv(12)
    except ConnectionError:
        return b""


def _create_file(line: http.client.HTTPConnection, key: str, word: str) -> tuple[int, str]:
    body = json.dumps({"filename": word, "type": "txt", "content": word})
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    line.request("POST", "/api/v7/tools/create-file", body, headers)
    response = line.getresponse()
    return response.status, response.read().decode()


def test_server_raises_its_descriptor_limit(service: Service) -> None:
    soft, hard = resource.prlimit(service.pid, resource.RLIMIT_NOFILE)

    assert soft == hard or soft >= 65_536


def test_requests_beyond_the_memory_are_refused_and_others_served(
    service: Service, word: str
) -> None:
    first = service.remember(word)
    # It has the rules for secrets loaded: their library would end the process without memory.
    service.remember(f"The password of boat{word} is Zx81-qwerty-{word}")
    with service.shim.without_blocks_over(8 << 20):
        refused = [_large_file(service) for _ in range(2)]
        small = service.remember(f"small{word}")
        served = service.events_with(word)
    again = _large_file(service)

    assert {answer.status for answer in refused} == {503}
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert all("memory is used up" in answer.body["detail"] for answer in refused)
    assert served == [first.body["event_id"]]
    assert (small.status, again.status) == (200, 200)


def _large_file(service: Service) -> Answer:
    body = {"filename": "large", "type": "txt", "content": "w" * 20_000_000}
    return service.server.post("/api/v7/tools/create-file", body, key=service.key)


def test_server_killed_for_its_memory_loses_no_answered_write(service: Service, word: str) -> None:
    """The kernel kills the process when its control group is full."""
    group, limit, usage = _control_group(word)
    try:
        service.restart()
        (group / "cgroup.procs").write_text(str(service.server.process.pid))
        first = service.remember(word)
        (group / limit).write_text(str(int((group / usage).read_text()) + (24 << 20)))
        with ThreadPoolExecutor(4) as clients:
            answers = list(
                clients.map(lambda number: _turn_and_file(service, word, number), range(6))
            )
        ended = service.server.process.wait(60)
    finally:
        service.restart()
        assert service.server.get("/readyz").status == 200
        wait_until(lambda: _removed(group))  # when the children of the killed process have ended
    lost = [
        number
        for number, answer in answers
        if answer.status == 200 and not service.events_with(f"{word}{number}")
    ]

    assert ended == -9
    assert {first.status, *(answer.status for _, answer in answers)} <= {0, 200}
    assert service.events_with(word) == [first.body["event_id"]]
    assert lost == []


def _removed(group: Path) -> bool:
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def _turn_and_file(service: Service, word: str, number: int) -> tuple[int, Answer]:
    turn = service.remember(f"{word}{number}")
    _large_file(service)
    return number, turn


def _control_group(name: str) -> tuple[Path, str, str]:
    """Return a new control group with its files of limit and usage, or skip the test."""
    for root, limit, usage in CGROUPS:
        group = root / f"remembrancer-{os.getpid()}-{name}"
        try:
            group.mkdir()
        except OSError:
            continue
        if (group / limit).exists():
            return group, limit, usage
        group.rmdir()
    pytest.skip("needs a control group of memory that this user may create")

"""Programs of clients that are gone are stopped."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from console.reader import Reader
from http_server.raw import JSON, Connect, bearer, request
from service import new_key
from starlette.applications import Starlette
from starlette.testclient import TestClient
from waiting import wait_until

from remembrancer.context import Context
from remembrancer.sandbox.runner import Cancellation, RunCancelled
from remembrancer.sandbox.sandbox import Sandbox

ENDLESS = "while True: pass"
TICKS = os.sysconf("SC_CLK_TCK")


def processes() -> dict[int, tuple[int, int]]:
    """Return parent and CPU time (in ticks) of every process of this machine."""
    rows: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text("utf-8").rpartition(")")[2].split()
            except OSError:
                continue  # it has exited
            rows[int(entry.name)] = (int(fields[1]), int(fields[11]))
    return rows


def is_ours(pid: int, all_processes: dict[int, tuple[int, int]]) -> bool:
    """Return True if a process descends from this one."""
    while pid in all_processes:
        pid = all_processes[pid][0]
        if pid == os.getpid():
            return True
    return False


def busy_program(before: dict[int, tuple[int, int]]) -> int:
    """Wait for a process of ours that has used a quarter of a second since `before`."""
    found: list[int] = []

    def find() -> bool:
        now = processes()
        found.extend(
            pid
            for pid, (_, ticks) in now.items()
            if is_ours(pid, now) and ticks - before.get(pid, (0, 0))[1] > TICKS / 4
        )
        return bool(found)

    wait_until(find)
    return found[0]


def ends_within(process: int, seconds: float) -> bool:
    """Return True if the process of this descriptor ends in time."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    return bool(poll.poll(seconds * 1_000))


def api(context: Context, _app: Starlette) -> tuple[str, bytes, list[str]]:
    """Return path, body and headers of a run over the API."""
    body = json.dumps({"code": ENDLESS, "timeout_s": 60}).encode()
    return "/api/execute/code", body, [bearer(new_key(context)), JSON]


def tool(context: Context, app: Starlette) -> tuple[str, bytes, list[str]]:
    """Return path, body and headers of a run by a tool of MCP."""
    _, _, headers = api(context, app)
    call = {"name": "run_python", "arguments": {"code": ENDLESS}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accept = "Accept: application/json, text/event-stream"
    return "/mcp", json.dumps(body).encode(), [*headers, accept]


def page(context: Context, app: Starlette) -> tuple[str, bytes, list[str]]:
    """Return path, body and headers of a run from the console."""
    reader = Reader(TestClient(app, base_url="http://127.0.0.1:8460"), context)
    form = {"code": ENDLESS, "mode": "run", "form_token": reader.form_token}
    headers = [
        f"Cookie: session={reader.cookies['session']}",
        "Content-Type: application/x-www-form-urlencoded",
        "Sec-Fetch-Site: same-origin",
    ]
    return "/console/sandbox/run", urlencode(form).encode(), headers


@pytest.mark.parametrize("request_of", [api, tool, page])
def test_program_whose_client_is_gone_is_stopped(
    connect: Connect,
    context: Context,
    app: Starlette,
    request_of: Callable[[Context, Starlette], tuple[str, bytes, list[str]]],
) -> None:
    """Within a second (specification.md#sandbox-client-gone)."""
    app.state.sandbox.start()
    path, body, headers = request_of(context, app)
    whole = request("POST", path, *headers, f"Content-Length: {len(body)}", body=body)
    connection, before = connect(), processes()
    connection.sendall(whole)
    process = os.pidfd_open(busy_program(before))

    connection.close()

    assert ends_within(process, 1)
    os.close(process)


def test_program_whose_client_is_gone_does_not_start(app: Starlette) -> None:
    """Neither do its repairs (specification.md#sandbox-client-gone)."""
    sandbox: Sandbox = app.state.sandbox
    cancellation = Cancellation()
    programs = sandbox.for_client(cancellation, 1)
    assert programs.run("1").stopped is None

    cancellation.request()

    with pytest.raises(RunCancelled):
        programs.run("1")

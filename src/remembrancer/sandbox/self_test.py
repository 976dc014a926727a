"""Run hostile programs in a newly started sandbox. No level is used before it passes this test."""

from __future__ import annotations

import json
import os
import secrets
import socket
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .plan import UNSAFE, RunLimits

Run = Callable[[str, float], dict[str, Any]]  # code and seconds to the outcome

_HOSTILE = """
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
breaches = []

def attempt(name, act):
    try:
        if act() is not False:
            breaches.append(name)
    except (OSError, MemoryError, ValueError):
        pass

def connect(family, address):
    with socket.socket(family) as connection:
        connection.settimeout(1)
        connection.connect(address)

def succeeds(function, *arguments):
    return function(*arguments) >= 0

def take_memory():
    block = bytearray({memory})
    block[::4096] = block[::4096]

attempt("read a secret", lambda: open({secret!r}).read())
attempt("list a folder", lambda: os.listdir({folder!r}))
attempt("write a file", lambda: open({secret!r} + ".new", "w"))
attempt("write to the libraries", lambda: open(os.path.dirname(os.__file__) + "/written", "w"))
attempt("read the server's environment", lambda: open("/proc/{server}/environ", "rb").read())
attempt("reach a TCP port", lambda: connect(socket.AF_INET, ("127.0.0.1", {port})))
attempt("reach an abstract socket", lambda: connect(socket.AF_UNIX, {abstract!r}))
attempt("signal the server", lambda: os.kill({server}, 0))
attempt("trace the server", lambda: succeeds(libc.ptrace, 16, {server}, 0, 0))
attempt("start a process", lambda: os.fork() or os._exit(0))
attempt("run a binary", lambda: os.execv("/bin/true", ["true"]))
attempt("mount", lambda: succeeds(libc.mount, b"tmpfs", b"/tmp", b"tmpfs", 0, None))
attempt("unshare", lambda: succeeds(libc.unshare, 0x10000000))
attempt("io_uring", lambda: succeeds(libc.syscall, 425, 4, ctypes.create_string_buffer(120)))
attempt("see open files", lambda: os.fstat(6))
attempt("take all memory", take_memory)
print(json.dumps(breaches))
"""


class SelfTestFailed(Exception):
    """The sandbox allowed a forbidden action, or failed to run a harmless program."""


def check(run: Run, bounds: RunLimits, level: str, folder: Path) -> None:
    """Run a harmless and several hostile programs. Raises SelfTestFailed.

    `folder` belongs to the server; programs must not be able to access it.
    """
    harmless = run("import numpy\nprint(numpy.arange(7).sum() * 2)", 20)
    if harmless["stdout"] != "42\n":
        reason = harmless["signal"] or harmless["stopped"]
        if error := harmless["error"]:
            reason = f"{error['type']}: {error['message'].partition(chr(10))[0]}"
        raise SelfTestFailed(f"a harmless program that imports numpy did not run ({reason})")
    if level == UNSAFE:
        return
    with ExitStack() as stack:
        inside = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        secret = inside / "secret"
        secret.write_text("a secret of the server", "utf-8")
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = "\0" + secrets.token_hex(16)
        hidden = stack.enter_context(socket.socket(socket.AF_UNIX))
        hidden.bind(abstract)
        hidden.listen(1)
        code = _HOSTILE.format(
            secret=str(secret),
            folder=str(inside),
            server=os.getpid(),
            port=listener.getsockname()[1],
            abstract=abstract,
            memory=bounds.memory_bytes + (64 << 20),
        )
        hostile = run(code, 10)
    try:
        breaches = json.loads(hostile["stdout"])
    except ValueError:
        reason = hostile["error"] or hostile["signal"] or hostile["stopped"]
        raise SelfTestFailed(f"the self-test ended early: {reason}") from None
    if breaches:
        raise SelfTestFailed(f"a program could {', '.join(breaches)}")
    if run("while True: pass", 0.1)["stopped"] != "timeout":
        raise SelfTestFailed("a program that ran past its time limit was not stopped")

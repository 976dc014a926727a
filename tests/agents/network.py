"""Run a command in a network namespace that has only the loopback interface.

    python -m agents.network COMMAND...

Needs Linux and `unshare` (util-linux); a user other than root also needs user namespaces. Where
that is not allowed, it prints one line to stderr and exits with 75.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

from agents.clients import UNAVAILABLE

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_START = "--in-namespace"


def is_loopback_only() -> bool:
    """Return True if this process can reach no other machine."""
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def start_loopback() -> None:
    """Start the loopback interface: it is down in a new namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def main(words: list[str]) -> None:
    """Replace this process with the command in the namespace."""
    if words[:1] == [_START]:
        start_loopback()
        os.execvp(words[1], words[1:])  # noqa: S606 - the command of the Makefile
    unshare = shutil.which("unshare")
    options = ["-n"] if os.geteuid() == 0 else ["-rn"]
    if unshare is None or subprocess.run([unshare, *options, "true"], check=False).returncode:
        sys.stderr.write(
            "test-agents: no tests ran with real clients: they need `unshare` (util-linux) and "
            "the permission to create network namespaces.\n"
        )
        sys.exit(UNAVAILABLE)
    inner = [sys.executable, "-m", "agents.network", _START, *words]
    os.execv(unshare, ["unshare", *options, *inner])  # noqa: S606 - as above


if __name__ == "__main__":
    main(sys.argv[1:])

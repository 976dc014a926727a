"""Use what the service computes with, in a process that the kernel kills at its first socket.

    python without_network.py [control]

With `control` it opens a socket itself. Unix sockets are permitted.
"""

from __future__ import annotations

import ctypes
import platform
import socket
import struct
import sys
import tempfile
from pathlib import Path

_SOCKET, _RING = {"x86_64": (41, 425), "aarch64": (198, 425)}[platform.machine()]
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def forbid_sockets() -> None:
    """Have the kernel kill this process, and those it starts, at a socket of the internet."""
    rows = [
        (_LOAD, 0, 0, 0),  # the number of the call
        (_EQUAL, 5, 0, _RING),  # io_uring could open sockets without this call
        (_EQUAL, 0, 3, _SOCKET),
        (_LOAD, 0, 0, 16),  # the family
        (_EQUAL, 2, 0, socket.AF_INET),
        (_EQUAL, 1, 0, socket.AF_INET6),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    code = b"".join(struct.pack("<HBBI", *row) for row in rows)
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(rows), code)
    for arguments in (
        (_NO_NEW_PRIVILEGES, 1, 0, 0, 0),
        (_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0),
    ):
        if libc.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "prctl")


def use_everything() -> None:
    """Scan texts for secrets, store a turn and search, with the embedder."""
    from remembrancer.screening import find_secrets

    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    names = [secret.kind for secret in find_secrets(f"My token is {key}, use it.")]
    assert names, "no secret was detected"

    from service import Http, new_key
    from starlette.testclient import TestClient

    from remembrancer import testing
    from remembrancer.search import open_embedder
    from remembrancer.server.app import make_app

    with tempfile.TemporaryDirectory() as folder:
        context = testing.context(Path(folder), embedder=open_embedder("multilingual"))
        with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
            http = Http(client, context, new_key(context))
            http.remember(
                "When does the ferry leave?", f"At 9:40. The token is {key}.", user_id="u"
            )
            answer = http.post("/api/v7/memory", {"query_text": "ferry", "user_id": "u"})
            assert answer.json()["hits"], answer.text
        context.close()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    forbid_sockets()
    if sys.argv[1:] == ["control"]:
        socket.socket(socket.AF_INET)
    else:
        use_everything()
    sys.stdout.write("done\n")

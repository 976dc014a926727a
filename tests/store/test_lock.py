"""Lock of the data folder: one server per folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remembrancer.store import DataFolderBusy, StoreUnavailable
from remembrancer.store.locations import hold

SERVER = """
import sys
from pathlib import Path
from remembrancer.store.locations import hold
lock = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_second_server_error_names_the_process_and_folder(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "held\n"

    with pytest.raises(DataFolderBusy) as refused:
        hold(tmp_path)
    assert str(server.pid) in str(refused.value)
    assert str(tmp_path) in str(refused.value)

    server.send_signal(signal.SIGKILL)
    server.communicate()
    with hold(tmp_path):
        assert (tmp_path / "server.lock").read_text() == f"{os.getpid()}\n"


def test_lock_is_released_on_close(tmp_path: Path) -> None:
    first = hold(tmp_path)
    with pytest.raises(DataFolderBusy):
        hold(tmp_path)
    first.close()
    first.close()

    hold(tmp_path).close()


def test_error_names_a_folder_that_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nowhere"):
        hold(tmp_path / "nowhere")

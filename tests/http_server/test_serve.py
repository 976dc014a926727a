"""`serve` as a separate process with real sockets, from first start to shutdown."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command import captured

from remembrancer import testing
from remembrancer.accounts import keys
from remembrancer.server.run import AddressUnusable, run, welcome
from remembrancer.settings import Settings
from remembrancer.store import DataFolderReadable
from remembrancer.store.locations import require_private
from remembrancer.testing.servers import Server

SERVE = (
    "from remembrancer.server.app import serve; from remembrancer.settings import "
    "read; serve(read())"
)
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Return a function that starts a server on the folder, on a free port."""
    started: list[subprocess.Popen[str]] = []
    settings = {"DATA": str(folder), "PORT": "0", "EMBEDDER": "none", "DURABILITY": "normal"}
    environment = {
        **os.environ,
        **{f"REMEMBRANCER_{name}": value for name, value in settings.items()},
    }

    def one(workers: str = "1") -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", SERVE],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**environment, "REMEMBRANCER_WORKERS": workers},
            )
        )
        return started[-1]

    yield one
    for process in started:
        process.kill()
        process.communicate()


def output_until(process: subprocess.Popen[str], last: str) -> str:
    """Return the output of the server, up to the line that contains `last`."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if last in line:
            return text
    pytest.fail(
        f"the server ended without printing {last!r}: {text} "
        f"{process.stderr.read() if process.stderr else ''}"
    )


def stop(process: subprocess.Popen[str], how: int) -> tuple[int, str]:
    """Send a signal; return the exit status and the log."""
    process.send_signal(how)
    _, log = process.communicate(timeout=30)
    return process.returncode, log


@pytest.mark.parametrize("workers", ["1", "2"])
def test_first_start_prints_the_pages_a_key_and_three_steps(
    start: Start, workers: str, tmp_path: Path
) -> None:
    """The key stands there once, in no command; the first step works; a restart prints no key."""
    server = start(workers)
    text = output_until(server, "3. ")
    [address] = re.findall(r"listens on (\S+)", text)
    [key] = re.findall(r"sk_[0-9a-f]{64}", text)
    step = re.findall(r"(?m)^1\. .*?: (.*login.*)$", text)[0]
    login = captured(
        ["sh", "-ec", step],
        input=key,
        env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        check=True,
    )
    ended, log = stop(server, signal.SIGTERM)
    again = start(workers)
    second_text = output_until(again, "keys create")

    assert f"Console: {address}/console\nDocs: {address}/docs\n" in text
    assert re.findall(r"(?m)^(\d)\. ", text) == ["1", "2", "3"]
    assert "curl" not in text
    assert "will not be shown again" in text
    assert (tmp_path / "remembrancer" / "key").read_text().strip() == key
    assert "saved" in login.stdout.lower()
    assert (ended, key in log) == (0, False)
    assert "sk_" not in second_text
    assert stop(again, signal.SIGINT)[0] == 0


def test_hangup_changes_the_embedder_of_a_running_server(folder: Path) -> None:
    """SIGHUP reads the settings again (specification.md#status-embedding-change)."""
    settings = folder / "remembrancer.toml"
    settings.write_text('embedder = "none"\n', "utf-8")
    context = testing.context(folder)
    key = keys.create(context, account="owner").key.reveal()
    context.close()

    with Server(folder) as server:
        turn = {"query": "Where is the station?", "response": "Behind the church."}
        assert server.post("/api/v7/remember", turn, key=key).status == 200
        settings.write_text('embedder = "multilingual"\n', "utf-8")
        # `env` became the server, so that the signal reaches it.
        server.process.send_signal(signal.SIGHUP)
        embedding = {"name": "none", "pending": 0}
        while embedding["name"] == "none" or embedding["state"] != "ok" or "older" in embedding:
            embedding = server.get("/readyz").body["embedding"]

        search = {"query_text": "¿Dónde está la estación?", "user_id": "owner"}
        [hit] = server.post("/api/v7/memory", search, key=key).body["hits"]

    assert str(embedding["name"]).startswith("multilingual/")
    assert hit["response"] == "Behind the church."


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("EMBEDDER", "nope", "unknown embedder 'nope'"),
        ("BLOBS", "ftp://x", "is not supported"),
        ("PORTS", "1", "Did you mean `REMEMBRANCER_PORT`?"),
        ("MODEL_CHAT", "x", "REMEMBRANCER_MODEL_CHAT"),
    ],
)
def test_wrong_setting_is_told_once_before_anything_listens(
    folder: Path, workers: str, name: str, value: str, message: str
) -> None:
    environment = {
        **os.environ,
        "REMEMBRANCER_DATA": str(folder),
        "REMEMBRANCER_PORT": "0",
        "REMEMBRANCER_EMBEDDER": "none",
        "REMEMBRANCER_WORKERS": workers,
        f"REMEMBRANCER_{name}": value,
    }
    process = captured([sys.executable, "-m", "remembrancer", "serve"], env=environment)

    assert process.returncode != 0
    assert "listens" not in process.stdout
    assert process.stderr.count(message) == 1
    assert "Traceback" not in process.stderr
    assert len(process.stderr.splitlines()) == 1


def test_address_that_other_machines_reach_is_said_to_be_open(folder: Path) -> None:
    context = testing.context(folder)
    open_to_all = replace(context, settings=replace(context.settings, host="0.0.0.0"))  # noqa: S104
    try:
        assert "without encryption" in welcome(open_to_all, "http://127.0.0.1:1")
        assert "without encryption" not in welcome(context, "http://127.0.0.1:1")
    finally:
        context.close()


def refused_start(folder: Path, port: int = 0) -> None:
    """Start a server that must be refused."""
    settings = Settings(data=folder, port=port, embedder="none")
    run(settings, lambda _: pytest.fail("the server was started"))


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o701, 0o777, 0o2770])
def test_data_folder_that_others_may_enter_is_refused(folder: Path, mode: int) -> None:
    """With the command that mends it (specification.md#api-private-folder)."""
    data = folder / "my data"
    data.mkdir()
    data.chmod(mode)

    with pytest.raises(DataFolderReadable) as refused:
        refused_start(data)
    command = str(refused.value).rpartition("Run: ")[2]
    subprocess.run(shlex.split(command), check=True)

    require_private(data)
    assert list(data.iterdir()) == []


def test_folders_of_the_server_are_private(folder: Path) -> None:
    """Also where the umask is open (specification.md#api-private-folder)."""
    data = folder / "a" / "data"
    before = os.umask(0)
    try:
        context = testing.context(data)
        key = keys.create(context, account="owner").key.reveal()
        context.close()
        with Server(data, REMEMBRANCER_EMBEDDER="none") as server:
            body = {"filename": "a", "content": "text", "type": "txt"}
            assert server.post("/api/v7/tools/create-file", body, key=key).status == 200
    finally:
        os.umask(before)

    modes = {
        path.relative_to(data).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (data, *data.rglob("*"))
        if path.is_dir()
    }
    assert modes["blobs"] == 0o700
    assert {path for path, mode in modes.items() if mode != 0o700} == set()


def test_port_in_use_is_reported_before_a_key_is_created(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(AddressUnusable, match=f"port {port}"):
            refused_start(folder, port)
    assert not (folder / "remembrancer.sqlite3").exists()

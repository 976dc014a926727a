"""`remembrancer chat` without a terminal, and as a process on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import scripted_model
from client.scripted_server import ScriptedServer, answer
from command import PROGRAM, Cli
from service import Http, new_key, serving
from starlette.applications import Starlette

from remembrancer.accounts.accounts import OWNER
from remembrancer.context import Context

FERRY_NOTE = "The ferry to Elba leaves Piombino at 9:40."
UNREACHABLE = "http://127.0.0.1:9"  # the `discard` port: nothing listens there


@pytest.fixture
def cli(folder: Path, context: Context, app: Starlette) -> Iterator[Cli]:
    """The command line of a user who has the URL and a key of the service, and no data folder."""
    cli = Cli(folder / "elsewhere")
    with serving(app) as port:
        cli.environment |= {
            "REMEMBRANCER_URL": f"http://127.0.0.1:{port}",
            "REMEMBRANCER_KEY": new_key(context),
            "TERM": "xterm",
        }
        yield cli


def piped(cli: Cli, *lines: str, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a chat whose input is no terminal."""
    return cli("chat", *words, stdin="".join(f"{line}\n" for line in lines))


class OnTerminal:
    """A chat on a pseudo-terminal, whose output is read until an expected text appears."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self.master, self.seen = process, master, ""

    def until(self, expected: str) -> str:
        """Return the output up to this text, from where the last call ended."""
        while expected not in self.seen:
            self.seen += os.read(self.master, 4096).decode().replace("\r\n", "\n")
        before, _, self.seen = self.seen.partition(expected)
        return before

    def type(self, text: str) -> None:
        """Write this text to the terminal; it may contain control characters."""
        os.write(self.master, text.encode())


@contextmanager
def terminal(cli: Cli, *words: str) -> Iterator[OnTerminal]:
    """Start a chat on its own pseudo-terminal."""
    master, slave = pty.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    command = [*PROGRAM, "chat", *words]
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=cli.environment
    ) as process:
        os.close(slave)
        try:
            yield OnTerminal(process, master)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
            os.close(master)


def events(http: Http) -> list[tuple[str, str, str]]:
    """Return the stored events: session, query, response."""
    sql = (
        "select s.session_id, e.query, e.response from events e join sessions s on s.id "
        "= e.session order by e.id"
    )
    return [
        (row.session_id, row.query, row.response)
        for row in http.context.store.read(lambda tx: tx.all(sql))
    ]


def test_chat_without_a_model_quotes_memory_with_refs(cli: Cli, http: Http) -> None:
    process = piped(cli, FERRY_NOTE, "When does the ferry to Elba leave?")

    assert process.returncode == 0
    assert process.stderr == ""
    assert re.search(rf"\n- \u201c{FERRY_NOTE}\u201d \(ref: e_\d+\)\n", process.stdout)
    assert "may not fully meet" not in process.stdout
    assert [query for _, query, _ in events(http)] == [
        FERRY_NOTE,
        "When does the ferry to Elba leave?",
    ]
    assert http.memory(FERRY_NOTE, user_id=OWNER)["hits"] != []


def test_model_error_is_reported_without_the_key_and_memory_is_quoted(cli: Cli) -> None:
    cli.environment["MY_MODEL_KEY"] = "abc123"
    with ScriptedServer([answer(401, "no such key: abc123")]) as wire:
        words = ("--model", "m", "--base-url", wire.url, "--key-env", "MY_MODEL_KEY")
        process = piped(cli, "Hello.", words=words)

    assert wire.requests[0].headers["authorization"] == "Bearer abc123"
    assert process.stdout == "No model answers here, and memory has nothing on this.\n"
    assert "answered 401: no such key: (the key)" in process.stderr
    assert "abc123" not in process.stderr
    assert process.returncode == 0


def test_show_option_prints_hits_checks_and_votes(cli: Cli, http: Http) -> None:
    lesson = {
        "cube_topic": "ferries",
        "cube_essence": "The ferry to Elba is late in winter.",
        "cube_rules": "- MUST ask at the pier",
    }
    http.remember("Is the ferry late?", "In winter, yes [general].", session_id="before", **lesson)
    process = piped(
        cli,
        FERRY_NOTE,
        "/session trip",  # a session meets a lesson once
        "/show votes, hits",
        "When does the ferry to Elba leave?",
        words=("--show", "checks"),
    )
    first, _, second = process.stdout.partition(
        "seal: REM | #1 | READ | VERIFY | CORRECT | OUTPUT\n"
    )

    # by the ranking, the first message may find the turn about the ferry, and is answered with it
    assert re.fullmatch(r"check  (none|pass) \(1 draft\), ", first.splitlines()[-1])
    assert re.search(
        r"^hit    e_\d+  [01]\.\d\d  2026-01-01  The ferry to Elba leaves", second, re.MULTILINE
    )
    assert re.search(r"^vote   \S+ \(ferries\): not rated$", second, re.MULTILINE)
    assert "check" not in second
    assert process.stderr == "Session: trip\nDetails: hits, votes\n"


def test_session_command_switches_the_session(cli: Cli, http: Http) -> None:
    process = piped(
        cli, "One.", "/session trip", "Two.", "/session default", "Three.", "/quit", "Four."
    )

    assert [(session, query) for session, query, _ in events(http)] == [
        ("default", "One."),
        ("trip", "Two."),
        ("default", "Three."),
    ]
    assert process.stderr == "Session: trip\nSession: default\n"


def test_pasted_key_is_refused_and_neither_sent_nor_stored(cli: Cli, http: Http) -> None:
    key = cli.environment["REMEMBRANCER_KEY"]
    with ScriptedServer([]) as wire:
        process = piped(
            cli, f"Use {key} from now on.", words=("--model", "m", "--base-url", wire.url)
        )

    assert "revoke that key" in process.stdout
    assert key not in process.stdout + process.stderr
    assert (wire.requests, events(http)) == ([], [])


def test_chat_answers_without_the_service_and_counts_unsaved_turns(cli: Cli) -> None:
    with scripted_model.serving() as url:
        words = ("--url", UNREACHABLE, "--model", "scripted", "--base-url", f"{url}/v1")
        process = piped(cli, "Hello.", words=words)

    assert process.stdout.startswith("Noted.\n\n(Memory could not be reached")
    assert "1 turn was not stored" in process.stderr
    assert process.returncode == 1


def test_invalid_key_is_reported_with_each_answer(cli: Cli) -> None:
    cli.environment["REMEMBRANCER_KEY"] = "sk_" + "0" * 64
    process = piped(cli, "Hello.")

    assert "this turn is not remembered" in process.stdout
    assert "401 unauthorized" in process.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "m"), "--base-url"),
        (("--base-url", "http://127.0.0.1:9"), "--model"),
        (("--model", "m", "--base-url", "ftp://x"), "http://"),
        (("--show", "everything"), "hits,checks,votes"),
        (("--url", "nonsense"), "base_url"),
        (("--key-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
        (("--user-id", ""), "user_id"),
    ],
)
def test_usage_error_is_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    process = Cli(folder)("chat", *words, KEY="sk_" + "0" * 64)

    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
    assert message in process.stderr


def test_interrupt_during_a_model_call_stops_only_the_turn(cli: Cli, http: Http) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as model,
        terminal(
            cli, "--model", "m", "--base-url", f"http://127.0.0.1:{model.getsockname()[1]}"
        ) as chat,
    ):
        chat.until("> ")
        chat.type("Think.\n")
        model.settimeout(60)
        connection, _ = model.accept()
        connection.recv(1)
        chat.process.send_signal(signal.SIGINT)
        chat.until("Interrupted.")
        chat.until("> ")
        connection.close()
        chat.type("/quit\n")

    assert events(http) == []

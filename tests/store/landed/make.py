"""Make a store with the code of an earlier commit: `python tests/store/landed/make.py COMMIT`.

The server of that commit runs from its own sources with today's packages, and is called over HTTP.
Endpoints that it does not have yet answer 404 or 405 and leave nothing. The result is written
beside this file, named after the schema: the SQLite file (or a dump of PostgreSQL, with
`--postgresql`), the contents of created files, and `values.json` with what was sent and answered.
`test_landed_schemas.py` opens it with today's code.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from remembrancer.testing.postgres import Postgres, programs
from remembrancer.testing.servers import Server

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
NOT_THERE = (404, 405)
TOO_EARLY = {"duty"}  # the first schema knows the endpoint and not these fields
TURNS = {
    "ferry": ("trip", "When does the ferry to Elba leave?", "At 9:40 from Piombino, pier 3."),
    "back": ("trip", "And when does it go back?", "At six, from Portoferraio."),
    "home": ("home", "I live in Rome.", "Noted: you live in Rome."),
    "moved": ("home", "I moved to Berlin.", "Noted: you live in Berlin now."),
    "paint": ("house", "Mit welcher Farbe streichen wir die Küche?", "Mit Salbeigrün, matt. 🌿"),
}
LEARNED = {
    "critical": "Ada gets seasick.",
    "l1_summary": "The ferry to Elba leaves Piombino at 9:40.",
    "l2_map": "Travel: the ferry to Elba.",
    "cube_topic": "ferry times",
    "cube_essence": "Summer timetables change in the first week of June.",
    "cube_rules": "- MUST check the date of a timetable before quoting it",
    "cube_type": "warning",
    "cube_publish": True,
}
PERM = "/api/v7/sysperm"
PASSWORD = "correct horse battery"  # noqa: S105  of a store for tests


class Recorder:
    """A server and a key; it records every request that the server accepted, by name."""

    def __init__(self, server: Server, key: str, requests: dict[str, Any]) -> None:
        self._server, self._key, self._requests = server, key, requests

    def __call__(self, name: str, method: str, path: str, body: Any = None, once: str = "") -> Any:
        """Send a request and return the body of the answer; {} if there is no such endpoint."""
        headers = {"Idempotency-Key": once} if once else None
        answer = self._server.ask(method, path, body, key=self._key, headers=headers)
        if answer.status in NOT_THERE or (answer.status == 422 and name in TOO_EARLY):
            sys.stderr.write(f"not there: {name}\n")
            return {}
        assert answer.status == 200, (name, answer)
        self._requests[name] = {
            "method": method,
            "path": path,
            "body": body,
            "once": once,
            "answer": answer.body,
        }
        return answer.body


def fill(server: Server, key: str, bob: str) -> dict[str, Any]:
    """Use every feature of the server; return what was sent and answered."""
    requests: dict[str, Any] = {}
    ask = Recorder(server, key, requests)
    _turns(ask)
    path = {"path": "/etc/nginx/nginx.conf", "action": "write", "agent": "robot"}
    grant = ask(
        "grant",
        "POST",
        f"{PERM}/grant",
        {"scope": "/etc/nginx/*.conf", "ttl_minutes": 60, "actions": ["write"], "agent": "robot"},
    )
    ask("check", "POST", f"{PERM}/check", path)
    if grant:
        logged = {key: path[key] for key in ("path", "action")}
        ask("log", "POST", f"{PERM}/log", {**logged, "grant_id": grant["grant_id"], "result": "ok"})
    ask(
        "file",
        "POST",
        "/api/v7/tools/create-file",
        {"filename": "packing", "content": "sunscreen\n", "type": "txt"},
    )
    note = {"command": "create", "path": "/memories/elba.md", "file_text": "Pier 3.\n"}
    ask("memory_file", "POST", "/api/v7/memory/files", note)
    _retention(ask)
    theirs = Recorder(server, bob, requests)
    served = theirs(
        "bob_search", "POST", "/api/v7/memory", {"query_text": TURNS["ferry"][1], "user_id": "bob"}
    )
    for cube in served.get("shared_cubes", ())[:1]:
        vote = {"cube_id": cube["cube_id"], "user_id": "bob", "vote": 1}
        theirs("vote", "POST", "/api/v7/experience/vote", vote)
    theirs(
        "feedback",
        "POST",
        "/api/v7/feedback",
        {"type": "bug", "title": "A title", "description": "A description."},
    )
    ask("audit", "GET", f"{PERM}/audit")
    return requests


def _turns(ask: Recorder) -> None:
    for name, (session, query, response) in TURNS.items():
        turn = {"session_id": session, "query": query, "response": response}
        more = LEARNED if name == "ferry" else {}
        once = "once" if name == "back" else ""
        ask(name, "POST", "/api/v7/remember", {**turn, **more}, once)
    search = {"query_text": TURNS["ferry"][1], "user_id": "owner", "session_id": "trip"}
    hits = ask("search", "POST", "/api/v7/memory", search)["hits"]
    draft = f"The ferry leaves at 9:40 (ref: {hits[0]['event_id']})."
    turn = {"session_id": "trip", "query": "So when does it leave?", "response": draft}
    ask("draft", "POST", "/api/v7/remember", turn)
    look = {"draft": draft, "session_id": "trip"}
    ask("second_look", "POST", "/api/v7/agent/second-look", look)
    duty = {"session_id": "trip", "duty": "vote_nothing", "duty_reason": "none fits"}
    ask("duty", "POST", "/api/v7/remember", duty)
    prompt = {"user_id": "owner", "prompt": "Answer briefly. Übermorgen 🌊"}
    ask("prompt", "PUT", "/api/v7/agent/prompt", prompt)
    fact = {"user_id": "owner", "text": "The boat is moored at pier 7.", "pinned": True}
    ask("fact", "POST", "/api/v7/memory/facts", fact)


def _retention(ask: Recorder) -> None:
    for n in range(2):
        turn = {"query": f"Where is towel {n}?", "response": "In the bath.", "session_id": "stay"}
        ask(f"guest_{n}", "POST", "/api/v7/event/write", {**turn, "user_id": "guest"})
    rule = {"user_id": "guest", "events": 100}
    ask("retention", "PUT", "/api/v7/memory/retention", rule)


def make(commit: str, postgres: Postgres | None) -> Path:
    """Make the store of a commit; return the file written."""
    with tempfile.TemporaryDirectory() as name:
        work, sources = Path(name), Path(name, "sources")
        sources.mkdir()
        files = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(sources, filter="data")
        settings = {"PYTHONPATH": str(sources / "src")}
        if postgres:
            settings["REMEMBRANCER_STORE"] = postgres.database()
        values = _run(work / "data", settings)
        engine = "postgresql" if postgres else "sqlite"
        folder = sources / "src/remembrancer/store/migrations" / engine
        schema = max(path.name for path in folder.iterdir())[:4]
        values |= {"commit": commit, "schema": int(schema), "made_ms": int(time.time() * 1000)}
        if postgres:
            _dump(settings["REMEMBRANCER_STORE"], work / "data" / "store.dump")
        return _pack(work / "data", values, HERE / f"{engine}-{schema}.tar.xz")


def _run(data: Path, settings: dict[str, str]) -> dict[str, Any]:
    with Server(data, **settings) as server:
        assert server.port
        assert server.process.stdout is not None
        key = link = ""
        for line in server.process.stdout:
            key = match[0] if (match := re.search(r"sk_[0-9a-f]{64}", line)) else key
            link = match[1] if (match := re.search(r"token=(\S+)", line)) else link
            if line.startswith("curl"):
                break
        bob = _bob(data, settings)
        password = PASSWORD if link and _set_password(server, link) else None
        requests = fill(server, key, bob)
        server.process.terminate()  # an orderly end merges the log into the file
        server.process.wait()
    return {"key": key, "bob": bob, "password": password, "requests": requests}


def _bob(data: Path, settings: dict[str, str]) -> str:
    command = [sys.executable, "-m", "remembrancer", "keys", "create", "--account", "bob"]
    environment = {**os.environ, **settings, "REMEMBRANCER_DATA": str(data)}
    created = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return created.stdout.split()[-1]


def _set_password(server: Server, token: str) -> bool:
    """Set the owner's password by the link of the first start; return True if it was accepted."""
    form = {"token": token, "password": PASSWORD, "again": PASSWORD}
    site = f"http://127.0.0.1:{server.port}"
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": site}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/console/password", urlencode(form), headers)
    status = connection.getresponse().status
    connection.close()
    return status == 303


def _dump(url: str, file: Path) -> None:
    command = [str(programs() / "pg_dump"), "--enable-row-security", "--format=custom", "-Z0"]
    environment = {**os.environ, "PGOPTIONS": "-c remembrancer.account_id=0"}
    subprocess.run([*command, f"--file={file}", url], env=environment, check=True)


def _pack(data: Path, values: dict[str, Any], target: Path) -> Path:
    (data / "values.json").write_text(json.dumps(values), "utf-8")
    names = ("remembrancer.sqlite3", "store.dump", "values.json", "blobs")
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name in names:
            if (data / name).exists():
                archive.add(data / name, name)
    return target


def main() -> None:
    """Make the stores of the commits on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="+")
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    postgres = Postgres() if options.postgresql else None
    for commit in options.commits:
        file = make(commit, postgres)
        sys.stdout.write(f"{commit} {file.name} {file.stat().st_size:,} bytes\n")
    if postgres:
        postgres.close()


if __name__ == "__main__":
    main()

"""Stores with data made by the code of every landed schema open with today's code, completely.

`landed/make.py` made the files, from commits of the main branch. Not among them: schemas 5, 6, 11
and 14, which no commit of the main branch had as its newest, and stores of PostgreSQL before its
first complete schema, 13.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest
from engines import server
from rounds import rounds
from service import Http
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts.passwords import account_of
from remembrancer.context import Context
from remembrancer.memory.maintenance import Maintenance
from remembrancer.permissions.audit import ChainLink, verify
from remembrancer.server.app import make_app
from remembrancer.settings import Settings
from remembrancer.store import open_store
from remembrancer.store.schema import migrations
from remembrancer.testing.postgres import programs

FILES = sorted((Path(__file__).parent / "landed").glob("*.tar.xz"))
TURNS = ("ferry", "back", "home", "moved", "paint", "draft", "guest_0", "guest_1")
REQUEST_DIGEST_SINCE = 22  # the digest of a request with an Idempotency-Key has its form of today
SHORT = [file for file in FILES if file.name.startswith(("sqlite", "postgresql-0013"))]
NEWEST = migrations("sqlite")[-1].number


@dataclass(frozen=True)
class Old:
    """The store of an earlier schema, open with today's code, and what its own code answered."""

    values: dict[str, Any]
    context: Context
    http: Http  # with the owner's key of then

    def request(self, name: str) -> dict[str, Any] | None:
        """Return the body of a request of then; None if that version had no such endpoint."""
        past = self.values["requests"].get(name)
        return None if past is None else dict(past["body"])

    def answer(self, name: str) -> dict[str, Any]:
        """Return the answer of then; {} if that version had no such endpoint."""
        return dict(self.values["requests"].get(name, {"answer": {}})["answer"])


@pytest.fixture(params=rounds(SHORT, FILES), ids=lambda file: file.name.removesuffix(".tar.xz"))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Old]:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    values = json.loads((tmp_path / "values.json").read_text("utf-8"))
    settings = Settings(data=tmp_path, embedder="none", durability="normal")
    url = _restored(tmp_path / "store.dump") if "postgresql" in request.param.name else ""
    store = open_store(url or settings.store_url, durability="normal")
    clock = testing.FrozenClock(values["made_ms"])
    with closing(testing.context(tmp_path, settings=settings, store=store, clock=clock)) as context:
        while Maintenance(context).step():
            pass
        with TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client:
            yield Old(values, context, Http(client, context, values["key"]))


def _restored(dump: Path) -> str:
    url = server().database()
    command = [str(programs() / "pg_restore"), "--exit-on-error", "--no-owner", "--no-comments"]
    subprocess.run([*command, f"--dbname={url}", str(dump)], env=os.environ, check=True)
    return url


@pytest.mark.long
def test_store_of_every_landed_schema_keeps_everything_and_goes_on(old: Old) -> None:
    assert old.context.store.schema_version() == NEWEST
    _keeps_turns_and_facts(old)
    _keeps_summaries_prompt_and_lessons(old)
    _keeps_files_grants_and_audit(old)
    _continues_its_sessions(old)


def _keeps_turns_and_facts(old: Old) -> None:
    for name in TURNS:
        body, answer = old.request(name), old.answer(name)
        if body is None:
            continue
        user = body.get("user_id", "owner")
        event = old.http.get(f"/api/v7/event/{answer['event_id']}").json()
        hits = old.http.memory(body["query"], user, interact=False, top_k=20)["hits"]

        assert (event["query"], event["response"]) == (body["query"], body["response"])
        assert event["session_id"] == body["session_id"]
        assert answer["event_id"] in [hit["event_id"] for hit in hits], name
    if old.request("prompt"):  # schema 1 had only turns
        assert "Ada gets seasick." in _facts(old)
    if fact := old.request("fact"):
        assert fact["text"] in _facts(old)


def _facts(old: Old) -> set[str]:
    answer = old.http.get("/api/v7/memory/facts", params={"user_id": "owner"}).json()
    return {fact["text"] for fact in answer["facts"]}


def _keeps_summaries_prompt_and_lessons(old: Old) -> None:
    search = old.http.memory("When does the ferry to Elba leave?", interact=False)
    prompt = old.http.get("/api/v7/agent/prompt", params={"user_id": "owner"}).json()
    theirs = old.http.with_key(old.values["bob"]).memory("ferry times", "bob", interact=False)
    notes = {cube["cube_id"]: cube["note"] for cube in theirs["shared_cubes"]}

    if old.request("prompt"):  # schema 1 had only turns
        cube = old.answer("ferry")["cube"]["cube_id"]
        map_text = old.http.get("/api/v7/memory/map", params={"user_id": "owner"}).json()
        assert "leaves Piombino at 9:40" in json.dumps(search["summaries"])
        assert "Travel: the ferry to Elba." in map_text["map_text"]
        assert cube in notes
        assert notes[cube].startswith("new") == (old.request("vote") is None)
        assert "Übermorgen 🌊" in prompt["prompt"]


def _keeps_files_grants_and_audit(old: Old) -> None:
    http = old.http
    if file := old.answer("file"):
        assert http.get(f"/download/{file['filename']}").text == "sunscreen\n"
    if grant := old.answer("grant"):
        grants = http.get("/api/v7/sysperm/grants").json()["grants"]
        assert grant["grant_id"] in [one["grant_id"] for one in grants]
        trail = http.get("/api/v7/sysperm/audit").json()
        entries = old.answer("audit")["entries"]
        assert trail["chain_valid"]
        assert [one["hash"] for one in trail["entries"]][: len(entries)] == [
            one["hash"] for one in entries
        ]
        head = ChainLink(seq=entries[-1]["seq"], hash=entries[-1]["hash"])
        assert verify(old.context, head).seq >= head.seq
    if note := old.request("memory_file"):
        view = {"command": "view", "path": note["path"]}
        assert "Pier 3." in http.post("/api/v7/memory/files", view).text
    if old.request("feedback"):
        assert "A description." in http.get("/api/v7/feedback").text
    if old.request("retention"):
        rule = http.get("/api/v7/memory/retention", params={"user_id": "guest"}).json()
        assert [one["events"] for one in rule["rules"]] == [100]


def _continues_its_sessions(old: Old) -> None:
    """The step counts on, a repeated request gets the answer of then, the password signs in."""
    before = old.answer("search")["step"]
    search = old.http.memory("And how long is the crossing?", session_id="trip")
    back = old.values["requests"]["back"]
    again = old.http.post_bytes(
        back["path"], json.dumps(back["body"]).encode(), **{"idempotency-key": back["once"]}
    )

    assert search["step"] == before + 1
    if old.values["schema"] >= REQUEST_DIGEST_SINCE:
        assert again.json()["event_id"] == back["answer"]["event_id"]
    else:  # refused, so that it is not stored a second time
        assert again.status_code == 409
    if old.values["password"]:
        assert account_of(old.context, "owner", old.values["password"]) == 1


def test_there_is_a_store_of_every_schema_that_landed_last() -> None:
    """A new migration needs a store made by the schema before it: run landed/make.py."""
    sqlite = {int(file.name[7:11]) for file in FILES if file.name.startswith("sqlite")}
    postgresql = {int(file.name[11:15]) for file in FILES if file.name.startswith("postgresql")}

    assert sqlite >= set(range(1, NEWEST)) - {5, 6, 11, 14}
    assert postgresql >= set(range(13, NEWEST)) - {14}


def test_every_landed_schema_gets_the_tables_of_a_new_store(tmp_path: Path) -> None:
    def names(file: Path) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(file))) as db:
            rows = db.execute(
                "select m.type, m.name, c.name from sqlite_schema m"
                " left join pragma_table_info(m.name) c order by 1, 2, 3"
            ).fetchall()
        return [row for row in rows if not str(row[1]).startswith("sqlite_")]

    open_store(f"sqlite:{tmp_path / 'new'}").close()
    for file in FILES:
        if file.name.startswith("sqlite"):
            with tarfile.open(file) as archive:
                archive.extract("remembrancer.sqlite3", tmp_path, filter="data")
            open_store(f"sqlite:{tmp_path / 'remembrancer.sqlite3'}").close()

            assert names(tmp_path / "remembrancer.sqlite3") == names(tmp_path / "new"), file.name
            (tmp_path / "remembrancer.sqlite3").unlink()

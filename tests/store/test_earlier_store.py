"""Stores of before 1.0.0 are refused with the way out; their exports are imported.

`earlier/` has the store of the last commit before 1.0.0, with the contents of its created files and
the requests that filled it (`values.json`), and the export of its owner's account by that commit.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command import Cli
from engines import server
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.backup.backup import write_backup
from remembrancer.memory.exchange.restore import no_progress
from remembrancer.server.app import make_app
from remembrancer.settings import Settings
from remembrancer.store import StoreTooOld, open_store
from remembrancer.store.locations import schema_at

EARLIER = Path(__file__).parent / "earlier"
REMEDY = r"written before 1\.0\.0, and commit bc72e7a9 is the last .* `remembrancer export FILE"
TURNS = ("ferry", "back", "home", "moved", "paint", "draft", "guest_0", "guest_1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the data folder of the earlier version."""
    with tarfile.open(EARLIER / "sqlite-0025.tar.xz") as archive:
        archive.extractall(tmp_path / "old", filter="data")
    (tmp_path / "old").chmod(0o700)
    return tmp_path / "old"


def test_earlier_store_is_refused_unchanged(folder: Path, tmp_path: Path) -> None:
    settings = Settings(data=folder, embedder="none")
    before = (folder / "remembrancer.sqlite3").read_bytes()

    with pytest.raises(StoreTooOld, match=REMEDY):
        open_store(settings.store_url)
    with pytest.raises(StoreTooOld, match=REMEDY):
        schema_at(settings.store_url)
    with pytest.raises(StoreTooOld, match=REMEDY):
        write_backup(settings, tmp_path / "backup", progress=no_progress)
    assert (folder / "remembrancer.sqlite3").read_bytes() == before
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize("command", ["serve", "doctor", "keys list", "store check"])
def test_commands_say_so_in_one_line(folder: Path, command: str) -> None:
    process = Cli(folder)(*command.split(), STORE="", EMBEDDER="none", PORT="0")

    assert process.returncode == 1
    line = next(
        one for one in process.stderr.splitlines() + process.stdout.splitlines() if "1.0.0" in one
    )
    assert "commit bc72e7a9 is the last that opens it" in line
    assert "Traceback" not in process.stderr


def test_earlier_postgresql_store_is_refused_unchanged() -> None:
    url = server().database()
    with psycopg.connect(url) as connection:
        connection.execute("create table schema_version (number bigint not null)")
        connection.execute("insert into schema_version values (25)")

    with pytest.raises(StoreTooOld, match=REMEDY):
        open_store(url)
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "select relname from pg_class where relnamespace = 'public'::regnamespace"
        ).fetchall()
    assert tables == [("schema_version",)]


@dataclass(frozen=True)
class Moved:
    """A new store with the imported export, and the requests that filled the earlier one."""

    http: Http
    requests: dict[str, Any]

    def request(self, name: str) -> dict[str, Any]:
        """Return the body of a request to the earlier version."""
        return dict(self.requests[name]["body"])

    def answer(self, name: str) -> dict[str, Any]:
        """Return its answer to a request."""
        return dict(self.requests[name]["answer"])


@pytest.fixture
def moved(folder: Path, tmp_path: Path) -> Iterator[Moved]:
    values = json.loads((folder / "values.json").read_text("utf-8"))
    new = tmp_path / "new"
    imported = Cli(new)("import", str(EARLIER / "owner.zip"), EMBEDDER="none")
    assert imported.returncode == 0, imported.stderr
    settings = Settings(data=new, embedder="none", durability="normal")
    clock = testing.FrozenClock(values["made_ms"])
    with (
        closing(testing.context(new, settings=settings, clock=clock)) as context,
        TestClient(make_app(context), base_url="http://127.0.0.1:8460") as client,
    ):
        yield Moved(Http(client, context, new_key(context, "owner")), values["requests"])


def test_export_of_the_earlier_version_brings_its_turns(moved: Moved) -> None:
    for name in TURNS:
        body, answer = moved.request(name), moved.answer(name)
        event = moved.http.get(f"/api/v7/event/{answer['event_id']}").json()
        hits = moved.http.memory(
            body["query"], body.get("user_id", "owner"), interact=False, top_k=20
        )["hits"]

        assert (event["query"], event["response"]) == (body["query"], body["response"])
        assert event["session_id"] == body["session_id"]
        assert answer["event_id"] in [hit["event_id"] for hit in hits], name


def test_export_of_the_earlier_version_brings_all_layers_and_files(moved: Moved) -> None:
    http, owner = moved.http, {"user_id": "owner"}
    facts = http.get("/api/v7/memory/facts", params=owner).json()["facts"]
    search = http.memory("When does the ferry to Elba leave?", interact=False)
    view = {"command": "view", "path": moved.request("memory_file")["path"]}
    file = moved.answer("file")["filename"]

    assert {fact["text"] for fact in facts} >= {"Ada gets seasick.", moved.request("fact")["text"]}
    assert "leaves Piombino at 9:40" in json.dumps(search["summaries"])
    assert "Travel: the ferry" in http.get("/api/v7/memory/map", params=owner).json()["map_text"]
    assert "Übermorgen 🌊" in http.get("/api/v7/agent/prompt", params=owner).json()["prompt"]
    assert moved.answer("ferry")["cube"]["cube_id"] in {
        cube["cube_id"] for cube in search["shared_cubes"]
    }
    assert "Pier 3." in http.post("/api/v7/memory/files", view).text
    assert http.get(f"/download/{file}").text == "sunscreen\n"

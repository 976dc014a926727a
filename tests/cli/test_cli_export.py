"""`remembrancer export`, and `remembrancer import` of its files."""

from __future__ import annotations

import json
import signal
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import PROGRAM, Cli
from exchange_files import exported, fill_all
from memory.asking import memory_in

from remembrancer import testing
from remembrancer.cli import exchange as cli_exchange
from remembrancer.cli import memory as cli_memory
from remembrancer.cli.progress import Interrupted
from remembrancer.context import Context
from remembrancer.memory.exchange import restore as restoring
from remembrancer.store import open_store
from remembrancer.store.locations import hold
from remembrancer.store.transfer.copy import store_digest

TURNS = "".join(
    json.dumps({"id": f"t{n}", "query": f"What opens locker {n}?", "response": f"zx{n}qv"}) + "\n"
    for n in range(700)
)
FULL_TEXT = {"EMBEDDER": "none", "DURABILITY": "normal"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the export of an account with a record of every kind."""
    folder = tmp_path_factory.mktemp("source")
    store = open_store(f"sqlite:{folder / 'source.sqlite3'}", durability="normal")
    with closing(testing.context(folder, store=store)) as context:
        fill_all(context)
        return exported(context, folder / "memory.zip")


@pytest.fixture
def cli(folder: Path) -> Cli:
    return Cli(folder, **FULL_TEXT)


def test_export_and_import_run_beside_a_server(folder: Path, tmp_path: Path) -> None:
    """A server holds the lock of each data folder."""
    (tmp_path / "turns.jsonl").write_text(TURNS)
    (folder / "new").mkdir()
    source, target, path = (
        Cli(folder, **FULL_TEXT),
        Cli(folder / "new", **FULL_TEXT),
        str(tmp_path / "memory.zip"),
    )
    source("import", str(tmp_path / "turns.jsonl"))
    with hold(folder), hold(folder / "new"):
        first = source("export", path)
        imports = [target("import", path) for _ in range(2)]

    assert (first.returncode, first.stderr.count("exporting 700 of 700")) == (0, 1), first.stderr
    assert first.stdout.startswith("1 users, 1 sessions, 700 events, 700 origins (account owner, ")
    assert [one.stdout for one in imports] == [
        "1,402 stored, 0 already present (account owner)\n",
        "0 stored, 1,402 already present (account owner)\n",
    ]


def test_wrong_use_is_one_line_of_error(cli: Cli, folder: Path, archive: Path) -> None:
    existing = folder / "there.zip"
    existing.write_bytes(b"mine")
    cli("keys create --account ada")  # without a store, every one of them is refused
    refusals = [
        cli("export", str(existing)),
        cli("export", str(folder / "x.zip"), "--user-id", "nobody"),
        cli("export", str(folder / "x.zip"), "--account", "nobody"),
        cli("export", str(folder / "absent" / "x.zip")),
        cli("import", str(archive), "--user-id", "ada"),
        cli("import", str(archive), "--account", "nobody"),
    ]

    assert [one.returncode for one in refusals] == [1, 1, 2, 1, 1, 2]
    assert [one.stderr.count("\n") for one in refusals if "checking" not in one.stderr] == [1] * 6
    assert ["internal error" in one.stderr for one in refusals] == [False] * 6
    assert "--force" in refusals[0].stderr
    assert f"no such folder: '{folder / 'absent'}'" in refusals[3].stderr
    assert existing.read_bytes() == b"mine"
    assert not (folder / "x.zip").exists()
    assert cli("export", str(existing), "--force").returncode == 0
    assert zipfile.is_zipfile(existing)


def test_killed_import_is_continued(folder: Path, archive: Path, tmp_path: Path) -> None:
    """Kill it while it stores; the next run leaves the same rows as a single one."""
    places = [folder / "whole", folder / "killed"]
    for place in places:
        place.mkdir()
    Cli(places[0], **FULL_TEXT)("import", str(archive))
    killed = Cli(places[1], **FULL_TEXT)
    process = subprocess.Popen(
        [*PROGRAM, "import", str(archive)],
        env=killed.environment | {"REMEMBRANCER_DURABILITY": "full"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("importing") and not line.startswith("importing 2,"):
            process.send_signal(signal.SIGKILL)
            break
    process.communicate()
    rest = killed("import", str(archive))

    assert process.returncode == -signal.SIGKILL
    assert rest.returncode == 0, rest.stderr
    assert not rest.stdout.startswith("0 stored")
    assert ", 0 already present" not in rest.stdout
    assert digests(places[0]) == digests(places[1])


def digests(folder: Path) -> dict[str, object]:
    """Return the digests of all tables but those with times of this machine's clock."""
    with closing(testing.context(folder)) as context:
        tables = store_digest(context.store).items()
        return {name: digest for name, digest in tables if name != "accounts"}


def test_interrupt_is_told_from_a_failure(
    context: Context, archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_exchange, "export", interrupt)
    monkeypatch.setattr(restoring, "entry_maker", interrupt)
    memory_in(context)

    with pytest.raises(Interrupted, match="No file"):
        cli_exchange.export_to(context, tmp_path / "x.zip")
    with pytest.raises(Interrupted, match="records remain"):
        cli_memory.import_into(context, archive)


def test_programs_read_the_results_as_json(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text(f"{TURNS.splitlines()[0]}\n")
    path = str(tmp_path / "memory.zip")

    def document(*words: str) -> Any:
        process = cli(*words, "--json")
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout)

    turns = str(tmp_path / "turns.jsonl")
    assert document("import", "--detect", turns)["turns"] == 1
    nothing = {
        "duplicates": 0,
        "facts": 0,
        "repeated": 0,
        "left_out": {},
        "left_out_records": [],
        "invalid": 0,
        "errors": [],
    }
    assert document("import", turns) == {"account": "owner", "stored": 1, **nothing}
    written = document("export", path)
    assert (written["file"], written["records"]["events.jsonl"]) == (path, 1)
    assert document("import", "--detect", path)["records"]["events.jsonl"] == 1
    refused = cli("import", path, "--report", str(tmp_path / "report.jsonl"))
    assert (refused.returncode, "nothing of an export is left out" in refused.stderr) == (2, True)
    assert document("import", path)["stored"] == 0

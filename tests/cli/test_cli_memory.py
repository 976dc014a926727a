"""`remembrancer import` and `remembrancer demo`."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from architecture.tree import ROOT
from command import Cli
from typer.testing import CliRunner

from remembrancer import testing
from remembrancer.cli import memory as cli_memory
from remembrancer.cli.app import app
from remembrancer.cli.demo import CONVERSATION, QUESTIONS, FolderInUse, run_demo
from remembrancer.cli.progress import Interrupted
from remembrancer.client import Client
from remembrancer.context import Context
from remembrancer.settings import Settings
from remembrancer.store import open_store
from remembrancer.store.locations import hold

TURNS = [
    {
        "id": f"t{n}",
        "query": f"What opens locker {n}?",
        "response": f"The word zx{n}qv.",
        "user_id": "bob",
    }
    for n in range(150)
]


@pytest.fixture
def cli(folder: Path) -> Cli:
    """The command line with full-text search only."""
    return Cli(folder, EMBEDDER="none", DURABILITY="normal")


@pytest.fixture
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of JSON lines, one turn per line."""
    path = tmp_path_factory.mktemp("turns") / "turns.jsonl"
    path.write_text("".join(json.dumps(turn) + "\n" for turn in TURNS))
    return path


def test_import_reports_stored_and_existing_turns(cli: Cli, folder: Path, turns: Path) -> None:
    """Run beside a server that holds the folder's lock."""
    with hold(folder):
        results = [cli("import", str(turns)) for _ in range(2)]

    assert [process.stdout for process in results] == [
        "150 stored, 0 already present (account owner)\n",
        "0 stored, 150 already present (account owner)\n",
    ]
    assert results[0].stderr.splitlines() == [
        "importing 64 of 150",
        "importing 128 of 150",
        "importing 150 of 150",
        f"remembrancer: created a new store in {folder}",
    ]


@pytest.mark.parametrize(
    ("words", "exit_status", "why"),
    [
        (("{file}",), 1, "remembrancer: {file}, line 151: response: Field required"),
        (("{folder}/none.jsonl",), 1, "remembrancer: {folder}/none.jsonl: no such file"),
        (
            ("{file}", "--account", "nobody"),
            2,
            (
                "remembrancer: There is no such account. `remembrancer accounts list` shows "
                "all accounts."
            ),
        ),
        (
            ("{file}", "--user-id", ""),
            2,
            "remembrancer: --user-id must be one line of 1 to 256 characters",
        ),
    ],
)
def test_invalid_import_prints_one_line_and_stores_nothing(
    cli: Cli, folder: Path, turns: Path, words: tuple[str, ...], exit_status: int, why: str
) -> None:
    turns.write_text(turns.read_text() + '{"query": "half"}\n')
    names = {"file": str(turns), "folder": str(folder)}
    process = cli("import", *[word.format(**names) for word in words])

    assert (process.returncode, process.stdout) == (exit_status, "")
    assert process.stderr == f"{why.format(**names)}\n"
    store = open_store(Settings(data=folder).store_url)
    assert store.read(lambda tx: tx.one("select count(*) as n from events")).n == 0
    store.close()


SAMPLES = Path(__file__).parents[1] / "memory" / "exchange" / "samples"


def test_detect_prints_the_shape_and_opens_no_store(cli: Cli, folder: Path) -> None:
    process = cli("import --detect", str(SAMPLES / "graphiti"))

    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.splitlines() == [
        "graphiti: Zep and Graphiti: sessions with messages, episodes, edges",
        "  users     1: ada",
        "  sessions  1",
        "  turns     2",
        "  facts     2",
        "  left out  1: summary derived from facts 1",
        f"    {SAMPLES / 'graphiti' / 'facts.json'}, nodes 1: summary derived from facts",
    ]
    assert list(folder.iterdir()) == []


def test_dry_run_prints_the_first_records_and_opens_no_store(cli: Cli, folder: Path) -> None:
    process = cli("import --dry-run", str(SAMPLES / "zep"), "--user-id", "cleo")

    assert process.stdout.splitlines()[1] == "  users     1: cleo"
    assert json.loads(process.stdout.splitlines()[-1]) == {
        "user_id": "cleo",
        "session_id": "zep-7",
        "occurred_at": "2026-05-01T08:00:00+00:00",
        "query": "The lamp is lit at dusk.",
        "response": "Noted.",
    }
    assert list(folder.iterdir()) == []


def test_skip_invalid_imports_the_rest_and_lists_them(cli: Cli, turns: Path) -> None:
    turns.write_text('{"query": "half"}\n' + turns.read_text())
    process = cli("import --skip-invalid", str(turns))

    assert process.returncode == 0
    assert process.stdout.splitlines() == [
        "150 stored, 0 already present (account owner)",
        "  invalid   1",
        f"    {turns}, line 1: response: Field required",
    ]


def test_report_has_each_record_that_is_left_out(cli: Cli, tmp_path: Path) -> None:
    said = [{"role": "system", "content": "Be brief."}] * 120
    said += [{"role": "user", "content": "Hi"}, {"role": "nobody", "content": "?"}]
    (file := tmp_path / "said.json").write_text(json.dumps(said))
    (report := tmp_path / "left-out.jsonl").write_text("mine")
    words = (str(file), "--skip-invalid", "--report", str(report))
    refused = cli("import", *words)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"remembrancer: --report {report}: File exists\n"
    assert report.read_text() == "mine"

    report.unlink()
    document = json.loads(cli("import --detect --json", *words).stdout)
    report_lines = [json.loads(line) for line in report.read_text().splitlines()]
    report.unlink()
    shown = cli("import", *words).stdout.splitlines()

    assert report_lines == [
        *({"place": f"{file}, record {n}", "reason": "system prompt", "invalid": False}
          for n in range(1, 121)),
        {
            "place": f"{file}, record 122",
            "reason": "`role` is not one of user, assistant, system, developer, tool, function",
            "invalid": True,
        },
    ]  # fmt: skip
    assert document["left_out"] == {"system prompt": 120}
    listed = [f"{file}, record {n}: system prompt" for n in range(1, 101)]
    assert document["left_out_records"] == listed
    assert shown[1:3] == ["  left out  120: system prompt 120", f"    {listed[0]}"]
    assert shown[22] == "    ... and 100 more: --report FILE lists all"


def test_interrupted_import_can_be_continued(
    context: Context, turns: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_what: str, _total: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(cli_memory, "progress", interrupted)

    with pytest.raises(Interrupted, match="records remain"):
        cli_memory.import_into(context, turns)


def test_demo_answers_its_questions_with_reasons() -> None:
    """The demo prints three answers with their reasons."""
    lines: list[str] = []
    run_demo(lines.append)
    output = "\n".join(lines)
    answers = [output.split(f"? {question.text}")[1].split("\n   ? ")[0] for question in QUESTIONS]

    assert "Stored 40 turns" in output
    assert len(CONVERSATION.read_text("utf-8").splitlines()) == 40
    assert "£70 a year" in answers[0]
    assert "£64 a year" in answers[0]
    assert "focus word: Tomasz" in answers[1]
    assert "the band owes Tomasz 95 for the van" in answers[1]
    assert "そばアレルギー" in answers[2].split("\n   2. ")[0]
    assert all("why:" in section for section in answers)
    assert "make run" in output
    readme = (ROOT / "README.md").read_text("utf-8")
    assert readme.split('```text title="make demo"\n')[1].split("```")[0] in output


def test_demo_writes_only_to_the_keep_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMEMBRANCER_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("REMEMBRANCER_STORE", f"sqlite:{tmp_path / 'mine.sqlite3'}")
    demo_folder = tmp_path / "kept here"
    process = CliRunner().invoke(app, ["demo", "--keep", str(demo_folder)])

    assert process.exit_code == 0
    assert f"remembrancer --data '{demo_folder}' serve" in process.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept here"]
    store = open_store(Settings(data=demo_folder).store_url)
    assert store.read(lambda tx: tx.one("select count(*) as n from events")).n == 40
    store.close()
    with pytest.raises(FolderInUse):
        run_demo(print, demo_folder)


_TURNS = (
    "select spaces.user_id, sessions.session_id, topic, query, response, occurred_ms, "
    "occurred_offset from events "
    "join sessions on sessions.id = session join spaces on spaces.id = sessions.space_id"
)
_FACTS = (
    "select spaces.user_id, text, valid_from_ms, valid_to_ms from facts "
    "join spaces on spaces.id = facts.space_id"
)


def stored(context: Context) -> list[Any]:
    """Return the turns and the facts of a store."""
    rows = context.store.read(lambda tx: [*tx.all(_TURNS), *tx.all(_FACTS)])
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize(
    "sample", ["chatgpt", "claude-code", "mem0", "letta", "graphiti", "claude-mem", "zep"]
)
def test_a_sample_is_imported_as_on_the_machine(
    user_cli: Cli, client: Client, context: Context, tmp_path: Path, sample: str
) -> None:
    words = ("import", str(SAMPLES / sample), "--json")
    (tmp_path / "offline").mkdir()
    with closing(testing.context(tmp_path / "offline")) as offline:
        here = json.loads(Cli(tmp_path / "offline")(*words).stdout)
        process = user_cli(*words, "--url", client.base_url)
        assert process.returncode == 0, process.stderr
        there, again = (
            json.loads(one)
            for one in (
                process.stdout,
                user_cli(*words, "--url", client.base_url).stdout,
            )
        )

        assert {name: there[name] for name in here if name != "account"} == {
            name: value for name, value in here.items() if name != "account"
        }
        assert (again["stored"], again["duplicates"]) == (0, here["stored"])
        undated = sample in ("letta", "zep")
        assert len(stored(context)) == len(stored(offline)) > 0
        if not undated:
            assert stored(context) == stored(offline)

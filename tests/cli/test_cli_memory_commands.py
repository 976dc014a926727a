"""Commands that read and write memory of a running service."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command import Cli, rows_of

from remembrancer.client import Client
from remembrancer.protocol.agent import ComplianceQuery
from remembrancer.protocol.facts import FactAdd


@pytest.fixture
def cli(user_cli: Cli) -> Cli:
    """The command line of a user who has a key."""
    return user_cli


def test_text_is_remembered_and_found(cli: Cli, client: Client) -> None:
    """Nothing is owed: the turn belongs to no step, and the search counts none."""
    event_id = cli("remember", "The ferry leaves at 9:40.", "--topic", "trip").stdout.strip()
    [row] = cli.table("search", "when does the ferry leave")

    assert (row["kind"], row["id"]) == ("turn", event_id)
    assert row["text"] == "The ferry leaves at 9:40."
    figures = client.agent_compliance(ComplianceQuery(user_id="owner")).total
    assert (figures.searches, figures.remembered.of) == (0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\x80b", "stdin is not text in UTF-8: byte 2 is 0x80."),
        (b"a\0b", "has a NUL character (U+0000) as character 2"),
    ],
)
def test_bytes_that_are_no_text_are_refused(
    cli: Cli, client: Client, content: bytes, message: str
) -> None:
    process = cli("remember -", stdin=content)

    assert (process.returncode, process.stdout) == (2, "")
    assert message in process.stderr
    assert list(client.events()) == []


def test_json_and_csv_hold_everything(cli: Cli, client: Client) -> None:
    client.add(("a, b", 'say "c"\nd'), topic="t")
    answer = json.loads(cli("search say --json").stdout)
    [row] = csv.DictReader(cli("search say --output csv").stdout.splitlines(keepends=True))

    assert answer["user_id"] == "owner"
    assert answer["hits"][0]["response"] == 'say "c"\nd'
    assert (row["query"], row["response"], row["topic"]) == ("a, b", 'say "c"\nd', "t")
    assert (row["kind"], row["id"]) == ("turn", answer["hits"][0]["event_id"])


def test_search_lists_facts_and_instructions_below_the_turns(cli: Cli, client: Client) -> None:
    """A memory that another product's facts were imported into has no turns."""
    for text in ("Mia is allergic to penicillin.", "Always answer Mia in German, please."):
        client.add_fact(FactAdd(user_id="mia", text=text))
    words = ("search", "allergic to penicillin", "--user-id", "mia")

    process = cli(*words)

    rows = rows_of(process)
    assert process.stderr == "No turn matches; 1 fact and 1 instruction match.\n"
    assert [(row["kind"], row["text"]) for row in rows] == [
        ("fact", "Mia is allergic to penicillin."),
        ("instruction", "Always answer Mia in German, please."),
    ]
    answer = json.loads(cli(*words, "--json").stdout)
    listed = csv.DictReader(cli(*words, "--output", "csv").stdout.splitlines(keepends=True))
    assert [row["kind"] for row in listed] == ["fact", "instruction"]
    assert answer["facts"][0]["fact_id"] == rows[0]["id"]

    client.add("The penicillin is in the blue box.", user_id="mia")

    process = cli(*words)
    assert [row["kind"] for row in rows_of(process)] == ["turn", "fact", "instruction"]
    assert process.stderr == ""


def test_facts_and_sessions_are_listed(cli: Cli, client: Client) -> None:
    client.add_fact(FactAdd(user_id="mia", text="Mia is allergic to penicillin."))
    client.add("one", user_id="mia", session_id="first")
    client.add(("two", "three"), user_id="mia", session_id="second")

    [fact] = cli.table("facts --user-id mia")
    sessions = cli.table("sessions --user-id mia")
    [turn] = cli.table("sessions second --user-id mia")

    assert (fact["status"], fact["text"]) == ("current", "Mia is allergic to penicillin.")
    assert [one["session_id"] for one in sessions] == ["second", "first"]
    assert turn["text"] == "two \u2192 three"
    assert [one["text"] for one in json.loads(cli("facts --user-id mia --json").stdout)]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["search", ""], 2, "query: String should have at least 1 character"),
        (
            ["search", "x", "--after", "yesterday"],
            2,
            "remembrancer: after: a time must be a string",
        ),
        (["remember", "x", "--occurred-at", "1 May"], 2, "or a day, such as 2026-03-01"),
        (["search", "x", "--url", "ftp://h"], 2, "must be an http:// or https:// URL"),
        (["search", "x", "--url", "http://127.0.0.1:9"], 1, "Start it with `remembrancer serve`"),
        (["remember", " "], 2, "nothing is stored"),
        (["facts", "--status", "old"], 2, "Invalid value for '--status'"),
    ],
)
def test_wrong_use_is_explained(cli: Cli, words: list[str], status: int, message: str) -> None:
    process = cli(*words)

    assert process.returncode == status
    assert message in process.stderr
    assert process.stdout == ""


def test_login_saves_a_key_that_the_service_accepts(cli: Cli, folder: Path) -> None:
    key = cli.environment.pop("REMEMBRANCER_KEY")
    path = folder / ".config" / "remembrancer" / "key"

    assert "remembrancer login" in cli("search x").stderr
    wrong = cli("login", stdin="sk_0\n")
    assert (wrong.returncode, path.exists()) == (1, False)
    assert cli("login").returncode == 2

    process = cli("login", stdin=f"{key}\n")

    assert f"The key of the account owner (user owner) is saved in {path}, " in process.stdout
    assert key not in process.stdout + process.stderr
    assert (path.read_text(), path.stat().st_mode & 0o777) == (f"{key}\n", 0o600)
    assert cli("search x").returncode == 0
    url = cli.environment.pop("REMEMBRANCER_URL")
    named = cli(f"login --url {url}", stdin=f"{key}\n")
    saved = path.with_name("url")
    assert f"its address {url} beside it" in named.stdout
    assert (saved.read_text(), saved.stat().st_mode & 0o777) == (f"{url}\n", 0o600)
    assert cli("search x").returncode == 0
    assert "127.0.0.1:9" in cli("search x", URL="http://127.0.0.1:9").stderr
    saved.chmod(0o644)
    refused = cli("search x")
    assert (refused.returncode, f"chmod 600 {saved}" in refused.stderr) == (2, True)


def test_help_explains_commands(cli: Cli) -> None:
    assert "Search memory" in cli("help").stdout
    assert "keys create [OPTIONS]" in cli("help keys create").stdout
    assert cli("help nothing").returncode == 2
    assert "remembrancer serve" in cli().stderr + cli().stdout


def test_a_wish_is_moved_between_projects_and_the_person(cli: Cli, client: Client) -> None:
    """specification.md#search-project-own."""
    fact = client.add_fact("Use pnpm.", user_id="mia", metadata={"project": "shelf", "team": "a"})
    fact_id = fact.fact.fact_id

    metadata = []
    for words in (["tide"], []):
        assert cli("facts", "move", fact_id, *words, "--user-id", "mia").returncode == 0
        metadata += [one.metadata for one in client.facts(user_id="mia")]

    assert metadata == [{"project": "tide", "team": "a"}, {"team": "a"}]
    assert cli("facts", "move", "f_none").returncode == 1


def test_facts_are_added_and_deleted(cli: Cli, client: Client) -> None:
    fact_id = cli("facts", "add", "Mia sails.", "--user-id", "mia").stdout.strip()

    [row] = cli.table("facts", "--user-id", "mia")
    assert (row["fact_id"], row["text"]) == (fact_id, "Mia sails.")
    assert cli("delete", fact_id).stdout == f"Erased {fact_id}.\n"
    assert list(client.facts(user_id="mia")) == []
    assert cli("delete", "e_0000000000000").returncode != 0


def test_a_user_is_listed_and_forgotten(cli: Cli, client: Client) -> None:
    for session in ("a", "b"):
        cli("remember", f"The {session} saw.", "--user-id", "mia", "--session-id", session)
    assert cli("users").stdout.split() == json.loads(cli("users", "--json").stdout) == ["mia"]

    part = cli("forget", "--user-id", "mia", "--session-id", "a", "--yes")
    assert part.stdout.startswith("Erased: 1 ")
    assert [event.query for event in client.events(user_id="mia")] == ["The b saw."]
    assert cli("forget", "--user-id", "mia").returncode != 0  # nobody confirms
    assert len(list(client.events(user_id="mia"))) == 1

    cli("forget", "--user-id", "mia", "--yes")

    assert list(client.events(user_id="mia")) == []

"""Commands that read and write memory of a running service."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from command import Cli, on_a_terminal, rows_of

from remembrancer.client import Client
from remembrancer.protocol.agent import ComplianceQuery
from remembrancer.protocol.facts import FactAdd
from remembrancer.protocol.teams import TeamCreate


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


def test_message_with_its_answer_is_one_turn(cli: Cli, client: Client) -> None:
    words = ("When does it leave?", "At 9:40.", "--user-id", "mia", "--session-id", "trip")
    process = cli("remember", *words, "--occurred-at", "2026-03-01", "--json")
    document = json.loads(process.stdout)

    assert (document["user_id"], document["session_id"]) == ("mia", "trip")
    event = client.get_event(document["event_id"])
    assert (event.query, event.response) == ("When does it leave?", "At 9:40.")
    assert event.occurred_at == "2026-03-01T00:00:00.000Z"


def test_metadata_is_remembered_and_filtered_by(cli: Cli, client: Client) -> None:
    for tool, project in (("axe", "garden"), ("saw", "house")):
        words = ("--metadata", f"project={project}", "--metadata", "priority=2")
        cli("remember", f"The {tool} is in the shed.", *words)
    filters = ("--filter", "project=house", "--filter", '{"priority": {"gte": 2}}')

    [row] = cli.table("search", "what is in the shed", *filters)

    assert row["text"] == "The saw is in the shed."
    assert client.get_event(row["id"]).metadata == {"project": "house", "priority": 2}
    for wrong in ("house", '{"a": {}}', "{"):
        assert cli("search", "shed", "--filter", wrong).returncode == 2


def test_source_is_remembered_and_asked_for(cli: Cli, client: Client) -> None:
    said = cli("remember", "The axe is in the shed.").stdout.strip()
    read = cli("remember", "The saw is in the shed.", "--source", "file").stdout.strip()

    found = json.loads(cli("search", "shed", "--min-trust", "model", "--json").stdout)

    assert [(hit["event_id"], hit["source"]["query"]) for hit in found["hits"]] == [(said, "user")]
    assert client.get_event(read).source.query == "file"


def test_text_is_read_from_stdin(cli: Cli, client: Client) -> None:
    process = cli.apart("remember -", stdin="A note of\ntwo lines.")

    assert client.get_event(process.stdout.strip()).query == "A note of\ntwo lines."


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


def test_turns_below_a_score_are_left_out(cli: Cli, client: Client) -> None:
    client.add("The ferry to Elba leaves at 9:40 from pier 3.")
    client.add("The tulips need water.")
    words = ("search", "When does the ferry to Elba leave?")
    scores = [float(row["score"]) for row in cli.table(*words)]
    least = f"{sum(scores) / 2:.3f}"

    [row] = cli.table(*words, "--min-score", least)
    none = cli(*words, "--min-score", "1")

    assert float(row["score"]) == max(scores)
    assert (none.returncode, none.stderr) == (0, "No turn scores 1 or more.\n")
    assert cli(*words, "--min-score", "2").returncode == 2


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


def test_memory_of_a_team_is_written_and_read(cli: Cli, client: Client) -> None:
    client.create_team(TeamCreate(name="Garden"))
    client.add("My own rake is red.")
    cli("remember", "The rake of the club is behind the shed.", "--team", "Garden")
    client.add_fact(FactAdd(user_id="owner", text="The club meets on Mondays.", team="Garden"))

    hits = cli.table("search rake --teams all")

    assert {(row["team"], row["text"]) for row in hits if row["kind"] == "turn"} == {
        ("", "My own rake is red."),
        ("Garden", "The rake of the club is behind the shed."),
    }
    assert cli.table("search rake --teams Garden") == hits
    assert [row["text"] for row in cli.table("facts --team Garden")] == [
        "The club meets on Mondays."
    ]
    assert len(cli.table("sessions --team Garden")) == 1
    [turn] = cli.table("sessions default --team Garden")
    assert turn["text"] == "The rake of the club is behind the shed."
    assert cli("facts --team", "Nobody's").returncode == 1


def test_limit_says_that_there_are_more(cli: Cli, client: Client) -> None:
    for n in range(3):
        client.add(f"text {n}", session_id=f"s{n}")

    process = cli("sessions --limit 2")

    assert len(process.stdout.splitlines()) == 3
    assert process.stderr == "The first 2 are listed. --limit 0 lists all.\n"
    assert len(cli.table("sessions --limit 0")) == 3


def test_tables_fit_80_columns_and_control_no_terminal(cli: Cli, client: Client) -> None:
    client.add(
        ("a \x1b[2J title [bold]", "word " * 200), session_id="s-" + "x" * 100, topic="topic " * 20
    )
    client.add_fact(FactAdd(text="A fact with many words. " * 12))

    for words in (["search", "word"], ["facts"], ["sessions"], ["sessions", "s-" + "x" * 100]):
        output = on_a_terminal(cli, *words)
        assert max(map(len, output.splitlines())) <= 80, output
        assert "\x1b" not in output
        if words[0] == "search":
            assert "a \ufffd[2J title [bold]" in " ".join(output.split())


def test_long_table_goes_to_the_pager(cli: Cli, client: Client, tmp_path: Path) -> None:
    for n in range(30):
        client.add(f"text {n}", session_id=f"s{n}")
    pager = f"{sys.executable} -c 'import sys; print(len(sys.stdin.readlines()), \"paged\")'"

    assert "paged" in on_a_terminal(cli, "sessions", PAGER=pager)
    assert "paged" not in on_a_terminal(cli, "sessions", "--limit", "3", PAGER=pager)


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


def test_search_without_a_hit_says_so(cli: Cli) -> None:
    process = cli("search anything --user-id nobody")

    assert (process.returncode, process.stderr) == (0, "No turn matches.\n")
    assert "no such facts" in cli("facts --user-id nobody").stderr
    assert "no sessions" in cli("sessions --user-id nobody").stderr
    assert "no turns of this session" in cli("sessions trip").stderr


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


def test_shell_completes_commands_and_options(cli: Cli, folder: Path) -> None:
    program = str(Path(sys.executable).with_name("remembrancer"))

    def run(*words: str, **variables: str) -> str:
        environment = {**cli.environment, **variables}
        return subprocess.run(
            [program, *words], env=environment, capture_output=True, text=True, check=True
        ).stdout

    def completed(line: str) -> str:
        place = str(len(line.split()) - 1)
        return run(_REMEMBRANCER_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place)

    assert {"search", "serve", "sessions"} <= set(completed("remembrancer se").split())
    assert "--user-id" in completed("remembrancer search --us")
    # without the variable, the shell is the one that started the program: here, Python
    run("--install-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "remembrancer" in (folder / ".bashrc").read_text()


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

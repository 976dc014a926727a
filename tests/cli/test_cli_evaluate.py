"""`remembrancer evaluate` measures search with one's own questions, and says why turns are missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Cli

from remembrancer.client import Client
from remembrancer.protocol.agent import ComplianceQuery

TURNS = (
    ("When does the ferry leave?", "At 9:40 from Piombino, pier 3."),
    ("Which paint for the shed?", "Linseed oil paint, oxide red."),
    ("How deep do I plant garlic?", "About 5 cm, tip up."),
)


@pytest.fixture
def client(client: Client) -> Client:
    """A client of the service, whose user `mia` has three turns."""
    for number, turn in enumerate(TURNS):
        client.add(turn, user_id="mia", session_id=f"session-{number}")
    return client


@pytest.fixture
def cli(user_cli: Cli) -> Cli:
    """The command line of a user who has a key."""
    return user_cli


def questions(folder: Path, *lines: dict[str, Any]) -> str:
    """Write a file of questions; return its path."""
    path = folder / "questions.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


def measured(cli: Cli, *words: str) -> dict[str, Any]:
    """Return the JSON of a run."""
    result: dict[str, Any] = json.loads(cli("evaluate", *words, "--json").stdout)
    return result


def test_expected_turns_are_found_by_text_and_by_id(cli: Cli, client: Client, folder: Path) -> None:
    [garlic] = [hit.event_id for hit in client.search("garlic", user_id="mia", top_k=1)]
    path = questions(
        folder,
        {"question": "When does the ferry leave?", "expected": ["9:40  from piombino"]},
        {"question": "How deep do I plant garlic?", "expected": [garlic]},
        {"question": "What is the capital of Peru?", "expected": []},
    )

    result = measured(cli, path, "--user-id", "mia")

    assert result["recall"] == {"1": 1.0, "5": 1.0, "10": 1.0}
    assert (result["precision"], result["reciprocal_rank"]) == (1.0, 1.0)
    assert (result["questions"], result["without_answer"], result["misses"]) == (3, 1, [])
    assert result["answerable_without"] in (0.0, 1.0)  # of one question


def test_each_miss_has_its_reason(cli: Cli, client: Client, folder: Path) -> None:
    client.add(("Forget that I like oxide red paint.", ""), user_id="mia")
    path = questions(
        folder,
        {"question": "When does the train leave?", "expected": ["the train leaves at 8"]},
        {"question": "Which colour has the hut?", "expected": ["About 5 cm"]},
        {"question": "How deep do I plant garlic?", "expected": ["ferry leave"]},
    )

    result = measured(cli, path, "--user-id", "mia", "--top-k", "1")

    reasons = {miss["expected"]: miss["reason"] for miss in result["misses"]}
    assert reasons["the train leaves at 8"] == "No stored turn has this text or id."
    assert reasons["About 5 cm"].startswith("It shares no word with the question; rank ")
    assert reasons["ferry leave"].startswith("It shares ")
    assert {miss["first_hit"] is None for miss in result["misses"]} == {False}
    assert result["recall"]["1"] == 0.0
    assert result["plain_recall"].keys() == result["recall"].keys()


def test_recall_below_the_minimum_is_a_finding(cli: Cli, folder: Path) -> None:
    path = questions(
        folder,
        {"question": "departure of the ferry", "expected": ["9:40"], "user_id": "mia"},
        {
            "question": "colour of the shed",
            "expected": ["a text that is nowhere"],
            "user_id": "mia",
        },
    )

    good = cli("evaluate", path, "--at-least", "0.5")
    finding = cli("evaluate", path, "--at-least", "0.6")

    assert good.returncode == 0
    assert finding.returncode == 1
    assert "recall@10     0.50" in finding.stdout
    assert "plain sum of words and meaning: 0.50" in finding.stdout
    assert "expected: a text that is nowhere" in finding.stdout


def test_evaluation_owes_nothing_and_changes_nothing(
    cli: Cli, client: Client, folder: Path
) -> None:
    path = questions(folder, {"question": "ferry", "expected": ["9:40"], "user_id": "mia"})

    cli("evaluate", path)

    report = client.agent_compliance(ComplianceQuery())
    assert report.total.searches == 0
    assert len(list(client.events(user_id="mia"))) == len(TURNS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has 0 questions"),
        ("not json\n", "line 1"),
        ('{"question": "a"}\n', "line 1: expected"),
        ('{"question": "a", "expected": [1]}\n', "line 1: expected.0"),
        ('{"question": "a", "expected": []}\n{"question": "", "expected": []}\n', "line 2"),
        ('{"question": "a", "expected": [], "answer": "b"}\n', "line 1: answer"),
        ("\udcff", "UTF-8"),
        (None, "questions.jsonl: no such file"),
    ],
)
def test_invalid_file_is_refused_with_the_line(
    cli: Cli, folder: Path, content: str | None, message: str
) -> None:
    path = folder / "questions.jsonl"
    if content is not None:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))

    result = cli("evaluate", str(path))

    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr

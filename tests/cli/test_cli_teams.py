"""`remembrancer teams` and `keys create --no-protocol` as separate processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line on a new data folder with the accounts owner and bo."""
    cli = Cli(tmp_path / "data")
    for account in ("owner", "bo"):
        assert cli("keys create --account", account).returncode == 0
    return cli


def test_team_is_created_joined_and_left(cli: Cli) -> None:
    team = cli("teams create Garden").stdout.strip()
    invited = cli("teams invite Garden --role writer")
    accepted = cli("teams accept", invited.stdout.strip(), "--account", "bo")
    members = cli("teams members", team).stdout
    listed = cli("teams list --account bo").stdout
    left = cli("teams remove", team, "--account", "bo")

    assert accepted.stdout.strip() == f"{team} Garden: writer"
    assert [line.split("\t")[1:4] for line in members.splitlines()[1:]] == [
        ["owner", "every user", "owner"],
        ["bo", "every user", "writer"],
    ]
    assert listed.splitlines()[1].split("\t")[:3] == [team, "Garden", "writer"]
    assert left.returncode == 0
    assert cli("teams members", team, "--account", "bo").returncode == 1


def test_wrong_use_is_one_line(cli: Cli) -> None:
    for words, status, message in (
        ("members team_0", 1, "no such team"),
        ("invite team_0 --role king", 2, "for --role:"),
        ("invite team_0 --hours 0", 2, "for --hours:"),
        ("accept tmi_0", 1, "invitation"),
        ("create ' '", 2, "name"),
    ):
        answer = cli(f"teams {words}")
        assert (answer.returncode, answer.stdout) == (status, ""), answer.stderr
        assert message in answer.stderr
        assert "Traceback" not in answer.stderr

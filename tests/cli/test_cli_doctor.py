"""`remembrancer doctor`, as a process of its own:

what it says of a machine where all is well, and of one where something is not.
"""

from __future__ import annotations

from pathlib import Path

import engines
import pytest
from command import Cli

from remembrancer.cli.doctor import run_checks
from remembrancer.context import Context
from remembrancer.settings import Settings


@pytest.fixture
def cli(folder: Path) -> Cli:
    return Cli(folder)


def test_every_part_is_tried_beside_a_running_service(cli: Cli, context: Context) -> None:
    process = cli("doctor")
    matches = {row["part"]: row for row in cli.table("doctor")}

    files = "ok" if engines.KEPT_IN == "sqlite" else "notice"
    assert process.returncode == 0, process.stdout
    assert {part: row["state"] for part, row in matches.items()} == {
        "data folder": "ok",
        "store": "ok",
        "embedder": "ok",
        "keys": "notice",
        "files": files,
        "models": "ok",
        "sandbox": "ok",
    }
    assert "level ns" in matches["sandbox"]["seen"]
    assert "keys create" in matches["keys"]["what to do"]
    assert sorted(context.settings.data_folder.glob("doctor-*")) == []


def test_a_store_that_cannot_be_opened_is_a_finding_with_the_rest_tried_all_the_same(
    cli: Cli, folder: Path
) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "remembrancer.sqlite3").write_text("not a database" * 1000)

    process = cli("doctor")

    assert process.returncode == 1
    assert [
        line.split("\t")[1] for line in process.stdout.splitlines() if line.startswith("wrong")
    ] == ["store"]
    assert "\tsandbox\t" in process.stdout


def test_the_models_of_each_slot_are_listed_and_remote_ones_marked(cli: Cli) -> None:
    cli.environment["REMEMBRANCER_MODEL_CHAT"] = (
        "tiny@http://127.0.0.1:9/v1, big@https://models.example/v1"
    )
    cli.environment["REMEMBRANCER_MODEL_CHAT_KEY"] = ",sk-not-shown"

    matches = {row["part"]: row for row in cli.table("doctor")}

    assert (
        matches["models: chat"]["seen"]
        == "tiny@http://127.0.0.1:9/v1, big@https://models.example/v1, on another machine"
    )
    assert "models check" in matches["models: chat"]["what to do"]
    assert "sk-not-shown" not in str(matches)


def test_files_of_one_machine_beside_rows_that_many_can_share_are_pointed_out(folder: Path) -> None:
    settings = Settings(data=folder, store=engines.server().schema(), embedder="none")

    matches = next(finding for finding in run_checks(settings) if finding.part == "files")

    assert matches.state == "notice"
    assert "s3://" in matches.remedy


def stores_found(cli: Cli, *urls: str) -> list[dict[str, str]]:
    """Return the report of the doctor on the store at each URL."""
    matches = []
    for url in urls:
        cli.environment["REMEMBRANCER_STORE"] = url
        matches += [row for row in cli.table("doctor") if row["part"] == "store"]
    return matches


def test_a_role_that_policies_on_rows_do_not_bind_is_a_notice(cli: Cli) -> None:
    ordinary = engines.server().schema()
    matches = stores_found(cli, ordinary, ordinary.replace("remembrancer@", "postgres@"))

    assert [row["state"] for row in matches] == ["ok", "notice"]
    assert "ordinary role" in matches[1]["what to do"]


def test_a_postgresql_without_vectors_is_a_notice(cli: Cli) -> None:
    requests = engines.server().schema()
    matches = stores_found(cli, requests, requests.replace(",public", ""))

    assert [row["state"] for row in matches] == ["ok", "notice"]
    assert "create extension vector" in matches[1]["what to do"]

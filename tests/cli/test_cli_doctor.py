"""`remembrancer doctor`, run as a separate process on healthy and on broken setups."""

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


def test_doctor_checks_every_component_beside_a_running_service(cli: Cli, context: Context) -> None:
    process = cli("doctor")
    findings = {row["part"]: row for row in cli.table("doctor")}

    files = "ok" if engines.KEPT_IN == "sqlite" else "notice"
    assert process.returncode == 0, process.stdout
    assert {part: row["state"] for part, row in findings.items()} == {
        "data folder": "ok",
        "store": "ok",
        "embedder": "ok",
        "keys": "notice",
        "files": files,
        "models": "ok",
        "sandbox": "ok",
    }
    assert "level ns" in findings["sandbox"]["seen"]
    assert "keys create" in findings["keys"]["what to do"]
    assert sorted(context.settings.data_folder.glob("doctor-*")) == []


def test_unreadable_store_is_reported_and_other_checks_still_run(cli: Cli, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "remembrancer.sqlite3").write_text("not a database" * 1000)

    process = cli("doctor")

    assert process.returncode == 1
    assert [
        line.split("\t")[1] for line in process.stdout.splitlines() if line.startswith("wrong")
    ] == ["store"]
    assert "\tsandbox\t" in process.stdout


def test_models_are_listed_per_slot_and_remote_ones_marked(cli: Cli) -> None:
    cli.environment["REMEMBRANCER_MODEL_CHAT"] = (
        "tiny@http://127.0.0.1:9/v1, big@https://models.example/v1"
    )
    cli.environment["REMEMBRANCER_MODEL_CHAT_KEY"] = ",sk-not-shown"

    findings = {row["part"]: row for row in cli.table("doctor")}

    assert (
        findings["models: chat"]["seen"]
        == "tiny@http://127.0.0.1:9/v1, big@https://models.example/v1, on another machine"
    )
    assert "models check" in findings["models: chat"]["what to do"]
    assert "sk-not-shown" not in str(findings)


def test_local_files_with_a_shared_database_are_a_notice(folder: Path) -> None:
    settings = Settings(data=folder, store=engines.server().schema(), embedder="none")

    result = next(finding for finding in run_checks(settings) if finding.part == "files")

    assert result.state == "notice"
    assert "s3://" in result.remedy


def store_findings(cli: Cli, *urls: str) -> list[dict[str, str]]:
    """Return the doctor's finding on the store at each URL."""
    findings = []
    for url in urls:
        cli.environment["REMEMBRANCER_STORE"] = url
        findings += [row for row in cli.table("doctor") if row["part"] == "store"]
    return findings


def test_role_that_bypasses_row_level_security_is_a_notice(cli: Cli) -> None:
    ordinary = engines.server().schema()
    findings = store_findings(cli, ordinary, ordinary.replace("remembrancer@", "postgres@"))

    assert [row["state"] for row in findings] == ["ok", "notice"]
    assert "ordinary role" in findings[1]["what to do"]


def test_postgresql_without_pgvector_is_a_notice(cli: Cli) -> None:
    url = engines.server().schema()
    findings = store_findings(cli, url, url.replace(",public", ""))

    assert [row["state"] for row in findings] == ["ok", "notice"]
    assert "create extension vector" in findings[1]["what to do"]

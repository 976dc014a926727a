"""`remembrancer doctor` on healthy and on broken setups."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path
from typing import Any

import engines
import needed
import pytest
from client.scripted_server import ScriptedServer, answer
from command import Cli, rows_of
from service import new_key, serving
from starlette.applications import Starlette

from remembrancer import __version__
from remembrancer.accounts import keys
from remembrancer.cli.doctor import describe_key, run_checks
from remembrancer.client.credentials import write_key
from remembrancer.context import Context
from remembrancer.protocol.status import OwnKey
from remembrancer.settings import Settings


@pytest.fixture
def cli(folder: Path, tmp_path: Path) -> Cli:
    """The command line of a user without a login and without agents."""
    cli = Cli(folder)
    cli.environment |= {"HOME": str(tmp_path)}
    return cli


@pytest.fixture
def login(app: Starlette, context: Context, tmp_path: Path) -> Iterator[Cli]:
    """The command line of a user who is logged in to a service, on a machine without a store."""
    cli = Cli(tmp_path / "no" / "data")
    cli.environment |= {"HOME": str(tmp_path)}
    cli.environment.pop("REMEMBRANCER_STORE", None)
    with serving(app) as port:
        saved = tmp_path / ".config" / "remembrancer"
        write_key(saved / "url", f"http://127.0.0.1:{port}")
        write_key(saved / "key", new_key(context, "ada"))
        yield cli


def findings(process: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    """Return the findings of the doctor by the part that was checked."""
    return {row["part"]: row for row in rows_of(process)}


def test_doctor_checks_every_component_beside_a_running_service(cli: Cli, context: Context) -> None:
    needed.compiled_part()
    process = cli("doctor")

    files = "ok" if engines.KEPT_IN == "sqlite" else "notice"
    found = findings(process)
    assert process.returncode == 0, process.stdout
    assert found.pop("service")["seen"].count("default address") == 1
    assert {part: row["state"] for part, row in found.items()} == {
        "data folder": "ok",
        "store": "ok",
        "embedder": "ok",
        "keys": "notice",
        "files": files,
        "compiled part": "ok",
        "models": "ok",
        "sandbox": "ok",
        "key": "notice",
    }
    assert "level ns" in found["sandbox"]["seen"]
    assert "keys create" in found["keys"]["what to do"]
    assert sorted(context.settings.data_folder.glob("doctor-*")) == []


def test_unreadable_store_is_reported_and_other_checks_still_run(cli: Cli, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "remembrancer.sqlite3").write_text("not a database" * 1000)

    process = cli("doctor")

    found = findings(process)
    assert process.returncode == 1
    assert [part for part, row in found.items() if row["state"] == "wrong"] == ["store"]
    assert "sandbox" in found


def test_models_are_listed_per_slot_and_remote_ones_marked(cli: Cli) -> None:
    models = "tiny@http://127.0.0.1:9/v1, big@https://models.example/v1"

    process = cli("doctor", MODEL_CHAT=models, MODEL_CHAT_KEY=",sk-not-shown")

    row = findings(process)["models: chat"]
    assert row["seen"] == f"{models}, on another machine"
    assert "models check" in row["what to do"]
    assert "sk-not-shown" not in process.stdout


def test_local_files_with_a_shared_database_are_a_notice(folder: Path) -> None:
    settings = Settings(data=folder, store=engines.server().schema(), embedder="none")

    result = next(finding for finding in run_checks(settings) if finding.part == "files")

    assert result.state == "notice"
    assert "s3://" in result.remedy


@pytest.mark.parametrize(
    ("missing", "remedy"),
    [
        (
            ("remembrancer@", "postgres@"),
            "ordinary role",
        ),  # a role that bypasses row-level security
        ((",public", ""), "create extension vector"),  # a schema without pgvector
    ],
)
def test_what_a_postgresql_store_lacks_is_a_notice(missing: tuple[str, str], remedy: str) -> None:
    url = engines.server().schema()
    ordinary, lacking = (
        next(
            finding
            for finding in run_checks(Settings(data=Path("/none"), store=store, embedder="none"))
            if finding.part == "store"
        )
        for store in (url, url.replace(*missing))
    )

    assert (ordinary.state, lacking.state) == ("ok", "notice")
    assert remedy in lacking.remedy


def test_machine_with_a_login_and_no_store_is_checked_as_a_client(
    login: Cli, context: Context, tmp_path: Path
) -> None:
    process = login("doctor")

    found = findings(process)
    assert process.returncode == 0, process.stdout
    assert [found[part]["state"] for part in ("store", "service", "key")] == ["ok"] * len(found)
    assert str(tmp_path / ".config/remembrancer/url") in found["service"]["seen"]
    assert f"Remembrancer {__version__}" in found["service"]["seen"]
    assert "account ada, user ada, may read and write" in found["key"]["seen"]
    assert "doctor --data DIR" in found["store"]["what to do"]
    assert "sk_" not in process.stdout + process.stderr
    assert not (tmp_path / "no").exists()


def test_rejected_key_says_how_to_get_another(login: Cli, context: Context) -> None:
    keys.revoke(context, keys.list_keys(context, "ada")[0].id)

    process = login("doctor")

    row = findings(process)["key"]
    assert process.returncode == 1
    assert (row["state"], "rejected" in row["seen"]) == ("wrong", True)
    assert "keys create" in row["what to do"]


def test_key_is_not_sent_to_another_service(login: Cli) -> None:
    with ScriptedServer(repeat(answer(200, "<html>Welcome</html>"))) as server:
        found = findings(login("doctor", URL=server.url))

    assert found["service"]["state"] == "wrong"
    assert "not as this service" in found["service"]["seen"]
    assert [one for one in server.requests if "sk_" in str(one.headers)] == []
    assert server.requests


@pytest.mark.parametrize("name", ["key", "url"])
def test_login_that_others_can_read_is_wrong(login: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / ".config" / "remembrancer" / name).chmod(0o644)

    rows = login.table("doctor")

    assert "chmod 600" in next(row["seen"] for row in rows if row["state"] == "wrong")


def test_machine_without_store_and_login_gets_no_store(cli: Cli, folder: Path) -> None:
    row = findings(cli("doctor", STORE=f"sqlite:{folder}/none"))["store"]

    assert row["state"] == "notice"
    assert "serve creates it" in row["what to do"]
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({}, "ok", "account ada, user ada, may read and write"),
        ({"pinned": True, "user_id": "bo"}, "ok", "user bo only"),
        ({"read_only": True}, "ok", "may only read"),
        ({"protocol": False}, "ok", "without the protocol"),
        ({"expires_at": "2026-03-09T00:00:00.000Z"}, "ok", "expires 2026-03-09 00:00Z"),
        ({"expires_at": "2026-03-03T00:00:00.000Z"}, "notice", "expires 2026-03-03 00:00Z"),
    ],
)
def test_key_is_described(fields: dict[str, Any], state: str, words: str) -> None:
    own = OwnKey(
        account="ada", user_id="ada", pinned=False, read_only=False, protocol=True, is_owner=False
    )
    now_ms = datetime(2026, 3, 1, tzinfo=UTC).timestamp() * 1000

    result = describe_key(own.model_copy(update=fields), "REMEMBRANCER_KEY", now_ms)

    assert result.state == state
    assert words in result.detail
    assert bool(result.remedy) == (state == "notice")

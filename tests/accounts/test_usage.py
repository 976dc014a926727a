"""Daily usage is counted in memory and added to the store later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from service import Http, new_key
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.usage import UsageCounter, UsageReport, usage_of
from remembrancer.context import Caller, Context

NEVER_S = 3_600.0  # the tests flush by hand


@pytest.fixture
def context(context: Context) -> Context:
    return replace(context, models=testing.ScriptedModels(chat=["At 9:40."]))


def used(context: Context, caller: Caller) -> UsageReport:
    return usage_of(context, caller)


def test_counts_are_kept_while_the_store_is_unavailable(folder: Path) -> None:
    broken, later = testing.context(folder), testing.context(folder)
    owner = authenticate(later, new_key(later))
    broken.store.close()
    counter = UsageCounter(broken, NEVER_S)
    counter.count("turn", account_id=owner.account_id, key_id=owner.key_id)
    counter.add()
    counter._records = later
    counter.close()

    assert used(later, owner).total("turn") == 1
    later.close()


def test_requests_count_for_the_key_they_used(app: Starlette, context: Context) -> None:
    question = "When does the ferry leave?"
    action = {"path": "/etc/hosts", "action": "read", "agent": "robot"}
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        http.remember(question, "At 9:40.")
        http.memory("ferry")
        http.memory("ferry")
        http.post("/api/v7/memory", {"query_text": 1})
        http.post("/api/v7/sysperm/check", action)
        http.post("/api/v7/agent/chat", {"user_id": "owner", "message": question})
    [row] = used(context, authenticate(context, http.key or "")).by_key

    assert (row.account, row.key_id) == ("owner", 1)
    assert row.counts == {"turn": 1, "search": 2, "check": 1, "chat": 1}

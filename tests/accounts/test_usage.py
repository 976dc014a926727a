"""Daily usage is counted in memory and added to the store later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service import Http, new_key
from starlette.applications import Starlette
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.accounts.keys import authenticate
from remembrancer.accounts.usage import DAYS_SHOWN, Kind, UsageCounter, UsageReport, usage_of
from remembrancer.context import Caller, Context
from remembrancer.models import ModelAttempt
from remembrancer.server.app import make_app

DAY_MS = 86_400_000
NEVER_S = 3_600.0  # the tests flush by hand


@pytest.fixture
def clock() -> testing.FrozenClock:
    """A clock that the test moves."""
    return testing.FrozenClock()


@pytest.fixture
def context(folder: Path, clock: testing.FrozenClock) -> Iterator[Context]:
    created = testing.context(folder, clock=clock, models=testing.ScriptedModels(chat=["At 9:40."]))
    yield created
    created.close()


@pytest.fixture
def owner(context: Context) -> Caller:
    """A caller of the first account, the owner."""
    return authenticate(context, new_key(context))


def used(context: Context, caller: Caller) -> UsageReport:
    return usage_of(context, caller)


def test_usage_is_reported_per_day_ending_today(
    context: Context, owner: Caller, clock: testing.FrozenClock
) -> None:
    counter = UsageCounter(context, NEVER_S)
    counter.count("search", account_id=owner.account_id, key_id=owner.key_id, times=2)
    clock.advance(DAY_MS)
    counter.count("search", account_id=owner.account_id, key_id=owner.key_id)
    counter.count("run", account_id=owner.account_id, key_id=owner.key_id)
    counter.close()
    result = used(context, owner)

    assert (len(result.days), result.days[-1] * DAY_MS) == (DAYS_SHOWN, clock() // DAY_MS * DAY_MS)
    assert result.by_day["search"][-3:] == [0, 2, 1]
    assert (result.total("search"), result.total("run"), result.total("turn")) == (3, 1, 0)


def test_counts_of_one_day_add_up_and_old_days_are_omitted(
    context: Context, owner: Caller, clock: testing.FrozenClock
) -> None:
    for _ in range(2):
        counter = UsageCounter(context, NEVER_S)
        counter.count("turn", account_id=owner.account_id, key_id=owner.key_id, times=3)
        counter.close()
    today = used(context, owner).by_day["turn"][-1]
    clock.advance(DAYS_SHOWN * DAY_MS)

    assert (today, used(context, owner).total("turn")) == (6, 0)


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


def test_model_calls_and_tokens_are_counted(context: Context, owner: Caller) -> None:
    tokens: Any = {"prompt_tokens": 10, "completion_tokens": 4}
    with TestClient(make_app(context), base_url="http://127.0.0.1:8460"):
        for outcome in ("ok", "ok", "timeout"):
            attempt = ModelAttempt(slot="chat", model="m", outcome=outcome, ms=1.0, **tokens)
            for watcher in context.models._watchers:  # type: ignore[attr-defined]
                watcher(attempt)
    result = used(context, owner)

    kinds: tuple[Kind, ...] = ("model_call", "model_failure", "tokens_read", "tokens_written")
    assert [result.total(kind) for kind in kinds] == [2, 1, 30, 12]

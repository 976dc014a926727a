"""Daily usage is counted in memory and added to the store later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
NEVER_S = 3_600.0  # the tests add by hand


@pytest.fixture
def clock() -> testing.FrozenClock:
    """Time that the test moves."""
    return testing.FrozenClock()


@pytest.fixture
def context(folder: Path, clock: testing.FrozenClock) -> Iterator[Context]:
    created = testing.context(folder, clock=clock, models=testing.ScriptedModels(chat=["At 9:40."]))
    yield created
    created.close()


@pytest.fixture
def owner(context: Context) -> Caller:
    """The first account."""
    return authenticate(context, new_key(context))


def used(context: Context, caller: Caller) -> UsageReport:
    return usage_of(context, caller)


def test_counts_are_told_by_day_with_today_the_last(
    context: Context, owner: Caller, clock: testing.FrozenClock
) -> None:
    tally = UsageCounter(context, NEVER_S)
    tally.count("search", account_id=owner.account_id, key_id=owner.key_id, times=2)
    clock.advance(DAY_MS)
    tally.count("search", account_id=owner.account_id, key_id=owner.key_id)
    tally.count("run", account_id=owner.account_id, key_id=owner.key_id)
    tally.close()
    result = used(context, owner)

    assert (len(result.days), result.days[-1] * DAY_MS) == (DAYS_SHOWN, clock() // DAY_MS * DAY_MS)
    assert result.by_day["search"][-3:] == [0, 2, 1]
    assert (result.total("search"), result.total("run"), result.total("turn")) == (3, 1, 0)


def test_counts_of_one_day_add_up_and_old_days_are_left_out(
    context: Context, owner: Caller, clock: testing.FrozenClock
) -> None:
    for _ in range(2):
        tally = UsageCounter(context, NEVER_S)
        tally.count("turn", account_id=owner.account_id, key_id=owner.key_id, times=3)
        tally.close()
    today = used(context, owner).by_day["turn"][-1]
    clock.advance(DAYS_SHOWN * DAY_MS)

    assert (today, used(context, owner).total("turn")) == (6, 0)


def test_the_owner_sees_what_all_did_others_their_own(context: Context, owner: Caller) -> None:
    """The owner sees all, others their own (specification.md#console-scope)."""
    ada = authenticate(context, new_key(context, "ada"))
    tally = UsageCounter(context, NEVER_S)
    for caller in (owner, ada):
        tally.count("search", account_id=caller.account_id, key_id=caller.key_id)
    tally.count("model_call")
    tally.close()

    assert (used(context, owner).total("search"), used(context, owner).total("model_call")) == (
        2,
        1,
    )
    assert (used(context, ada).total("search"), used(context, ada).total("model_call")) == (1, 0)
    assert [(one.account, one.label, one.counts) for one in used(context, owner).by_key] == [
        ("ada", "for a test", {"search": 1}),
        ("owner", "for a test", {"search": 1}),
    ]
    assert [one.account for one in used(context, ada).by_key] == ["ada"]


def test_what_cannot_be_added_now_is_added_later(folder: Path) -> None:
    broken, later = testing.context(folder), testing.context(folder)
    owner = authenticate(later, new_key(later))
    broken.store.close()
    tally = UsageCounter(broken, NEVER_S)
    tally.count("turn", account_id=owner.account_id, key_id=owner.key_id)
    tally.add()
    tally._records = later
    tally.close()

    assert used(later, owner).total("turn") == 1
    later.close()


def test_what_is_answered_counts_for_the_key_it_was_asked_with(
    app: Starlette, context: Context
) -> None:
    with TestClient(app, base_url="http://127.0.0.1:8460") as client:
        http = Http(client, context, new_key(context))
        http.remember("When does the ferry leave?", "At 9:40.")
        http.memory("ferry")
        http.memory("ferry")
        http.post("/api/v7/memory", {"query_text": 1})
        http.post(
            "/api/v7/sysperm/check", {"path": "/etc/hosts", "action": "read", "agent": "robot"}
        )
        http.post(
            "/api/v7/agent/chat", {"user_id": "owner", "message": "When does the ferry leave?"}
        )
    [one] = used(context, authenticate(context, http.key or "")).by_key

    assert (one.account, one.key_id, one.counts) == (
        "owner",
        1,
        {"turn": 1, "search": 2, "check": 1, "chat": 1},
    )


def test_calls_of_models_and_their_tokens_count_for_the_service(
    context: Context, owner: Caller
) -> None:
    with TestClient(make_app(context)):
        for outcome in ("ok", "ok", "timeout"):
            attempt = ModelAttempt(
                slot="chat",
                model="m",
                outcome=outcome,
                ms=1.0,
                prompt_tokens=10,
                completion_tokens=4,
            )
            for watcher in context.models._watchers:  # type: ignore[attr-defined]
                watcher(attempt)
    result = used(context, owner)

    kinds: tuple[Kind, ...] = ("model_call", "model_failure", "tokens_read", "tokens_written")
    assert [result.total(kind) for kind in kinds] == [2, 1, 30, 12]

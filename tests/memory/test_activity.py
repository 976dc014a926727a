"""Recent activity of an account: bounded reads that use indexes, by account and by user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memory.asking import Memory, memory_in
from memory.plans import plan

from remembrancer.accounts import PinnedToOtherUser
from remembrancer.memory.exchange import importer
from remembrancer.memory.history import activity
from remembrancer.memory.history.activity import (
    SearchUnknown,
    active_users,
    day_counts,
    fact_news,
    find_search,
    list_searches,
    searches_by_day,
)
from remembrancer.memory.history.forget import forget
from remembrancer.protocol.forget import Forget
from remembrancer.testing import FrozenClock

DAY_MS = 86_400_000


def clock_of(memory: Memory) -> FrozenClock:
    """Return the clock of the memory."""
    assert isinstance(memory.context.clock, FrozenClock)
    return memory.context.clock


def test_queries_read_indexes_and_sort_no_whole_table(memory: Memory) -> None:
    """The work for a page must not grow with the number of all turns."""
    plans = {name: plan(memory.context, sql) for name, sql in vars(activity.SQL).items()}

    assert "events USING INDEX events_occurred (" in plans["turns_by_day"]
    assert "steps USING INDEX steps_asked (asked_ms>? AND asked_ms<?)" in plans["latest_steps"]
    assert "steps USING INDEX steps_asked (asked_ms>?)" in plans["steps_by_day"]
    assert (
        "events USING INDEX events_session (session=? AND created_ms>? AND created_ms<?)"
        in (plans["turn_of_step"])
    )
    scans = {
        (name, line)
        for name, text in plans.items()
        for line in text.split("\n")
        if line.startswith("SCAN")
    }
    assert {line for _, line in scans} <= {"SCAN latest", "SCAN found", "SCAN spaces"}


def test_forgotten_users_are_not_listed(memory: Memory) -> None:
    memory.tell("q", "r")
    forget(memory.context, memory.caller, Forget(user_id="ada", confirm="ada"))

    assert active_users(memory.context, memory.caller) == []


def test_pinned_key_sees_its_own_user_alone(memory: Memory) -> None:
    memory.tell("q", "r")
    memory.tell("q", "r", user_id="bo")
    pinned = memory.pinned("bo") if hasattr(memory, "pinned") else None
    caller = pinned or memory.caller.__class__(
        account_id=memory.caller.account_id,
        account_name=memory.caller.account_name,
        is_owner=False,
        key_id=memory.caller.key_id,
        pinned_user_id="bo",
    )

    assert [user.user_id for user in active_users(memory.context, caller)] == ["bo"]
    with pytest.raises(PinnedToOtherUser):
        list_searches(memory.context, caller, user_id="ada")
    with pytest.raises(PinnedToOtherUser):
        day_counts(memory.context, caller, "ada", low_ms=0, high_ms=1)


def test_days_are_counted_by_the_time_turns_belong_to(memory: Memory, tmp_path: Path) -> None:
    times = ["2025-03-01T00:00:00Z", "2025-03-01T23:59:59Z", "2025-03-02T00:00:00Z"]
    path = tmp_path / "chat.jsonl"
    path.write_text(
        "\n".join(json.dumps({"query": f"{t}?", "response": "r", "occurred_at": t}) for t in times)
    )
    source = importer.read(memory.context, memory.caller, path, user_id="ada")
    importer.store(memory.context, memory.caller, source)

    counts = day_counts(memory.context, memory.caller, "ada", low_ms=0, high_ms=1 << 50)

    assert list(counts.turns.values()) == [2, 1]
    assert (counts.last_ms or 0) - (counts.first_ms or 0) == DAY_MS
    assert not counts.is_cut


def test_counts_of_days_say_when_only_the_latest_turns_count(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "COUNTED_TURNS_MAX", 2)
    for n in range(3):
        memory.tell(f"q{n}", "r")

    counts = day_counts(memory.context, memory.caller, "ada", low_ms=0, high_ms=1 << 50)

    assert (sum(counts.turns.values()), counts.is_cut) == (2, True)


def test_searches_are_paged_without_gaps_and_end_after_thirty_days(memory: Memory) -> None:
    memory.ask("long ago", interact=True, session_id="old")
    clock_of(memory).advance(31 * DAY_MS)
    for n in range(5):
        memory.ask(f"q{n}", interact=True, session_id=f"s{n}")
        clock_of(memory).advance(1000)
    names: list[str] = []
    behind = None
    while True:
        searches, behind = list_searches(memory.context, memory.caller, behind=behind, most=2)
        names += [one.session_id for one in searches]
        if behind is None:
            break

    assert names == ["s4", "s3", "s2", "s1", "s0"]


def test_search_knows_its_turn_and_what_it_returned_first(memory: Memory) -> None:
    event_id = memory.tell("When does the ferry leave?", "At nine.", session_id="before")
    memory.ask("ferry", interact=True, session_id="s")
    memory.tell("And back?", "At ten.", session_id="s")
    memory.ask("ferry", interact=True, session_id="s")

    first = find_search(memory.context, memory.caller, "ada", "s", 1)
    second = find_search(memory.context, memory.caller, "ada", "s", 2)

    assert [event.event_id for event in first.recalled] == [event_id]
    assert first.turn is not None
    assert first.turn.response == "At ten."
    assert (second.turn, second.hits) == (None, 2)
    with pytest.raises(SearchUnknown):
        find_search(memory.context, memory.caller, "ada", "s", 3)
    with pytest.raises(SearchUnknown):
        find_search(memory.context, memory_in(memory.context, "bob").caller, "ada", "s", 1)


def test_searches_and_duties_are_counted_by_day(memory: Memory) -> None:
    memory.ask("q", interact=True)
    memory.tell("q", "r")
    clock_of(memory).advance(DAY_MS)
    memory.ask("q", interact=True)
    memory.ask("q", interact=True)

    yesterday, today = searches_by_day(memory.context, memory.caller, days=2)

    assert (yesterday.searches, yesterday.turns_due, yesterday.remembered) == (1, 1, 1)
    assert (today.searches, today.answered, today.turns_due, today.remembered) == (2, 2, 1, 0)


def test_new_facts_name_what_they_replaced(memory: Memory) -> None:
    memory.tell("q", "r", critical="Ada lives in Genoa.")
    clock_of(memory).advance(8 * DAY_MS)
    memory.tell("q2", "r2", critical="Ada lives in Livorno.")
    since_ms = memory.context.clock() - 7 * DAY_MS

    [news] = fact_news(memory.context, memory.caller, since_ms=since_ms)

    assert (news.text, news.replaced) == ("Ada lives in Livorno.", "Ada lives in Genoa.")
    assert fact_news(memory.context, memory_in(memory.context, "bob").caller, since_ms=0) == []

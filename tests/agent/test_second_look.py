"""Second look through a real store:

which turn is found, what a session was shown, and that neither slows anybody.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engines import only_sqlite

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.second_look import SQL, TurnNotSaved, second_look
from remembrancer.context import Caller, Context
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.write.remember import remember
from remembrancer.protocol.memory import MemoryQuery, Turn
from remembrancer.protocol.second_look import SecondLook


@pytest.fixture
def caller(context: Context) -> Caller:
    """The owner."""
    return caller_for(context)


def search(
    context: Context,
    caller: Caller,
    text: str,
    *,
    interact: bool = True,
    session_id: str = "default",
) -> list[str]:
    """Ids of the events that a search returned."""
    query = MemoryQuery(query_text=text, user_id="owner", interact=interact, session_id=session_id)
    return [hit.event_id for hit in recall(context, caller, query).hits]


def shown(context: Context) -> int:
    """How many events sessions were shown."""
    return int(context.store.read(lambda tx: tx.one("select count(*) as n from shown_events")).n)


def test_what_a_session_is_shown_is_kept_once(context: Context, caller: Caller) -> None:
    remember(context, caller, Turn(query="When does the ferry leave?", response="At 9:40."))
    for _ in range(3):
        assert len(search(context, caller, "ferry")) == 1

    assert shown(context) == 1


def test_a_key_that_may_not_write_leaves_no_trace(context: Context, caller: Caller) -> None:
    """A read-only key writes nothing (specification.md#look-stores-no-text)."""
    remember(context, caller, Turn(query="When does the ferry leave?", response="At 9:40."))
    search(
        context, caller, "ferry", interact=False
    )  # the session has not begun: nothing will be cited in it
    assert search(context, replace(caller, read_only=True), "ferry")

    assert shown(context) == 0


def test_a_secret_that_was_masked_is_told_all_the_same(folder: Path) -> None:
    """The setting `secrets` = mask keeps another text than the draft; it is the same turn."""
    made = testing.context(folder)
    context = replace(made, settings=replace(made.settings, secrets="mask"))
    caller = caller_for(context)
    draft = "Take password = hunter2xyz for it."
    kept = remember(context, caller, Turn(query="And?", response=draft))
    answer = second_look(context, caller, SecondLook(draft=draft))
    made.close()

    assert (answer.status, answer.event_id) == ("fail", kept.event_id)
    assert [check.check for check in answer.checks if check.status == "fail"] == ["no_secret"]


def test_two_answers_that_begin_alike_and_are_as_long_are_two(
    context: Context, caller: Caller
) -> None:
    """Only the length and the beginning of a response are in the index."""
    first, second = (
        f"{'It is as it was, and so it will stay for long: '}{end}" for end in ("abc", "xyz")
    )
    kept = remember(context, caller, Turn(query="And?", response=first))
    assert second_look(context, caller, SecondLook(draft=first)).event_id == kept.event_id
    with pytest.raises(TurnNotSaved):
        second_look(context, caller, SecondLook(draft=second))


def test_yesterday_in_an_event_is_the_day_before_it_was_said(
    context: Context, caller: Caller
) -> None:
    """Relative dates count from `occurred_at` (specification.md#look-values)."""
    told = Turn.model_validate(
        {
            "query": "I planted the oak yesterday.",
            "response": "Good.",
            "occurred_at": "2025-04-02T08:00:00Z",
        }
    )
    event_id = remember(context, caller, told).event_id
    search(context, caller, "oak")
    answers = []
    for day in ("1 April 2025", "2 May 2025"):
        draft = f"You planted it on {day} (ref: {event_id})."
        remember(context, caller, Turn(query="When?", response=draft))
        answers.append(second_look(context, caller, SecondLook(draft=draft)).status)

    assert answers == ["pass", "fail"]


@pytest.mark.parametrize("user_id", [None, "owner"])
def test_the_turn_is_found_by_an_index(
    context: Context, caller: Caller, user_id: str | None
) -> None:
    """However many events there are, and whoever else answered with the same words."""
    only_sqlite()
    values = {"reply": "2 ok", "draft": "ok", "account_id": caller.account_id, "user_id": user_id}
    plan = context.store.read(
        lambda tx: [
            str(row[3]) for row in tx.all(f"explain query plan {SQL.turn_of_reply}", **values)
        ]
    )

    assert any(
        "events USING INDEX events_reply (reply=? AND rowid>? AND rowid<?)" in step for step in plan
    ), plan


@pytest.mark.parametrize("draft", ["Да", "好的。", "😀" * 50, "a" * 39 + " b", "a" * 40 + "\nb"])
def test_white_space_of_any_kind_at_the_end_is_aside(
    context: Context, caller: Caller, draft: str
) -> None:
    """The store computes what a turn is found by; it leaves aside what Python does."""
    every = "".join(chr(code) for code in range(1, 0x3001) if chr(code).isspace())
    kept = remember(context, caller, Turn(query="And?", response=draft + every))

    assert second_look(context, caller, SecondLook(draft=draft)).event_id == kept.event_id
    assert second_look(context, caller, SecondLook(draft=draft + "\n")).event_id == kept.event_id

"""Second look through a real store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from remembrancer import testing
from remembrancer.accounts import caller_for
from remembrancer.agent.second_look import second_look
from remembrancer.context import Caller, Context
from remembrancer.memory.exchange import importer
from remembrancer.memory.recall.recall import recall
from remembrancer.memory.remember import remember
from remembrancer.memory.write.turns import write_event
from remembrancer.protocol.agent import SecondLook
from remembrancer.protocol.memory import EventWrite, Turn
from remembrancer.protocol.search import MemoryQuery


@pytest.fixture
def caller(context: Context) -> Caller:
    """Return the owner."""
    return caller_for(context)


def search(
    context: Context,
    caller: Caller,
    text: str,
    *,
    interact: bool = True,
    session_id: str = "default",
) -> list[str]:
    """Return the ids of the events that a search returned."""
    query = MemoryQuery(query_text=text, user_id="owner", interact=interact, session_id=session_id)
    return [hit.event_id for hit in recall(context, caller, query).hits]


def test_masked_secret_is_still_reported(folder: Path) -> None:
    """With `secrets` = mask the stored text differs from the draft; it is the same turn."""
    base = testing.context(folder)
    context = replace(base, settings=replace(base.settings, secrets="mask"))
    caller = caller_for(context)
    draft = "Take password = hunter2xyz for it."
    stored = remember(context, caller, Turn(query="And?", response=draft))
    answer = second_look(context, caller, SecondLook(draft=draft))
    base.close()

    assert (answer.status, answer.event_id) == ("fail", stored.event_id)
    assert [check.check for check in answer.checks if check.status == "fail"] == ["no_secret"]


def _remember(context: Context, caller: Caller, turn: dict[str, str], _folder: Path) -> None:
    remember(context, caller, Turn.model_validate(turn))


def _write_event(context: Context, caller: Caller, turn: dict[str, str], _folder: Path) -> None:
    write_event(context, caller, EventWrite.model_validate({**turn, "user_id": "owner"}))


def _import(context: Context, caller: Caller, turn: dict[str, str], folder: Path) -> None:
    path = folder / "turns.jsonl"
    path.write_text(json.dumps(turn), "utf-8")
    importer.store(context, caller, importer.read(caller, path, user_id="owner"))


@pytest.mark.parametrize("write", [_remember, _write_event, _import])
@pytest.mark.parametrize(
    ("words", "occurred_at", "day", "utc_day"),
    [
        ("tomorrow", "2026-03-01T23:30:00-08:00", "2 March 2026", "3 March 2026"),
        ("yesterday", "2026-03-02T00:30:00+05:30", "1 March 2026", "28 February 2026"),
        ("next Friday", "2026-03-06T23:00:00-05:00", "13 March 2026", "14 March 2026"),
        ("übermorgen", "2026-03-01T00:15:00+01:00", "3 March 2026", "2 March 2026"),
        ("tomorrow", "2026-03-01T23:30:00Z", "2 March 2026", "3 March 2026"),
    ],
)
def test_relative_dates_of_an_event_are_read_in_its_zone(
    context: Context,
    caller: Caller,
    folder: Path,
    write: Callable[..., None],
    words: str,
    occurred_at: str,
    day: str,
    utc_day: str,
) -> None:
    """The offset of `occurred_at` says which day it was (specification.md#look-zone)."""
    turn = {"query": f"The oak: {words}.", "response": "Good.", "occurred_at": occurred_at}
    write(context, caller, turn, folder)
    (event_id,) = search(context, caller, "oak")

    statuses = []
    for date in (day, utc_day):
        draft = f"It is on {date} (ref: {event_id})."
        remember(context, caller, Turn(query="When?", response=draft))
        statuses.append(second_look(context, caller, SecondLook(draft=draft)).status)

    assert statuses == ["pass", "fail"]


def test_relative_dates_of_a_draft_are_read_in_the_zone_of_its_turn(
    context: Context, caller: Caller
) -> None:
    """The offset of the turn's `occurred_at` counts (specification.md#look-zone)."""
    event_id = remember(
        context, caller, Turn(query="We plant the oak on 2 March 2026.", response="Good.")
    ).event_id
    search(context, caller, "oak")
    draft = f"You plant it tomorrow (ref: {event_id})."

    statuses = []
    for occurred_at in ("2026-03-01T23:30:00-08:00", "2026-03-01T23:30:00+00:00"):
        turn = {"query": f"When, at {occurred_at}?", "response": draft, "occurred_at": occurred_at}
        remember(context, caller, Turn.model_validate(turn))
        statuses.append(second_look(context, caller, SecondLook(draft=draft)).status)
    later = {"query": "And now?", "response": draft, "occurred_at": "2026-03-02T00:30:00+01:00"}
    remember(context, caller, Turn.model_validate(later))

    assert statuses == ["pass", "pass"]
    assert second_look(context, caller, SecondLook(draft=draft)).status == "fail"

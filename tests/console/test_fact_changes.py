"""The page of one fact: its history, and the forms to change, pin, end, restore and delete it."""

from __future__ import annotations

import re

import pytest
from console.fact_pages import (
    DAY_MS,
    HERE,
    LIST,
    MINUTE_MS,
    add,
    history_of,
    listed,
    local,
    page_of,
)
from console.reader import Reader, words_of

from remembrancer.memory.facts.life import TIMELINE_MAX
from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock

# One fact and its history.


def test_timeline_lists_the_whole_chain_oldest_first(owner: Reader, clock: FrozenClock) -> None:
    facts = [add(owner, "Ada lives in Genoa.")]
    for city in ("Pisa", "Livorno", "Lucca"):
        clock.advance(MINUTE_MS)
        facts.append(add(owner, f"Ada lives in {city}.", replaces=facts[-1]["fact_id"]))
    history = history_of(page_of(owner, facts[1]["fact_id"]))

    assert [re.findall(r"lives in (\w+)", entry)[0] for entry in history] == [
        "Genoa",
        "Pisa",
        "Livorno",
        "Lucca",
    ]
    assert ["(this fact)" in entry for entry in history] == [False, True, False, False]
    day = [fact["valid_from"][:16].replace("T", " ") for fact in facts]
    assert f"since {day[0]} until {day[1]} superseded" in history[0]
    assert f"since {day[3]} current" in history[3]


def test_timeline_joins_facts_that_one_fact_replaced(owner: Reader) -> None:
    first = add(owner, "Ada owns a boat.")
    second = add(owner, "The garden is large.")
    third = add(owner, "Ada has neither.", replaces=first["fact_id"])
    add(owner, "Ada has nothing.", replaces=third["fact_id"])
    owner.send(f"{HERE}/wording", fact_id=second["fact_id"], text="Ada has nothing.")

    assert len(history_of(page_of(owner, third["fact_id"]))) == 3
    [newest] = listed(owner)
    assert len(history_of(page_of(owner, newest["fact_id"]))) == 4


def test_long_timeline_shows_its_newest_facts(owner: Reader) -> None:
    fact = add(owner, "Number 0.")
    for n in range(1, TIMELINE_MAX + 1):
        fact = add(owner, f"Number {n}.", replaces=fact["fact_id"])
    page = page_of(owner, fact["fact_id"])
    history = history_of(page)

    assert "Only the newest 100 facts." in page
    assert len(history) == TIMELINE_MAX
    assert "Number 1." in history[0]
    assert f"Number {TIMELINE_MAX}." in history[-1]


def test_page_of_a_fact_links_to_all_its_turns(owner: Reader) -> None:
    events = [
        owner.http.remember(f"q{n}", "r", critical="Ada sails.")["event_id"] for n in range(2)
    ]
    page = page_of(owner, listed(owner)[0]["fact_id"])

    assert all(f"event_id={event_id}" in page for event_id in events)


# Change.


def test_another_wording_keeps_the_fact_and_its_pin(owner: Reader, clock: FrozenClock) -> None:
    old = add(owner, "Ada sails on Sundays.", pinned=True)
    clock.advance(MINUTE_MS)
    answer = owner.send(f"{HERE}/wording", fact_id=old["fact_id"], text="Ada sails on Mondays.")
    page = owner.followed(answer).text
    [new] = listed(owner)

    assert "The wording is changed.</p>" in page
    assert (new["text"], new["pinned"]) == ("Ada sails on Mondays.", True)
    assert (new["fact_id"], new["valid_from"]) == (old["fact_id"], rfc3339(clock()))
    assert [one["text"] for one in new["versions"]] == ["Ada sails on Sundays."]
    assert ["Sundays" in entry for entry in history_of(page)] == [True, False]


def test_another_wording_may_hold_since_an_earlier_time(owner: Reader) -> None:
    old = add(owner, "Ada sials.", valid_from="2025-03-01T09:30:00Z")
    form = {"text": "Ada sails.", "since": "2025-03-01T09:30:00"}
    owner.followed(owner.send(f"{HERE}/wording", fact_id=old["fact_id"], **form))

    assert listed(owner)[0]["valid_from"] == "2025-03-01T09:30:00.000Z"


def test_same_wording_changes_nothing(owner: Reader) -> None:
    fact = add(owner, "Ada sails.")
    answer = owner.send(f"{HERE}/wording", fact_id=fact["fact_id"], text=" Ada sails. ")

    assert "Nothing changed" in owner.followed(answer).text
    assert len(listed(owner, "all")) == 1


def test_rejected_wording_is_kept_in_the_form(owner: Reader, clock: FrozenClock) -> None:
    fact = add(owner, "Ada sails.", valid_to=rfc3339(clock() + DAY_MS))
    entered = {"fact_id": fact["fact_id"], "text": "Ada sails <i>far</i>."}
    no_time = owner.send(f"{HERE}/wording", **entered, since="soon")
    too_late = owner.send(f"{HERE}/wording", **entered, since=local(clock() + 2 * DAY_MS))

    assert (no_time.status_code, too_late.status_code) == (422, 422)
    assert "Enter a time such as" in no_time.text
    assert "This must be earlier than the end of the fact." in too_late.text
    assert all("Ada sails &lt;i&gt;far&lt;/i&gt;." in page.text for page in (no_time, too_late))
    assert [one["text"] for one in listed(owner, "all")] == ["Ada sails."]


def test_wording_of_a_fact_that_was_superseded_meanwhile_is_not_lost(owner: Reader) -> None:
    old = add(owner, "Ada sails.")
    add(owner, "Ada rows.", replaces=old["fact_id"])
    answer = owner.send(f"{HERE}/wording", fact_id=old["fact_id"], text="Ada sails far.")

    assert answer.status_code == 409
    assert "Ada sails far." in answer.text
    assert "The fact was superseded" in words_of(answer.text)


def test_times_are_set_and_cleared(owner: Reader, clock: FrozenClock) -> None:
    fact = add(owner, "Ada sails.")
    times = {
        "valid_from": "2025-03-01T09:30:15",
        "valid_to": local(clock() + DAY_MS),
        "expires_at": local(clock() + 2 * DAY_MS),
    }
    owner.followed(owner.send(f"{HERE}/times", fact_id=fact["fact_id"], **times))
    [changed] = listed(owner)
    cleared = {"valid_from": times["valid_from"], "valid_to": "", "expires_at": ""}
    owner.followed(owner.send(f"{HERE}/times", fact_id=fact["fact_id"], **cleared))
    [opened] = listed(owner)

    assert changed["valid_from"] == "2025-03-01T09:30:15.000Z"
    assert changed["valid_to"][:16] == times["valid_to"]
    assert changed["expires_at"][:16] == times["expires_at"]
    assert (opened["valid_to"], opened["expires_at"]) == (None, None)
    assert (opened["fact_id"], opened["valid_from"]) == (fact["fact_id"], changed["valid_from"])


def test_times_that_were_not_changed_keep_their_milliseconds(owner: Reader) -> None:
    fact = add(owner, "Ada sails.", valid_from="2025-03-01T09:30:15.123Z")
    page = page_of(owner, fact["fact_id"])
    [shown_time] = re.findall(r'name="valid_from" value="([^"]*)"', page)
    form = {"valid_from": shown_time, "valid_to": "2035-01-01T00:00"}
    owner.followed(owner.send(f"{HERE}/times", fact_id=fact["fact_id"], **form))

    assert listed(owner)[0]["valid_from"] == "2025-03-01T09:30:15.123Z"
    assert listed(owner)[0]["valid_to"] == "2035-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("valid_from", "", "This field is required."),
        ("valid_from", "never", "Enter a time such as 2026-03-01T09:30."),
        ("valid_to", "2025-01-01T00:00", "This must be later than the start."),
        ("expires_at", "2020-01-01T00:00", "This time has passed. Enter a later one."),
    ],
)
def test_invalid_times_change_nothing_and_stay_in_the_form(
    owner: Reader, field: str, value: str, message: str
) -> None:
    fact = add(owner, "Ada sails.", valid_from="2025-03-01T09:30:00Z")
    form = {"valid_from": "2025-03-02T09:30", "valid_to": "2035-01-01T00:00", field: value}
    answer = owner.send(f"{HERE}/times", fact_id=fact["fact_id"], **form)

    assert answer.status_code == 422
    assert message in answer.text
    assert f'name="{field}" value="{value}"' in answer.text
    assert listed(owner) == [fact]


def test_fact_is_pinned_and_unpinned_from_the_list(owner: Reader) -> None:
    fact = add(owner, "Ada sails.")
    form = {"fact_id": fact["fact_id"], "back": f"{LIST}&status=all"}
    pinned = owner.send(f"{HERE}/state", **form, do="pin")
    is_pinned = listed(owner)[0]["pinned"]
    owner.followed(owner.send(f"{HERE}/state", **form, do="unpin"))

    assert pinned.headers["location"] == form["back"]
    assert is_pinned is True
    assert listed(owner)[0]["pinned"] is False


def test_form_leads_back_only_to_pages_of_the_console(owner: Reader) -> None:
    fact = add(owner, "Ada sails.")
    form = {"fact_id": fact["fact_id"], "back": "//evil.example/", "do": "pin"}

    assert owner.send(f"{HERE}/state", **form).headers["location"].startswith(f"{LIST}&fact_id=")


def test_fact_ends_now_and_can_be_opened_again(owner: Reader, clock: FrozenClock) -> None:
    fact = add(owner, "Ada sails.")
    clock.advance(MINUTE_MS)
    owner.followed(owner.send(f"{HERE}/state", fact_id=fact["fact_id"], do="end"))
    [ended] = listed(owner, "expired")
    form = {"valid_from": fact["valid_from"][:19], "valid_to": ""}
    owner.followed(owner.send(f"{HERE}/times", fact_id=fact["fact_id"], **form))

    assert ended["valid_to"] == rfc3339(clock())
    assert listed(owner) == [fact]


def test_fact_that_has_not_begun_cannot_end_now(owner: Reader, clock: FrozenClock) -> None:
    fact = add(owner, "Ada sails.", valid_from=rfc3339(clock() + DAY_MS))
    answer = owner.send(f"{HERE}/state", fact_id=fact["fact_id"], do="end")

    assert answer.status_code == 422
    assert "This must be later than the start." in answer.text


def test_superseded_fact_holds_again(owner: Reader) -> None:
    old = add(owner, "Ada lives in Genoa.")
    new = add(owner, "Ada lives in Livorno.", replaces=old["fact_id"])
    page = page_of(owner, old["fact_id"])
    owner.followed(owner.send(f"{HERE}/state", fact_id=old["fact_id"], do="restore"))

    assert "Holds again" in page
    assert "Holds again" not in page_of(owner, new["fact_id"])
    assert {fact["fact_id"] for fact in listed(owner)} == {old["fact_id"], new["fact_id"]}


def test_fact_cannot_hold_again_beside_an_equal_one(owner: Reader) -> None:
    old = add(owner, "Ada lives in Genoa.")
    new = add(owner, "Ada moved.", replaces=old["fact_id"])
    add(owner, "Ada lives in Genoa.", replaces=new["fact_id"])
    answer = owner.send(f"{HERE}/state", fact_id=old["fact_id"], do="restore")

    assert answer.status_code == 409
    assert "Another current fact has the same text." in answer.text


def test_deleted_fact_is_erased_and_its_timeline_stays_whole(owner: Reader) -> None:
    old = add(owner, "Ada snores.")
    new = add(owner, "Ada sleeps well.", replaces=old["fact_id"])
    page = owner.followed(owner.send(f"{HERE}/remove", fact_id=old["fact_id"])).text
    history = history_of(page_of(owner, new["fact_id"]))

    assert "The fact is deleted; its text is erased." in page
    assert "snores" not in owner.get(f"{LIST}&status=all").text
    assert ["Text erased" in entry for entry in history] == [True, False]
    removed = page_of(owner, old["fact_id"])
    assert not re.search(r'action="/console/facts/', removed)

"""The page of one fact: its history, and the forms to change, pin, end, restore and delete it."""

from __future__ import annotations

import re

import pytest
from console.fact_pages import (
    DAY_MS,
    HERE,
    LIST,
    add,
    history_of,
    listed,
    local,
    page_of,
)
from console.reader import Reader, words_of

from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock


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


def test_form_leads_back_only_to_pages_of_the_console(owner: Reader) -> None:
    fact = add(owner, "Ada sails.")
    form = {"fact_id": fact["fact_id"], "back": "//evil.example/", "do": "pin"}

    assert owner.send(f"{HERE}/state", **form).headers["location"].startswith(f"{LIST}&fact_id=")


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

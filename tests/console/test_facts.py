"""Facts and wishes in the memory page: the list, the form to add one, and the page of one fact."""

from __future__ import annotations

import re
from typing import Any

import pytest
from console.reader import Reader, words_of

from remembrancer.protocol.limits import CRITICAL_CHARACTERS_MAX
from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock

HERE = "/console/facts"  # forms
LIST = "/console/memory?kind=fact"
FACTS = "/api/v7/memory/facts"
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def add(reader: Reader, text: str, **more: Any) -> Any:
    """Add a fact over HTTP and return it as stored."""
    answer = reader.http.post(FACTS, {"text": text, **more}).raise_for_status().json()
    return answer["fact"]


def listed(reader: Reader, status: str = "current") -> list[Any]:
    """Return the facts of the reader's own user over HTTP."""
    answer = reader.http.get(FACTS, params={"status": status}).raise_for_status().json()
    return list(answer["facts"])


def page_of(reader: Reader, fact_id: str) -> str:
    """Return the page of a fact."""
    answer = reader.get(f"{LIST}&fact_id={fact_id}")
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def history_of(page: str) -> list[str]:
    """Return the visible text of each entry of the timeline."""
    [history] = re.findall(r'<ol class="timeline".*?</ol>', page, re.DOTALL)
    return [words_of(entry) for entry in re.findall(r"<li.*?</li>", history, re.DOTALL)]


def local(ms: int) -> str:
    """Return a time as a `datetime-local` field sends it, to the minute."""
    return rfc3339(ms)[:16]


def test_facts_are_listed_newest_first_with_times_writer_and_turn(
    owner: Reader, clock: FrozenClock
) -> None:
    saved = owner.http.remember("q", "r", critical="Ada sails.", occurred_at="2025-03-01T09:30:00Z")
    add(owner, "Ada sings.", pinned=True, expires_at=rfc3339(clock() + DAY_MS))
    page_text = words_of(owner.get(LIST).text)
    sings, sails = (page_of(owner, fact["fact_id"]) for fact in listed(owner))

    assert page_text.index("Ada sings. Fact") < page_text.index("Ada sails. Fact 2025-03-01 09:30")
    assert page_text.count("pinned") == 1
    assert "since 2025-03-01 09:30" in words_of(sails)
    assert f"event_id={saved['event_id']}" in sails
    assert f"erased at {rfc3339(clock() + DAY_MS)[:16].replace('T', ' ')}" in words_of(sings)
    assert f"Written by {listed(owner)[0]['written_by']}" in words_of(sings)


def test_notice_says_which_facts_a_new_one_replaces(owner: Reader) -> None:
    add(owner, "Ada lives in Genoa.")
    replaced = owner.followed(owner.send(f"{HERE}/add", text="Ada lives in Livorno.")).text
    again = owner.followed(owner.send(f"{HERE}/add", text="Ada lives in Livorno.")).text

    assert "It takes the place of 1 fact." in replaced
    assert "This fact was already stored." in again
    assert len(listed(owner)) == 1


def test_notice_names_facts_that_a_new_one_may_contradict(owner: Reader) -> None:
    add(owner, "Ada drives a Fiat.")
    page = owner.followed(owner.send(f"{HERE}/add", text="Ada drives a Volvo.")).text

    assert "It may contradict “Ada drives a Fiat.”: end or delete what no longer holds." in page
    assert len(listed(owner)) == 2


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("text", " ", "This must not be blank."),
        ("text", "x" * (CRITICAL_CHARACTERS_MAX + 1), "At most 2,000 characters."),
        ("valid_from", "yesterday", "Enter a time such as 2026-03-01T09:30."),
        ("valid_from", "2025-02-30T09:30", "Enter a time such as 2026-03-01T09:30."),
        ("expires_at", "2020-01-01T00:00", "This time has passed. Enter a later one."),
    ],
)
def test_invalid_fact_is_not_stored_and_the_entered_values_stay(
    owner: Reader, field: str, value: str, message: str
) -> None:
    form = {"text": "Ada <b>sails</b>.", "valid_from": "2025-03-01T09:30", "pinned": "on"}
    answer = owner.send(f"{HERE}/add", **{**form, field: value})

    assert answer.status_code == 422
    assert message in words_of(answer.text)
    assert ("Ada &lt;b&gt;sails&lt;/b&gt;." in answer.text) == (field != "text")
    assert ('value="2025-03-01T09:30"' in answer.text) == (field != "valid_from")
    assert 'name="pinned" checked' in answer.text
    assert listed(owner, "all") == []


def test_a_wish_is_moved_between_projects_and_the_person(owner: Reader) -> None:
    """specification.md#search-project-own."""
    fact = add(owner, "Use pnpm, not npm.", metadata={"project": "shelf", "team": "core"})
    form = {"fact_id": fact["fact_id"]}
    assert "project shelf" in words_of(page_of(owner, fact["fact_id"]))

    metadata = []
    for name in ("tide", " "):
        owner.followed(owner.send(f"{HERE}/project", **form, project=name))
        metadata.append(listed(owner)[0]["metadata"])
    refused = owner.send(f"{HERE}/project", **form, project="x" * 1_001)

    assert metadata == [{"project": "tide", "team": "core"}, {"team": "core"}]
    assert refused.status_code == 422
    assert listed(owner)[0]["metadata"] == {"team": "core"}


@pytest.mark.parametrize("form", ["wording", "times", "project", "state", "remove"])
def test_form_for_an_unknown_fact_answers_404(owner: Reader, form: str) -> None:
    entered = {"text": "Ada rows.", "valid_from": "2025-03-01T09:30", "do": "pin"}

    for fact_id in ("", "f_none"):
        assert owner.send(f"{HERE}/{form}", fact_id=fact_id, **entered).status_code == 404


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

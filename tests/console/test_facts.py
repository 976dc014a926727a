"""Facts and wishes in the memory page: the list, the form to add one; access; a real browser."""

from __future__ import annotations

import pytest
from console.fact_pages import DAY_MS, HERE, LIST, add, listed, page_of
from console.reader import Reader, words_of

from remembrancer.protocol.limits import CRITICAL_CHARACTERS_MAX
from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock


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

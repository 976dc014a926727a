"""No page, file and form of the console reads or changes what belongs to another account."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from console.pages import EVERY_FORM_OF_A_SESSION, EVERY_PAGE
from console.reader import Reader, words_of
from console.things import put_facts, put_things

from remembrancer.console.exports import LISTS
from remembrancer.console.exports import PATH as EXPORT

MARKS = ("38 euros", "Livorno", "Packing list", "two weeks ahead", "trip-to-elba")
FORM = {
    "sure": "yes", "confirm": "owner", "text": "Another.", "vote": "useful", "do": "unpin",
    "valid_from": "2025-03-01T09:30", "answer": "Another.", "label": "Another.", "state": "closed",
    "project": "another",
}  # fmt: skip


@pytest.fixture
def ids(owner: Reader) -> dict[str, str]:
    """The ids of the owner's records, by the names that pages and forms have for them."""
    put_things(owner.http)
    put_facts(owner.http, user_id="owner")

    def first(name: str, field: str) -> str:
        records = owner.get(f"{EXPORT}?list={name}&format=json&user_id=owner").json()
        return str(records[0][field])

    return {
        "event_id": first("turns", "event_id"),
        "fact_id": first("facts", "fact_id"),
        "cube_id": first("lessons", "cube_id"),
        "feedback_id": first("feedback", "feedback_id"),
        "filename": first("files", "filename"),
        "key_id": first("keys", "id"),
        "before": first("files", "filename"),
        "behind": "trip-to-elba",
        "session_id": "trip-to-elba",
        "version": "1",
        f"pick_{first('facts', 'fact_id')}": "on",
        "event_ids": first("turns", "event_id"),
        "step": "1",
    }


def lists(owner: Reader) -> dict[str, str]:
    """Return every list that the console exports, with the owner's records."""
    return {
        name: owner.get(f"{EXPORT}?list={name}&format=json&user_id=owner&status=all").text
        for name in LISTS
        if name != "browsers"  # a session has a name of its own in each request
    }


def test_no_page_and_no_export_shows_them(owner: Reader, ada: Reader, ids: dict[str, str]) -> None:
    """An id of another account is an unknown one (specification.md#api-other-accounts)."""
    assert all(any(mark in text for text in lists(owner).values()) for mark in MARKS)
    others = [("before", ids["feedback_id"]), ("query", "ferry"), ("noticed", "yes")]
    for path in (
        *EVERY_PAGE,
        "/console/memory?kind=fact&status=all",
        "/console/knows?propose=yes",
        *(f"{EXPORT}?list={name}" for name in LISTS),
    ):
        for user_id in ("owner", "ada"):
            for name, value in (*ids.items(), *others):
                page, unknown = (
                    ada.get(f"{path}{'&' if '?' in path else '?'}{urlencode(query)}")
                    for query in (
                        {"user_id": user_id, name: value},
                        {"user_id": user_id, name: f"{value[:-1]}9"},
                    )
                )
                text = words_of(page.text).replace(value, "")
                assert [mark for mark in MARKS if mark in text] == [], (path, name)
                assert page.status_code == unknown.status_code, (path, name)


def send_all(reader: Reader, path: str, ids: dict[str, str]) -> None:
    """Send a form once with each id."""
    for name, value in ids.items():
        answer = reader.send(path, **{**FORM, "user_id": "owner", name: value})
        assert answer.status_code < 500


@pytest.mark.parametrize(
    "path", [path for path in EVERY_FORM_OF_A_SESSION if path != "/console/sign-out"]
)
def test_no_form_changes_them(owner: Reader, ada: Reader, ids: dict[str, str], path: str) -> None:
    """The forms of records do change them when their owner sends the same."""
    before = lists(owner)

    send_all(ada, path, ids)

    assert lists(owner) == before
    if re.match(r"/console/(facts|files|cubes|memory)/|/profile/keys/", path):
        send_all(owner, path, ids)
        assert lists(owner) != before

"""Protocol compliance on the service page and on session pages."""

from __future__ import annotations

from console.reader import Reader, words_of
from service import new_key


def add_activity(reader: Reader) -> str:
    """Add one turn after a search, and one without, with a new key; return the key."""
    key = new_key(reader.context, reader.caller.account_name)
    http = reader.http.with_key(key)
    http.memory("ferry", reader.caller.account_name, session_id="trip")
    http.remember("When?", "Nobody said.", session_id="trip")
    http.remember("And back?", "Nobody said that either.", session_id="trip")
    http.post("/api/v7/agent/second-look", {"draft": "Nobody said."})
    return key


def test_service_page_shows_the_compliance_of_its_own_account(owner: Reader, ada: Reader) -> None:
    add_activity(owner)

    page_text = words_of(owner.get("/console/service").text)

    assert "1 counted searches, 2 turns" in page_text
    assert "Searched before a turn 50 % 1 2" in page_text
    assert "Remembered the turn 100 % 1 1" in page_text
    assert "Replied with a receipt not due 0 0" in page_text
    assert "Passed the second look 100 % 1 1" in page_text
    assert "No agent took part" in words_of(ada.get("/console/service").text)


def test_service_page_lists_compliance_per_key(owner: Reader) -> None:
    add_activity(owner)
    second = add_activity(owner)

    page_text = words_of(owner.get("/console/service").text)

    assert f"for a test {second[3:11]} 1" in page_text


def test_session_page_shows_its_compliance(owner: Reader) -> None:
    add_activity(owner)
    owner.http.remember("q", "r", session_id="without a search")

    page_text = words_of(owner.get("/console/sessions?session_id=trip").text)

    assert "Protocol compliance" in page_text
    assert "Searched before a turn 50 % 1 2" in page_text
    assert "Requested a second look 100 % 1 1" in page_text
    other = owner.get("/console/sessions?session_id=without a search")
    assert (other.status_code, "Protocol compliance" in other.text) == (200, False)

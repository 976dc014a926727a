"""Turns that give another value than earlier ones, and turns of little use in an answer."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

OLD = ("I live in Rome.", "2024-01-10T09:00:00Z")
NEW = ("I moved to Berlin.", "2024-06-10T09:00:00Z")


def tell(http: Http, message: str, occurred_at: str | None = None, **more: Any) -> str:
    """Store a turn of Ada and return its event id."""
    turn = {"session_id": "talk", **more, **({"occurred_at": occurred_at} if occurred_at else {})}
    return str(http.remember(message, "Noted.", user_id="ada", **turn)["event_id"])


def hits(http: Http, query: str, **more: Any) -> list[Any]:
    """Return the hits of a search that counts nothing."""
    return list(http.memory(query, "ada", interact=False, **more)["hits"])


def ids(matches: list[Any]) -> list[str]:
    """Return the event ids of hits."""
    return [hit["event_id"] for hit in matches]


class TestAnotherValue:
    """Two turns that say where Ada lives."""

    @pytest.fixture
    def moves(self, http: Http) -> tuple[str, str]:
        """Return the event ids of the earlier and the later turn."""
        return tell(http, *OLD), tell(http, *NEW)

    def test_newer_turn_ranks_first_and_older_is_marked(
        self, http: Http, moves: tuple[str, str]
    ) -> None:
        """Neither is hidden (specification.md#search-superseded)."""
        older, newer = moves

        [first, second] = hits(http, "Does Ada live in Rome?")

        assert (first["event_id"], first["supersedes"]) == (newer, [older])
        assert (second["event_id"], second["superseded_by"]) == (older, newer)
        assert [one["signal"] for one in second["why"]][-1] == "superseded"

    def test_question_about_an_earlier_time_gets_both(
        self, http: Http, moves: tuple[str, str]
    ) -> None:
        """The replaced turn follows the one that replaced it, before turns about other things."""
        for place in ("kitchen", "garage", "office", "garden"):
            tell(http, f"Berlin, Berlin: a {place} in Berlin is where I moved boxes.")

        matches = hits(http, "Where in Berlin do I live, and where did I live before?", top_k=2)

        assert set(ids(matches)) == set(moves[:2])

    def test_as_of_an_earlier_time_there_was_no_newer_turn(
        self, http: Http, moves: tuple[str, str]
    ) -> None:
        """`as_of` is the memory as it stood (specification.md#search-as-of)."""
        [hit] = hits(http, "Where does Ada live?", as_of="2024-03-01T00:00:00Z")

        assert hit["event_id"] == moves[0]
        assert "superseded_by" not in hit

    def test_event_detail_names_both(self, http: Http, moves: tuple[str, str]) -> None:
        """The links are on the events too (specification.md#event-detail-response)."""
        older, newer = (http.get(f"/api/v7/event/{one}").json() for one in moves)

        assert older["superseded_by"] == moves[1]
        assert newer["supersedes"] == [moves[0]]

    def test_receipt_names_the_older_turn(self, http: Http) -> None:
        """The agent learns what changed (specification.md#remember-newer-value)."""
        older = tell(http, *OLD)

        saved = http.remember(NEW[0], "Noted.", user_id="ada", occurred_at=NEW[1])

        assert saved["receipts"][0]["detail"] == f"It gives a newer value than {older}."

    def test_turn_stored_late_is_the_older_one(self, http: Http) -> None:
        """The time a turn belongs to decides, not when it was stored."""
        newer, older = tell(http, *NEW), tell(http, *OLD)

        assert http.get(f"/api/v7/event/{older}").json()["superseded_by"] == newer

    def test_values_of_other_users_are_apart(self, http: Http, moves: tuple[str, str]) -> None:
        """A user's turn changes nothing of another user's."""
        other = http.remember("I moved to Oslo.", "Noted.", user_id="bob")

        assert "detail" not in other["receipts"][0]
        assert len(hits(http, "Where does Ada live?")) == len(moves)


def test_uncertain_change_moves_nothing(http: Http) -> None:
    """Rules that are not sure only name the turn (specification.md#search-superseded)."""
    older = tell(http, "Mark works in Munich.", "2024-01-01T00:00:00Z")
    newer = tell(http, "Mark works in Hamburg.", "2024-02-01T00:00:00Z")

    matches = {hit["event_id"]: hit for hit in hits(http, "Where does Mark work? Munich?")}

    assert matches[newer]["may_supersede"] == [older]
    assert "superseded_by" not in matches[older]
    assert ids(hits(http, "Munich"))[0] == older


class TestUse:
    """Turns of less use come after the others (specification.md#search-useful-first)."""

    def test_repetition_with_another_number_is_news(self, http: Http) -> None:
        """A message with another value repeats nothing."""
        for port in (8080, 9090):
            tell(http, f"The export server of the ledger in Oslo listens on port {port} at night.")
        tell(http, "The export server needs a larger disk.")

        matches = hits(http, "On which port does the export server of the ledger listen?", top_k=2)

        assert all("listens on port" in hit["query"] for hit in matches)

    def test_unverified_note_follows_the_rest(self, http: Http) -> None:
        """A turn that says of itself that it is unverified is no first answer."""
        rumour = tell(http, "An unverified note says that the ledger moves to version 3.11.")
        stated = tell(http, "The version of our tool is 3.12, which the ledger needs.")

        assert ids(hits(http, "Which version does the ledger move to?")) == [stated, rumour]

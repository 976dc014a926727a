"""Users, searches of several memories, and traces of searches, bounded and by account."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from console.reader import Reader
from console.reader import words_of as words_with_gaps
from service import Http
from teams import FERRY, good, new_team

from remembrancer.cli.evaluation import read_questions
from remembrancer.console import hits


def words_of(page: str) -> str:
    """Return the visible text of a page, without spaces before punctuation."""
    return re.sub(r" (?=[.,:;])", "", words_with_gaps(page))


def write(http: Http, user_id: str, query: str, response: str, **more: Any) -> str:
    """Store a turn of a user; return its event_id."""
    body = {"user_id": user_id, "query": query, "response": response, **more}
    return str(good(http.post("/api/v7/event/write", body))["event_id"])


class TestUsers:
    def test_user_with_the_latest_turn_comes_first(self, owner: Reader, http: Http) -> None:
        for user_id, time in (("mia", "2025-03-01T10:00:00Z"), ("bo", "2025-06-01T10:00:00Z")):
            write(http, user_id, "q", "r", occurred_at=time)
        text = words_of(owner.get("/console/users").text)

        assert text.index("bo 7 months ago") < text.index("mia 10 months ago")

    def test_names_are_found_by_their_beginning(self, owner: Reader, http: Http) -> None:
        for user_id in ("mia", "milo", "bo"):
            write(http, user_id, "q", "r")
        page = owner.get("/console/users?prefix=mi").text

        assert re.findall(r'<th scope="row"><a href="[^"]*">(\w+)</a>', page) == ["milo", "mia"]
        assert "No user with a turn" in owner.get("/console/users?prefix=zz").text


class TestSearchOfAllUsers:
    def test_best_hits_of_all_users_come_first_with_their_user(
        self, owner: Reader, http: Http
    ) -> None:
        write(http, "mia", "Where is the saw?", "In the shed, on the left.")
        write(http, "bo", "Where is the axe?", "In the cellar.")
        text = words_of(owner.get("/console/memory?query=where+is+the+saw&users=everyone").text)

        assert "of 2 users" in text
        assert text.index("In the shed") < text.index("In the cellar")
        assert "of mia" in text

    def test_other_accounts_are_no_users(self, owner: Reader, http: Http, ada: Reader) -> None:
        write(http, "mia", "Where is the saw?", "In the shed.")
        write(http.as_account("ada"), "kim", "Where is the saw?", "In the garage.")
        own = ada.get("/console/memory?query=saw&users=everyone").text

        assert "In the garage." in own
        assert "In the shed." not in own

    def test_page_says_that_it_searched_the_active_ones_alone(
        self, owner: Reader, http: Http, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hits, "USERS_SEARCHED_MAX", 1)
        write(http, "mia", "Where is the saw?", "In the shed.", occurred_at="2025-03-01T10:00:00Z")
        write(http, "bo", "Where is the saw?", "In the cellar.")
        text = words_of(owner.get("/console/memory?query=saw&users=everyone").text)

        assert "of 1 user, those active last" in text
        assert "In the shed." not in text


class TestSearchOfTeams:
    def test_hits_of_teams_are_shown_with_their_team_beside_ones_own(
        self, owner: Reader, http: Http
    ) -> None:
        write(http, "owner", "Where is the saw?", "In the shed, on the left.")
        team = new_team(http)
        good(http.post("/api/v7/remember", {**FERRY, "team": team}))
        path = "/console/memory?query=When+does+the+ferry+leave,+and+where+is+the+saw"
        text = words_of(together := owner.get(f"{path}&teams=yes").text)

        assert "of 1 user and 1 team;" in text
        assert text.index("At 9:40 from Piombino") < text.index("of the team Garden, by owner")
        assert "In the shed" in text
        assert together.count("data-open") == 1  # the page of one's own turn
        assert "Piombino" not in owner.get(path).text

    def test_teams_of_others_are_not_searched(self, owner: Reader, http: Http, ada: Reader) -> None:
        good(http.post("/api/v7/remember", {**FERRY, "team": new_team(http)}))
        write(http.as_account("ada"), "ada", "Where is the saw?", "In the garage.")
        text = ada.get("/console/memory?query=ferry&teams=yes").text

        assert "Piombino" not in text
        assert "My teams, too" not in text
        assert "My teams, too" in owner.get("/console/memory").text

    def test_exported_hits_are_those_of_the_page(self, owner: Reader, http: Http) -> None:
        write(http, "owner", "Did the ferry have seats?", "I do not know.")
        team = new_team(http)
        good(http.post("/api/v7/remember", {**FERRY, "team": team}))
        path = "query=When+does+the+ferry+leave&teams=yes"
        rows = owner.get(f"/console/export?list=hits&format=json&{path}").json()
        page = words_of(owner.get(f"/console/memory?{path}").text)

        assert [(row["user_id"], row["team"]) for row in rows] == [(team, "Garden"), ("owner", "")]
        assert page.index(FERRY["response"]) < page.index("I do not know.")


class TestSearches:
    def test_worst_search_comes_first_with_what_it_gave(self, owner: Reader, http: Http) -> None:
        http.remember("Where is the saw?", "In the shed.", session_id="old")
        for session_id, query in (("well", "Where is the saw?"), ("badly", "Why is the moon up?")):
            http.memory(query, session_id=session_id)
            http.remember(query, "I see.", session_id=session_id)
        page = owner.get("/console/searches").text
        text = words_of(page)

        assert text.index("Why is the moon up?") < text.index("Where is the saw?")
        assert re.search(r"Where is the saw\? \d+ % \d+ % 1 \d+ \d+ no well", text)
        latest = words_of(owner.get("/console/searches?order=latest").text)
        assert latest.index("Why is the moon up?") < latest.index("Where is the saw?")

    def test_trace_shows_what_the_agent_got_then_and_would_get_now(
        self, owner: Reader, http: Http
    ) -> None:
        """Without the turn itself, which was not stored yet."""
        old = http.remember("Where is the saw?", "In the shed.", session_id="old")["event_id"]
        http.memory("saw", session_id="trip")
        own = http.remember("And the saw?", "Still in the shed.", session_id="trip")["event_id"]
        new = http.remember("The saw again", "Giulia has the saw.", session_id="new")["event_id"]
        page = owner.get("/console/searches?session_id=trip&step=1").text
        then, now = page.split('id="then"')[1].split('id="now"')
        now = now.split("</section>")[0]

        assert [one in then for one in (old, own, new)] == [True, False, False]
        assert [one in now for one in (old, own, new)] == [True, False, True]
        assert "only here" in now
        assert "only here" not in then

    def test_this_was_wrong_writes_a_line_for_evaluate(
        self, owner: Reader, http: Http, tmp_path: Path
    ) -> None:
        http.memory("saw", session_id="trip")
        http.remember("And the saw?", "Still in the shed.", session_id="trip")
        page = owner.get("/console/searches?session_id=trip&step=1&expected=In+the+shed.").text
        [line] = re.findall(r'<pre id="evaluate-line".*?<code>(.*?)</code>', page)
        (tmp_path / "questions").write_text(unescape(line))

        [question] = read_questions(tmp_path / "questions")
        assert question.question == "And the saw?"
        assert (question.expected, question.user_id) == (["In the shed."], "owner")

    def test_search_without_a_turn_cannot_be_repeated(self, owner: Reader, http: Http) -> None:
        http.memory("saw", session_id="trip")
        text = words_of(owner.get("/console/searches?session_id=trip&step=1").text)

        assert "No turn was stored after it, so its text is not known" in text
        assert "This was wrong" not in text

    def test_missed_question_is_answered_or_set_aside(self, owner: Reader, http: Http) -> None:
        for n, query in enumerate(("Where is the key of the barn?", "Thanks a lot!")):
            http.memory(query, session_id=f"s{n}")
            http.remember(query, "I do not know.", session_id=f"s{n}")
        missed = "/console/searches?order=missed"
        assert owner.get(missed).text.count("Store the answer") == 2

        form = {"user_id": "owner", "step": "1"}
        answer = {"session_id": "s0", "do": "answer", "text": "The key of the barn is at Tom's."}
        owner.followed(owner.send("/console/searches/review", **form, **answer))
        assert "Thanks a lot!" in (rest := owner.get(missed).text)
        assert "Where is the key" not in rest
        owner.followed(
            owner.send("/console/searches/review", **form, session_id="s1", do="dismiss")
        )

        assert "Nothing missed" in owner.get(missed).text
        assert "100 % answered 1 of 1 searches 0 missed" in words_of(owner.get("/console").text)
        hits = http.memory("Where is the key of the barn?", interact=False)
        assert [fact["text"] for fact in hits["facts"]] == ["The key of the barn is at Tom's."]

    def test_unknown_search_is_not_found(self, owner: Reader, ada: Reader, http: Http) -> None:
        http.memory("saw", session_id="trip")

        assert owner.get("/console/searches?session_id=trip&step=9").status_code == 404
        hidden = ada.get("/console/searches?session_id=trip&step=1&user_id=owner")
        assert hidden.status_code == 404
        review, form = "/console/searches/review", {"session_id": "trip", "do": "answer"}
        for step in ("9", "0", "x"):
            assert owner.send(review, **form, step=step, text="No.").status_code in (404, 422)
        refused = ada.send(review, **form, step="1", text="No.", user_id="owner")
        assert refused.status_code == 404
        assert "A search that no turn followed" in owner.get("/console/searches?order=missed").text
        for reader in (owner, ada):
            assert reader.http.get("/api/v7/memory/facts").json()["facts"] == []

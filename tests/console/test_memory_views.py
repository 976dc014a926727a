"""Users, searches of several memories, and traces of searches, bounded and by account."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from console.reader import Reader
from console.reader import words_of as words_with_gaps
from service import Http
from teams import FERRY, good, new_team

from remembrancer.cli.evaluation import read_questions


def words_of(page: str) -> str:
    """Return the visible text of a page, without spaces before punctuation."""
    return re.sub(r" (?=[.,:;])", "", words_with_gaps(page))


def write(http: Http, user_id: str, query: str, response: str, **more: Any) -> str:
    """Store a turn of a user; return its event_id."""
    body = {"user_id": user_id, "query": query, "response": response, **more}
    return str(good(http.post("/api/v7/event/write", body))["event_id"])


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


class TestSearches:
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

"""Users, timeline and searches: what they show, bounded and by account."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from console.reader import Reader
from console.reader import words_of as words_with_gaps
from console.sample_year import import_year
from service import Http
from teams import FERRY, good, new_team

from remembrancer.console import hits
from remembrancer.console.charts import calendar, sparkline
from remembrancer.context import Context
from remembrancer.protocol.text import day_of

DAY_MS = 86_400_000


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
        assert together.count("/console/memory?event_id=") == 1  # the page of one's own turn
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


class TestTimeline:
    def test_days_and_months_stand_at_the_time_turns_belong_to(
        self, owner: Reader, http: Http
    ) -> None:
        for n in range(3):
            write(http, "owner", f"q{n}", "r", occurred_at="2025-03-01T10:00:00Z", session_id="old")
        write(http, "owner", "q", "r", occurred_at="2025-06-09T10:00:00Z", session_id="new")
        text = words_of(page := owner.get("/console/timeline?year=2025").text)

        assert "in 2025, by the time that turns belong to: 4 turns, busiest day 1 March" in text
        assert text.index("June 1 turn new 1") < text.index("March 3 turns old 3")
        assert "after=2025-02-24&amp;before=2025-03-03" in page  # its week
        assert "01 March 2025: 3 turns" in text

    def test_year_of_the_latest_turn_is_shown_first(self, owner: Reader, http: Http) -> None:
        for year in (2023, 2025):
            write(http, "owner", f"q{year}", "r", occurred_at=f"{year}-05-05T10:00:00Z")
        page = owner.get("/console/timeline").text

        assert "in 2025," in page
        assert "year=2024" in page
        assert "year=2026" not in page
        assert "in 2023," in owner.get("/console/timeline?year=2023").text

    def test_facts_stand_in_the_month_since_which_they_hold(
        self, owner: Reader, http: Http
    ) -> None:
        fact = {"text": "Ada lives in Genoa.", "valid_from": "2025-04-02T00:00:00Z"}
        assert http.post("/api/v7/memory/facts", {"user_id": "owner", **fact}).status_code == 200

        text = words_of(owner.get("/console/timeline?year=2025").text)
        assert "April 0 turns Ada lives in Genoa." in text

    @pytest.mark.parametrize("year", ["0", "x", "99999", "1", "9999"])
    def test_any_year_has_an_answer(self, owner: Reader, year: str) -> None:
        assert owner.get(f"/console/timeline?year={year}").status_code in (200, 422)

    def test_levels_of_colour_are_quarters_of_the_days(self) -> None:
        first = day_of(0)
        turns = dict.fromkeys(range(30), 1) | {3: 500, 4: 3, 5: 8}
        weeks = calendar(turns, first, day_of(40 * DAY_MS)).weeks
        days = [day for week in weeks for day in week.days]

        levels = {day.turns: day.level for day in days}
        assert (levels[0], levels[1], levels[500]) == (0, 1, 4)
        assert len(days) == 41


class TestSearches:
    def test_search_is_listed_with_its_turn_and_repeats_its_message(
        self, owner: Reader, http: Http
    ) -> None:
        old = http.remember("Where is the saw?", "In the shed.", session_id="old")["event_id"]
        http.memory("saw", session_id="trip")
        http.remember("And the saw?", "Still in the shed.", session_id="trip")
        listed = words_of(owner.get("/console/searches").text)
        page = owner.get("/console/searches?session_id=trip&step=1").text
        text = words_of(page)

        assert re.search(r"And the saw\? trip owner 1 for a test step 1", listed)
        assert "saw" not in re.sub("And the saw", "", listed)
        assert f"event_id={old}" in page
        assert "The message of the turn, searched again in today's memory" in text
        assert re.search(r"ranking \d+\.\d\d", text)

    def test_search_without_a_turn_cannot_be_repeated(self, owner: Reader, http: Http) -> None:
        http.memory("saw", session_id="trip")
        text = words_of(owner.get("/console/searches?session_id=trip&step=1").text)

        assert "No turn was stored after it, so it cannot be repeated." in text

    def test_unknown_search_is_not_found(self, owner: Reader, ada: Reader, http: Http) -> None:
        http.memory("saw", session_id="trip")

        assert owner.get("/console/searches?session_id=trip&step=9").status_code == 404
        hidden = ada.get("/console/searches?session_id=trip&step=1&user_id=owner")
        assert hidden.status_code == 404


class TestOverview:
    def test_recent_turns_stand_with_what_was_recalled(self, owner: Reader, http: Http) -> None:
        http.remember("Where is the saw?", "In the shed.", session_id="old")
        http.memory("saw", session_id="trip")
        http.remember("And the saw?", "Found it.", session_id="trip")
        text = words_of(owner.get("/console").text)

        assert "This week agents searched 1 time and got hits in 100 %." in text
        assert re.search(r"trip 1 hit And the saw\? In the shed\.", text)

    def test_new_and_changed_facts_of_the_week_are_told_apart(
        self, owner: Reader, http: Http
    ) -> None:
        facts = "/api/v7/memory/facts"
        first = http.post(facts, {"user_id": "mia", "text": "Mia lives in Genoa."}).json()["fact"]
        new = {"text": "Mia moved to Livorno.", "replaces": first["fact_id"]}
        http.post(facts, {"user_id": "mia", **new})
        http.remember("q", "r")
        text = words_of(owner.get("/console").text)

        assert "Mia moved to Livorno. before: Mia lives in Genoa." in text
        assert "1 current fact +1 this week, 1 changed" in text

    def test_imported_turns_are_charted_apart_and_owe_nothing(
        self, owner: Reader, context: Context, tmp_path: Path
    ) -> None:
        import_year(context, tmp_path, turns=40)
        text = words_of(owner.get("/console").text)

        assert "40 imported" in text
        assert "No agent took part in the protocol in this time." in text

    def test_share_that_is_missing_leaves_a_gap(self) -> None:
        line = sparkline("Turns", [1.0, 0.5, None, 0.0])

        assert (len(line.lines), len(line.dots)) == (1, 2)
        assert line.label == "Turns by day: 100 % at first, 0 % last"
        assert sparkline("Turns", [None, None]).label == "Turns by day: no days yet"

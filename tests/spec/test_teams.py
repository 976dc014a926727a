"""Teams: a shared memory, its members and their roles, invitations, audit."""

from __future__ import annotations

from typing import Any

from service import Http
from teams import FERRY, TEAMS, good, join, new_team

from remembrancer.protocol.limits import TEAM_NAME_CHARACTERS_MAX as NAME_MAX


class TestSharedMemory:
    """Members work in one memory (specification.md#team-memory)."""

    def test_what_a_member_stores_all_members_search(self, http: Http) -> None:
        """A team is named by its id or its name."""
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        written = ada.remember(**FERRY, team="Garden")
        author = {"account": "ada", "user_id": "ada"}

        for member, user_id in ((http, "owner"), (ada, "ada")):
            for named in (team, "Garden"):
                [hit] = member.memory("departure of the ferry", user_id, team=named)["hits"]
                assert hit["event_id"] == written["event_id"]
                assert hit["memory"] == {"team_id": team, "team": "Garden", "author": author}
            assert member.memory("departure of the ferry", user_id)["hits"] == []

    def test_one_search_covers_ones_own_and_the_teams_memory(self, http: Http) -> None:
        """Every part names its memory (specification.md#team-search)."""
        garden, boat = new_team(http), new_team(http, "Boat")
        http.remember("Where is the spade?", "The spade is in the shed.")
        http.remember("Where is the rake?", "The rake is beside the spade.", team=garden)
        http.remember("Which spade is on board?", "The spade of the boat is red.", team=boat)

        answers = {
            str(teams): http.memory("Where is the spade?", teams=teams, interact=False)
            for teams in ("all", [garden], ["Boat", garden], [])
        }

        sources = {
            teams: {hit["memory"]["team"] for hit in answer["hits"]}
            for teams, answer in answers.items()
        }
        assert sources == {
            "all": {None, "Garden", "Boat"},
            f"['{garden}']": {None, "Garden"},
            f"['Boat', '{garden}']": {None, "Garden", "Boat"},
            "[]": {None},
        }
        scores = [hit["score"] for hit in answers["all"]["hits"]]
        assert scores == sorted(scores, reverse=True)
        assert answers["all"]["total_hits"] == 3

    def test_step_and_duties_are_those_of_ones_own_memory(self, http: Http) -> None:
        """A team owes nothing (specification.md#team-duties)."""
        team = new_team(http)
        for n in range(20):
            http.remember(f"Question {n}?", f"Answer {n}.", team=team, session_id="s")

        alone = http.memory("question", team=team, session_id="s")
        both = [http.memory("question", teams="all", session_id="s") for _ in range(2)]

        assert alone["step"] == 0
        assert not {"duty_error", "reminders"} & set(alone)
        assert [answer["step"] for answer in both] == [1, 2]
        assert "No turn was remembered" in both[1]["duty_error"]
        assert http.rows()["steps"] == 2

    def test_merged_answer_has_one_order_one_budget_and_one_list_of_missing_words(
        self, http: Http
    ) -> None:
        """At equal scores, one's own hit comes first (specification.md#team-search)."""
        team = new_team(http)
        for place in (team, None):
            http.remember(**FERRY, team=place)
        [first] = http.memory(FERRY["query"], teams="all", top_k=1)["hits"]
        for place in (team, None):
            for n in range(4):
                http.remember(f"Ferry {n}?", f"Ferry number {n} " + "leaves early " * 9, team=place)
        http.remember("Where is the spade?", "In the shed.")

        cut = http.memory("ferry", teams="all", max_tokens=90)["hits"]
        missing = http.memory("ferry", teams="all", focus_words=["Piombino", "Elba", "shed"])

        assert first["memory"]["team"] is None
        assert 1 <= len(cut) < 4
        assert missing["focus_missing"] == ["Elba"]

    def test_events_of_a_team_are_read_and_listed_with_their_authors(self, http: Http) -> None:
        """The author of a turn is stored and shown (specification.md#team-author)."""
        team = new_team(http)
        ada = join(http, team, "ada", "writer")
        event = ada.remember(**FERRY, team=team, user_id="mia")["event_id"]
        good(http.post("/api/v7/memory/batch", {"turns": [FERRY, FERRY], "team": team}))
        good(http.post("/api/v7/event/write", {**FERRY, "user_id": "bo", "team": team}))

        detail = good(http.get(f"/api/v7/event/{event}", params={"team": team}))
        listed = good(http.get("/api/v7/events", params={"team": team, "order": "oldest"}))

        assert (detail["author"], detail["user_id"]) == ({"account": "ada", "user_id": "mia"}, team)
        authors = [one["author"] for one in listed["events"]]
        assert [one["account"] for one in authors] == ["ada", "owner", "owner", "owner"]
        assert [one["user_id"] for one in authors] == ["mia", "owner", "owner", "bo"]
        assert http.get(f"/api/v7/event/{event}").status_code == 404

    def test_second_look_compares_claims_with_events_of_teams(self, http: Http) -> None:
        """A ref may be an event of a team (specification.md#look-teams)."""
        team = new_team(http)
        event = http.remember(**FERRY, team=team)["event_id"]
        looks = []
        for account, user_id in (("owner", "owner"), ("owner", "mia"), ("ada", "ada")):
            agent = http.as_account(account)
            for hour in ("9:40", "8:15"):
                draft = f"{user_id}: it leaves at {hour} (ref: {event})."
                agent.remember("When?", draft, user_id=user_id)
                look = agent.post("/api/v7/agent/second-look", {"draft": draft}).json()
                looks.append([one["check"] for one in look["checks"] if one["status"] == "fail"])

        assert looks == [[], ["number_in_ref"]] * 2 + [["ref_exists"]] * 2

    def test_cubes_and_duties_belong_to_ones_own_account(self, http: Http) -> None:
        """They are refused in a team (specification.md#team-duties)."""
        team = new_team(http)
        cube = {"cube_topic": "t", "cube_essence": "e e e", "cube_rules": "- MUST look"}

        for parts in (cube, {"duty": "vote_nothing", "duty_reason": "none"}):
            answer = http.post("/api/v7/remember", {**FERRY, **parts, "team": team})
            assert answer.status_code == 422
        assert http.rows()["events"] == 0

    def test_idempotency_key_belongs_to_one_memory(self, http: Http) -> None:
        teams = [new_team(http), new_team(http, "Boat")]
        once = {"headers": {"Idempotency-Key": "k"}}

        ids = [
            good(http.post("/api/v7/remember", {**FERRY, "team": team}, **once))["event_id"]
            for team in (None, *teams, *teams)
        ]

        assert ids[1:3] == ids[3:5]
        assert len(set(ids)) == 3


def test_invalid_requests_are_refused(http: Http) -> None:
    """An ambiguous name, too; other values are those of any field."""
    team = new_team(http)
    for _ in range(2):
        new_team(http, "Boat")
    search = {"query_text": "q", "user_id": "owner"}
    memory, explain = "/api/v7/memory", "/api/v7/memory/explain"
    requests: list[tuple[str, dict[str, Any]]] = [
        *((TEAMS, {"name": name}) for name in ("  ", "a\nb", "x" * (NAME_MAX + 1))),
        *((memory, {**search, "teams": teams}) for teams in ("some", ["a"] * 9)),
        (memory, {**search, "team": team, "teams": []}),
        (memory, {**search, "team": "Boat"}),
        (explain, {**search, "teams": "all"}),
    ]

    assert http.post(memory, {**search, "team": "Garden"}).status_code == 200
    for path, body in requests:
        assert http.post(path, body).status_code == 422, body

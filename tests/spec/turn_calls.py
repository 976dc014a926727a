"""Calls of the state machine about turns: searches, remember, revisions, second looks, forgetting.

Each compares what the service shows with the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from service import Http
from spec.memory_model import TURNS_PER_CUBE, Cube, Model, Text

from remembrancer import testing
from remembrancer.context import Context
from remembrancer.protocol.seal import render

ACCOUNTS = ("owner", "ada", "bob", "cat")
OWN = "the account that has it"
WORD = re.compile(r"zq[bcdfghklmn]+(?:owner|ada|bob|cat)")
Value = TypeVar("Value")


def words_of(value: Any) -> set[str]:
    """Return the words of the model in an answer."""
    return set(WORD.findall(str(value)))


class TurnCalls:
    """Calls about turns."""

    context: Context
    clock: testing.FrozenClock
    http: dict[str, Http]  # by account
    model: Model

    # --- What an account sees -------------------------------------------------------------------

    def post(self, account: str, to: str, status: int = 200, /, **body: Any) -> Any:
        """Send a request; check its status and return its answer."""
        answer = self.http[account].post(f"/api/v7/{to}", body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def look(self, account: str, user: str) -> None:
        """Check that a space shows every turn that it has, and no word that it may not see."""
        answer = self.http[account].memory("lantern", user, interact=False, top_k=100)
        stored = {
            turn.id
            for turn in self.model.turns
            if turn.space == (account, user) and turn.state == "current"
        }
        assert {hit["event_id"] for hit in answer["hits"]} == stored
        assert words_of(answer) <= self.model.visible((account, user))
        pack = self.http[account].get("/api/v7/memory/start", params={"user_id": user}).json()
        assert words_of(pack) <= self.model.visible((account, user))

    def see_a_space(self, account: str, user: str) -> None:
        self.look(account, user)

    def search(self, account: str, user: str, session: str, seal: str, number: int) -> None:
        """Search from any space for a turn and a cube of any account."""
        self._search((account, user, session), seal, number)

    def search_again(self, seal: str, number: int) -> None:
        """Search in a session that exists."""
        places = sorted(self.model.sessions)
        if places:
            self._search(places[number % len(places)], seal, number)

    def _search(self, place: tuple[str, str, str], seal: str, number: int) -> None:
        """Check hits, cubes, step and duties of a search."""
        (account, user, session), counts = place, self.model.sessions[place]
        space = (account, user)
        turn = one_of(self.model.turns, number)
        cube_id = one_of(sorted(self.model.cubes), number >> 4)
        sought = self.model.cubes.get(cube_id or "")
        last_seal = {"right": render(counts.step), "wrong": render(counts.step + 7)}.get(seal)
        unrated = self.model.unrated(place)

        answer = self.http[account].memory(
            f"Which lantern is {turn.word if turn else 'lit'}? "
            f"What did {sought.word if sought else 'they'} say of summer timetables?",
            user,
            session_id=session,
            top_k=100,
            last_seal=last_seal,
        )

        assert words_of(answer) <= self.model.visible(space)
        hits = {hit["event_id"] for hit in answer["hits"]}
        if turn is not None:
            assert (turn.id in hits) == (turn.space == space and turn.state == "current")
        assert answer["step"] == counts.step + 1
        is_turn_missing = counts.remembered_step < counts.step
        is_wrong = counts.step > 0 and seal == "wrong"
        assert ("duty_error" in answer) == (is_turn_missing or is_wrong)
        reminders = " ".join(answer.get("reminders", []))
        assert ("Seal every reply" in reminders) == (counts.step > 0 and seal == "none")
        assert set(re.findall(r"\bc_\w+", reminders)) == unrated
        counts.step += 1
        self._expose(place, answer["shared_cubes"])

    def _expose(self, place: tuple[str, str, str], cubes: list[Any]) -> None:
        account, user, _ = place
        for item in cubes:
            cube = self.model.cubes[item["cube_id"]]
            vote = cube.votes.get((account, user))
            assert cube.is_served_to((account, user))
            is_new = cube.space[0] != account and vote is None
            assert item["note"].startswith("new") == is_new
            if is_new:
                exposed = self.model.sessions[place].exposed
                exposed.setdefault(item["cube_id"], self.model.sessions[place].step)

    # --- Turns ----------------------------------------------------------------------------------

    def remember(self, account: str, user: str, session: str, has_fact: bool, cube: str) -> None:
        """Store a turn, perhaps with a fact and a cube; a retry of the request is the same turn."""
        place = (account, user, session)
        counts = self.model.sessions[place]
        turn = Text(self.model.new_word(account), (account, user), session)
        turn.word_of_query, turn.step = self.model.new_word(account), counts.step
        body = turn_body(turn)
        if has_fact:
            turn.fact = Text(self.model.new_word(account), turn.space, session)
            body["critical"] = f"{turn.fact.word} owns the harbour."
        cube_word = self.model.new_word(account)
        if cube:
            body |= cube_texts(cube_word) | {"cube_publish": cube == "published"}
        headers = {"Idempotency-Key": turn.word}
        http = self.http[account]

        answer = http.post("/api/v7/remember", body, headers=headers).raise_for_status().json()
        rows = http.rows()

        assert http.post("/api/v7/remember", body, headers=headers).json() == answer
        assert http.rows() == rows
        turn.id = answer["event_id"]
        self.model.turns.append(turn)
        if turn.fact:
            [receipt] = [one for one in answer["receipts"] if one["part"] == "critical"]
            turn.fact.id = receipt["id"]
            self.model.facts.append(turn.fact)
        counts.turns += 1
        assert (answer["saved"], answer["step"]) == (True, counts.step)
        counts.remembered_step = counts.step
        self._check_cube(place, answer["cube"], cube, cube_word)
        self.look(account, user)

    def _check_cube(self, place: Any, outcome: Any, cube: str, word: str) -> None:
        """Check that a session makes at most one cube in three turns."""
        counts = self.model.sessions[place]
        may_make = counts.cube_turn is None or counts.turns - counts.cube_turn >= TURNS_PER_CUBE
        if not (cube and may_make):
            assert isinstance(outcome, str)
            return
        assert outcome["visibility"] == cube
        self.model.cubes[outcome["cube_id"]] = Cube(word, place[:2], cube == "published")
        counts.cube_turn = counts.turns

    def pick(self, texts: list[Text], number: int) -> Text | None:
        """Return one of the texts that are not erased, if there is one."""
        alive = [text for text in texts if text.state != "erased"]
        return alive[number % len(alive)] if alive else None

    def revise(self, number: int) -> None:
        """Save the last turn of a session with another response: the first becomes a draft."""
        draft = self.pick(self.model.turns, number)
        if draft is None or not self.is_latest(draft):
            return
        account, user = draft.space
        step = self.model.sessions[account, user, draft.session].step
        if not step or draft.step != step:
            return
        revision = Text(self.model.new_word(account), draft.space, draft.session)
        revision.word_of_query, revision.step = draft.word_of_query, draft.step
        revision.fact, revision.is_summarised = draft.fact, draft.is_summarised

        revision.id = self.post(account, "remember", **turn_body(revision))["event_id"]

        assert revision.id != draft.id
        detail = self.http[account].get(f"/api/v7/event/{draft.id}").json()
        assert detail["superseded_by"] == revision.id
        draft.state, draft.revision, draft.fact = "superseded", revision, None
        self.model.turns.append(revision)
        self.look(account, user)

    def is_latest(self, turn: Text) -> bool:
        """Return True for the latest turn of a session."""
        place = (turn.space, turn.session)
        current = [
            one
            for one in self.model.turns
            if (one.space, one.session) == place and one.state == "current"
        ]
        return current[-1:] == [turn]

    def read_an_event(self, actor: str, number: int) -> None:
        """An event is readable by its own account alone, until it is erased."""
        turn = one_of(self.model.turns, number)
        if turn is None:
            return
        account = turn.space[0] if actor == OWN else actor
        is_own = turn.space[0] == account and turn.state != "erased"

        answer = self.http[account].get(f"/api/v7/event/{turn.id}")

        assert answer.status_code == (200 if is_own else 404)
        assert is_own or not words_of(answer.text)

    def look_again(self, actor: str, number: int) -> None:
        """A second look is for the account's own current turns."""
        turn = one_of(self.model.turns, number)
        if turn is None:
            return
        account = turn.space[0] if actor == OWN else actor
        is_own = turn.space[0] == account and turn.state == "current"
        draft = turn_body(turn)["response"]

        answer = self.http[account].post("/api/v7/agent/second-look", {"draft": draft})

        assert answer.status_code == (200 if is_own else 409)

    def erase_an_event(self, actor: str, number: int) -> None:
        turn = one_of(self.model.turns, number)
        if turn is None:
            return
        account = turn.space[0] if actor == OWN else actor
        is_own = turn.space[0] == account and turn.state == "current"
        if turn.state == "superseded":
            return

        answer = self.http[account].delete(f"/api/v7/event/{turn.id}")

        assert answer.status_code == (200 if is_own else 404)
        if is_own:
            counts = self.model.sessions[*turn.space, turn.session]
            counts.turns -= 1
            assert answer.json()["facts"] == (turn.fact is not None)  # a removed one, too
            self.model.erase(turn)
            self.look(*turn.space)

    def forget_a_session(self, account: str, user: str, session: str) -> None:
        body = {"user_id": user, "session_id": session}
        expected = sum(
            (one.space, one.session) == ((account, user), session) and one.state != "erased"
            for one in self.model.turns
        )

        receipt = self.post(account, "memory/forget", **body)

        assert receipt["counts"]["events"] == expected
        self.model.forget_session((account, user, session))
        self.look(account, user)

    def forget_a_user(self, account: str, user: str, sure: int) -> None:
        if sure == 4:  # without `confirm`
            self.post(account, "memory/forget", 409, user_id=user)
            return
        self.post(account, "memory/forget", user_id=user, confirm=user)
        self.model.forget_user((account, user))
        self.look(account, user)


def one_of(values: Sequence[Value], number: int) -> Value | None:
    """Return the value at a place, which may be beyond the end; None if there are none."""
    return values[number % len(values)] if values else None


def turn_body(turn: Text) -> dict[str, Any]:
    return {
        "query": f"Which lantern is {turn.word_of_query}?",
        "response": f"The one called {turn.word}.",
        "user_id": turn.space[1],
        "session_id": turn.session,
    }


def cube_texts(word: str) -> dict[str, Any]:
    return {
        "cube_topic": "summer timetables",
        "cube_essence": f"Summer timetables change in the first week of June, as {word} said.",
        "cube_rules": "- MUST check the date of a timetable before quoting it.",
        "cube_type": "fact",
    }

"""Turns, facts and cubes that expire, retention rules, and what users take back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from service import Http

from remembrancer.memory.history.endings import apply_retention
from remembrancer.memory.maintenance import Maintenance
from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock

DAY_MS = 24 * 60 * 60 * 1000
RETENTION = "/api/v7/memory/retention"


def tell(http: Http, message: str, **more: Any) -> Any:
    """Store a turn of Ada and return the answer."""
    return http.remember(message, "Noted.", user_id="ada", **{"session_id": "talk", **more})


def messages(http: Http, query: str, **more: Any) -> list[str]:
    """Return the messages of the hits of a search that counts nothing."""
    return [hit["query"] for hit in http.memory(query, "ada", interact=False, **more)["hits"]]


def event(http: Http, event_id: str) -> Any:
    """Return an event."""
    return http.get(f"/api/v7/event/{event_id}").raise_for_status().json()


def change(http: Http, event_id: str, **fields: Any) -> Any:
    """Change an event and return the response."""
    return http.patch(f"/api/v7/event/{event_id}", fields)


def upkeep(http: Http) -> None:
    """Do everything that the background has to do."""
    maintenance = Maintenance(http.context)
    while maintenance.step():
        pass


def every_text(http: Http) -> dict[str, str]:
    """Return what each request that reads the memory of Ada answers."""
    question = "What is the code of the gate?"
    user = {"user_id": "ada"}
    return {
        "search": json.dumps(http.memory(question, "ada", interact=False)),
        "explain": http.post("/api/v7/memory/explain", {"query_text": question, **user}).text,
        "turns": http.get("/api/v7/events", params=user).text,
        "sessions": http.get("/api/v7/sessions", params=user).text,
        "facts": http.get("/api/v7/memory/facts", params={**user, "status": "all"}).text,
        "start pack": http.get("/api/v7/memory/start", params=user).text,
        "agent memory": http.get("/api/v7/agent/memory", params={"query": question, **user}).text,
        "chat": http.post("/api/v7/agent/chat", {"message": question, **user}).text,
    }


class TestExpiry:
    """`expires_at` of remember (specification.md#ends-expired)."""

    def test_turn_fact_and_cube_are_unread_and_then_erased(
        self, http: Http, clock: FrozenClock
    ) -> None:
        """No request reads them from that second on; the record says what was erased."""
        at = rfc3339(clock() + DAY_MS)
        saved = tell(
            http,
            "The code of the gate is 4711 today.",
            expires_at=at,
            critical="The gate code is 4711.",
            cube_topic="gates",
            cube_essence="Codes of gates such as 4711 change at night.",
            cube_rules="- MUST ask for the code again",
            cube_expires_at=at,
        )
        assert event(http, saved["event_id"])["expires_at"] == at
        clock.advance(DAY_MS - 1)
        texts = every_text(http)
        assert [name for name, text in texts.items() if "4711" not in text] == []
        clock.advance(1)

        before = every_text(http)  # erasing in the background has not begun
        upkeep(http)

        for texts in (before, every_text(http)):
            assert [name for name, text in texts.items() if "4711" in text] == []
        assert http.get(f"/api/v7/event/{saved['event_id']}").status_code == 404
        sweeps = http.get(RETENTION).json()["sweeps"]
        assert [(one["reason"], one["events"], one["cubes"]) for one in sweeps] == [
            ("expired", 0, 1),
            ("expired", 1, 0),
        ]

    def test_a_fact_and_a_cube_of_their_own_are_gone_from_lists_and_counts(
        self, http: Http, clock: FrozenClock
    ) -> None:
        """See specification.md#facts-expiry and specification.md#status-record."""
        at = rfc3339(clock() + DAY_MS)
        fact = {"user_id": "ada", "text": "The gate code is 4711.", "expires_at": at}
        http.post("/api/v7/memory/facts", fact)
        lesson = {
            "cube_topic": "gates",
            "cube_essence": "Codes of gates change at night.",
            "cube_rules": "- MUST ask for the code again",
        }
        tell(http, "Is it shut?", cube_publish=True, cube_expires_at=at, **lesson)
        assert http.get("/api/v7/status").json()["cubes_count"] == 1
        clock.advance(DAY_MS)

        count = http.get("/api/v7/status").json()["cubes_count"]
        facts = http.get("/api/v7/memory/facts", params={"user_id": "ada", "status": "all"}).json()

        assert count == 0
        assert [(one["text"], one["status"]) for one in facts["facts"]] == [(None, "expired")]
        assert http.rows()["cubes"] == 0

    def test_no_word_of_it_stays_on_disk(
        self, http: Http, clock: FrozenClock, folder: Path
    ) -> None:
        """Expiry erases as forgetting does (specification.md#forget-no-trace)."""
        tell(http, "The word is zx91qv78.", expires_at=rfc3339(clock() + DAY_MS))
        clock.advance(DAY_MS)

        upkeep(http)

        http.context.close()
        assert not [
            path.name
            for path in folder.rglob("*")
            if path.is_file() and b"zx91qv78" in path.read_bytes()
        ]

    @pytest.mark.parametrize("field", ["expires_at", "cube_expires_at"])
    def test_time_in_the_past_is_422_and_stores_nothing(self, http: Http, field: str) -> None:
        """The field is named, and no part is stored."""
        before = http.rows()

        answer = http.post(
            "/api/v7/remember",
            {"query": "q", "response": "r", "user_id": "ada", field: "2020-01-01T00:00:00Z"},
        )

        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{field}")
        assert http.rows() == before

    def test_expiry_is_changed_and_cleared(self, http: Http, clock: FrozenClock) -> None:
        """`PATCH` sets and removes it (specification.md#event-change)."""
        saved = tell(http, "The towel is blue.")
        at = rfc3339(clock() + DAY_MS)

        assert change(http, saved["event_id"], expires_at=at).json()["expires_at"] == at
        assert "expires_at" not in change(http, saved["event_id"], clear=["expires_at"]).json()

    def test_summary_that_tells_of_it_goes_too(self, http: Http, clock: FrozenClock) -> None:
        """An L1 would still tell what the turn said."""
        tell(
            http,
            "The gate code is 4711.",
            l1_summary="Ada told the gate code 4711.",
            expires_at=rfc3339(clock() + DAY_MS),
        )
        clock.advance(DAY_MS)

        upkeep(http)

        assert http.memory("gate code", "ada", interact=False)["summaries"] == []


class TestRetention:
    """Rules for how long turns are kept (specification.md#retention-set)."""

    def set(self, http: Http, **rule: Any) -> Any:
        """Set a rule and return the response."""
        return http.ask("PUT", RETENTION, json=rule)

    def test_old_turns_are_erased(self, http: Http, clock: FrozenClock) -> None:
        """Turns stored longer ago than `days` go, newer ones stay."""
        tell(http, "The towel is blue.")
        clock.advance(10 * DAY_MS)
        tell(http, "The soap is green.")
        self.set(http, days=10).raise_for_status()
        clock.advance(1)

        assert apply_retention(http.context) == 1
        assert messages(http, "towel or soap") == ["The soap is green."]

    def test_pinned_turn_stays(self, http: Http) -> None:
        """Pinned turns stay and do not count (specification.md#retention-nightly)."""
        event_id = tell(http, "Lamp 0 is new.")["event_id"]
        assert change(http, event_id, pinned=True).json()["pinned"] is True
        for number in (1, 2):
            tell(http, f"Lamp {number} is new.")
        self.set(http, user_id="ada", events=1).raise_for_status()

        apply_retention(http.context)

        assert sorted(messages(http, "Which lamp is new?")) == ["Lamp 0 is new.", "Lamp 2 is new."]

    def test_rule_of_a_user_goes_before_the_rule_of_the_account(self, http: Http) -> None:
        """A user's own rule replaces the one for every user."""
        for number in range(3):
            tell(http, f"Lamp {number} is new.")
        self.set(http, events=1).raise_for_status()
        self.set(http, user_id="ada", events=2).raise_for_status()

        assert apply_retention(http.context) == 1
        [rule] = http.get(RETENTION, params={"user_id": "ada"}).json()["rules"]
        assert rule == {"user_id": "ada", "days": None, "events": 2, "set_by": "account"}

    def test_forgetting_a_user_forgets_its_rule(self, http: Http) -> None:
        """Neither the rule nor the record of removals names a forgotten user."""
        tell(http, "Lamp 0 is new.")
        tell(http, "Lamp 1 is new.")
        self.set(http, user_id="ada", events=1).raise_for_status()
        apply_retention(http.context)

        http.post("/api/v7/memory/forget", {"user_id": "ada", "confirm": "ada"}).raise_for_status()

        assert http.get(RETENTION).json() == {"rules": [], "sweeps": []}

    def test_background_applies_rules_once_a_day(self, http: Http, clock: FrozenClock) -> None:
        """A rule is applied at the next day's removal, not at each step."""
        maintenance = Maintenance(http.context)
        while maintenance.step():
            pass
        tell(http, "Lamp 0 is new.")
        tell(http, "Lamp 1 is new.")
        self.set(http, events=1).raise_for_status()

        while maintenance.step():
            pass
        before = messages(http, "Which lamp is new?")
        clock.advance(DAY_MS)
        while maintenance.step():
            pass

        assert (len(before), len(messages(http, "Which lamp is new?"))) == (2, 1)

    def test_pinned_key_sets_the_rule_of_its_user(self, http: Http) -> None:
        pinned = http.as_account("owner", user_id="ada")

        assert self.set(pinned, events=5).json()["rules"][0]["user_id"] == "ada"


class TestTakenBack:
    """A user's message takes something back (specification.md#remember-withdrawn)."""

    def test_forget_request_withdraws_what_it_names(self, http: Http) -> None:
        """Neither the turn nor the request, which repeats it, is found; both stay readable."""
        event_id = tell(http, "I live in Rome near the station.")["event_id"]
        tell(http, "I work in Rome as a baker.")

        answer = tell(http, "Please forget that I live in Rome near the station.")

        assert messages(http, "Where in Rome does Ada live?") == ["I work in Rome as a baker."]
        assert event(http, event_id)["withdrawn_by"] == answer["event_id"]
        assert event_id in answer["receipts"][0]["detail"]

    def test_fact_about_it_holds_no_longer(self, http: Http) -> None:
        """A fact that says the same ends."""
        tell(http, "Where?", critical="Ada lives in Rome near the station.")

        tell(http, "Forget that Ada lives in Rome near the station.")
        tell(http, "Please forget my old note: Ada lives in Rome near the station.")

        assert http.memory("Where does Ada live?", "ada", interact=False)["facts"] == []

    def test_message_off_the_record_is_not_found(self, http: Http) -> None:
        """The turn is withdrawn itself, and its critical fact is skipped with the reason."""
        saved = tell(
            http, "My PIN is 4711. Do not remember this.", critical="The PIN of Ada is 4711."
        )

        answer = http.memory("What is the PIN?", "ada", interact=False)

        assert (answer["hits"], answer["facts"]) == ([], [])
        assert [one["outcome"] for one in saved["receipts"]] == ["stored", "skipped"]
        assert event(http, saved["event_id"])["withdrawn_by"] == saved["event_id"]

    def test_person_restores_a_withdrawn_turn(self, http: Http) -> None:
        """A wrong withdrawal is undone with `PATCH` (specification.md#event-change)."""
        event_id = tell(http, "I live in Rome near the station.")["event_id"]
        tell(http, "Please forget that I live in Rome near the station.")

        answer = change(http, event_id, withdrawn=False)

        assert "withdrawn_by" not in answer.raise_for_status().json()
        assert messages(http, "Where in Rome?") == ["I live in Rome near the station."]

    def test_person_withdraws_a_turn(self, http: Http) -> None:
        """`withdrawn: true` takes a turn out of searches, drafts of L1s and the chat."""
        event_id = tell(http, "I live in Rome near the station.")["event_id"]

        change(http, event_id, withdrawn=True).raise_for_status()

        assert messages(http, "Where in Rome?") == []
        draft = http.post(
            "/api/v7/memory/summarize/draft", {"user_id": "ada", "session_id": "talk"}
        )
        assert "Rome" not in draft.text

    def test_withdrawn_turns_of_other_users_stay(self, http: Http) -> None:
        """A request concerns the memory of its user alone."""
        http.remember("I live in Rome near the station.", "Noted.", user_id="bob")
        tell(http, "I live in Rome near the station.")

        tell(http, "Please forget that I live in Rome near the station.")

        assert http.memory("Rome", "bob", interact=False)["total_hits"] == 1


def test_unknown_and_other_accounts_event_is_404(http: Http) -> None:
    """An id of another account is as unknown as any."""
    event_id = tell(http, "The towel is blue.")["event_id"]
    bob = http.as_account("bob")

    assert change(bob, event_id, pinned=True).status_code == 404
    assert change(http, "e_unknown", pinned=True).status_code == 404


def test_draft_is_not_withdrawn(http: Http) -> None:
    """A superseded draft is in no search anyway: 409 (specification.md#event-change-draft)."""
    http.memory("When?", "ada", session_id="talk")
    draft = http.remember("When?", "At six.", user_id="ada", session_id="talk")["event_id"]
    http.remember("When?", "At seven.", user_id="ada", session_id="talk")

    assert change(http, draft, withdrawn=True).status_code == 409

"""Facts have a life: listed, added, changed, superseded, expired and removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from service import Http

from remembrancer.protocol.text import rfc3339
from remembrancer.testing import FrozenClock

FACTS = "/api/v7/memory/facts"
DAY_MS = 24 * 60 * 60 * 1000


def add(http: Http, text: str, **more: Any) -> Any:
    """Add a fact and return the answer."""
    return http.post(FACTS, {"user_id": "ada", "text": text, **more}).raise_for_status().json()


def listed(http: Http, **query: Any) -> list[Any]:
    """Return the facts of a list."""
    answer = http.get(FACTS, params={"user_id": "ada", **query}).raise_for_status().json()
    return list(answer["facts"])


def texts(http: Http, **query: Any) -> list[str]:
    """Return the texts of a list."""
    return [fact["text"] for fact in listed(http, **query)]


def test_fact_of_a_turn_has_all_fields(http: Http) -> None:
    """A fact has an identifier, times, a source and a writer (specification.md#facts-fields)."""
    saved = http.remember(
        "Any allergies?",
        "Noted.",
        user_id="ada",
        critical="Ada is allergic to penicillin.",
        occurred_at="2025-03-01T09:30:00Z",
    )
    [fact] = listed(http)

    assert fact["text"] == "Ada is allergic to penicillin."
    assert fact["status"] == "current"
    assert fact["valid_from"] == "2025-03-01T09:30:00.000Z"
    assert fact["event_id"] == saved["event_id"]
    assert fact["event_ids"] == [saved["event_id"]]
    assert [fact[name] for name in ("valid_to", "expires_at", "superseded_by")] == [None] * 3
    assert (fact["supersedes"], fact["pinned"]) == ([], False)
    assert fact["written_by"]
    assert saved["receipts"][-1] == {"part": "critical", "outcome": "stored", "id": fact["fact_id"]}


def test_equal_facts_are_one_with_many_sources(http: Http) -> None:
    """Equal facts are one, and each turn is a source.

    See specification.md#facts-equal, specification.md#remember-fact-once.
    """
    events = [
        http.remember(f"q{n}", "r", user_id="ada", critical=" Ada sails.\n")["event_id"]
        for n in range(3)
    ]
    again = add(http, "Ada sails.")
    [fact] = listed(http)

    assert again["outcome"] == "known"
    assert fact["event_ids"] == events


def test_erasing_one_source_keeps_the_fact_until_the_last_is_erased(http: Http) -> None:
    """A fact lives as long as one turn states it (specification.md#facts-erased)."""
    first, second = [
        http.remember(f"q{n}", "r", user_id="ada", critical="Ada sails.")["event_id"]
        for n in range(2)
    ]
    http.delete(f"/api/v7/event/{first}").raise_for_status()
    [fact] = listed(http)
    http.delete(f"/api/v7/event/{second}").raise_for_status()

    assert fact["event_ids"] == [second]
    assert listed(http, status="all") == []


def test_another_value_supersedes_the_earlier_fact(http: Http) -> None:
    """Another value for the same thing supersedes (specification.md#facts-superseded)."""
    old = add(http, "Ada lives in Rome.", valid_from="2025-01-01T00:00:00Z")["fact"]
    new = add(http, "Ada moved to Berlin.", valid_from="2025-02-01T00:00:00Z")["fact"]
    [current] = listed(http)
    [superseded] = listed(http, status="superseded")

    assert (current["fact_id"], current["supersedes"]) == (new["fact_id"], [old["fact_id"]])
    assert superseded["superseded_by"] == new["fact_id"]
    assert superseded["valid_to"] == "2025-02-01T00:00:00.000Z"


def test_fact_that_held_earlier_does_not_supersede_a_later_one(http: Http) -> None:
    """Facts may arrive in any order (specification.md#facts-superseded)."""
    new = add(http, "Ada moved to Berlin.", valid_from="2025-02-01T00:00:00Z")["fact"]
    old = add(http, "Ada lives in Rome.", valid_from="2025-01-01T00:00:00Z")["fact"]

    assert old["status"] == "superseded"
    assert old["superseded_by"] == new["fact_id"]
    assert texts(http) == ["Ada moved to Berlin."]


def test_remember_names_what_its_fact_replaces(http: Http) -> None:
    """It supersedes any current fact (specification.md#remember-critical-replaces)."""
    old = add(http, "The boat is blue.")["fact"]
    saved = http.remember(
        "q", "r", user_id="ada", critical="We sold the boat.", critical_replaces=old["fact_id"]
    )
    receipt = saved["receipts"][-1]

    assert receipt["detail"] == f"It supersedes {old['fact_id']}."
    assert texts(http) == ["We sold the boat."]


@pytest.mark.parametrize("owner", ["bob", "other account"])
def test_replaced_fact_must_be_one_of_the_same_user(http: Http, owner: str) -> None:
    """A fact of another user or account is a 404, and nothing is stored."""
    writer = http.as_account("other") if owner == "other account" else http
    user = "bob" if owner == "bob" else "ada"
    foreign = add(writer, "Bob sails.", user_id=user)["fact"]["fact_id"]
    turn = {"query": "q", "response": "r", "user_id": "ada", "critical": "Ada sails."}
    refused = http.post("/api/v7/remember", {**turn, "critical_replaces": foreign})
    also = http.post(FACTS, {"user_id": "ada", "text": "Ada sails.", "replaces": foreign})

    assert (refused.status_code, also.status_code) == (404, 404)
    assert listed(http, status="all") == []
    assert http.memory("sails", "ada")["hits"] == []


def test_fact_that_is_not_current_cannot_be_replaced(http: Http) -> None:
    """Chains have no branches and no cycles (specification.md#facts-chains)."""
    first = add(http, "The boat is blue.")["fact"]["fact_id"]
    second = add(http, "We sold the boat.", replaces=first)["fact"]["fact_id"]
    body = {"user_id": "ada", "text": "We have a car."}

    assert http.post(FACTS, {**body, "replaces": first}).status_code == 409
    itself = http.post(FACTS, {**body, "text": "We sold the boat.", "replaces": second})
    assert itself.status_code == 422
    assert texts(http) == ["We sold the boat."]


class TestChange:
    @pytest.mark.parametrize("kind", ["facts", "instructions"])
    def test_another_wording_keeps_the_fact_and_its_turn(
        self, http: Http, clock: FrozenClock, kind: str
    ) -> None:
        """The old wordings are its versions (specification.md#facts-change)."""
        wordings = ("Always write dates as DD.MM.", "Write dates like 2.3.", "Use ISO dates.")
        event_id = http.remember("Dates?", "Fine.", user_id="ada", critical=wordings[0])["event_id"]
        [fact] = listed(http)
        path, began = f"/api/v7/memory/{kind}/{fact['fact_id']}", clock()
        for text in wordings[1:]:
            clock.advance(DAY_MS)
            answer = http.patch(path, {"text": text, "pinned": True}).json()

            changed = answer["fact"]
            assert (answer["outcome"], changed["fact_id"]) == ("changed", fact["fact_id"])
            assert (changed["text"], changed["event_id"]) == (text, event_id)

        assert [one["text"] for one in changed["versions"]] == list(wordings[:2])
        assert [one["valid_to"] for one in changed["versions"]] == [
            rfc3339(began + DAY_MS),
            rfc3339(began + 2 * DAY_MS),
        ]
        assert changed["supersedes"] == []
        assert (texts(http, status="superseded"), texts(http, status="all")) == ([], [text])
        as_of = rfc3339(began + DAY_MS)
        found = http.memory("dates", "ada", as_of=as_of)["facts"]
        for one in (listed(http, as_of=as_of), found):
            assert [(each["fact_id"], each["text"]) for each in one] == [
                (fact["fact_id"], wordings[1])
            ]

    @pytest.mark.parametrize("kind", ["facts", "instructions"])
    def test_deleting_a_fact_erases_its_versions(self, http: Http, folder: Path, kind: str) -> None:
        """See specification.md#facts-remove."""
        fact = add(http, "Ada sails zx91qv78.")["fact"]
        http.patch(f"{FACTS}/{fact['fact_id']}", {"text": "Ada rows."})

        removed = http.delete(f"/api/v7/memory/{kind}/{fact['fact_id']}").json()

        assert removed["fact_id"] == fact["fact_id"]
        assert [(one["text"], one["versions"]) for one in listed(http, status="all")] == [
            (None, [])
        ]
        assert "zx91qv78" not in str(http.memory("Ada sails zx91qv78", "ada"))
        http.context.close()
        assert not [
            path
            for path in folder.rglob("*")
            if path.is_file() and b"zx91qv78" in path.read_bytes()
        ]

    def test_erasing_the_turn_erases_every_wording(self, http: Http) -> None:
        event_id = http.remember("Hm?", "Ah.", user_id="ada", critical="Ada sails.")["event_id"]
        [fact] = listed(http)
        http.patch(f"{FACTS}/{fact['fact_id']}", {"text": "Ada rows."})

        http.delete(f"/api/v7/event/{event_id}")

        assert texts(http, status="all") == []
        assert http.rows()["facts"] == 0

    def test_times_and_pin_change_in_place(self, http: Http, clock: FrozenClock) -> None:
        """Other fields change without a new version (specification.md#facts-change)."""
        fact_id = add(http, "Ada sails.", valid_to="2030-01-01T00:00:00Z")["fact"]["fact_id"]
        path = f"{FACTS}/{fact_id}"
        http.patch(path, {"pinned": True, "valid_from": "2020-01-01T00:00:00+02:00"})
        fact = http.patch(path, {"clear": ["valid_to"]}).json()["fact"]

        assert (fact["fact_id"], fact["pinned"], fact["valid_to"]) == (fact_id, True, None)
        assert fact["valid_from"] == "2019-12-31T22:00:00.000Z"

    def test_superseded_fact_can_hold_again(self, http: Http) -> None:
        """A wrong link is undone (specification.md#facts-revive)."""
        old = add(http, "The boat is blue.")["fact"]["fact_id"]
        add(http, "We sold the boat.", replaces=old)
        fact = http.patch(f"{FACTS}/{old}", {"status": "current"}).json()["fact"]

        assert (fact["status"], fact["superseded_by"], fact["valid_to"]) == ("current", None, None)
        assert len(http.memory("What colour is the boat?", "ada")["facts"]) == 2

    def test_unknown_fact_is_404(self, http: Http) -> None:
        foreign = add(http.as_account("other"), "Bob sails.")["fact"]["fact_id"]

        for fact_id in (foreign, "f_0000000000000"):
            assert http.patch(f"{FACTS}/{fact_id}", {"pinned": True}).status_code == 404
            assert http.delete(f"{FACTS}/{fact_id}").status_code == 404


def test_removed_fact_leaves_its_id_and_times_only(http: Http) -> None:
    """The text is erased for good (specification.md#facts-remove)."""
    fact_id = add(http, "Ada sails.")["fact"]["fact_id"]
    receipt = http.delete(f"{FACTS}/{fact_id}").json()
    [fact] = listed(http, status="removed")

    assert (receipt["removed"], receipt["fact_id"], receipt["user_id"]) == (True, fact_id, "ada")
    assert (fact["fact_id"], fact["text"], fact["status"]) == (fact_id, None, "removed")
    assert http.memory("Who sails?", "ada")["facts"] == []
    assert texts(http) == []


def test_times_that_cannot_hold_are_refused(http: Http) -> None:
    """An expiry in the past, an end before the beginning (specification.md#facts-expiry)."""
    reversed_period = {"valid_from": "2025-02-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}
    for times in ({"expires_at": "2020-01-01T00:00:00Z"}, reversed_period):
        answer = http.post(FACTS, {"user_id": "ada", "text": "Ada sails.", **times})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == f"/{[*times][-1]}"
    assert listed(http, status="all") == []


class TestSearch:
    def test_superseded_facts_are_served_only_for_history(self, http: Http) -> None:
        """They answer questions about earlier times (specification.md#facts-history)."""
        add(http, "Ada lives in Rome.", valid_from="2025-01-01T00:00:00Z")
        add(http, "Ada moved to Berlin.", valid_from="2025-02-01T00:00:00Z")
        now = http.memory("Where does Ada live?", "ada", interact=False)["facts"]
        history = http.memory("Where did Ada live before?", "ada", interact=False)["facts"]

        assert [fact["text"] for fact in now] == ["Ada moved to Berlin."]
        assert [(fact["text"], fact["status"]) for fact in history] == [
            ("Ada moved to Berlin.", "current"),
            ("Ada lives in Rome.", "superseded"),
        ]
        assert history[1]["superseded_by"] == history[0]["fact_id"]

    def test_as_of_serves_the_facts_of_that_time(self, http: Http) -> None:
        """`as_of`: the memory as it stood then (specification.md#search-as-of)."""
        add(http, "Ada lives in Rome.", valid_from="2025-01-01T00:00:00Z")
        add(http, "Ada moved to Berlin.", valid_from="2025-02-01T00:00:00Z")
        for day, text in (("2025-01-05", "Ferry talk."), ("2025-02-05", "Ferry talk again.")):
            http.remember("Ada?", text, user_id="ada", occurred_at=f"{day}T00:00:00Z")
        then = {"as_of": "2025-01-15T00:00:00Z"}
        answer = http.memory("Where does Ada live, ferry talk", "ada", interact=False, **then)
        pack = http.get("/api/v7/memory/start", params={"user_id": "ada", **then}).json()

        assert [fact["text"] for fact in answer["facts"]] == ["Ada lives in Rome."]
        assert [hit["response"] for hit in answer["hits"]] == ["Ferry talk."]
        assert "Rome" in pack["prompt_text"]
        assert "Berlin" not in pack["prompt_text"]
        assert texts(http, **then) == ["Ada lives in Rome."]

    def test_as_of_in_the_future_is_422(self, http: Http, clock: FrozenClock) -> None:
        future = {"as_of": rfc3339(clock() + DAY_MS)}
        searched = http.post("/api/v7/memory", {"query_text": "a", "user_id": "ada", **future})

        assert searched.status_code == 422
        for path in (FACTS, "/api/v7/memory/start", "/api/v7/memory/map"):
            assert http.get(path, params=future).status_code == 422

    def test_map_as_of_is_the_version_of_that_time(self, http: Http, clock: FrozenClock) -> None:
        """The map has versions (specification.md#search-as-of)."""
        for version in ("First map.", "Second map."):
            http.remember("q", version, user_id="ada", l1_summary=version, l2_map=version)
            clock.advance(DAY_MS)
        as_of = rfc3339(clock() - 2 * DAY_MS)
        answer = http.get("/api/v7/memory/map", params={"user_id": "ada", "as_of": as_of}).json()

        assert (answer["map_text"], answer["version"]) == ("First map.", 1)


class TestStartPack:
    def test_pinned_and_useful_facts_come_first(self, http: Http) -> None:
        """Usefulness, not age, orders the pack (specification.md#start-facts)."""
        add(http, "The safe is behind the map.", pinned=True)
        add(http, "Ada is allergic to penicillin.")
        for n in range(3):
            add(http, f"Ada saw whale number {n}.")
        for _ in range(3):
            http.memory("Any allergies to penicillin?", "ada")
        pack = http.get("/api/v7/memory/start", params={"user_id": "ada", "format": "json"}).json()

        assert pack["parts"]["facts"][:2] == [
            "2026-01-01 The safe is behind the map.",
            "2026-01-01 Ada is allergic to penicillin.",
        ]


def test_pages_of_facts_are_complete(http: Http) -> None:
    """`next` leads through all facts, newest first (specification.md#facts-list)."""
    for n in range(5):
        add(http, f"Ada saw whale number {n}.")
    pages, below = [], None
    while True:
        query = {"user_id": "ada", "limit": 2} | ({"below": below} if below else {})
        answer = http.get(FACTS, params=query).json()
        pages.append([fact["text"][-2] for fact in answer["facts"]])
        below = answer["next"]
        if below is None:
            break

    assert pages == [["4", "3"], ["2", "1"], ["0"]]


@pytest.mark.parametrize(
    ("source", "kinds"), [("user", ["instruction"]), ("model", ["instruction"]), ("tool", [])]
)
def test_an_instruction_is_added_whatever_its_wording(
    http: Http, source: str, kinds: list[str]
) -> None:
    """specification.md#instructions-add"""
    path, text = "/api/v7/memory/instructions", "Metric units in the answers for the workshop."
    answer = http.post(path, {"user_id": "ada", "text": text, "source": source}).json()
    http.post(path, {"user_id": "ada", "text": text, "source": source})
    listed = http.get(path, params={"user_id": "ada"}).json()["instructions"]

    assert answer["fact"]["text"] == text
    assert [one["kind"] for one in listed] == kinds
    assert len(http.get("/api/v7/memory/facts?user_id=ada").json()["facts"]) == 1


class TestInstructions:
    """Standing instructions in what users say (specification.md#instructions-recognised)."""

    def test_a_turn_that_states_one_is_its_source(self, http: Http) -> None:
        message = "Thanks! From now on, always answer in metric units. What is 3 miles?"
        saved = http.remember(message, "4.8 km", user_id="ada", occurred_at="2025-01-05T00:00:00Z")
        answer = http.memory("How far is Elba?", "ada", interact=False)
        [listed_one] = http.get("/api/v7/memory/instructions", params={"user_id": "ada"}).json()[
            "instructions"
        ]

        [instruction] = answer["instructions"]
        assert instruction["text"] == "From now on, always answer in metric units."
        assert (instruction["kind"], instruction["condition"]) == ("instruction", None)
        assert instruction["event_id"] == saved["event_id"]
        assert instruction["valid_from"].startswith("2025-01-05")
        assert (listed_one["fact_id"], listed_one["recognised"]) == (
            instruction["instruction_id"],
            True,
        )
        assert answer["facts"] == []
        assert listed(http) == []

    def test_a_condition_must_fit_the_question(self, http: Http) -> None:
        http.remember("When I ask about recipes, always give the grams.", "Sure.", user_id="ada")

        def instructions(query: str) -> list[str]:
            answer = http.memory(query, "ada", interact=False)
            return [one["condition"] for one in answer["instructions"]]

        assert instructions("Do you know recipes for soup?") == ["When I ask about recipes"]
        assert instructions("When does the ferry leave?") == []

    def test_a_newer_one_on_the_same_matter_supersedes(self, http: Http) -> None:
        for day, language in ((1, "German"), (2, "English")):
            http.remember(
                f"From now on always answer in {language}.",
                "Ok.",
                user_id="ada",
                occurred_at=f"2025-01-0{day}T00:00:00Z",
            )
        served = http.memory("Hello?", "ada", interact=False)["instructions"]

        assert [one["text"] for one in served] == ["From now on always answer in English."]
        assert texts(http, which="instructions", status="superseded") == [
            "From now on always answer in German."
        ]

    def test_erasing_the_turn_erases_it(self, http: Http) -> None:
        event_id = http.remember("Never use emoji.", "Ok.", user_id="ada")["event_id"]
        http.delete(f"/api/v7/event/{event_id}").raise_for_status()

        assert listed(http, which="all", status="all") == []


class TestToldTwice:
    """The same statement is one line (specification.md#facts-same)."""

    @pytest.mark.parametrize(
        ("message", "critical"),
        [
            (
                "Please always answer me in short bullet points.",
                "Always answer Ada in bullet points.",
            ),
            ("I prefer window seats on trains.", "Ada prefers window seats on trains."),
            ("We never deploy on Fridays.", "Deploys on Fridays are never done."),
            ("Bitte antworte immer auf Deutsch.", "Antworte Ada immer auf Deutsch."),
            ("remember: the gate code is 4711", "The gate code is 4711."),
        ],
    )
    def test_as_critical_and_in_the_turn(self, http: Http, message: str, critical: str) -> None:
        http.remember(message, "Noted.", user_id="ada", critical=critical)

        answer = http.memory(message, "ada", session_id="new")
        parts = http.get("/api/v7/memory/start?user_id=ada&format=json").json()["parts"]

        told = {one["text"] for one in [*answer["facts"], *answer["instructions"]]}
        assert told == {critical}
        assert [*parts["instructions"], *parts["facts"]] == [f"2026-01-01 {critical}"]
        if not message.startswith("remember"):
            assert [one["text"] for one in answer["instructions"]] == [critical]

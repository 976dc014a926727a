"""A search answers from every layer: turns, facts, standing instructions, L1s and the map.

See specification.md#search-layers.
"""

from __future__ import annotations

from typing import Any

import pytest
from service import Http

from remembrancer import testing
from remembrancer.memory.maintenance import Maintenance
from remembrancer.server.app import make_app

L1 = (
    "Ada and the boatyard agreed to paint the hull blue and to replace the mast before the regatta."
)


def ask(http: Http, query: str, **more: Any) -> dict[str, Any]:
    """Search without counting a step."""
    answer: dict[str, Any] = http.memory(query, interact=False, **more)
    return answer


def texts(answer: dict[str, Any], layer: str) -> list[str]:
    """Return the texts of one layer of an answer."""
    return [item["text"] for item in answer[layer]]


class TestFacts:
    """Facts that bear on the query; see specification.md#search-facts."""

    def test_a_question_that_only_a_fact_answers_is_answered(self, http: Http) -> None:
        turn = http.remember("Allergies?", "Noted.", session_id="one", critical="allergic to nuts")
        http.remember("Cats?", "Noted.", session_id="one", critical="has two cats, Mia and Leo")

        answer = ask(http, "Is she allergic to anything?", session_id="two")

        assert texts(answer, "facts") == ["allergic to nuts"]
        fact = answer["facts"][0]
        assert (fact["status"], fact["event_id"]) == ("current", turn["event_id"])
        assert fact["fact_id"].startswith("f_")
        assert fact["score"] > 0.2
        assert texts(ask(http, "How do I make pancakes?"), "facts") == []

    def test_answerable_is_about_events_alone(self, http: Http) -> None:
        """A fact that answers does not raise it; see specification.md#search-answerable."""
        http.remember("Which paint is on the hull?", "Blue, two coats.")
        before = ask(http, "When is the deadline of the grant?")
        http.post("/api/v7/remember", {"critical": "The deadline of the grant is 15 May."})

        after = ask(http, "When is the deadline of the grant?")

        assert texts(after, "facts") == ["The deadline of the grant is 15 May."]
        assert after["answerable"] == before["answerable"]

    def test_facts_of_other_users_and_accounts_are_not_found(self, http: Http) -> None:
        http.remember("Allergies?", "Noted.", user_id="ada", critical="allergic to nuts")
        http.as_account("bob").remember("Allergies?", "Noted.", critical="allergic to milk")

        assert texts(ask(http, "allergic", user_id="ben"), "facts") == []
        assert texts(ask(http, "allergic"), "facts") == []


class TestSummaries:
    """L1s and map lines that bear on the query; see specification.md#search-summaries."""

    def test_an_l1_is_found_and_lifts_its_turns(self, http: Http) -> None:
        for text in ("It will be blue.", "The old one is rotten.", "In June."):
            http.remember("And then?", text, session_id="yard")
        http.remember("Nothing", "else", session_id="yard", l1_summary=L1, topic="boat")
        for number in range(8):
            http.remember("And then?", f"It is {number} o'clock in June.", session_id="other")

        answer = ask(http, "What was agreed with the boatyard about mast and hull?", top_k=2)

        assert [(one["session_id"], one["topic"]) for one in answer["summaries"]] == [
            ("yard", "boat")
        ]
        assert answer["summaries"][0]["l1_id"].startswith("l1_")
        assert {hit["session_id"] for hit in answer["hits"]} == {"yard"}
        assert "summary" in {signal["signal"] for signal in answer["hits"][0]["why"]}

    def test_lines_of_the_newest_map_are_found(self, http: Http) -> None:
        old = "- The boat is here."
        new = "- The boat is blue.\n- The tax return is due in July.\n- The cat is called Mia."
        for text in (old, new):
            http.remember("q", "Noted: " + text, l1_summary="Blue boat, cat, July.", l2_map=text)

        answer = ask(http, "When is the tax return due?")

        lines = [one["text"] for one in answer["summaries"] if one.get("map_version")]
        assert lines == ["- The tax return is due in July."]
        assert (answer["summaries"][0]["map_version"], answer["summaries"][0]["l1_id"]) == (2, None)


@pytest.fixture
def filled(http: Http) -> Http:
    """Store one item of each layer about the boat."""
    http.remember("The boat?", "The boat is blue.", critical="The boat is called Ella.")
    http.remember("The boat?", "Yes.", critical="Never call the boat a ship.", l1_summary=L1)
    return http


@pytest.mark.parametrize("layer", ["events", "facts", "instructions", "summaries"])
def test_layers_narrow_the_answer(filled: Http, layer: str) -> None:
    """Only the named layers are filled (specification.md#search-layers)."""
    answer = ask(filled, "What about the boat and its hull?", layers=[layer])

    filled_layers = [
        name
        for name, field in (
            ("events", "hits"),
            ("facts", "facts"),
            ("instructions", "instructions"),
            ("summaries", "summaries"),
        )
        if answer[field]
    ]
    assert filled_layers == [layer]


def test_tokens_are_spent_on_instructions_facts_hits_summaries(filled: Http) -> None:
    """At most a third each on instructions and facts; see specification.md#search-max-tokens."""
    query = "What about the boat and its hull?"
    everything = ask(filled, query)
    assert all(everything[name] for name in ("instructions", "facts", "hits", "summaries"))

    small = ask(filled, query, max_tokens=22)

    assert small["instructions"] == everything["instructions"]
    assert small["facts"]
    assert len(small["hits"]) == 1
    assert small["summaries"] == []
    tiny = ask(filled, query, max_tokens=6)
    assert (tiny["instructions"], tiny["facts"], len(tiny["hits"])) == ([], [], 1)


def test_entries_made_without_vectors_get_them_in_the_background(http: Http, tmp_path: Any) -> None:
    """As after an upgrade or a change of the embedder; until then words find them."""
    turn = {"query": "Allergies?", "response": "Noted.", "critical": "allergic to penicillin"}
    http.remember(**turn)
    context = http.context
    context.store.write(
        lambda tx: tx.run("update layer_index set words = :empty, embedder = null", empty=b"")
    )
    context.index_cache.close()
    other = testing.context(tmp_path, settings=context.settings, store=context.store)

    def facts() -> list[str]:
        client = http.client.__class__(make_app(other), base_url="http://127.0.0.1:8460")
        return texts(ask(Http(client, other, http.key), "Is it penicillin?"), "facts")

    assert facts() == ["allergic to penicillin"]
    maintenance = Maintenance(other)
    while maintenance.step():
        pass
    rows = context.store.read(lambda tx: tx.all("select embedder, words from layer_index"))
    assert all(row.embedder is not None and row.words for row in rows)
    assert facts() == ["allergic to penicillin"]

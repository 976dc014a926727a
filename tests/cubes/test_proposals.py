"""Proposed cubes that say the same are merged; improved versions take the place of earlier ones."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http, body_of

TOPIC = "kettles"
ESSENCE = "Descaling a kettle takes vinegar and ten minutes, not scrubbing."
RULES = "- MUST boil one part vinegar with two parts water.\n- SHALL rinse twice before use."
QUESTION = "How do I descale my kettle?"


def create(http: Http, rules: str = RULES, essence: str = ESSENCE, **more: Any) -> Any:
    """Create a private cube; return the response body."""
    body = {"topic": TOPIC, "essence": essence, "rules_markdown": rules, "evidence": "tried"}
    return body_of(http.post("/api/v7/experience/create", body | more))


def publish(http: Http, rules: str = RULES, essence: str = ESSENCE, **more: Any) -> Any:
    """Publish a cube with a turn of a session of its own; return the response body."""
    cube = {"cube_topic": TOPIC, "cube_essence": essence, "cube_rules": rules}
    session_id = f"s{len(rules)}{len(essence)}"
    return http.remember("q", "r", session_id=session_id, cube_publish=True, **cube, **more)


def served(http: Http) -> dict[str, Any]:
    """Return the cubes of a pure read by id."""
    answer = http.memory(QUESTION, interact=False)
    return {cube["cube_id"]: cube for cube in answer["shared_cubes"]}


def vote(http: Http, cube_id: str, vote: int = 1) -> Any:
    """Vote on a cube."""
    body = {"cube_id": cube_id, "user_id": "owner", "vote": vote, "reason": "because"}
    return http.post("/api/v7/experience/vote", body)


def test_equal_cubes_of_an_account_are_served_once_and_both_ids_answer(http: Http) -> None:
    """Equal cubes are merged (specification.md#cube-merged)."""
    first = create(http)
    second = create(http, rules=RULES.replace("- ", "* "))

    assert second["merged_into"] == first["cube_id"]
    assert first["cube_id"] in second["detail"]
    assert list(served(http)) == [first["cube_id"]]
    assert [vote(http, one["cube_id"]).status_code for one in (first, second)] == [200, 200]


def test_clearer_wording_takes_the_place(http: Http) -> None:
    """The clearer wording is served (specification.md#cube-clearer)."""
    rules = "MUST boil one part vinegar with two parts water. SHALL rinse twice before use."
    first = create(http, rules=f"{rules} It is good to know that, " + "really " * 90)
    second = create(http, rules=RULES)

    assert "merged_into" not in second
    assert list(served(http)) == [second["cube_id"]]
    assert served(http)[second["cube_id"]]["rules_markdown"] == RULES
    assert vote(http, first["cube_id"]).status_code == 200


def test_proposal_of_another_account_confirms_the_published_cube(http: Http) -> None:
    """A merged proposal counts as a vote of its account (specification.md#cube-proposed-again)."""
    original = publish(http)["cube"]["cube_id"]
    others = [http.as_account(name) for name in ("bob", "cleo", "dora")]

    answers = [publish(other)["cube"] for other in others]

    assert {answer["merged_into"] for answer in answers} == {original}
    result = vote(others[0], answers[0]["cube_id"]).json()
    assert (result["cube_status"], result["votes"]["useful"]) == ("trusted", 3)
    assert list(served(others[1])) == [original]


def test_wording_of_another_account_is_never_replaced(http: Http) -> None:
    original = publish(http)["cube"]["cube_id"]
    bob = http.as_account("bob")

    publish(bob, rules=RULES + "\n- SHALL rinse twice before use.")

    assert served(http)[original]["rules_markdown"] == RULES


def test_private_cube_stays_beside_that_of_another_account(http: Http) -> None:
    """A private cube is never merged into another account's (specification.md#cube-merged)."""
    original = publish(http)["cube"]["cube_id"]
    bob = http.as_account("bob")

    own = create(bob)

    assert (own["visibility"], "merged_into" in own) == ("private", False)
    assert original in own["detail"]
    assert own["cube_id"] not in served(http)


class TestImproved:
    """An improved version takes the place of a cube and keeps its history."""

    def test_improved_version_is_served_and_rated_anew(self, http: Http) -> None:
        """`improves` names the cube it improves (specification.md#cube-improves)."""
        first = publish(http)["cube"]["cube_id"]
        bob = http.as_account("bob")
        vote(bob, first)
        better = RULES + "\n- MUST unplug the kettle first."

        second = publish(http, rules=better, cube_improves=first)["cube"]["cube_id"]

        note = served(bob)[second]["note"]
        assert (list(served(bob)), note.startswith("new")) == ([second], True)
        assert vote(bob, first).json()["votes"]["useful"] == 1

    def test_version_that_is_not_published_leaves_the_published_cube(self, http: Http) -> None:
        first = publish(http)["cube"]["cube_id"]

        second = create(http, rules=RULES + "\n- MUST unplug it first.", improves=first)

        assert first in second["detail"]
        assert set(served(http)) == {first, second["cube_id"]}

    @pytest.mark.parametrize("whose", ["nobody", "bob"])
    def test_only_own_cubes_can_be_improved(self, http: Http, whose: str) -> None:
        cube_id = "c_0000000000000"
        if whose == "bob":
            cube_id = publish(http.as_account("bob"))["cube"]["cube_id"]
        body = {"topic": "t", "essence": "e", "rules_markdown": "r", "evidence": "x"}

        answer = http.post("/api/v7/experience/create", body | {"improves": cube_id})

        assert answer.status_code == 404
        assert http.rows()["cubes"] == (whose == "bob")


def test_older_cube_that_a_newer_trusted_one_contradicts_is_not_served(http: Http) -> None:
    """A contradicted cube is not served (specification.md#cube-contradicted)."""
    old = publish(http, "- MUST descale the kettle with strong vinegar.")["cube"]["cube_id"]
    new = publish(http, "- MUST NOT descale the kettle with strong vinegar.")["cube"]["cube_id"]
    before = set(served(http))

    for name in ("bob", "cleo", "dora"):
        vote(http.as_account(name), new)

    assert (before, set(served(http))) == ({old, new}, {new})


def test_erasing_an_account_serves_the_merged_cube_of_the_other_again(http: Http) -> None:
    """Erasing a cube separates those merged with it (specification.md#cube-merged-erased)."""
    bob = http.as_account("bob")
    publish(bob)
    own = publish(http)["cube"]
    assert own["merged_into"] is not None

    answer = bob.post("/api/v7/memory/forget", {"account": True, "confirm": "bob"})
    assert answer.status_code == 200, answer.text

    assert list(served(http)) == [own["cube_id"]]

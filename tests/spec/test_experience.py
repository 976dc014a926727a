"""Outcomes of cubes: the use of those that searches return, and how the turns ended."""

from __future__ import annotations

from typing import Any

import pytest
from service import Http, body_of

from remembrancer import testing
from remembrancer.cubes.outcomes import SETTLED_AFTER_MS
from remembrancer.memory.maintenance import Maintenance

QUESTION = "How do I descale my kettle?"
LESSON = {
    "topic": "kettles",
    "essence": "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "rules_markdown": "- MUST boil one part vinegar with two parts water.\n"
    "- SHALL rinse twice before use.",
    "evidence": "tried at home",
}
FOLLOWING = "Boil one part vinegar with two parts water, and rinse twice before use."


def create(http: Http, **more: Any) -> str:
    """Create a cube; return its id."""
    return str(body_of(http.post("/api/v7/experience/create", {**LESSON, **more}))["cube_id"])


def cube_ids(answer: Any) -> list[str]:
    """Return the ids of the cubes of a search."""
    return [cube["cube_id"] for cube in answer["shared_cubes"]]


def record(http: Http) -> str | None:
    """Return the record of the first cube that a search returns, which counts no search."""
    answer = http.memory(QUESTION, session_id="reader", interact=False)
    record: str | None = answer["shared_cubes"][0].get("record")
    return record


def turn(
    http: Http, session: str, response: str = FOLLOWING, then: str = "Thanks! And the iron?"
) -> None:
    """Search, remember the turn, and begin the next one."""
    http.memory(QUESTION, session_id=session)
    http.remember(QUESTION, response, user_id="owner", session_id=session)
    http.memory(then, session_id=session)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (FOLLOWING, "helped 1 of 1"),
        ("Vinegar did it ({id}).", "helped 1 of 1"),
        ("Scrub it with sand.", None),
        ("How do I descale my kettle? I do not know.", None),
    ],
)
def test_answer_that_cites_or_follows_the_rules_uses_the_cube(
    http: Http, response: str, expected: str | None
) -> None:
    """Citing and following are use (specification.md#outcome-use)."""
    cube_id = create(http)
    turn(http, "s", response.format(id=cube_id))

    assert record(http) == expected


def test_correction_by_the_user_is_a_bad_outcome(http: Http) -> None:
    """A correction makes the outcome bad (specification.md#outcome-bad)."""
    create(http)
    turn(http, "s", then="No, that does not work. The scale is still there.")

    assert record(http) == "helped 0 of 1"


def test_last_turn_of_a_session_is_judged_after_an_hour(
    http: Http, clock: testing.FrozenClock
) -> None:
    """A session without a next search is judged an hour later (specification.md#outcome-settled).

    A search without a turn has no outcome.
    """
    create(http)
    for text in (QUESTION, "And the iron?"):
        http.memory(text, session_id="r")
    http.memory(QUESTION, session_id="s")
    http.remember(QUESTION, FOLLOWING, session_id="s")
    upkeep = Maintenance(http.context)
    upkeep.step()
    before = record(http)

    clock.advance(SETTLED_AFTER_MS + 1)
    upkeep.step()

    assert (before, record(http)) == (None, "helped 1 of 1")


def test_a_session_is_shown_a_cube_while_it_fits(http: Http) -> None:
    """Its note says that it was shown before (specification.md#cube-again)."""
    cube_id = create(http)

    first, again = (http.memory(QUESTION, session_id="s") for _ in range(2))
    other = http.memory("When does the ferry to Elba leave?", session_id="s")
    later = http.memory(QUESTION, session_id="s")
    elsewhere = http.memory(QUESTION, session_id="t")

    assert [cube_ids(one) for one in (first, again, other, later, elsewhere)] == [
        [cube_id],
        [cube_id],
        [],
        [cube_id],
        [cube_id],
    ]
    answers = (first, again, later, elsewhere)
    assert ["shown before" in one["shared_cubes"][0]["note"] for one in answers] == [
        False,
        True,
        True,
        False,
    ]
    assert all(one["shared_cubes"][0]["note"].startswith("own") for one in answers)


def test_cube_says_why_it_is_served_and_how_it_did(http: Http) -> None:
    """A turn's use and outcome are recorded; `why` and `record` explain a cube.

    See specification.md#outcome-recorded, specification.md#cube-why.
    """
    create(http)
    first = http.memory(QUESTION, session_id="s")["shared_cubes"][0]
    http.remember(QUESTION, FOLLOWING, session_id="s")
    http.memory("And the iron?", session_id="s")

    second = http.memory(QUESTION, session_id="t")["shared_cubes"][0]

    assert ("kettle" in first["why"], "record" in first) == (True, False)
    assert second["record"] == "helped 1 of 1"


def test_cube_fits_the_error_of_the_turn(http: Http) -> None:
    """`work` has what the turn contains besides (specification.md#search-work)."""
    cube_id = create(
        http,
        topic="json keys",
        essence="json.dumps raises TypeError: keys must be str, int, float, bool or None.",
        rules_markdown="- MUST convert tuple keys to text before json.dumps.",
    )
    error = "TypeError: keys must be str, int, float, bool or None, not tuple"

    without = http.memory("it does not work", session_id="s")
    with_error = http.memory(
        "it does not work", session_id="t", work={"error": error, "tools": ["Bash"]}
    )

    assert (cube_ids(without), cube_ids(with_error)) == ([], [cube_id])


def test_users_of_an_account_retire_a_cube_for_each_other(http: Http) -> None:
    """Two users decide within their account (specification.md#cube-within)."""
    cube_id = create(http, visibility="account")
    for user in ("ada", "ben"):
        vote = {"cube_id": cube_id, "user_id": user, "vote": -1, "reason": "It was wrong."}
        answer = http.post("/api/v7/experience/vote", vote).json()
        visible = cube_ids(http.memory(QUESTION, user_id="chen", interact=False))
        expected = [cube_id] if user == "ada" else []
        assert (answer["cube_status"], visible) == ("private", expected)


def test_record_of_a_cube_is_that_of_the_account(http: Http) -> None:
    """Other accounts see no outcome of the account's turns (specification.md#outcome-private)."""
    publish = {
        "cube_topic": LESSON["topic"],
        "cube_essence": LESSON["essence"],
        "cube_rules": LESSON["rules_markdown"],
        "cube_publish": True,
    }
    http.as_account("bob").remember("q", "r", **publish)
    turn(http, "s")

    assert record(http) == "helped 1 of 1"
    assert record(http.as_account("bob")) is None

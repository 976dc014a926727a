"""The effect of cubes: exposures, use, outcomes, and what the field trial measures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sandboxes import SharedSandbox
from service import Http, new_key
from starlette.testclient import TestClient

from remembrancer import testing
from remembrancer.cubes.outcomes import SETTLED_AFTER_MS, corrects, follows
from remembrancer.cubes.trial import TRIAL_AFTER
from remembrancer.memory.maintenance import Maintenance
from remembrancer.server.app import make_app

EFFECT = "/api/v7/experience/effect"
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
    answer = http.post("/api/v7/experience/create", {**LESSON, **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["cube_id"])


def cube_ids(answer: Any) -> list[str]:
    """Return the ids of the cubes of a search."""
    return [cube["cube_id"] for cube in answer["shared_cubes"]]


def report(http: Http, **parameters: Any) -> Any:
    """Return the response body."""
    answer = http.get(EFFECT, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def turn(
    http: Http, session: str, response: str = FOLLOWING, then: str = "Thanks! And the iron?"
) -> None:
    """Search, remember the turn, and begin the next one."""
    http.memory(QUESTION, session_id=session)
    http.remember(QUESTION, response, user_id="owner", session_id=session)
    http.memory(then, session_id=session)


def test_nothing_is_known_before_a_search(http: Http) -> None:
    answer = report(http)

    assert (answer["cubes"], answer["next"], answer["trial_share"]) == ([], None, 0)
    assert (answer["all"]["effect"], answer["all"]["interval"]) == (None, [-1, 1])


def test_exposure_use_and_outcome_of_a_turn_are_recorded(http: Http) -> None:
    """A turn's exposure, use and outcome are recorded (specification.md#effect-exposures)."""
    cube_id = create(http)
    turn(http, "s")

    [row] = report(http)["cubes"]

    assert (row["cube_id"], row["topic"], row["cube_status"]) == (cube_id, "kettles", "private")
    assert (row["exposures"], row["outcomes"], row["used"], row["helped"]) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("response", "used"),
    [
        (FOLLOWING, 1),
        ("Vinegar did it ({id}).", 1),
        ("Scrub it with sand.", 0),
        ("How do I descale my kettle? I do not know.", 0),
    ],
)
def test_answer_that_cites_or_follows_the_rules_uses_the_cube(
    http: Http, response: str, used: int
) -> None:
    """Citing and following are use (specification.md#effect-use)."""
    cube_id = create(http)
    turn(http, "s", response.format(id=cube_id))

    assert report(http)["cubes"][0]["used"] == used


def test_vote_for_a_cube_is_use(http: Http) -> None:
    cube_id = create(http)
    http.memory(QUESTION, session_id="s")
    http.remember(QUESTION, "Scrub it.", session_id="s")
    vote = {"cube_id": cube_id, "user_id": "owner", "vote": 1, "reason": "It worked."}
    http.post("/api/v7/experience/vote", vote)
    http.memory("And the iron?", session_id="s")

    assert report(http)["cubes"][0]["used"] == 1


def test_correction_by_the_user_is_a_bad_outcome(http: Http) -> None:
    """A correction makes the outcome bad (specification.md#effect-outcome)."""
    create(http)
    turn(http, "s", then="No, that does not work. The scale is still there.")

    [row] = report(http)["cubes"]

    assert (row["outcomes"], row["used"], row["helped"]) == (1, 1, 0)


def test_failed_second_look_is_a_bad_outcome(http: Http) -> None:
    create(http)
    draft = f"{FOLLOWING} It costs 12 EUR."
    http.memory(QUESTION, session_id="s")
    http.remember(QUESTION, draft, user_id="owner", session_id="s")
    assert http.post("/api/v7/agent/second-look", {"draft": draft}).json()["status"] == "fail"
    http.memory("And the iron?", session_id="s")

    assert report(http)["cubes"][0]["helped"] == 0


@pytest.mark.parametrize(("program", "helped"), [("print(1)", 1), ("1 / 0", 0)])
def test_last_program_of_the_turn_decides(
    http: Http, clock: testing.FrozenClock, program: str, helped: int
) -> None:
    create(http)
    http.memory(QUESTION, session_id="s")
    clock.advance(1_000)
    for code in ("import nothing_of_the_sort", program):
        run = http.post("/api/v7/execute/code", {"code": code, "session_id": "s"})
        assert run.status_code == 200
    http.remember(QUESTION, FOLLOWING, session_id="s")
    clock.advance(1_000)
    http.memory("And the iron?", session_id="s")

    assert report(http)["cubes"][0]["helped"] == helped


def test_search_without_a_turn_has_no_outcome(http: Http) -> None:
    create(http)
    http.memory(QUESTION, session_id="s")
    http.memory("And the iron?", session_id="s")

    [row] = report(http)["cubes"]

    assert (row["exposures"], row["outcomes"]) == (1, 0)


def test_last_turn_of_a_session_is_judged_after_an_hour(
    http: Http, clock: testing.FrozenClock
) -> None:
    """A session without a next search is judged an hour later (specification.md#effect-settled)."""
    create(http)
    http.memory(QUESTION, session_id="s")
    http.remember(QUESTION, FOLLOWING, session_id="s")
    upkeep = Maintenance(http.context)
    upkeep.step()
    before = report(http)["cubes"][0]["outcomes"]

    clock.advance(SETTLED_AFTER_MS + 1)
    upkeep.step()

    [row] = report(http)["cubes"]
    assert (before, row["outcomes"], row["helped"]) == (0, 1, 1)


def test_session_meets_a_cube_once(http: Http) -> None:
    """A counted search shows no cube again (specification.md#cube-once)."""
    cube_id = create(http)

    first = http.memory(QUESTION, session_id="s")
    again = http.memory(QUESTION, session_id="s")
    elsewhere = http.memory(QUESTION, session_id="t")
    pure = http.memory(QUESTION, session_id="s", interact=False)

    assert [cube_ids(one) for one in (first, again, elsewhere, pure)] == [
        [cube_id],
        [],
        [cube_id],
        [cube_id],
    ]


def test_cube_says_why_it_is_served_and_how_it_did(http: Http) -> None:
    """`why` and `record` explain a cube (specification.md#cube-why)."""
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
    cube_id = create(http)
    for user in ("ada", "ben"):
        vote = {"cube_id": cube_id, "user_id": user, "vote": -1, "reason": "It was wrong."}
        answer = http.post("/api/v7/experience/vote", vote).json()
        visible = cube_ids(http.memory(QUESTION, user_id="chen", interact=False))
        expected = [cube_id] if user == "ada" else []
        assert (answer["cube_status"], visible) == ("private", expected)


class TestTrial:
    """A share of the searches goes without cubes, drawn at random."""

    @pytest.fixture
    def http(self, folder: Path, clock: testing.FrozenClock) -> Any:
        """Return a client of a service that withholds whatever it may."""
        context = testing.context(folder, clock=clock)
        context = replace(context, settings=replace(context.settings, field_trial=1.0))
        app = make_app(context, sandbox=SharedSandbox(context.settings))
        with TestClient(app, base_url="http://127.0.0.1:8460") as client:
            yield Http(client, context, new_key(context))
        context.close()

    def test_cube_is_withheld_after_its_first_exposures(self, http: Http) -> None:
        """New cubes are never withheld (specification.md#trial-first)."""
        cube_id = create(http)

        served = [cube_ids(http.memory(QUESTION, session_id=f"s{n}")) for n in range(5)]

        assert served == [[cube_id]] * TRIAL_AFTER + [[]] * (5 - TRIAL_AFTER)

    def test_withheld_cube_owes_no_rating_and_is_counted_apart(self, http: Http) -> None:
        """Withheld cubes are counted apart (specification.md#trial-arms)."""
        other = http.as_account("bob")
        publish = {
            "cube_topic": LESSON["topic"],
            "cube_essence": LESSON["essence"],
            "cube_rules": LESSON["rules_markdown"],
            "cube_publish": True,
        }
        other.remember("q", "r", **publish)
        for n in range(TRIAL_AFTER):
            turn(http, f"s{n}")
        turn(http, "last", then="No, that is wrong.")

        [row] = report(http)["cubes"]
        reminders = http.memory("And the kettle?", session_id="last")["reminders"]

        assert row["without_cube"] == {"exposures": 1, "outcomes": 1, "good": 0}
        assert (row["exposures"], row["outcomes"], row["effect"]) == (TRIAL_AFTER, 4, None)
        assert not any(row["cube_id"] in text for text in reminders or ())

    def test_pure_reads_take_no_part(self, http: Http) -> None:
        cube_id = create(http)
        for n in range(TRIAL_AFTER):
            http.memory(QUESTION, session_id=f"s{n}")

        assert cube_ids(http.memory(QUESTION, interact=False)) == [cube_id]

    def test_report_has_the_difference_and_its_interval(self, http: Http) -> None:
        """The effect is the difference of both sides (specification.md#effect-interval)."""
        create(http)
        trial = (
            "update shown_cubes set trial = session % 2, outcome = 1 - session % 2, settled_ms = 1"
        )
        for n in range(12):
            http.memory(QUESTION, session_id=f"s{n}")
        http.context.store.write(lambda tx: tx.run(trial))

        answer = report(http)

        for one in (answer["cubes"][0], answer["all"]):
            assert (one["effect"], one["with_cube"]["good"], one["without_cube"]["good"]) == (
                1,
                6,
                0,
            )
            low, high = one["interval"]
            assert -1 <= low < 1
            assert high == 1


def test_report_has_own_turns_only_and_pages(http: Http) -> None:
    """The report covers the caller's account (specification.md#effect-private)."""
    cubes = [create(http, topic=f"kettles {n}") for n in range(3)]
    http.memory(QUESTION, session_id="s")
    pinned = http.as_account("owner", user_id="ada")

    first = report(http, limit=2)
    rest = report(http, limit=2, below=first["next"])
    one = report(http, cube_id=cubes[0])

    ids = [row["cube_id"] for row in first["cubes"] + rest["cubes"]]
    assert sorted(ids) == sorted(cubes)
    assert [row["cube_id"] for row in one["cubes"]] == [cubes[0]]
    assert report(http.as_account("bob"))["cubes"] == report(pinned)["cubes"] == []


@pytest.mark.parametrize(
    "message",
    [
        "No, that's wrong.",
        "that does not work",
        "still fails with the same error",
        "That is not what I asked for",
        "Nein, das stimmt nicht",
        "das funktioniert nicht",
        "ça ne marche pas",
        "No funciona",
        "Non funziona ancora",
        "Нет, это неправильно",
        "不对，还是报错",
    ],
)
def test_messages_that_correct_are_recognised(message: str) -> None:
    assert corrects(message)


@pytest.mark.parametrize(
    "message",
    [
        "Thanks, that works!",
        "No problem. What about the iron?",
        "It is not urgent, but can you check the date?",
        "Danke, das passt",
        "Now write the tests",
        "No, thank you.",
        "не забудь про чайник",
        "不错，谢谢",
        "",
    ],
)
def test_other_messages_correct_nothing(message: str) -> None:
    assert not corrects(message)


@pytest.mark.parametrize(
    ("rules", "answer", "expected"),
    [
        ("- MUST call `math.fsum(values)`.", "total = math.fsum(values)", True),
        ("- MUST call `math.fsum(values)`.", "total = sum(values)", False),
        ("- MUST pass timeout_s to every request.", "get(url, timeout_s=3)", True),
        ("- MUST ask about allergies, religion, budget, travel.", "What is your budget?", False),
    ],
)
def test_answer_follows_rules_by_code_or_by_many_words(
    rules: str, answer: str, expected: bool
) -> None:
    assert follows(rules, "What now?", answer) == expected

"""Steps, seals, duties, open tasks and built-in help of a search."""

from __future__ import annotations

from typing import Any

from service import Http

from remembrancer.protocol.seal import render

CUBE = {
    "cube_type": "fact",
    "cube_topic": "ferry",
    "cube_essence": "Ferries leave from Piombino.",
    "cube_rules": "Name the pier.",
}
FERRY = {"query": "When does the ferry leave?", "response": "At 9:40 from Piombino."}


def search_with_seal(http: Http, step: int, **more: Any) -> Any:
    """Search with the seal of this step."""
    return http.memory("ferry", last_seal=render(step), **more)


def test_steps_count_per_space_and_session(http: Http) -> None:
    """Steps count per space and session (specification.md#step-counts)."""
    steps = [
        http.memory("a", user_id=user, session_id=s)["step"]
        for user, s in (("u", "s"), ("u", "s"), ("u", "t"), ("v", "s"))
    ]

    assert steps == [1, 2, 1, 1]


def test_first_search_reports_no_duties(http: Http) -> None:
    """Nor does a turn before it cause one.

    See specification.md#duty-first-search, specification.md#duty-before-search.
    """
    assert http.remember(**FERRY, session_id="s")["step"] == 0
    for session_id in ("default", "s"):
        answer = http.memory("ferry", last_seal="nonsense", session_id=session_id)
        assert not {"duty_error", "reminders"} & set(answer)


def test_missing_turn_is_a_duty_error_until_one_is_remembered(http: Http) -> None:
    """It is reported until settled, and withholds nothing.

    See specification.md#duty-until-remembered.
    """
    http.remember(**FERRY, session_id="before")
    http.memory("ferry")
    missed, again = search_with_seal(http, 1), search_with_seal(http, 2)
    http.remember(**FERRY)
    repaired = search_with_seal(http, 3)

    assert "since step 1" in missed["duty_error"]
    assert "since step 1" in again["duty_error"]
    assert [hit["response"] for hit in missed["hits"]] == [FERRY["response"]]
    assert "duty_error" not in repaired


def test_turn_of_another_session_does_not_settle_the_duty(http: Http) -> None:
    """Duties are per session (specification.md#duty-until-remembered)."""
    http.memory("ferry", session_id="s")
    http.remember(**FERRY, session_id="t")

    assert "duty_error" in search_with_seal(http, 1, session_id="s")


def test_wrong_seal_is_a_duty_error_and_a_missing_one_a_reminder(http: Http) -> None:
    """A wrong seal is a duty error, a missing one a reminder.

    See specification.md#seal-wrong, specification.md#seal-missing.
    """
    seals = dict.fromkeys([None, "", "REM #1"], "reminders")
    seals |= dict.fromkeys([render(2), render(0), render(1, "SVC")], "duty_error")
    for number, (last_seal, message) in enumerate(seals.items()):
        session = {"session_id": f"s{number}"}
        http.memory("ferry", **session)
        http.remember(**FERRY, **session)

        answer = http.memory("ferry", last_seal=last_seal, **session)

        assert {"duty_error", "reminders"} & set(answer) == {message}, last_seal
        assert render(1) in str(answer[message])


def test_read_only_search_counts_no_step_and_checks_no_duty(http: Http) -> None:
    """Only interacting searches are checked (specification.md#search-read-only)."""
    http.remember(**FERRY)
    http.memory("ferry")
    read, other = (
        http.memory("ferry", interact=False),
        http.as_account("owner", read_only=True).memory("ferry"),
    )

    assert [answer["step"] for answer in (read, other)] == [1, 1]
    assert not {"duty_error", "reminders"} & {*read, *other}
    assert [hit["response"] for hit in other["hits"]] == [FERRY["response"]]
    assert http.memory("ferry")["step"] == 2


def no_cube(http: Http, **more: Any) -> None:
    """Say that no cube was learned in the turns until now."""
    http.post(
        "/api/v7/remember", {"duty": "cube_nothing", "duty_reason": "Nothing new.", **more}
    ).raise_for_status()


def test_cube_is_due_after_three_turns_until_one_comes_or_a_reason(http: Http) -> None:
    """Three turns without a cube or cube_nothing are reported (specification.md#duty-cube-due)."""
    reminders = []
    for n in range(1, 6):
        last_seal = {"last_seal": render(n - 1)} if n > 1 else {}
        reminders.append(http.memory("ferry", **last_seal).get("reminders"))
        http.remember(f"Question {n}?", "Answer.")
        if n == 4:
            no_cube(http)

    assert [line and line[0].split(":")[0] for line in reminders] == [
        None, None, None, "A cube is due", None,
    ]  # fmt: skip


def test_cube_settles_what_three_turns_owed(http: Http) -> None:
    """A cube settles it too (specification.md#duty-cube-due)."""
    http.memory("ferry")
    for n in range(3):
        http.remember(f"Question {n}?", "Answer.")
    owing = search_with_seal(http, 1)["reminders"]
    http.remember("Question 4?", "Answer.", **CUBE)

    assert owing[0].startswith("A cube is due: the last 3 turns")
    assert "reminders" not in search_with_seal(http, 2)


def test_second_look_is_due_for_a_reply_that_cites(http: Http) -> None:
    """The latest turn's missing second look is reported (specification.md#duty-look-due)."""
    http.remember(**FERRY)
    http.memory("ferry")
    event_id = http.memory("ferry", last_seal=render(1))["hits"][0]["event_id"]
    draft = f"The ferry leaves at 9:40 (ref: {event_id})."
    http.remember("And the ferry?", draft)
    owing = search_with_seal(http, 2)["reminders"]
    http.post("/api/v7/agent/second-look", {"draft": draft, "query": "And the ferry?"})
    checked = search_with_seal(http, 3)
    http.remember("Thanks!", "Gladly.", duty="cube_nothing", duty_reason="Nothing new.")

    assert [line.split(" and ")[0] for line in owing] == ["The last reply cites events"]
    assert not any("second look" in line for line in checked.get("reminders", []))
    assert "reminders" not in search_with_seal(http, 4)


def test_l1_is_due_after_fifteen_turns_until_it_is_saved(http: Http) -> None:
    """An L1 is due after 15 turns (specification.md#duty-l1-due)."""
    due = [http.remember(f"Question {n}?", "Answer.")["l1_due"] for n in range(15)]
    http.memory("a")
    no_cube(http)
    reminded = search_with_seal(http, 1)["reminders"]
    value = http.remember("Question?", "Answer.", l1_summary="Fifteen questions were answered.")

    assert due == [False] * 14 + [True]
    assert [line.split(":")[0] for line in reminded] == ["An L1 is due"]
    assert value["l1_due"] is False


def test_l2_is_due_after_ten_l1s_until_it_is_saved(http: Http) -> None:
    """An L2 is due after 10 L1s (specification.md#duty-l2-due)."""
    due = [
        http.remember(f"Question {n}?", "Answer.", l1_summary=f"Question {n} was answered.")[
            "l2_due"
        ]
        for n in range(10)
    ]
    http.memory("a")
    no_cube(http)
    reminded = search_with_seal(http, 1)["reminders"]
    body = http.post("/api/v7/remember", {"l2_map": "Questions and answers."}).json()

    assert due == [False] * 9 + [True]
    assert [line.split(":")[0] for line in reminded] == ["An L2 is due"]
    assert body["l2_due"] is False


def test_open_tasks_of_other_sessions_are_listed(http: Http) -> None:
    """Other sessions with an open task, at most 5 (specification.md#search-open-tasks)."""
    for n in range(7):
        http.remember(f"Task {n}?", "Begun.", session_id=f"s{n}", topic=f"t{n}", task_done=False)
    http.remember("Task 6 again?", "Done.", session_id="s6", task_done=True)
    http.post("/api/v7/remember", {"session_id": "s5", "task_done": True})
    http.remember("Foreign?", "Begun.", user_id="bob", session_id="foreign", task_done=False)

    tasks = http.memory("anything", session_id="s4")["open_tasks"]

    assert [task["session_id"] for task in tasks] == ["s3", "s2", "s1", "s0"]
    assert tasks[0].pop("task_id").startswith("e_")
    assert tasks[0] == {
        "session_id": "s3",
        "query": "Task 3?",
        "opened_at": "2026-01-01T00:00:00.000Z",
    }
    assert len(http.memory("anything", session_id="new")["open_tasks"]) == 5
    assert "open_tasks" not in http.memory("anything", user_id="carol")


def test_questions_about_the_service_get_its_help(http: Http) -> None:
    """Only questions about the service get help (specification.md#search-help)."""
    assert http.memory("How do I vote on a cube?")["help_hits"][0]["title"] == "Voting on cubes"
    for about_life in (
        "What does the seal at the zoo eat?",
        "When is my jury duty?",
        "Where is the ice cube tray?",
    ):
        assert "help_hits" not in http.memory(about_life)


def test_two_agents_in_one_session_share_its_steps(http: Http) -> None:
    """Two agents of one session share its steps and duties (specification.md#duty-two-agents)."""
    other = http.as_account("owner")
    first, second = http.memory("ferry"), other.memory("train", last_seal=render(1))
    http.remember(**FERRY)
    other.remember("When does the train leave?", "At ten.")

    third = other.memory("train", last_seal=render(second["step"]))

    assert [first["step"], second["step"], third["step"]] == [1, 2, 3]
    assert "duty_error" in second
    assert "duty_error" not in third

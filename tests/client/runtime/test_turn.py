"""Every branch of a turn without a service, and its drafts with the real second look."""

from __future__ import annotations

from typing import Any

import pytest
from client.runtime.scripted_turn import (
    FAIL,
    FULL,
    GOOD,
    PASS,
    SEAL,
    UNREACHABLE,
    cube,
    error_answer,
    error_types,
    failing_look,
    new_conversation,
    remember_answer,
    run_turn,
    search_answer,
)
from client.runtime.test_drivers import scripted
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.client import Client
from remembrancer.client.errors import UnreachableError
from remembrancer.client.runtime import Draft, Runtime
from remembrancer.client.runtime.session import CallFailed, RuntimeOptions
from remembrancer.client.runtime.turn import CHECK_THE_DRAFT, KEY_WARNING, NOTE_UNSURE
from remembrancer.protocol.agent import SecondLook
from remembrancer.protocol.fence import unfenced
from remembrancer.protocol.memory import Turn
from remembrancer.protocol.search import MemoryQuery
from remembrancer.protocol.summaries import StartPack, StartParts


def test_turn_follows_the_protocol() -> None:
    """Search, draft, save, second look, vote, clean answer (specification.md#turn-order)."""
    conversation = new_conversation()

    completed = run_turn(
        conversation,
        f"At 9:40 (ref: evt_1).\nRATE: c_1 +1 it was right\n{SEAL}",
        search=search_answer(cube()),
    )

    assert completed.steps == ["search", "draft", "remember", "second look", "vote"]
    assert completed.reply.text == completed.reply.answer == "At 9:40 (ref: evt_1)."
    assert completed.reply.passed
    assert (
        completed.reply.event_id,
        completed.reply.step,
        completed.reply.seal,
        completed.reply.drafts,
    ) == ("evt_9", 7, SEAL, 1)
    assert (completed.turn.query, completed.turn.response) == (
        "When does the ferry leave?",
        "At 9:40 (ref: evt_1).",
    )
    assert (completed.turn.user_id, completed.turn.session_id) == ("ada", "s")
    assert completed.bodies["second look"] == [
        SecondLook(draft="At 9:40 (ref: evt_1).", event_id="evt_1", span=3)
    ]
    assert completed.reply.remarks == completed.reply.notes == ()


def test_search_results_are_fenced_in_the_prompt() -> None:
    completed = run_turn(new_conversation(), GOOD, search=search_answer(cube()))
    prompt = completed.prompts[0][-1]["content"]
    own, hidden = unfenced(prompt)
    nothing = search_answer(hits=[], total_hits=0)
    without = run_turn(new_conversation(), "I do not know.", search=nothing)

    assert "evt_1" in prompt
    assert "c_1" in prompt
    assert hidden > 0
    assert "At 9:40." not in own
    assert own.endswith("The user says:\nWhen does the ferry leave?")
    assert "Memory has nothing" in without.prompts[0][-1]["content"]
    assert without.bodies["second look"] == [SecondLook(draft="I do not know.")]


# Second look


def test_failing_draft_is_revised_with_its_failed_checks() -> None:
    """Failed checks go into the revision (specification.md#turn-recheck)."""
    completed = run_turn(
        new_conversation(),
        "At 9:40.",
        GOOD,
        second_look=[FAIL, PASS],
        remember=[remember_answer("evt_8"), remember_answer("evt_9")],
    )

    assert completed.steps == ["search", *["draft", "remember", "second look"] * 2]
    assert "claim_marked: Mark it. (9:40)" in completed.prompts[1][-1]["content"]
    assert completed.prompts[1][-2] == {"role": "assistant", "content": "At 9:40."}
    assert (completed.reply.text, completed.reply.event_id, completed.reply.drafts) == (
        "At 9:40 (ref: evt_1).",
        "evt_9",
        2,
    )


def test_best_draft_is_shown_with_a_note_after_two_redrafts() -> None:
    """At most two revisions, then a note (specification.md#turn-recheck)."""
    worse = failing_look(
        ("ref_exists", "No such event.", "evt_0"), ("claim_marked", "Mark it.", None)
    )

    completed = run_turn(
        new_conversation(), "First.", "Second.", "Third.", second_look=[worse, FAIL, worse]
    )

    assert completed.reply.text == f"Second.\n\n({NOTE_UNSURE})"
    assert (
        completed.steps.count("draft")
        == completed.steps.count("remember")
        == completed.steps.count("second look")
        == 3
    )
    assert completed.reply.failed_checks == ("claim_marked: Mark it. (9:40)",)
    assert completed.reply.passed is False


def test_missing_second_look_is_requested_only_once_and_an_unavailable_one_again() -> None:
    conversation, other = new_conversation(), new_conversation()
    missing = run_turn(conversation, GOOD, second_look=error_answer(404, "not_found"))
    after_missing = run_turn(conversation, GOOD)
    unavailable = run_turn(other, GOOD, second_look=UNREACHABLE)
    after_unavailable = run_turn(other, GOOD)

    assert missing.reply.text == unavailable.reply.text == "At 9:40 (ref: evt_1)."
    assert (missing.reply.passed, error_types(missing)) == (None, [])
    assert "second look" not in after_missing.steps
    assert conversation.counts.looks_missing == 2
    assert "no second look" in unavailable.reply.remarks[0]
    assert after_unavailable.reply.passed


# Keys


def test_pasted_key_reaches_neither_model_nor_service() -> None:
    """A pasted key is reported, never sent (specification.md#auth-never-in-chat)."""
    conversation, key = new_conversation(), "sk" + "_" + "ab" * 32

    completed = run_turn(conversation, GOOD, message=f"my key is {key}, what now?")
    after = run_turn(conversation, GOOD)

    assert completed.steps == []
    assert completed.reply.text == KEY_WARNING
    assert "revoke" in KEY_WARNING
    assert "environment variable" in KEY_WARNING
    assert key not in str(after.prompts)
    assert (conversation.counts.keys_caught, conversation.counts.turns) == (1, 1)


def test_key_in_a_draft_or_a_search_result_is_removed() -> None:
    key = "sk" + "-" + "aB3" * 12
    hit = search_answer().hits[0].model_copy(update={"response": key})

    completed = run_turn(new_conversation(), f"It is {key}.", search=search_answer(hits=[hit]))

    assert completed.reply.text == completed.turn.response == "It is [a key was removed]."
    assert "A key was removed" in completed.reply.remarks[0]
    assert key not in str(completed.prompts)


# The full protocol


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        ("At 9:40.", "Write the sections"),
        (FULL.replace("SECOND LOOK\nThe event does say 9:40.\n", ""), "Write the sections"),
        (FULL.replace("The event does say 9:40.", "Looks fine to me!"), CHECK_THE_DRAFT),
    ],
)
def test_draft_that_violates_the_full_protocol_is_redrafted(draft: str, message: str) -> None:
    """SECOND LOOK must discuss the draft (specification.md#turn-full-protocol)."""
    completed = run_turn(new_conversation(full_protocol=True), draft, FULL)

    assert message in completed.prompts[1][-1]["content"]
    assert completed.reply.text == "At 9:40 (ref: evt_1)."
    assert completed.reply.drafts == 2


# Invalid input


def test_invalid_input_is_rejected_at_once() -> None:
    conversation = new_conversation()
    nothing: Any = None

    for message in ("", " \n"):
        with pytest.raises(ValueError, match="is empty"):
            run_turn(conversation, GOOD, message=message)
    assert conversation.counts.turns == 0
    with pytest.raises(TypeError, match="a draft must be a string or a Draft, not NoneType"):
        run_turn(new_conversation(), nothing)
    for choice in ("second_look", "without_memory"):
        with pytest.raises(ValueError, match=f"{choice} must be "):
            new_conversation(**{choice: "sometimes"})
    options: list[dict[str, Any]] = [{"user_id": ""}, {"top_k": 0}, {"session_id": "x" * 257}]
    for one in options:
        with pytest.raises(ValueError):  # noqa: PT011 - the message is pydantic's
            new_conversation(**one)


@given(
    st.lists(st.text(), min_size=3, max_size=3),
    st.sampled_from([PASS, FAIL, UNREACHABLE]),
    st.booleans(),
)
def test_user_gets_an_answer_for_any_draft(drafts: list[str], look: Any, full: bool) -> None:
    completed = run_turn(
        new_conversation(full_protocol=full),
        *drafts,
        search=search_answer(cube()),
        second_look=look,
    )

    assert completed.reply.answer.strip()
    assert completed.steps.count("draft") <= 3
    assert all(isinstance(message, Turn) for message in completed.bodies["remember"])
    assert isinstance(completed.bodies["search"][0], MemoryQuery)


ALLERGY = "allergic to penicillin"
CATS = "has two cats"


def start_pack(*facts: str) -> StartPack:
    """Return a start pack with these facts."""
    parts = StartParts(instructions=[], map="", facts=list(facts), summaries=[], cubes=[])
    return StartPack(
        prompt_text="", user_id="ada", constitution_version=1, tokens=1, left_out=0, parts=parts
    )


def test_first_prompt_has_the_critical_facts() -> None:
    conversation = new_conversation()
    conversation.start_facts = None

    first = run_turn(conversation, "None.", start_pack=start_pack(ALLERGY, CATS))
    second = run_turn(conversation, "None.")

    for turn in (first, second):  # the history holds only messages and answers
        assert f"[fact] {ALLERGY}\n[fact] {CATS}" in turn.prompts[0][-1]["content"]
    assert first.steps[:3] == ["search", "start pack", "draft"]
    assert "start pack" not in second.steps


def test_failed_search_stops_the_turn_by_default() -> None:
    conversation = new_conversation(without_memory="stop")

    turn = run_turn(conversation, "None.", search=CallFailed(UnreachableError("no answer")))

    assert turn.steps == ["search"]
    assert turn.reply.answer == (
        "Memory is not available, so I stopped before answering. Nothing was saved. Please send "
        "your message again later."
    )
    assert turn.reply.failures
    assert conversation.counts.turns_stopped == 1
    assert RuntimeOptions(user_id="ada").without_memory == "stop"


QUESTION = "When does the ferry leave?"


def save_the_ferry(client: Client) -> str:
    """Save a turn about the ferry; return its event id."""
    turn = Turn(query=QUESTION, response="It leaves at 9:40.", user_id="ada")
    return str(client.remember_turn(turn).event_id)


def test_answer_that_claims_nothing_from_memory_is_not_checked(client: Client) -> None:
    """Values that memory did not return need no ref (specification.md#look-when)."""
    save_the_ferry(client)
    draft, _ = scripted("Your new timer runs for 25 minutes.\n{seal}")
    runtime = Runtime(client, draft, user_id="ada")

    reply = runtime.turn("Start a timer of 25 minutes before the ferry.")

    assert (reply.passed, reply.drafts, reply.notes) == (None, 1, ())
    assert (runtime.counts.looks_not_needed, runtime.counts.calls["second look"]) == (1, 0)


@pytest.mark.parametrize("answer", ["The ferry leaves at 9:40.", "The ferry leaves at 9:45."])
def test_answer_that_repeats_memory_without_a_ref_is_revised(client: Client, answer: str) -> None:
    """A repeated value needs a ref, right or wrong (specification.md#look-when)."""
    save_the_ferry(client)
    draft, prompts = scripted(f"{answer}\n{{seal}}", "I looked it up.\n{seal}")

    reply = Runtime(client, draft, user_id="ada").turn(QUESTION)

    assert reply.drafts == 2
    assert "claim_marked" in prompts[1][-1]["content"]


def test_results_of_tools_need_no_ref(client: Client) -> None:
    """A draft function can name the results of its tools (specification.md#look-when)."""
    text = f"The ferry leaves at 9:55 now, no longer at 9:40 (ref: {save_the_ferry(client)})."
    draft = Draft(text, ("timetable: ferry 9:55",))

    reply = Runtime(client, lambda _: draft, user_id="ada").turn("When does it leave today?")

    assert (reply.passed, reply.drafts) == (True, 1)

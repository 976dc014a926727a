"""The hooks of an agent over whole sessions, against the real service."""

from __future__ import annotations

from pathlib import Path

import pytest
from integrations.agent import PROMPT, RECORDED, Agent, denial
from integrations.agent import context as context_of
from service import Http, new_key

from remembrancer.context import Context


def test_a_whole_session(agent: Agent, owner: Http) -> None:
    """Issue: 'SessionStart → start pack; UserPromptSubmit → recall; Stop → remember, second look once; PreCompact → save'."""
    began = agent.at("SessionStart")
    assert "constitution of the memory service" in context_of(began)
    assert "session_id `s1`" in context_of(began)

    assert agent.at("UserPromptSubmit") == {}  # nothing relevant: silent
    assert agent.at("Stop", last_assistant_message="The ferry to Elba leaves Piombino at 9:40 [general].") == {}
    saved = owner.memory("ferry Elba")["hits"][0]
    assert (saved["query"], saved["session_id"]) == (PROMPT, "s1")

    agent.session = "s2"
    agent.at("SessionStart")
    recalled = context_of(agent.at("UserPromptSubmit", prompt="From where does the Elba ferry leave?"))
    assert saved["event_id"] in recalled
    assert "leaves Piombino at 9:40" in recalled

    blocked = agent.at("Stop", last_assistant_message=f"It leaves Piombino at 11:15 (ref: {saved['event_id']}).")
    assert blocked["decision"] == "block"
    assert "11:15" in blocked["reason"]

    mended = f"It leaves Piombino at 9:40 (ref: {saved['event_id']})."
    assert agent.at("Stop", last_assistant_message=mended, stop_hook_active=True) == {}
    kept = owner.memory("From where does the Elba ferry leave?", top_k=10)["hits"]
    assert [hit["response"] for hit in kept if hit["session_id"] == "s2"] == [mended]  # the draft left no false memory
    assert agent.waiting() == []


def test_a_second_look_blocks_once_and_never_twice(agent: Agent) -> None:
    """Issue: 'second look once (honours stop_hook_active)'."""
    agent.environment["REMEMBRANCER_HOOK_SECOND_LOOK"] = "always"

    first = agent.turn("How long is the crossing?", "It takes 55 minutes.")
    second = agent.at("Stop", last_assistant_message="It takes 56 minutes.", stop_hook_active=False)
    third = agent.turn("And back?", "It takes 57 minutes.", stop_hook_active=True)

    assert first["decision"] == "block"
    assert "decision" not in second
    assert "may not fully meet the checks" in second["systemMessage"]
    assert "decision" not in third


@pytest.mark.parametrize(("setting", "blocks"), [("recalled", False), ("always", True), ("off", False)])
def test_the_setting_says_which_answers_are_looked_at_again(agent: Agent, setting: str, blocks: bool) -> None:
    agent.environment["REMEMBRANCER_HOOK_SECOND_LOOK"] = setting

    assert ("decision" in agent.turn("How long is the crossing?", "It takes 55 minutes.")) is blocks


def test_service_lines_are_taken_off_and_acted_on(agent: Agent, owner: Http) -> None:
    """Issue: 'votes'; the lines are read by the rules of the protocol."""
    bob = owner.as_account("bob")
    made = bob.remember(
        "Kettle?",
        "Descaled.",
        cube_topic="kettles",
        cube_essence="Descaling a kettle takes vinegar and ten minutes.",
        cube_rules="- MUST rinse twice",
        cube_type="lifehack",
        cube_publish=True,
    )
    cube_id = made["cube"]["cube_id"]

    shown = context_of(agent.at("UserPromptSubmit", prompt="How do I descale a kettle?"))
    agent.at("Stop", last_assistant_message=f"With vinegar.\n\nCRITICAL: The kettle is Ada's.\nRATE: {cube_id} +1 it worked\nTASK_DONE")
    found = owner.memory("descale kettle", interact=False)

    assert cube_id in shown
    assert found["hits"][0]["response"] == "With vinegar."
    assert [cube["note"][:3] for cube in found["shared_cubes"] if cube["cube_id"] == cube_id] != ["new"]
    assert "The kettle is Ada's." in owner.get("/api/v7/memory/start").json()["prompt_text"]


def test_what_a_hook_or_a_tool_put_into_the_transcript_is_not_remembered(agent: Agent, owner: Http) -> None:
    """Issue: 'never captures what it injected'."""
    transcript = str(RECORDED / "claude-code" / "transcript.jsonl")

    agent.at("UserPromptSubmit")
    agent.at("Stop", last_assistant_message=None, transcript_path=transcript)
    event = owner.get(f"/api/v7/event/{owner.memory(PROMPT)['hits'][0]['event_id']}").json()

    assert (event["query"], event["response"]) == (PROMPT, "It leaves at noon.")


def test_a_session_that_began_before_the_hooks_is_taken_from_its_transcript(agent: Agent, owner: Http) -> None:
    agent.at("Stop", last_assistant_message=None, transcript_path=str(RECORDED / "claude-code" / "transcript.jsonl"))

    assert owner.memory(PROMPT)["hits"][0]["response"] == "It leaves at noon."


def test_compacting_saves_the_turn_that_is_not_over_and_its_end_takes_that_place(agent: Agent, owner: Http) -> None:
    """Issue: 'PreCompact → save'."""
    agent.at("UserPromptSubmit")
    agent.at("PreCompact", transcript_path=str(RECORDED / "claude-code" / "transcript.jsonl"))
    half = [hit["response"] for hit in owner.memory(PROMPT)["hits"]]
    agent.at("Stop", last_assistant_message="It leaves at noon, all year.")
    whole = [hit["response"] for hit in owner.memory(PROMPT)["hits"]]

    assert half == ["It leaves at noon."]
    assert whole == ["It leaves at noon, all year."]


def test_a_turn_that_was_broken_off_is_remembered_with_the_next_prompt(agent: Agent, owner: Http) -> None:
    transcript = str(RECORDED / "claude-code" / "transcript.jsonl")

    agent.at("UserPromptSubmit", transcript_path=transcript)
    agent.at("UserPromptSubmit", prompt="And the bus?", transcript_path=transcript)
    agent.at("Stop", last_assistant_message="Every hour.", transcript_path=transcript)

    assert [hit["response"] for hit in owner.memory(PROMPT)["hits"] if hit["query"] == PROMPT] == ["It leaves at noon."]


def test_the_seal_of_the_last_turn_goes_with_the_next_search(agent: Agent, owner: Http) -> None:
    agent.turn("What is the capital of Elba?", "Portoferraio.")
    agent.turn("What is the capital of Elba, again?", "Portoferraio, still.")

    with_hooks = owner.memory("capital", session_id="s1", last_seal="REM | #2 | READ | VERIFY | CORRECT | OUTPUT")

    assert with_hooks["step"] == 3
    assert "duty_error" not in with_hooks


def test_a_key_in_a_prompt_is_not_sent(agent: Agent, owner: Http) -> None:
    key = agent.environment["REMEMBRANCER_KEY"]

    agent.turn(f"My key is {key}, use it for the garden.", "Revoke it.")
    event = owner.get(f"/api/v7/event/{owner.memory('key garden')['hits'][0]['event_id']}").json()

    assert key not in event["raw_dialogue"]
    assert "[a key was removed]" in event["query"]


def test_what_a_subagent_says_is_no_turn_but_its_tools_are_judged(agent: Agent, owner: Http) -> None:
    agent.at("UserPromptSubmit", agent_id="a1", prompt="subagent task")
    agent.at("Stop", agent_id="a1", last_assistant_message="subagent answer")

    assert owner.memory("subagent")["hits"] == []
    assert denial(agent.at("PreToolUse-Write", agent_id="a1"))


def test_what_is_recalled_keeps_to_the_budget(agent: Agent, owner: Http) -> None:
    for day in range(8):
        owner.remember(f"What grows in bed {day} of the garden?", f"Beans of kind {day}. " + "They need water and sun. " * 20)

    wide = context_of(agent.at("UserPromptSubmit", prompt="What grows in the garden beds?"))
    agent.environment["REMEMBRANCER_HOOK_TOKENS"] = "150"
    narrow = context_of(agent.at("UserPromptSubmit", prompt="What grows in the garden beds?"))

    assert 0 < len(narrow) < len(wide)
    assert len(narrow) < 4 * 150 + 400  # and what stands around it


def test_a_turn_whose_lines_are_refused_is_kept_without_them(agent: Agent, owner: Http) -> None:
    """Bad input loses nothing."""
    answered = agent.turn("Where is the spare key?", f"Under the pot.\n\nCRITICAL: {'x' * 3000}")

    assert owner.memory("spare key")["hits"][0]["response"] == "Under the pot."
    assert "kept this turn without what was learned" in answered["systemMessage"]


def test_what_is_no_character_is_kept_as_the_sign_for_such(agent: Agent, owner: Http) -> None:
    agent.turn("A half \ud83d emoji", "and a \0 in the answer")

    assert [(hit["query"], hit["response"]) for hit in owner.memory("emoji")["hits"]] == [
        ("A half \ufffd emoji", "and a \ufffd in the answer")
    ]


def test_a_key_that_may_not_write_is_told_of_and_the_turn_waits(agent: Agent, context: Context) -> None:
    """Nothing is lost: with another key it is sent."""
    good = agent.environment["REMEMBRANCER_KEY"]
    agent.environment["REMEMBRANCER_KEY"] = new_key(context, read_only=True)

    said = agent.turn("Who has the ladder?", "Mr Lund.")
    waited = len(agent.waiting())
    agent.environment["REMEMBRANCER_KEY"] = good
    agent.at("SessionEnd")

    assert "keeps this turn on disk" in said["systemMessage"]
    assert (waited, agent.waiting()) == (1, [])


def test_the_key_can_be_in_a_file_that_is_yours_alone(home: Path, service_url: str, agent: Agent) -> None:
    """Issue: keys only from the environment or a 0600 file."""
    from_file = Agent(home, service_url, None)
    file = home / ".config" / "remembrancer" / "key"
    file.parent.mkdir(parents=True)
    file.write_text(f"{agent.environment['REMEMBRANCER_KEY']}\n", "utf-8")

    file.chmod(0o644)
    open_to_all = from_file.at("SessionStart")
    file.chmod(0o600)
    own = from_file.at("SessionStart")

    assert "chmod 600" in open_to_all["systemMessage"]
    assert "constitution" in context_of(own)

"""The hooks of an agent over whole sessions, against the real service."""

from __future__ import annotations

import json
from pathlib import Path

from integrations.agent import PROMPT, RECORDED, Agent, denial
from integrations.agent import context as context_of
from service import Http, new_key

from remembrancer.context import Context

TRANSCRIPT = str(RECORDED / "claude-code" / "transcript.jsonl")


def test_complete_session(agent: Agent, owner: Http) -> None:
    """Start pack at SessionStart, recall at UserPromptSubmit, remember and second look at Stop."""
    session_start = agent.trigger("SessionStart")
    assert "constitution of the memory service" in context_of(session_start)
    assert "session_id `s1`" in context_of(session_start)

    assert agent.trigger("UserPromptSubmit") == {}  # nothing relevant: no output
    assert (
        agent.trigger(
            "Stop", last_assistant_message="The ferry to Elba leaves Piombino at 9:40 [general]."
        )
        == {}
    )
    saved = owner.memory("ferry Elba")["hits"][0]
    assert (saved["query"], saved["session_id"]) == (PROMPT, "s1")

    agent.session = "s2"
    agent.trigger("SessionStart")
    prompt_context = context_of(
        agent.trigger("UserPromptSubmit", prompt="From where does the Elba ferry leave?")
    )
    assert saved["event_id"] in prompt_context
    assert "leaves Piombino at 9:40" in prompt_context

    first_stop = agent.trigger(
        "Stop", last_assistant_message=f"It leaves Piombino at 11:15 (ref: {saved['event_id']})."
    )
    assert first_stop["decision"] == "block"
    assert "11:15" in first_stop["reason"]

    revised = f"It leaves Piombino at 9:40 (ref: {saved['event_id']})."
    assert agent.trigger("Stop", last_assistant_message=revised, stop_hook_active=True) == {}
    hits = owner.memory("From where does the Elba ferry leave?", top_k=10)["hits"]
    assert [hit["response"] for hit in hits if hit["session_id"] == "s2"] == [
        revised
    ]  # the first draft was replaced
    assert agent.queued_requests() == []


def test_second_look_blocks_only_once(agent: Agent) -> None:
    """Stop runs the second look once and honours `stop_hook_active`."""
    agent.environment["REMEMBRANCER_HOOK_SECOND_LOOK"] = "always"

    first = agent.turn("How long is the crossing?", "It takes 55 minutes.")
    second = agent.trigger(
        "Stop", last_assistant_message="It takes 56 minutes.", stop_hook_active=False
    )
    third = agent.turn("And back?", "It takes 57 minutes.", stop_hook_active=True)

    assert first["decision"] == "block"
    assert "decision" not in second
    assert "may not fully meet the checks" in second["systemMessage"]
    assert "decision" not in third


def test_only_an_answer_that_contradicts_memory_is_sent_back(
    agent: Agent, owner: Http, tmp_path: Path
) -> None:
    """No ref is asked; a value of the session is no contradiction (specification.md#look-hooks)."""
    question = "Which port does the staging database use?"
    owner.remember(question, "Port 6543.", session_id="old")
    edit = {"type": "tool_use", "name": "Edit", "input": {"new_string": "port = 6600"}}
    entries = [
        {"message": {"role": "user", "content": "Move it."}},
        {"message": {"role": "assistant", "content": [edit]}},
        {"message": {"role": "user", "content": question}},
    ]
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("\n".join(json.dumps(entry) for entry in entries), "utf-8")

    repeated = agent.turn(question, "It uses port 6543.")
    wrong = agent.turn(f"Remind me: {question}", "Port 6534.")
    agent.session = "s2"
    changed = agent.turn(question, "Port 6600.", transcript_path=str(transcript))

    assert (repeated, changed) == ({}, {})
    assert "`6534` contradicts memory, which says: Port 6543." in wrong["reason"]


def test_service_lines_are_removed_and_executed(agent: Agent, owner: Http) -> None:
    """The parser of the protocol reads the lines (specification.md#lines-clean-answer)."""
    bob = owner.as_account("bob")
    remembered = bob.remember(
        "Kettle?",
        "Descaled.",
        cube_topic="kettles",
        cube_essence="Descaling a kettle takes vinegar and ten minutes.",
        cube_rules="- MUST rinse twice",
        cube_type="lifehack",
        cube_publish=True,
    )
    cube_id = remembered["cube"]["cube_id"]

    prompt_context = context_of(
        agent.trigger("UserPromptSubmit", prompt="How do I descale a kettle?")
    )
    agent.trigger(
        "Stop",
        last_assistant_message="With vinegar.\n\nCRITICAL: The kettle is Ada's.\n"
        f"RATE: {cube_id} +1 it worked\nTASK_DONE",
    )
    results = owner.memory("descale kettle", interact=False)

    assert cube_id in prompt_context
    assert results["hits"][0]["response"] == "With vinegar."
    assert [cube["note"][:3] for cube in results["shared_cubes"] if cube["cube_id"] == cube_id] != [
        "new"
    ]
    assert "The kettle is Ada's." in owner.get("/api/v7/memory/start").json()["prompt_text"]


def test_compaction_saves_the_unfinished_turn_and_its_end_replaces_it(
    agent: Agent, owner: Http
) -> None:
    """PreCompact saves the unfinished turn."""
    agent.trigger("UserPromptSubmit")
    agent.trigger("PreCompact", transcript_path=TRANSCRIPT)
    before = [hit["response"] for hit in owner.memory(PROMPT)["hits"]]
    agent.trigger("Stop", last_assistant_message="It leaves at noon, all year.")
    after = [hit["response"] for hit in owner.memory(PROMPT)["hits"]]

    assert before == ["It leaves at noon."]
    assert after == ["It leaves at noon, all year."]


def test_key_in_a_prompt_is_removed(agent: Agent, owner: Http) -> None:
    key = agent.environment["REMEMBRANCER_KEY"]

    agent.turn(f"My key is {key}, use it for the garden.", "Revoke it.")
    event = owner.get(f"/api/v7/event/{owner.memory('key garden')['hits'][0]['event_id']}").json()

    assert key not in event["raw_dialogue"]
    assert "[a key was removed]" in event["query"]


def test_a_subagent_recalls_but_its_turns_are_ignored_and_its_tool_calls_checked(
    agent: Agent, owner: Http
) -> None:
    owner.remember("Which beans grow in bed 3?", "Borlotti beans.")
    steps = owner.memory("subagent")["step"]
    agent.trigger("UserPromptSubmit", prompt="Ask somebody about the garden.")
    for bed in (3, 9):
        task = {"description": "look", "prompt": f"Find out which beans grow in bed {bed}."}
        agent.trigger("PreToolUse-Write", tool_name="Task", tool_input=task)

    recalled = [context_of(agent.trigger("SubagentStart", agent_id=f"a{n}")) for n in range(3)]
    agent.trigger("UserPromptSubmit", agent_id="a1", prompt="subagent task")
    agent.trigger("Stop", agent_id="a1", last_assistant_message="subagent answer")

    assert ["Borlotti beans." in text for text in recalled] == [True, True, False]
    found = owner.memory("Find out which beans subagent")
    assert [hit["response"] for hit in found["hits"]] == ["Borlotti beans."]
    assert found["step"] == steps + 1
    assert denial(agent.trigger("PreToolUse-Write", agent_id="a1"))


def test_a_task_is_not_kept_while_memory_is_off_nor_what_is_private(
    agent: Agent, owner: Http
) -> None:
    owner.remember("Which beans grow in bed 3?", "Borlotti beans.")
    tasks = ("<private>Which beans grow in bed 3?</private>", "Which beans grow in bed 3?")
    (agent.home / "off").mkdir()
    (agent.home / "off" / ".remembrancer-off").touch()

    agent.trigger("UserPromptSubmit", prompt="Ask somebody about the garden.")
    for task, folder in zip(tasks, (agent.home, agent.home / "off"), strict=True):
        call = {"tool_name": "Task", "tool_input": {"prompt": task}}
        agent.trigger("PreToolUse-Write", **call, cwd=str(folder))

    assert agent.trigger("SubagentStart", agent_id="a1") == {}


def test_nothing_in_the_context_is_recalled_twice(agent: Agent, owner: Http) -> None:
    """Neither the start pack's facts nor earlier recalls (specification.md#recall-once)."""
    owner.remember(
        "Any allergies?",
        "Noted.",
        session_id="old",
        critical="Allergic to penicillin.\nSince 2019.",
        cube_topic="allergies",
        cube_essence="Penicillin is in many antibiotics.",
        cube_rules="- MUST name penicillin to every doctor",
    )
    start = context_of(agent.trigger("SessionStart"))
    first, second = [
        context_of(agent.trigger("UserPromptSubmit", prompt=prompt))
        for prompt in ("Any allergies to penicillin?", "Which allergies again, penicillin?")
    ]
    agent.trigger("SessionStart", source="compact")
    third = context_of(agent.trigger("UserPromptSubmit", prompt="Any allergies to penicillin?"))

    assert "Allergic to penicillin." in start
    assert "Allergic to penicillin." not in first
    assert "user: Any allergies?" in first
    assert "user: Any allergies?" not in second
    assert second.startswith("Recalled before in this session: event e_")
    assert "user: Any allergies?" in third
    rule = "MUST name penicillin"
    assert [rule in one for one in (first, second, third)] == [True, False, True]
    assert "cube c_" in second


def test_turn_waits_while_the_key_is_read_only(agent: Agent, context: Context) -> None:
    """The turn is sent with another key later."""
    good = agent.environment["REMEMBRANCER_KEY"]
    agent.environment["REMEMBRANCER_KEY"] = new_key(context, read_only=True)

    agent.turn("Who has the ladder?", "Mr Lund.")
    queue_length = len(agent.queued_requests())
    agent.environment["REMEMBRANCER_KEY"] = good
    reply = agent.trigger("UserPromptSubmit", prompt="Thanks for that.")
    agent.trigger("SessionEnd")

    assert "queued this turn on disk" in reply["systemMessage"]
    assert (queue_length, agent.queued_requests()) == (1, [])


def test_key_is_read_from_a_private_file_of_the_agent_or_of_the_login(
    home: Path, service_url: str, agent: Agent
) -> None:
    """Keys come only from the environment or a file of mode 0600; the agent's comes first."""
    from_file = Agent(home, service_url, None)
    login, own = (home / ".config" / "remembrancer" / name for name in ("key", "claude-code.key"))
    login.parent.mkdir(parents=True)
    login.write_text(f"{agent.environment['REMEMBRANCER_KEY']}\n", "utf-8")

    login.chmod(0o644)
    refused_start = from_file.trigger("SessionStart")
    login.chmod(0o600)
    with_login = from_file.trigger("SessionStart")
    login.rename(own)
    login.touch(mode=0o600)
    login.write_text("sk_revoked", "utf-8")
    with_own = from_file.trigger("SessionStart")

    assert "chmod 600" in refused_start["systemMessage"]
    assert "constitution" in context_of(with_login)
    assert "constitution" in context_of(with_own)

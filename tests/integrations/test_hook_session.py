"""The hooks of an agent over whole sessions: recall, second look, work of a turn, private parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import Cli
from hook_work import (
    ERROR_HEAD_CHARACTERS,
    ERROR_TAIL_CHARACTERS,
    STORED_CHARACTERS_MAX,
    error_text,
    work_to_send,
)
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


def stored(owner: Http) -> str:
    """Return all turns as text."""
    events = owner.get("/api/v7/events", params={"user_id": "owner"}).json()["events"]
    return " | ".join(f"{one['query']} > {one['response']}" for one in events)


def test_private_parts_and_passwords_leave_no_trace(agent: Agent, owner: Http, home: Path) -> None:
    """Neither in the service nor on disk (specification.md#remember-private)."""
    agent.trigger("UserPromptSubmit", prompt="Negotiate. <private>I earn 91234 euro</private>")
    agent.trigger(
        "Stop",
        last_assistant_message="Ask for more.<private>Than 91234.</private> password=hunter2x",
    )
    agent.turn("<private>My salary is 91234.</private>", "91234 is a good salary.")
    owner.remember("Hello <private>91234</private>", "Hi", session_id="http")

    assert stored(owner).count(" > ") == 2
    assert "Negotiate.  > Ask for more. password=[a key was removed]" in stored(owner)
    files = [path.read_text("utf-8") for path in home.rglob("*") if path.is_file()]
    for secret in ("91234", "hunter2x"):
        assert secret not in "".join([stored(owner), *files])


def test_private_words_are_not_searched_for(http: Http) -> None:
    http.remember("The heron nests by the weir.", "Noted.")

    assert http.memory("heron")["hits"]
    assert http.memory("<private>heron weir</private>")["hits"] == []


@pytest.mark.parametrize("is_project", [False, True])
def test_nothing_is_stored_or_recalled_while_memory_is_off(
    agent: Agent, owner: Http, tmp_path: Path, monkeypatch: Any, is_project: bool
) -> None:
    """`pause` and `resume`, for the user or a project (specification.md#remember-off)."""
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project / ".git", project / "src", other):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(agent.home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(project / "src")
    cli, option = Cli(tmp_path / "data"), " --project" if is_project else ""
    owner.remember("Where is the ladder?", "In the red shed.", session_id="old")
    here = {"cwd": str(project / "src")}

    paused = cli(f"pause{option}")
    start = agent.trigger("SessionStart", **here)
    recall = agent.trigger("UserPromptSubmit", prompt="Where is the ladder now?", **here)
    gate = denial(agent.trigger("PreToolUse-Write", **here))
    agent.trigger("Stop", last_assistant_message="In the attic.", **here)
    agent.session = "s2"
    elsewhere = agent.trigger("UserPromptSubmit", prompt="Where is the ladder now?", cwd=str(other))
    resumed = cli(f"resume{option}")
    agent.session = "s3"
    after = agent.trigger("UserPromptSubmit", prompt="Where is the ladder now?", **here)

    assert (paused.returncode, resumed.stdout) == (0, "Memory is on here.\n")
    assert "Remembrancer is off" in start["systemMessage"]
    assert recall == {}
    assert gate
    assert "attic" not in stored(owner)
    assert ("red shed" in context_of(elsewhere)) is is_project
    assert "red shed" in context_of(after)


ERROR = "TypeError: keys must be str, int, float, bool or None, not tuple"
LESSON = {
    "topic": "json keys",
    "essence": "json.dumps raises TypeError: keys must be str, int, float, bool or None.",
    "rules_markdown": "- MUST convert tuple keys to text before json.dumps.",
    "evidence": "docs",
}


def fail(agent: Agent, error: str = ERROR, **members: Any) -> None:
    """Run the hooks for a failed command."""
    agent.trigger(
        "PostToolUse",
        hook_event_name="PostToolUseFailure",
        error=f"Exit code 1\n{error}",
        **members,
    )


def test_error_of_a_turn_brings_its_lesson_with_the_next_prompt(agent: Agent, owner: Http) -> None:
    cube_id = owner.post("/api/v7/experience/create", LESSON).json()["cube_id"]
    agent.turn("Export the table.", "I tried.")
    before = context_of(agent.trigger("UserPromptSubmit", prompt="It does not work."))
    fail(agent)

    after = context_of(agent.trigger("UserPromptSubmit", prompt="It does not work."))

    assert cube_id not in before
    assert f"[cube {cube_id}]" in after


@pytest.mark.parametrize("position", [0, ERROR_HEAD_CHARACTERS - 30, STORED_CHARACTERS_MAX // 2])
def test_error_that_is_sent_is_short_and_has_no_part_of_a_key(position: int) -> None:
    key = "sk_" + 64 * "a"
    stored = error_text({"error": f"begin {'x' * position} {key} {'y' * 100_000} end"})

    error = work_to_send({"error": stored})["error"]

    assert len(stored) <= STORED_CHARACTERS_MAX
    assert len(error) <= ERROR_HEAD_CHARACTERS + ERROR_TAIL_CHARACTERS
    assert (error[:5], error[-3:]) == ("begin", "end")
    assert "sk_" not in error

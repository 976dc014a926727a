"""The hooks of an agent over whole sessions, against the real service."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from integrations.agent import PROMPT, RECORDED, Agent, denial
from integrations.agent import context as context_of
from service import Http, new_key

from remembrancer.context import Context
from remembrancer.protocol.notices import is_notice

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


def test_setting_selects_answers_for_second_look(agent: Agent) -> None:
    for setting, blocks in (("recalled", False), ("always", True), ("off", False)):
        agent.environment["REMEMBRANCER_HOOK_SECOND_LOOK"] = agent.session = setting
        answer = agent.turn("How long is the crossing?", "It takes 55 minutes.")
        assert ("decision" in answer) is blocks, setting


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


def test_report_of_work_is_not_sent_back(agent: Agent, owner: Http) -> None:
    """Values of the prompt and of tool results need no ref (specification.md#look-when)."""
    memory = owner.remember(
        "Which port does the staging database use?", "Port 6543.", session_id="old"
    )

    report = agent.turn(
        "Move the staging database to port 6600.",
        f"The staging database uses port 6600 since 23:59; it was 6543 (ref: {memory['event_id']})."
        " All 42 tests pass, and the README names Docker 27.1.",
        transcript_path=TRANSCRIPT,  # a tool returned 23:59
    )

    assert report == {}


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


def test_a_fact_replaces_the_one_that_the_prompt_showed(agent: Agent, owner: Http) -> None:
    """Another id would be refused with the whole turn, so it is left out."""
    reply = owner.remember("Kettle?", "Noted.", critical="The kettle is green.")
    [receipt] = [one for one in reply["receipts"] if one["part"] == "critical"]
    for named, text in ((receipt["id"], "It is red."), ("f_0123456789abc", "It is in the attic.")):
        agent.trigger("UserPromptSubmit", prompt="Which colour is the kettle?")
        answer = f"Well.\n\nCRITICAL: {text} | replaces {named}"
        agent.trigger("Stop", last_assistant_message=answer)

    facts = owner.get("/api/v7/memory/facts").json()["facts"]
    assert {fact["text"] for fact in facts} == {"It is red.", "It is in the attic."}


def test_turn_is_read_from_the_transcript_without_the_inserted_text(
    agent: Agent, owner: Http
) -> None:
    """Also a turn before the first hook; text that the hooks injected is not stored."""
    agent.trigger("UserPromptSubmit")
    for agent.session in ("s1", "s2"):
        agent.trigger("Stop", last_assistant_message=None, transcript_path=TRANSCRIPT)

    hits = owner.memory(PROMPT)["hits"]
    events = [owner.get(f"/api/v7/event/{hit['event_id']}").json() for hit in hits]
    assert {one["session_id"] for one in events} == {"s1", "s2"}
    assert {(one["query"], one["response"]) for one in events} == {(PROMPT, "It leaves at noon.")}


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


def test_interrupted_turn_is_remembered_with_the_next_prompt(agent: Agent, owner: Http) -> None:
    agent.trigger("UserPromptSubmit", transcript_path=TRANSCRIPT)
    agent.trigger("UserPromptSubmit", prompt="And the bus?", transcript_path=TRANSCRIPT)
    agent.trigger("Stop", last_assistant_message="Every hour.", transcript_path=TRANSCRIPT)

    assert [hit["response"] for hit in owner.memory(PROMPT)["hits"] if hit["query"] == PROMPT] == [
        "It leaves at noon."
    ]


def test_hooks_write_no_seal_and_owe_none(agent: Agent, owner: Http) -> None:
    """The user sees everything that the agent writes (specification.md#compliance-due)."""
    agent.turn("What is the capital of Elba?", "Portoferraio.")
    agent.turn("What is the capital of Elba, again?", "Portoferraio, still.")

    total = owner.get("/api/v7/agent/compliance").json()["total"]

    assert total["sealed"] == {"done": 0, "of": 0, "share": None}
    assert total["remembered"] == {"done": 2, "of": 2, "share": 1.0}


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


def test_a_prompt_that_is_an_image_alone_is_stored_with_its_answer(
    agent: Agent, owner: Http
) -> None:
    owner.remember("Show me an image of the pier.", "Here it is.")

    assert context_of(agent.trigger("UserPromptSubmit", prompt="")) == ""
    agent.trigger("Stop", last_assistant_message="A tabby cat asleep on the pier.")

    [hit, *_] = owner.memory("Where does the tabby cat sleep?")["hits"]
    assert (hit["query"], hit["response"]) == ("[image]", "A tabby cat asleep on the pier.")


def test_recalled_text_respects_the_budget(agent: Agent, owner: Http) -> None:
    for day in range(8):
        owner.remember(
            f"What grows in bed {day} of the garden?",
            f"Beans of kind {day}. " + "They need water and sun. " * 20,
        )

    wide = context_of(agent.trigger("UserPromptSubmit", prompt="What grows in the garden beds?"))
    agent.environment["REMEMBRANCER_HOOK_TOKENS"] = "150"
    agent.session = "s2"
    narrow = context_of(agent.trigger("UserPromptSubmit", prompt="What grows in the garden beds?"))

    assert 0 < len(narrow) < len(wide)
    assert len(narrow) < 4 * 150 + 400  # plus the text around it


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


def test_answer_may_contradict_what_an_earlier_prompt_recalled(agent: Agent, owner: Http) -> None:
    """Earlier recalls are still memory (specification.md#look-hooks)."""
    owner.remember("When does the ferry leave?", "At 9:40 from Piombino.", session_id="old")
    for _ in range(2):
        recall = agent.trigger("UserPromptSubmit", prompt="When does the ferry leave Piombino?")
    end = agent.trigger("Stop", last_assistant_message="The ferry leaves Piombino at 9:50.")

    assert context_of(recall).startswith("Recalled before")
    assert end["decision"] == "block"


def test_turn_with_rejected_lines_is_saved_without_them(agent: Agent, owner: Http) -> None:
    """Invalid input loses no turn."""
    agent.turn("Where is the spare key?", f"Under the pot.\n\nCRITICAL: {'x' * 3000}")
    reply = agent.trigger("UserPromptSubmit", prompt="Thanks for that.")
    again = agent.trigger("UserPromptSubmit", prompt="And the ladder?")

    assert owner.memory("spare key")["hits"][0]["response"] == "Under the pot."
    assert "stored this turn without its fact, cube or summary" in reply["systemMessage"]
    assert "systemMessage" not in again


def test_nul_and_lone_surrogates_are_replaced(agent: Agent, owner: Http) -> None:
    agent.turn("A half \ud83d emoji", "and a \0 in the answer")

    assert [(hit["query"], hit["response"]) for hit in owner.memory("emoji")["hits"]] == [
        ("A half \ufffd emoji", "and a \ufffd in the answer")
    ]


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


SHAPES = tomllib.loads(
    (Path(__file__).parents[1] / "protocol" / "notice_shapes.toml").read_text("utf-8")
)["shape"]
EVENTS = {  # those of a prompt and of the end of a turn
    "claude-code": ("UserPromptSubmit", "Stop"),
    "codex": ("UserPromptSubmit", "Stop"),
    "cursor": ("beforeSubmitPrompt", "stop"),
}
NOTICE = (
    "<task-notification>\n<task-id>a81</task-id>\n<summary>The ferry search ended</summary>\n"
    "</task-notification>"
)


def test_machine_notice_is_neither_searched_nor_stored_as_a_query(
    agent: Agent, owner: Http
) -> None:
    """Specification, 'Machine notices': a program's message is not the user's."""
    reminder = "<system-reminder>\nTodo\n</system-reminder>"
    agent.trigger("UserPromptSubmit", prompt=f"{PROMPT}\n{reminder}")
    within = agent.trigger("UserPromptSubmit", prompt=NOTICE)
    agent.trigger("Stop", last_assistant_message="I look for it in the background.")
    recall = agent.trigger("UserPromptSubmit", prompt=NOTICE)
    agent.trigger("Stop", last_assistant_message="The search says that the ferry leaves at noon.")
    turns = {(hit["query"], hit["response"]) for hit in owner.memory("ferry")["hits"]}

    assert within == recall == {}
    assert turns == {
        (PROMPT, "I look for it in the background."),
        ("", "The search says that the ferry leaves at noon."),
    }


def test_no_shape_of_a_notice_is_searched_stored_or_ends_a_turn(
    home: Path, service_url: str, owner: Http
) -> None:
    """All shapes of each agent, within a turn of the user and as a turn of their own."""
    key = str(owner.key)
    for name in ("claude-code", "codex", "cursor"):
        shapes = [shape["text"] for shape in SHAPES if shape["agent"] == name]
        notices = [text for text in shapes if is_notice(text)]
        agent = Agent(home / name, service_url, key, name, REMEMBRANCER_USER=f"u-{name}")
        agent.session = name
        submit, stop = EVENTS[name]

        agent.trigger(submit, prompt="When does the ferry leave?")
        answers = [agent.trigger(submit, prompt=text) for text in notices]
        finish(agent, stop, "The ferry leaves at noon.")
        for text in notices[:3]:
            answers.append(agent.trigger(submit, prompt=text))
            finish(agent, stop, "Noted: the ferry search ended.")

        turns = owner.memory("ferry", user_id=f"u-{name}", top_k=50)["hits"]
        assert {turn["query"] for turn in turns} == {"When does the ferry leave?", ""}
        assert [answer for answer in answers if answer not in ({}, {"continue": True})] == []


def finish(agent: Agent, stop: str, answer: str) -> None:
    """End a turn with this answer."""
    if agent.name == "cursor":
        agent.trigger("afterAgentResponse", text=answer)
    agent.trigger(stop, last_assistant_message=answer)


def test_turns_of_the_conversation_are_recalled_only_after_its_compaction(
    agent: Agent, owner: Http
) -> None:
    """Recall injects nothing that is in the context; a compaction empties it."""
    agent.trigger("SessionStart", source="startup")
    agent.turn(PROMPT, "The ferry to Elba leaves Piombino at 9:40.")
    again = "From where does the Elba ferry leave?"

    before = agent.trigger("UserPromptSubmit", prompt=again)
    agent.trigger("Stop", last_assistant_message="From Piombino.")
    for session_file in (agent.home / ".local/state/remembrancer/hooks").glob("*.json"):
        state = json.loads(session_file.read_text("utf-8"))
        # The next second, without waiting for it.
        session_file.write_text(json.dumps(state | {"context_from": "2100-01-01T00:00:00Z"}))
    after = agent.trigger("UserPromptSubmit", prompt=again)

    assert before == {}
    assert "leaves Piombino at 9:40" in context_of(after)


def test_a_session_start_forgets_what_the_context_had_unless_it_resumes(agent: Agent) -> None:
    def context_from() -> str:
        [file] = (agent.home / ".local/state/remembrancer/hooks").glob("*.json")
        return str(json.loads(file.read_text("utf-8")).get("context_from"))

    agent.trigger("SessionStart", source="resume")
    unknown = context_from()
    agent.trigger("SessionStart", source="compact")

    assert unknown == "None"
    assert context_from()[:2] == "20"


def test_revision_request_names_each_claim_once(agent: Agent) -> None:
    """Claims that fail in the same way share a line."""
    agent.environment["REMEMBRANCER_HOOK_SECOND_LOOK"] = "always"

    reason = agent.turn(
        "How long is the crossing?",
        "It takes 55 minutes and costs 17 EUR. On 3 May 2026 it took 55 minutes, too.",
    )["reason"]

    lines = [line for line in reason.splitlines() if line.startswith("- ")]
    assert [reason.count(claim) for claim in ("55 minutes", "17 EUR", "3 May 2026")] == [1, 1, 1]
    assert len(lines) == len({line.split(" (")[0] for line in lines}) < 4

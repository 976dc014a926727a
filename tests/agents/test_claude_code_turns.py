"""Claude Code remembers, recalls and checks turns (docs/guides/coding-agents.md)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from agents.claude_code import PREFIX, ClaudeCode, ClaudeRun, request_text
from agents.conftest import stored
from agents.endpoints import Reply, ToolCall
from service import Http

pytestmark = pytest.mark.agents

QUESTION = "Which port does the Borealis staging database listen on?"
AGAIN = "On which port was the Borealis staging database?"
FENCE = "<<memory-data"


def cites(text: str) -> Callable[[str], str]:
    """Return a reply that cites the first event that the request shows."""

    def reply(request: str) -> str:
        event = re.search(r"\[event (e_[a-z0-9]+)\]", request)
        assert event is not None, "the request shows no event"
        return f"{text} (ref: {event[1]})."

    return reply


@pytest.fixture(scope="module")
def first(claude: ClaudeCode) -> ClaudeRun:
    """A turn in an empty memory."""
    return claude.run(QUESTION, ["It listens on port 6543 [general]."])


@pytest.fixture(scope="module")
def second(claude: ClaudeCode, first: ClaudeRun) -> ClaudeRun:
    """A turn of another session that the first turn answers."""
    return claude.run(AGAIN, [cites("It listens on port 6543")])


@pytest.fixture(scope="module")
def resumed(claude: ClaudeCode, second: ClaudeRun) -> ClaudeRun:
    """The session of the second turn, continued."""
    return claude.run(
        "Is that the port of the Borealis staging database, too?",
        ["Yes."],
        "--resume",
        second.session,
    )


@pytest.fixture(scope="module")
def wrong_once(claude: ClaudeCode, first: ClaudeRun) -> ClaudeRun:
    """A turn whose first answer contradicts the event that it cites."""
    replies = [cites("Port 7777"), cites("Port 6543")]
    return claude.run("Remind me of the port of the Borealis staging database?", [*replies])


@pytest.fixture(scope="module")
def report(claude: ClaudeCode) -> ClaudeRun:
    """A turn that reports work and uses no memory."""
    return claude.run(
        "Tidy src/parser.py and run the tests.",
        ["Moved 120 lines; 42 tests pass with Python 3.11.", "A second answer."],
    )


@pytest.fixture(scope="module")
def compacted(claude: ClaudeCode, report: ClaudeRun) -> ClaudeRun:
    """The session of the report, compacted."""
    return claude.run("/compact", ["The parser was tidied."], "--resume", report.session)


def test_first_turn_has_start_pack_tools_and_skill_and_is_remembered(
    first: ClaudeRun, claude: ClaudeCode, owned: Http
) -> None:
    """Hooks and tools read the key where the guide says; this release offers tools by name."""
    text = first.model_text()
    (event,) = stored(owned, QUESTION)

    assert len(first.hook_outputs("SessionStart")) == 1
    assert text.count("# Constitution and protocol") == 1
    assert text.index(FENCE) < text.index("# Constitution and protocol")
    assert first.servers == {"remembrancer": "connected"}
    offered = {name.removeprefix(PREFIX) for name in re.findall(f"{PREFIX}[a-z_]+", text)}
    assert offered == {"recall", "remember", "get_event", "forget"}
    assert "remembrancer-memory" in text
    assert str(claude.key) not in json.dumps(first.requests)
    assert "".join(first.hook_outputs("UserPromptSubmit")) == ""
    assert first.result["result"] == event["response"] == "It listens on port 6543 [general]."
    assert event["session_id"] == first.session


def test_recalled_turn_is_in_the_request_and_not_stored_again(
    second: ClaudeRun, owned: Http
) -> None:
    """A correct citation is not sent back."""
    text = second.model_text()
    (event,) = stored(owned, AGAIN)

    assert "port 6543" in text
    assert text.index(AGAIN) < text.rindex(FENCE) < text.rindex("port 6543")
    assert "memory-data" not in event["query"] + event["response"]
    assert len(second.requests) == 1
    assert "block" not in "".join(second.hook_outputs("Stop"))


def test_resumed_session_remembers_its_turn(
    resumed: ClaudeRun, second: ClaudeRun, owned: Http
) -> None:
    (event,) = stored(owned, "Is that the port of the Borealis staging database, too?")

    assert resumed.session == second.session
    assert (event["response"], event["session_id"]) == ("Yes.", resumed.session)


def test_wrong_citation_is_sent_back_once_and_replaced(wrong_once: ClaudeRun, owned: Http) -> None:
    outputs = wrong_once.hook_outputs("Stop")
    events = stored(owned, "Remind me of the port of the Borealis staging database?")

    assert len(wrong_once.requests) == 2
    assert ["block" in output for output in outputs] == [True, False]
    assert "7777" in outputs[0]
    assert "7777" in request_text(wrong_once.requests[1])
    assert ["6543" in event["response"] for event in events] == [True]


def test_compaction_loads_the_start_pack_again_and_is_not_remembered(
    compacted: ClaudeRun, owned: Http
) -> None:
    """The resumed session has its start pack already; the new context gets one."""
    outputs = compacted.hook_outputs("SessionStart")
    hooks = [one for one in compacted.messages if one.get("hook_event") == "PreCompact"]

    assert "PreCompact" in json.dumps(compacted.messages)
    assert "failed" not in json.dumps(hooks)
    assert [FENCE in output for output in outputs] == [False, True]
    assert stored(owned, "/compact") == []


def test_a_subagent_reads_what_its_task_is_about(claude: ClaudeCode, first: ClaudeRun) -> None:
    task = {"description": "look", "prompt": QUESTION, "subagent_type": "general-purpose"}
    replies: list[Reply] = [ToolCall("Agent", task), "Looked.", "Over.", "Over."]
    run = claude.run("Let another agent do it.", replies)

    # Main loop and subagent go on side by side: only the subagent's request begins with the task.
    [of_subagent] = [
        request_text(one) for one in run.requests if QUESTION in json.dumps(one["messages"][0])
    ]
    assert "port 6543" in of_subagent.casefold()

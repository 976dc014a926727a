"""Codex remembers, recalls, and touches system files only with a grant (docs/guides/coding-agents.md)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from agents.codex import Codex, CodexRun
from agents.conftest import SHELL_SERVER, stored
from agents.endpoints import Reply, ToolCall
from service import Http

pytestmark = pytest.mark.agents

QUESTION = "Which port does the Cygnus staging database listen on?"
AGAIN = "On which port was the Cygnus staging database?"
DENIED = "No grant lets `codex`"
NAMESPACE = "mcp__remembrancer"
FENCE = "<<memory-data"


def cites(request: str) -> str:
    """Contradict the first event that the request shows, and cite it."""
    event = re.search(r"\[event (e_[a-z0-9]+)\]", request)
    assert event is not None, "the request shows no event"
    return f"Port 7777 (ref: {event[1]})."


@pytest.fixture(scope="module")
def first(codex: Codex) -> CodexRun:
    """A turn in an empty memory."""
    return codex.run(QUESTION, ["It listens on port 6543 [general]."])


def patch_of(path: Path) -> str:
    return f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"


def test_first_turn_has_the_start_pack_and_is_remembered(first: CodexRun, owned: Http) -> None:
    (event,) = stored(owned, QUESTION)

    assert first.model_text().count("# Constitution and protocol") == 1
    assert event["response"] == "It listens on port 6543 [general]."
    assert event["session_id"] == first.session


def test_recalled_turn_is_in_the_request(codex: Codex, first: CodexRun) -> None:
    text = codex.run(AGAIN, ["Port 6543."]).model_text()

    assert FENCE in text
    assert "port 6543" in text


def test_wrong_citation_is_sent_back_once(codex: Codex, first: CodexRun) -> None:
    prompt = "Remind me of the port of the Cygnus staging database?"
    wrong = codex.run(prompt, [cites, cites, cites])

    assert len(wrong.requests) == 2
    assert "second look" in json.dumps(wrong.requests[1]["input"])


def test_untrusted_hooks_do_not_run(codex: Codex, owned: Http) -> None:
    """Why the guide asks the user to trust them."""
    prompt = "Is the Cygnus indexer running?"
    run = codex.run(prompt, ["It is."], is_trusted=False)

    assert "# Constitution and protocol" not in run.model_text()
    assert stored(owned, prompt) == []


@pytest.mark.parametrize(
    "command",
    ["echo x > {path}", "apply_patch <<'EOF'\n{patch}EOF", "cd /srv; install /dev/null {name}"],
    ids=["redirection", "patch in a command", "install"],
)
def test_command_that_writes_a_system_file_is_denied(
    codex: Codex, target: Path, command: str
) -> None:
    text = command.format(path=target, name=target.name, patch=patch_of(target))
    run = codex.run("Do it.", [ToolCall("exec_command", {"cmd": text}), "Over."])

    assert not target.exists()
    assert DENIED in "".join(run.tool_outputs())


def test_patch_of_a_system_file_is_denied(codex: Codex, target: Path) -> None:
    run = codex.run("Do it.", [ToolCall("apply_patch", patch_of(target)), "Over."])

    assert not target.exists()
    assert DENIED in "".join(run.tool_outputs())


def test_tool_of_another_mcp_server_is_denied(codex: Codex, target: Path) -> None:
    own = codex.project / "own.txt"
    program = f"{{command={json.dumps(sys.executable)},args=[{json.dumps(str(SHELL_SERVER))}]}}"
    replies: list[Reply] = [
        ToolCall("tool_search", {"query": "run a shell command", "limit": 20}),
        ToolCall("run_command", {"command": f"echo x > {own}"}, "mcp__shell"),
        ToolCall("run_command", {"command": f"echo x > {target}"}, "mcp__shell"),
        "Over.",
    ]
    run = codex.run("Do it.", replies, "-c", f"mcp_servers.shell={program}")

    assert own.exists()
    assert not target.exists()
    assert DENIED in run.tool_outputs()[-1]


def test_tools_answer_with_the_key_file_alone(codex: Codex, first: CodexRun) -> None:
    """The guide says where to put the key; hooks and tools both read it there."""
    replies: list[Reply] = [
        ToolCall("tool_search", {"query": "recall memory", "limit": 20}),
        ToolCall("recall", {"query_text": "Cygnus staging port", "top_k": 3}, NAMESPACE),
        "Over.",
    ]
    call = codex.run("Use memory.", replies)

    assert "6543" in call.tool_outputs()[-1]
    assert FENCE in call.tool_outputs()[-1]
    assert not any("sk_" in json.dumps(request) for request in call.requests)


def test_turn_waits_until_the_service_is_back(codex: Codex, owned: Http) -> None:
    prompt = "Where did the Philae probe land?"
    codex.run(prompt, ["On a comet."], REMEMBRANCER_URL="http://127.0.0.1:9")
    meanwhile = stored(owned, prompt)
    codex.run("And now?", ["Hello again."])

    assert meanwhile == []
    assert [event["response"] for event in stored(owned, prompt)] == ["On a comet."]

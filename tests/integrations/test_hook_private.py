"""Texts that stay out of memory: private parts, passwords, and everything while memory is off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import Cli
from integrations.agent import Agent, denial
from integrations.agent import context as context_of
from service import Http


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

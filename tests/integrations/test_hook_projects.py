"""The project that hooks name: the same for each checkout of one repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hook_project import project_name
from integrations.agent import Agent
from integrations.agent import context as context_of
from service import Http


def repository(folder: Path, remote: str = "") -> Path:
    """Make a repository, with a remote named `origin` if given."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", "upstream", "https://example.org/other.git")
        git(folder, "remote", "add", "origin", remote)
    return folder


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(
    "remote",
    [
        "git@github.com:acme/orchard.git",
        "https://github.com/acme/orchard",
        "https://ada:s3cret@GitHub.com/acme/orchard.git/",
        "ssh://git@github.com:22/acme/orchard.git",
    ],
)
def test_the_address_of_the_remote_is_the_name(tmp_path: Path, remote: str) -> None:
    root = repository(tmp_path / "a", remote)
    (root / "src").mkdir()

    assert project_name(str(root / "src"), "", "/root") == "github.com/acme/orchard"


def test_another_project_is_named_and_its_wishes_stay_there(
    agent: Agent, owner: Http, tmp_path: Path
) -> None:
    """Hooks send the project with each turn, search and start (specification.md#search-project)."""
    kestrel = str(repository(tmp_path / "kestrel", "git@github.com:acme/kestrel.git"))
    orchard = str(repository(tmp_path / "orchard"))
    agent.trigger("SessionStart", cwd=kestrel)
    agent.trigger("UserPromptSubmit", cwd=kestrel, prompt="Use ruff, not flake8, in this repo.")
    agent.trigger("Stop", last_assistant_message="Done.")
    queue = "Kestrel's ingest queue is called kestrel-ingest-7."
    agent.trigger("UserPromptSubmit", cwd=kestrel, prompt=queue)
    agent.trigger("Stop", last_assistant_message="Noted.")
    owner.post(
        "/api/v7/memory/facts",
        {
            "user_id": "owner",
            "text": "Always use ruff.",
            "metadata": {"project": "github.com/acme/kestrel"},
        },
    )

    start = {}
    for agent.session, folder in (("s2", orchard), ("s3", kestrel)):
        start[folder] = context_of(agent.trigger("SessionStart", cwd=folder))
    question = "What is Kestrel's ingest queue called?"
    agent.session = "s4"
    there = context_of(agent.trigger("UserPromptSubmit", cwd=orchard, prompt=question))
    agent.session = "s5"
    here = context_of(agent.trigger("UserPromptSubmit", cwd=kestrel, prompt=question))

    assert "project `github.com/acme/kestrel`" in start[kestrel]
    assert ["Always use ruff." in start[one] for one in (orchard, kestrel)] == [False, True]
    assert ", project: github.com/acme/kestrel" in there
    assert "kestrel-ingest-7" in here
    assert ", project: " not in here


def test_the_start_pack_is_short_dated_and_never_twice(
    agent: Agent, owner: Http, tmp_path: Path
) -> None:
    """See specification.md#start-hooks."""
    folder = str(repository(tmp_path / "kestrel", "git@github.com:acme/kestrel.git"))
    here = {"cwd": folder}
    agent.session = "first"
    agent.trigger("SessionStart", **here)
    agent.trigger("UserPromptSubmit", prompt="Move the exporter to the new queue, please.", **here)
    agent.trigger("Stop", last_assistant_message="Moved; the retry logic is still missing.")
    agent.trigger("UserPromptSubmit", prompt="ok thanks", **here)
    agent.trigger("Stop", last_assistant_message="Sure.")
    for number in range(120):
        fact = {"user_id": "owner", "text": f"Fact {number} of the loader is long enough to count."}
        owner.post("/api/v7/memory/facts", {**fact, "valid_from": "2025-12-30T00:00:00Z"})

    agent.session = "second"
    start = context_of(agent.trigger("SessionStart", **here))
    resumed = agent.trigger("SessionStart", source="resume", **here)
    compacted = context_of(agent.trigger("SessionStart", source="compact", **here))
    agent.session = "unknown"
    unknown = context_of(agent.trigger("SessionStart", source="resume", **here))

    assert "new queue, please. → Moved; the retry logic is still missing." in start
    assert "\n- 2025-12-30 Fact " in start
    assert len(start) / 4 <= 700  # with the introduction of the hooks
    assert resumed == {}
    assert "Moved; the retry logic" in compacted
    assert "Moved; the retry logic" in unknown

"""Measure how much the hooks add to turns that memory has nothing to do with.

    python -m bench.quiet

20 turns of a coding agent are stored. Then 20 prompts on other matters are sent, each in a new
session: memory should stay silent. Last, 40 ordinary closing messages end turns whose prompts were
those of a stored turn, so that something was recalled. None rests on memory, so none should be
sent back. Everything goes through the hook program of Claude Code, against a running service.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from bench.hooks import PROGRAM, PYTHON
from bench.http import Server
from bench.report import table, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.protocol.text import tokens
from remembrancer.settings import read

CASES = tomllib.loads(Path(__file__).with_name("quiet.toml").read_text("utf-8"))
BACK_MAX, TOKENS_MAX = 2, 600  # goals: closing messages sent back, median tokens a turn


class HookedAgent:
    """An agent that runs the hook program."""

    def __init__(self, home: str, url: str, key: str) -> None:
        self._environment = {"HOME": home, "REMEMBRANCER_URL": url, "REMEMBRANCER_KEY": key}

    def trigger(self, name: str, session: str, **members: str) -> dict[str, Any]:
        """Run the hooks for an event; return their answer."""
        event = {"hook_event_name": name, "session_id": session, **members}
        process = subprocess.run(
            [*PYTHON, str(PROGRAM), "claude-code"],
            input=json.dumps(event).encode(),
            env=self._environment,
            check=True,
            capture_output=True,
        )
        return json.loads(process.stdout) if process.stdout else {}

    def prompt(self, session: str, text: str) -> str:
        """Send a prompt; return what the hooks add to it."""
        answer = self.trigger("UserPromptSubmit", session, prompt=text)
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def stop(self, session: str, text: str) -> bool:
        """End the turn with this answer; return True if it is sent back."""
        return "decision" in self.trigger("Stop", session, last_assistant_message=text)


def main() -> None:
    """Run the turns and write the section."""
    with tempfile.TemporaryDirectory() as folder:
        records = open_records(read({}, data=Path(folder) / "data"))
        key = keys.create(records, account="owner", label="bench").key.reveal()
        records.close()
        with Server(Path(folder) / "data", key) as server:
            rows = measured(HookedAgent(folder, f"http://127.0.0.1:{server.port}", key))
    write_section("quiet", "Quiet hooks", "python -m bench.quiet", table(ROW_HEADS, rows))


ROW_HEADS = ("turns", "number", "with text of memory", "median tokens", "largest", "sent back")


def measured(agent: HookedAgent) -> list[list[str]]:
    """Return the rows of the table."""
    for number, turn in enumerate(CASES["stored"]):
        agent.prompt(f"stored-{number}", turn["prompt"])
        agent.stop(f"stored-{number}", turn["answer"])
    unrelated = [agent.prompt(f"u-{n}", text) for n, text in enumerate(CASES["unrelated"])]
    related, sent_back = [], 0
    for number, closing in enumerate(CASES["closings"]):
        prompt = CASES["stored"][number % len(CASES["stored"])]["prompt"]
        related.append(agent.prompt(f"c-{number}", prompt))
        sent_back += agent.stop(f"c-{number}", closing)
    return [
        _row("unrelated prompts", unrelated, "-"),
        _row("ordinary closing messages", related, f"{sent_back} (goal \u2264 {BACK_MAX})"),
    ]


def _row(name: str, texts: list[str], sent_back: str) -> list[str]:
    sizes = [tokens(text) for text in texts]
    median = f"{statistics.median(sizes):.0f} (goal \u2264 {TOKENS_MAX})"
    return [name, str(len(texts)), str(sum(map(bool, texts))), median, str(max(sizes)), sent_back]


if __name__ == "__main__":
    main()

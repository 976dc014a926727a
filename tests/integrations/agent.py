"""An agent as its hooks see it: starts the program that the plugin starts, with what was recorded of each event, and reads the answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[2] / "integrations" / "claude-code" / "hooks" / "remembrancer_hook.py"
RECORDED = Path(__file__).parent / "recorded"
PROMPT = "When does the ferry to Elba leave?"  # what was recorded


class Agent:
    """One agent in one home. `session` sets the session of all its events."""

    def __init__(self, home: Path, url: str, key: str | None, name: str = "claude-code", **settings: str) -> None:
        self.home, self.name, self.session = home, name, "s1"
        self.environment = {"HOME": str(home), "REMEMBRANCER_URL": url, **settings}
        if key is not None:
            self.environment["REMEMBRANCER_KEY"] = key

    def at(self, event: str, **said: Any) -> dict[str, Any]:
        """What the program answers to a recorded event, of which `said` is otherwise; empty when it prints nothing."""
        whole = json.loads((RECORDED / self.name / f"{event}.json").read_text("utf-8"))
        own = "conversation_id" if self.name == "cursor" else "session_id"
        whole |= {own: self.session, **({"session_id": self.session} if "session_id" in whole else {})}
        return self.hears(json.dumps(whole | said))

    def hears(self, text: str) -> dict[str, Any]:
        """What the program answers to this on its standard input."""
        words = [sys.executable, "-I", "-S", str(PROGRAM), self.name]
        done = subprocess.run(words, input=text, capture_output=True, text=True, env=self.environment, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert (
            self.environment.get("REMEMBRANCER_KEY", "sk_") not in done.stdout + done.stderr or "REMEMBRANCER_KEY" not in self.environment
        )
        return json.loads(done.stdout) if done.stdout else {}

    def turn(self, prompt: str, answer: str, **said: Any) -> dict[str, Any]:
        """A prompt and its answer; what the program says at the end."""
        self.at("UserPromptSubmit", prompt=prompt)
        return self.at("Stop", last_assistant_message=answer, **said)

    def waiting(self) -> list[dict[str, Any]]:
        """The requests that wait on disk."""
        files = sorted((self.home / ".local/state/remembrancer/hooks").glob("*.json"))
        return [one for file in files for one in json.loads(file.read_text("utf-8")).get("queue", [])]


def context(answer: dict[str, Any]) -> str:
    """What an answer gives the model to read."""
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def denial(answer: dict[str, Any]) -> str:
    """Why an answer denies a tool call; empty when it does not."""
    said = answer.get("hookSpecificOutput", {})
    return str(said["permissionDecisionReason"]) if said.get("permissionDecision") == "deny" else ""

"""An agent that runs the hook program with recorded events and reads its answers."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from pathlib import Path
from typing import Any

from command import captured

HOOKS = Path(__file__).parents[2] / "integrations" / "claude-code" / "hooks"
PROGRAM = HOOKS / "remembrancer_hook.py"
RECORDED = Path(__file__).parent / "recorded"
PROMPT = "When does the ferry to Elba leave?"  # the recorded prompt


class Agent:
    """One agent with its own home. `session` is the session id of its events."""

    def __init__(
        self,
        home: Path,
        url: str,
        key: str | None,
        name: str = "claude-code",
        options: tuple[str, ...] = (),
        **settings: str,
    ) -> None:
        self.home, self.name, self.session, self.options = home, name, "s1", options
        self.environment = {
            "HOME": str(home),
            "REMEMBRANCER_URL": url,
            "REMEMBRANCER_HOOK_SECONDS": "30",  # a busy machine is no hanging service
            **settings,
        }
        if key is not None:
            self.environment["REMEMBRANCER_KEY"] = key

    def trigger(self, event: str, **members: Any) -> dict[str, Any]:
        """Run the hooks for a recorded event with changed members; return the answer, if any."""
        recorded = json.loads((RECORDED / self.name / f"{event}.json").read_text("utf-8"))
        recorded["conversation_id" if self.name == "cursor" else "session_id"] = self.session
        if "session_id" in recorded:
            recorded["session_id"] = self.session
        return self.send(json.dumps(recorded | members))

    def send(self, text: str) -> dict[str, Any]:
        """Run the hooks with this standard input; return the answer, if any."""
        command = [sys.executable, "-I", "-S", str(PROGRAM), self.name, *self.options]
        process = captured(command, input=text, env=self.environment, timeout=60)
        assert process.returncode == 0, process.stderr
        key = self.environment.get("REMEMBRANCER_KEY")
        assert key is None or key not in process.stdout + process.stderr
        self.wait_for_background()
        return json.loads(process.stdout) if process.stdout else {}

    def wait_for_background(self) -> None:
        """Wait until the hooks have sent what they send in the background."""
        lock = self.home / ".local/state/remembrancer/hooks/background"
        if lock.exists():
            descriptor = os.open(lock, os.O_RDWR)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.close(descriptor)

    def turn(self, prompt: str, answer: str, **members: Any) -> dict[str, Any]:
        """Run a turn; return the answer to its last event."""
        self.trigger("UserPromptSubmit", prompt=prompt)
        return self.trigger("Stop", last_assistant_message=answer, **members)

    def queued_requests(self) -> list[dict[str, Any]]:
        """Return the requests that wait on disk."""
        files = sorted((self.home / ".local/state/remembrancer/hooks").glob("*.json"))
        states = [json.loads(file.read_text("utf-8")) for file in files]
        return [request for state in states for request in state.get("queue", [])]


def context(answer: dict[str, Any]) -> str:
    """Return the text that an answer adds to the model's context."""
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def denial(answer: dict[str, Any]) -> str:
    """Return the reason with which an answer denies a tool call; empty if it does not."""
    output = answer.get("hookSpecificOutput", {})
    if output.get("permissionDecision") != "deny":
        return ""
    return str(output["permissionDecisionReason"])

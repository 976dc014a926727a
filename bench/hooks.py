"""Measure the cost of a hook: the whole program against a Python that does nothing.

    python -m bench.hooks [--rounds 40]

Events take turns, against a running service.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.http import Server
from bench.report import table, timed, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

PROGRAM = (
    Path(__file__).parents[1] / "integrations" / "claude-code" / "hooks" / "remembrancer_hook.py"
)
PYTHON = [sys.executable, "-I", "-S"]
START_MS_MAX = 60  # goal for the start of a hook
PROMPT = "When does the ferry to Elba leave?"
EVENTS: dict[str, dict[str, object]] = {
    "an event that is not ours (the start)": {"hook_event_name": "Notification"},
    "PreToolUse, `npm install`": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "npm install"},
    },
    "PreToolUse, /etc/hosts": {
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": "/etc/hosts"},
    },
    "SessionStart": {"hook_event_name": "SessionStart"},
    "UserPromptSubmit": {"hook_event_name": "UserPromptSubmit", "prompt": PROMPT},
    "Stop": {"hook_event_name": "Stop", "last_assistant_message": "At 9:40 [general]."},
}


def main() -> None:
    """Measure, print, write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        records = open_records(read({}, data=Path(folder) / "data"))
        key = keys.create(records, account="owner", label="for a benchmark").key.reveal()
        records.close()
        with Server(Path(folder) / "data", key) as server:
            selected = measured(folder, f"http://127.0.0.1:{server.port}", key, rounds)
    floor = statistics.median(selected[""])
    rows = []
    for name, spent_ms in selected.items():
        label = name or "`python -I -S -c pass`"
        p50 = statistics.median(spent_ms)
        rows.append([label, f"{p50:.1f}", f"{min(spent_ms):.1f}", f"{p50 / floor:.1f}"])
    start_ms = statistics.median(selected[next(iter(EVENTS))])
    verdict = (
        f"Start: {start_ms:.1f} ms; goal {START_MS_MAX}, "
        f"{'reached' if start_ms <= START_MS_MAX else 'not reached'}."
    )
    heads = ("event", "ms p50", "ms least", "x floor")
    write_section(
        "hooks", "A hook of an agent", "python -m bench.hooks", f"{table(heads, rows)}\n\n{verdict}"
    )


def measured(home: str, url: str, key: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds by event; the floor under the empty name.

    All in turns, so that a busy machine is busy for all of them.
    """
    environment = {"HOME": home, "REMEMBRANCER_URL": url, "REMEMBRANCER_KEY": key}
    selected: dict[str, list[float]] = {name: [] for name in ("", *EVENTS)}
    for number in range(rounds + 1):
        for name, times_ms in selected.items():
            words = [*PYTHON, str(PROGRAM), "claude-code"] if name else [*PYTHON, "-c", "pass"]
            text = json.dumps(
                {"session_id": f"s{number}", "cwd": home, **EVENTS.get(name, {})}
            ).encode()
            spent_ms = timed(lambda words=words, text=text: run(words, text, environment))  # type: ignore[misc]
            if number:  # the first round compiles
                times_ms.append(spent_ms)
    return selected


def run(words: list[str], request: bytes, environment: dict[str, str]) -> None:
    """Run one hook from start to exit."""
    subprocess.run(words, input=request, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    main()

"""Measure the latency of an agent hook, from process start to exit.

    python -m bench.hooks [--rounds 40]

The hook events alternate, against a running service. The baseline is a Python process that does
nothing. The ordinary commands are those of `tests/integrations/shell/commands`, each checked once.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.http import Server
from bench.report import arguments_of, table, timed, write_section
from remembrancer.accounts import keys
from remembrancer.context import open_records
from remembrancer.settings import read

PROGRAM = (
    Path(__file__).parents[1] / "integrations" / "claude-code" / "hooks" / "remembrancer_hook.py"
)
PYTHON = [sys.executable, "-I", "-S"]
COMMANDS = Path(__file__).parents[1] / "tests" / "integrations" / "shell" / "commands"
ORDINARY = "PreToolUse, each ordinary command"
START_MS_MAX = 60  # goal for the start-up of a hook
PROMPT = "When does the ferry to Elba leave?"
EVENTS: dict[str, dict[str, object]] = {
    "unhandled event (start-up only)": {"hook_event_name": "Notification"},
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
    """Measure the events and write the section."""
    parser = arguments_of(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="Default: 40")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        records = open_records(read({}, data=Path(folder) / "data"))
        key = keys.create(records, account="owner", label="bench").key.reveal()
        records.close()
        with Server(Path(folder) / "data", key) as server:
            times = measured(folder, f"http://127.0.0.1:{server.port}", key, rounds)
            times[ORDINARY] = measured_commands(folder, key)
    baseline = statistics.median(times[""])
    rows = []
    for name, times_ms in times.items():
        label = name or "baseline: `python -I -S -c pass`"
        p50 = statistics.median(times_ms)
        rows.append([label, f"{p50:.1f}", f"{min(times_ms):.1f}", f"{p50 / baseline:.1f}"])
    start_ms = statistics.median(times[next(iter(EVENTS))])
    verdict = (
        f"Start-up: p50 {start_ms:.1f} ms; goal ≤ {START_MS_MAX} ms, "
        f"{'met' if start_ms <= START_MS_MAX else 'not met'}."
    )
    heads = ("event", "p50 ms", "min ms", "p50 / baseline")
    write_section(
        "hooks", "Agent hooks", "python -m bench.hooks", f"{table(heads, rows)}\n\n{verdict}"
    )


def measured(home: str, url: str, key: str, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds by event. The baseline has the empty name.

    The events alternate, so that load on the machine affects all of them.
    """
    environment = {"HOME": home, "REMEMBRANCER_URL": url, "REMEMBRANCER_KEY": key}
    times: dict[str, list[float]] = {name: [] for name in ("", *EVENTS)}
    for number in range(rounds + 1):
        for name, times_ms in times.items():
            command = [*PYTHON, str(PROGRAM), "claude-code"] if name else [*PYTHON, "-c", "pass"]
            body = json.dumps(
                {"session_id": f"s{number}", "cwd": home, **EVENTS.get(name, {})}
            ).encode()
            elapsed_ms = timed(lambda command=command, body=body: run(command, body, environment))  # type: ignore[misc]
            if number:  # the first round is a warm-up
                times_ms.append(elapsed_ms)
    return times


def measured_commands(home: str, key: str) -> list[float]:
    """Return the milliseconds for each ordinary command. None of them needs the service."""
    environment = {"HOME": home, "REMEMBRANCER_KEY": key}
    program = [*PYTHON, str(PROGRAM), "claude-code"]
    times_ms = []
    for command in ordinary_commands():
        call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": f"{home}/garden"}
        body = json.dumps({**call, "tool_input": {"command": command}}).encode()
        times_ms.append(timed(lambda body=body: run(program, body, environment)))  # type: ignore[misc]
    return times_ms


def ordinary_commands() -> list[str]:
    """Return the commands of one line, then those of several."""
    commands = []
    for file in sorted(COMMANDS.glob("ordinary_*.txt")):
        single, _, several = file.read_text("utf-8").partition("=== several lines\n")
        commands += [*single.splitlines(), *several.rstrip("\n").split("\n===\n")]
    return commands


def run(command: list[str], body: bytes, environment: dict[str, str]) -> None:
    """Run one process from start to exit."""
    subprocess.run(command, input=body, env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    main()

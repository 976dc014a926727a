"""Table of the agents: the module that answers, and the agent's own names of events and tools."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# opencode.js and cline.js translate the events of their agents.
AGENTS: dict[str, dict[str, Any]] = {
    "claude-code": {"module": "hook_events"},
    "codex": {"module": "hook_events"},
    "opencode": {"module": "hook_events"},
    "cline": {"module": "hook_events"},
    "cursor": {
        "module": "hook_cursor",
        "events": {
            "sessionStart": "SessionStart",
            "beforeSubmitPrompt": "UserPromptSubmit",
            "preToolUse": "PreToolUse",
            "postToolUse": "PostToolUse",
            "postToolUseFailure": "PostToolUseFailure",
            "stop": "Stop",
            "preCompact": "PreCompact",
            "sessionEnd": "SessionEnd",
        },
    },
    # Source: docs/hooks/reference.md of github.com/google-gemini/gemini-cli.
    "gemini-cli": {
        "module": "hook_gemini",
        "events": {
            "BeforeAgent": "UserPromptSubmit",
            "BeforeTool": "PreToolUse",
            "AfterTool": "PostToolUse",
            "AfterAgent": "Stop",
            "PreCompress": "PreCompact",
        },
        "tools": {
            "write_file": "Write",
            "replace": "Edit",
            "read_file": "Read",
            "run_shell_command": "Bash",
        },
    },
    # A fork of Gemini CLI with the events of Claude Code.
    # Source: docs/users/features/hooks.md of github.com/QwenLM/qwen-code.
    "qwen-code": {
        "module": "hook_gemini",
        "tools": {
            "write_file": "Write",
            "edit": "Edit",
            "notebook_edit": "NotebookEdit",
            "read_file": "Read",
            "run_shell_command": "Bash",
            "monitor": "Bash",
            "agent": "Agent",
        },
    },
}


def translated(event: dict[str, Any], agent: str) -> dict[str, Any]:
    """Return an event with the names of Claude Code, which all other modules know."""
    row = AGENTS[agent]
    changed = dict(event)
    for field, names in (("hook_event_name", "events"), ("tool_name", "tools")):
        if isinstance(name := event.get(field), str):
            changed[field] = row.get(names, {}).get(name, name)
    return changed

"""Dialogue from an agent's transcript: JSON lines as written by Claude Code and Codex.

Only what the user typed and what the agent told the user is used: no tool output, no thinking, and
nothing that a program inserted.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BYTES_MAX = 32 << 20  # read from the end of a transcript
_INSERTED = re.compile(
    r"<(system-reminder|environment_context|user_instructions)>.*?</\1>", re.DOTALL
)
_NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<task-notification>",
    "Stop hook feedback:",
    "Caveat: ",
)


def last_turn(path: object) -> tuple[str, str]:
    """Return the last prompt and the last text that answers it; empty strings if there is none."""
    prompt = answer = ""
    for role, text in _messages(path):
        if role == "user":
            prompt, answer = text, ""
        else:
            answer = text
    return prompt, answer


def answer_to(path: object, prompt: str) -> str:
    """Return the last text that answers the latest occurrence of a prompt; empty if none."""
    answer, is_prompt = "", False
    for role, text in _messages(path):
        if role == "user":
            is_prompt = text.strip() == prompt.strip()
            answer = "" if is_prompt else answer
        elif is_prompt:
            answer = text
    return answer


def _messages(path: object) -> Iterator[tuple[str, str]]:
    """Yield role and text of each message of the dialogue."""
    for entry in _entries(path):
        payload = entry.get("payload")
        if isinstance(payload, dict):  # Codex
            message: Any = payload if payload.get("type") == "message" else None
        elif (
            entry.get("isSidechain")
            or entry.get("isMeta")
            or entry.get("isCompactSummary")
            or entry.get("isApiErrorMessage")
        ):
            continue
        else:
            message = entry.get("message")
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        text = _INSERTED.sub("", _text(message.get("content"))).strip()
        if text and not (message["role"] == "user" and text.startswith(_NOT_TYPED)):
            yield message["role"], text


def _entries(path: object) -> Iterator[dict[str, Any]]:
    if not isinstance(path, str) or not path:
        return
    try:
        with open(path, "rb") as file:
            file.seek(0, 2)
            start = max(0, file.tell() - BYTES_MAX)
            file.seek(start)
            if start:
                file.readline()
            for line in file:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # the last line may be incomplete
                if isinstance(entry, dict):
                    yield entry
    except OSError:
        return


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    types = ("text", "input_text", "output_text")
    texts = [block.get("text") for block in blocks if block.get("type") in types]
    return "\n".join(text for text in texts if isinstance(text, str))

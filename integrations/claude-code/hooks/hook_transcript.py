"""Read the dialogue from an agent's transcript: JSON lines in the formats of Claude Code and Codex.

Only the user's input and the agent's text for the user count: no tool output, no reasoning, no
injected text.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BYTES_MAX = 32 << 20  # read from the end of a transcript
_INJECTED = re.compile(r"<(system-reminder|environment_context|user_instructions)>.*?</\1>", re.DOTALL)
_NOT_TYPED = ("<command-name>", "<command-message>", "<local-command-", "<task-notification>", "Stop hook feedback:", "Caveat: ")


def last_turn(path: object) -> tuple[str, str]:
    """Return the last prompt and the last text that answers it, each empty if missing."""
    prompt = answer = ""
    for role, text in _messages(path):
        if role == "user":
            prompt, answer = text, ""
        else:
            answer = text
    return prompt, answer


def answer_to(path: object, prompt: str) -> str:
    """Return the last text that answers this prompt, or an empty text.

    The newest occurrence of the prompt counts.
    """
    answer, matches = "", False
    for role, text in _messages(path):
        if role == "user":
            if text.strip() == prompt.strip():
                matches, answer = True, ""
            else:
                matches = False
        elif matches:
            answer = text
    return answer


def _messages(path: object) -> Iterator[tuple[str, str]]:
    for entry in _entries(path):
        payload = entry.get("payload")
        if isinstance(payload, dict):  # Codex
            message: Any = payload if payload.get("type") == "message" else None
        elif entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("isApiErrorMessage"):
            continue
        else:
            message = entry.get("message")
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        text = _INJECTED.sub("", _text(message.get("content"))).strip()
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
    parts = [part for part in content if isinstance(part, dict)]
    texts = [part.get("text") for part in parts if part.get("type") in ("text", "input_text", "output_text")]
    return "\n".join(text for text in texts if isinstance(text, str))

"""What was said, out of an agent's transcript: JSON lines as Claude Code and Codex write them.

Only what the user typed and what the agent said to the user is taken: no tool output, no thinking, nothing that a program put in
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BYTES_MAX = 32 << 20  # of the end of a transcript
_PUT_IN = re.compile(r"<(system-reminder|environment_context|user_instructions)>.*?</\1>", re.DOTALL)
_NOT_TYPED = ("<command-name>", "<command-message>", "<local-command-", "<task-notification>", "Stop hook feedback:", "Caveat: ")


def last_turn(path: object) -> tuple[str, str]:
    """The last prompt and the last text that answers it; empty where there is none."""
    prompt = answer = ""
    for who, text in _said(path):
        if who == "user":
            prompt, answer = text, ""
        else:
            answer = text
    return prompt, answer


def answer_to(path: object, prompt: str) -> str:
    """The last text that answers this prompt, asked last of all or before the last one."""
    answer, is_it = "", False
    for who, text in _said(path):
        if who == "user":
            if text.strip() == prompt.strip():
                is_it, answer = True, ""
            else:
                is_it = False
        elif is_it:
            answer = text
    return answer


def _said(path: object) -> Iterator[tuple[str, str]]:
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
        text = _PUT_IN.sub("", _text(message.get("content"))).strip()
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
                    continue  # the last line may be half written
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

"""Dialogue from an agent's transcript: JSON lines as written by Claude Code and Codex.

Only what the user typed and what the agent told the user is remembered: no tool output, no
thinking, and nothing that a program inserted. Tool results show which values an answer has from
elsewhere.
"""

from __future__ import annotations

import json

from remembrancer_protocol.notices import without_notices
from remembrancer_protocol.pasted import PRIVATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BYTES_MAX = 32 << 20  # read from the end of a transcript
TURN_BYTES_MAX = 8 << 20  # read from the end for the tool results of one turn


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


def tool_results(path: object) -> list[str]:
    """Return the results of tools since the last prompt, the latest first."""
    results: list[str] = []
    for line in reversed(list(_lines(path, TURN_BYTES_MAX))):
        entry = _entry(line)
        message = entry and _message(entry)
        if message and message[0] == "user":
            break
        if entry and not entry.get("isSidechain"):
            results += _results(entry)
    return results


def session_texts(path: object) -> list[str]:
    """Return the texts of a session before the answer to its last prompt, the latest first.

    Messages, the input of tools and their results.
    """
    texts: list[str] = []
    answer: list[str] = []
    for line in _lines(path, TURN_BYTES_MAX):
        entry = _entry(line)
        if not entry:
            continue
        message = _message(entry)
        if message and message[0] == "user":
            texts += [*answer, message[1]]
            answer = []
        elif message:
            answer.append(message[1])
        texts += [*_inputs(entry), *_results(entry)]
    return texts[::-1]


def _inputs(entry: dict[str, Any]) -> Iterator[str]:
    """Yield what an agent gave to its tools."""
    payload, message = entry.get("payload"), entry.get("message")
    if isinstance(payload, dict):  # Codex
        yield from result_texts(payload.get("arguments") or payload.get("input"))
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_use":
            yield from result_texts(block.get("input"))


def _results(entry: dict[str, Any]) -> Iterator[str]:
    payload, message = entry.get("payload"), entry.get("message")
    if isinstance(payload, dict) and str(payload.get("type")).endswith("_output"):  # Codex
        yield from result_texts(payload.get("output"))
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from result_texts(block.get("content"))


def result_texts(result: object) -> Iterator[str]:
    """Yield the texts of a tool result: a string, which may be JSON, or a structure of strings."""
    if isinstance(result, str):
        try:
            parsed = json.loads(result) if result[:1] in ("{", "[") else None
        except (ValueError, RecursionError):
            parsed = None
        if parsed is None:
            yield result
        else:
            yield from result_texts(parsed)
    elif isinstance(result, list):
        for part in result:
            yield from result_texts(part)
    elif isinstance(result, dict):
        for part in result.values():
            yield from result_texts(part)
    elif isinstance(result, int | float):
        yield str(result)


def _messages(path: object) -> Iterator[tuple[str, str]]:
    """Yield role and text of each message of the dialogue."""
    for line in _lines(path, BYTES_MAX):
        entry = _entry(line)
        message = entry and _message(entry)
        if message:
            yield message


def _message(entry: dict[str, Any]) -> tuple[str, str] | None:
    """Return role and text of a message of the dialogue, or None for another entry."""
    payload = entry.get("payload")
    if isinstance(payload, dict):  # Codex
        message: Any = payload if payload.get("type") == "message" else None
    elif (
        entry.get("isSidechain")
        or entry.get("isMeta")
        or entry.get("isCompactSummary")
        or entry.get("isApiErrorMessage")
    ):
        return None
    else:
        message = entry.get("message")
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return None
    text = PRIVATE.sub("", without_notices(_text(message.get("content")))).strip()
    return (message["role"], text) if text else None


def _lines(path: object, bytes_max: int) -> Iterator[bytes]:
    if not isinstance(path, str) or not path:
        return
    try:
        with open(path, "rb") as file:
            file.seek(0, 2)
            start = max(0, file.tell() - bytes_max)
            file.seek(start)
            if start:
                file.readline()
            yield from file
    except OSError:
        return


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None  # the last line may be incomplete
    return entry if isinstance(entry, dict) else None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    types = ("text", "input_text", "output_text")
    texts = [block.get("text") for block in blocks if block.get("type") in types]
    return "\n".join(text for text in texts if isinstance(text, str))

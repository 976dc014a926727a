"""Five scripted models for bench/runtime.py: each answers the forty turns from the prompt alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remembrancer.client.runtime import ChatMessage
from remembrancer.client.runtime.prompts import revision_message

TURNS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "examples" / "forty_turns.jsonl")
    .read_text("utf-8")
    .splitlines()
]
_BY_QUERY = {turn["query"]: (place, turn) for place, turn in enumerate(TURNS)}
_MEND = revision_message([], [])["content"].split("\n", 1)[0]
_SENTENCE_END = re.compile(r"(?<=[.!?:;\"])(?=\s|$)")
Drafter = Callable[[list[ChatMessage]], str]


def _request(messages: list[ChatMessage]) -> tuple[int, dict[str, Any], str, bool]:
    """Return index and text of the turn, its prompt, and True if it is a revision."""
    prompt = next(
        text["content"] for text in reversed(messages) if "The user says:\n" in text["content"]
    )
    place, turn = _BY_QUERY[prompt.rpartition("The user says:\n")[2]]
    return place, turn, prompt, messages[-1]["content"].startswith(_MEND)


def marked(text: str) -> str:
    """Return the text with a marker after each sentence."""
    return " ".join(
        f"{sentence.strip().rstrip('.')} [unverified]."
        for sentence in _SENTENCE_END.split(text)
        if sentence.strip()
    )


def _lines(place: int, turn: dict[str, Any], prompt: str) -> list[str]:
    """Return the correct service lines of a turn."""
    lines = [f"CRITICAL: {turn['critical']}"] if "critical" in turn else []
    if "cube_topic" in turn:
        rule = turn["cube_rules"].splitlines()[0].removeprefix("- ")
        lines.append(
            f"CUBE: {turn['cube_type']} | {turn['cube_topic']} | {turn['cube_essence']} | {rule}"
        )
    else:
        lines.append("CUBE_NOTHING: nothing that would change an answer")
    if rate := re.search(r"^- a RATE line for each of these cubes: (.+)$", prompt, re.MULTILINE):
        lines += [f"RATE: {cube_id} 0 not needed here" for cube_id in rate[1].split(", ")]
    if bounds := re.search(r"^- an L1 line: .+ in (\d+) to (\d+) characters", prompt, re.MULTILINE):
        text = "The shop at Canal Street was planned: " + "; ".join(
            text["response"] for text in TURNS[max(0, place - 15) : place]
        )
        lines.append(f"L1: {text[: int(bounds[2]) - 1]}")
    if "- an L2 line:" in prompt:
        lines.append("L2: The opening of a bicycle shop, planned from lease to first services.")
    return [*lines, *re.findall(r"^- the seal as its last line: (.+)$", prompt, re.MULTILINE)]


def good(messages: list[ChatMessage]) -> str:
    """Return a compliant draft: marked claims and all service lines."""
    place, turn, prompt, _ = _request(messages)
    return "\n".join([marked(turn["response"]), *_lines(place, turn, prompt)])


def forgetful(messages: list[ChatMessage]) -> str:
    """Return a draft without marks and lines; a revision adds only the marks."""
    _, turn, _, is_mending = _request(messages)
    return marked(turn["response"]) if is_mending else str(turn["response"])


def lying(messages: list[ChatMessage]) -> str:
    """Return a draft with invented or wrong citations and a false seal.

    Two of three revisions are compliant.
    """
    place, turn, prompt, is_mending = _request(messages)
    if is_mending and place % 3:
        return good(messages)
    known_ids = re.findall(r"^\[event (\S+)\]", prompt, re.MULTILINE)
    ref = (
        known_ids[0] if known_ids and place % 2 else "e_0000000000000"
    )  # an unrelated event, or an unknown one
    text = _SENTENCE_END.sub(f" (ref: {ref})", turn["response"])
    return (
        f"{text}\nRATE: c_0000000000000 +1 it saved my day\nREM | #1 | READ | VERIFY | CORRECT "
        "| OUTPUT"
    )


def malformed(messages: list[ChatMessage]) -> str:
    """Return a draft with broken and misplaced service lines; every tenth one has no text.

    Two of three revisions are compliant.
    """
    place, turn, prompt, is_mending = _request(messages)
    if is_mending and place % 3:
        return good(messages)
    if place % 10 == 9 and not is_mending:
        return ["", "\x00", "```", "REM | #"][place // 10 % 4]
    seal = (re.findall(r"^- the seal as its last line: (.+)$", prompt, re.MULTILINE) or ["REM"])[0]
    broken = [
        "RATE c_1 +1",
        "CUBE: fact | only a topic",
        "RATE: c_x +7",
        "L1:",
        "CUBE_NOTHING",
        seal.lower().replace("|", "/"),
        "\ud800 L2 -",
    ]
    text = marked(turn["response"]) if place % 2 else turn["response"]
    return "\n".join(
        [
            broken[place % 7],
            text,
            broken[(place + 1) % 7],
            broken[(place + 2) % 7],
            "`" * (place % 4),
        ]
    )


def verbose(messages: list[ChatMessage]) -> str:
    """Return the draft ten times, with unrequested summaries and lessons."""
    place, turn, prompt, _ = _request(messages)
    text = "\n\n".join(
        f"To say it again in other words: {marked(turn['response'])}" for _ in range(10)
    )
    lesson = (
        "CUBE: lifehack | shops | Shops that are planned are opened on time, as all know. | MUST "
        "plan " + "very well " * 100
    )
    lines = [line for line in _lines(place, turn, prompt) if not line.startswith("CUBE")]
    return "\n".join([text, lesson, f"L1: {text[:2000]!r}", f"L2: {text[:2000]!r}", *lines])


DRAFTERS: dict[str, Drafter] = {
    one.__name__: one for one in (good, forgetful, lying, malformed, verbose)
}

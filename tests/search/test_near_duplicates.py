"""Near duplicates and the output of tools, recognised in the texts of turns."""

from __future__ import annotations

from typing import Any

import pytest

from bench.junk.day import load, turns
from bench.junk.pairs import is_joined
from remembrancer.search.text.machine_text import (
    WORDS_MIN,
    is_machine_turn,
    is_tool_output,
    twin_of,
)

PRECISION_MIN, RECALL_MIN = 0.98, 0.9
PAIRS: dict[str, list[dict[str, Any]]] = {
    half: table["pairs"] for half, table in load("pairs.toml").items()
}


@pytest.mark.parametrize("half", PAIRS)
def test_near_duplicates_are_told_from_look_alikes(half: str) -> None:
    joined = [pair["same"] for pair in PAIRS[half] if is_joined(pair)]
    same = sum(pair["same"] for pair in PAIRS[half])

    assert sum(joined) / len(joined) >= PRECISION_MIN
    assert sum(joined) / same >= RECALL_MIN


def test_short_turns_are_compared_within_their_session_only() -> None:
    short = twin_of("yes", "Done.", is_machine=False)
    long = twin_of("word " * WORDS_MIN, "", is_machine=False)

    assert short is not None
    assert short.in_session
    assert long is not None
    assert not long.in_session


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_no_turn_of_a_person_counts_as_a_machine_s(half: str) -> None:
    mistaken = [
        turn
        for turn in turns()
        if turn.half == half and turn.label and is_machine_turn(turn.query, turn.response)
    ]

    assert mistaken == []


@pytest.mark.parametrize(
    "text",
    [
        "380 passed in 12.31s",
        "File created successfully at: /a/b.py",
        "2026-11-21 10:10:11 INFO worker: processed 40 rows",
        "Progress: 40% |████      |",
        "Exit code: 1\n",
        "[Tool use: Bash]",
        "Tool output:",
    ],
)
def test_lines_of_tools_are_recognised(text: str) -> None:
    assert is_tool_output(text)
    assert is_machine_turn("", text)
    assert not is_tool_output(f"{text}\nWhy is that?")
    assert not is_machine_turn("Run it.", text)


def test_an_acknowledgement_is_a_machine_s_only_as_the_answer_to_a_notice() -> None:
    notice = "<task-notification>\nThe build ended.\n</task-notification>"

    assert is_machine_turn(notice, "Noted.")
    assert not is_machine_turn("", "Noted.")
    assert not is_machine_turn("I like tea.", "Noted.")
    assert not is_machine_turn(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        "I improved from 60% to 75% after I was done with the set.",
        "[She meant what she said]",
        "Step{19}",
        "OK THANKS ALL",
        "make me happy now",
        "The task failed because Bob forgot it.",
        "added 3 packages of rice to the list",
        "build failed, why?",
        "Tool result from git.log: commit a1b2c3 changed the cache serializer.",
    ],
)
def test_sentences_that_resemble_output_are_somebody_s_words(text: str) -> None:
    assert not is_machine_turn(text, "")

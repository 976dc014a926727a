"""Days of coding agents, in the shape of LoCoMo, and their questions (bench/coding)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.coding.days import projects, sample
from bench.coding.tool_output import tool_turns
from bench.locomo import conversation_of

HEAD = "name: x\npart: development\nmodules: a b\n"


def turns_of(project: dict[str, Any]) -> list[dict[str, str]]:
    return [
        turn
        for turns in project["conversation"].values()
        if isinstance(turns, list)
        for turn in turns
    ]


def test_the_reader_of_locomo_reads_every_turn_and_question() -> None:
    for project in projects():
        conversation = conversation_of(project)

        assert len(conversation.events) == len(turns_of(project))
        assert len(conversation.questions) == len(project["qa"])


def test_a_run_is_two_turns_with_the_line_of_the_file_inside() -> None:
    project = sample(f"{HEAD}= 2026-01-05 09:12\n!#k pytest t.py::test_a | KeyError: 'x'\n")

    call, result = turns_of(project)
    assert (call["speaker"], result["speaker"]) == ("assistant", "tool")
    assert "E       KeyError: 'x'" in result["text"].splitlines()


def test_tool_output_is_the_same_each_time() -> None:
    first, second = (tool_turns("trace", "a.py:3 f | ValueError: b", ["m"], "s") for _ in "12")

    assert first == second
    assert json.loads(tool_turns("json", "a=b", ["m"], "s")[1])["a"] == "b"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("U hello", "before the first session"),
        ("= 2026-01-05 09:12\n! perl x", "unknown tool 'perl'"),
        ("= 2026-01-05 09:12\nU#a x\nA#a y", "two turns have the key 'a'"),
        ("= 2026-01-05 09:12\nU x\n? order | q | a | b", "no turn has the key 'b'"),
        ("= 2026-01-05 09:12\nU x\n? taste | q | a | b", "unknown kind 'taste'"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error(lines: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sample(HEAD + lines)

"""Machine notices in a text, by shape."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol.notices import is_notice, notices_in, without_notices

SHAPES: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("notice_shapes.toml").read_text("utf-8")
)["shape"]
NOTICES = (
    "<task-notification>\n<task-id>a81</task-id>\n</task-notification>",
    "<system-reminder>\nTodo list: 1. tests\n</system-reminder>",
    "<command-name>/review</command-name>\n<command-args>a.py</command-args>",
    "<local-command-stdout>Set model to opus</local-command-stdout>",
    "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>",
    "<user_instructions>\nRun the tests.\n</user_instructions>",
    "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
    "<additional_data>\nPath: a.py\n</additional_data>",
    "<tool_result>ok</tool_result>",
    "[Request interrupted by user for tool use]",
    "[Tool use rejected by user: Edit a.py]",
    "[read_file for 'a.py'] Result:\n1 | import re",
    "This session is being continued from a previous conversation that ran out of context. Then …",
    "# AGENTS.md instructions for /srv/shop\n\nBe brief.",
    "Stop hook feedback:\nMend it.",
    "No response requested.",
    "<a-notice_of some='kind'>of a program that nobody knows</a-notice_of>",
    "<system-reminder>\nwhich was cut off",
)
WORDS = (
    "Where does <system-reminder> in my logs come from?",
    "The tag `<system-reminder>` ends with `</system-reminder>`.",
    "<div>Why is this not centred?</div>",
    "[note] buy milk",
    "No response requested. But tell me anyway why the build fails.",
    "This session is great.",
    "My component <date-picker>x</date-picker> shows the wrong month.",
    "a < b and c > d",
    "The Stop hook additional context is empty. Why?",
    "What does 'Base directory for this skill: x' mean?",
    "It says [Image #1] but I see no image.",
    "I get: Wall time: 0.1 seconds\nIs that slow?",
    "<rules>be kind</rules> is what our XML needs; write a parser.",
    "# Files mentioned in the ticket\n\na.py, b.py",
    "Please continue the conversation with Bob.",
    "",
    "   ",
)


def test_message_of_a_program_is_a_notice_as_a_whole() -> None:
    for text in NOTICES:
        assert is_notice(text), text
        assert without_notices(f"  {text}") == "", text
    for text in WORDS:  # about notices or markup, or anything
        assert notices_in(text) == [], text
        assert without_notices(text) == text
        assert not is_notice(text)


def test_only_what_a_person_wrote_is_left_of_a_message() -> None:
    """Of at least 60 shapes of three agents, each with a source."""
    assert len(SHAPES) >= 60
    assert {shape["agent"] for shape in SHAPES} == {"claude-code", "codex", "cursor"}
    assert all(shape["source"] for shape in SHAPES)
    for shape in SHAPES:
        words = shape.get("words", "")
        assert without_notices(shape["text"]) == words
        assert is_notice(shape["text"]) is not bool(words), shape["text"]


def test_words_of_the_user_beside_and_within_notices_stay() -> None:
    reminder = "<system-reminder>\nTodo\n</system-reminder>"
    texts = {
        f"<user_query>Fix it.\n{reminder}</user_query>": "Fix it.",
        "[Request interrupted by user]\nNo, the other file.": "No, the other file.",
        "<attached_files>a.py</attached_files>\n<user_query>\nFix it.\n</user_query>": "Fix it.",
    }

    assert {text: without_notices(text) for text in texts} == texts


@given(st.lists(st.sampled_from([*NOTICES, *WORDS, "\n", "<tool_result>", "</tool_result>"])))
def test_notices_are_ordered_and_do_not_overlap(pieces: list[str]) -> None:
    text = " ".join(pieces)
    edges = [edge for span in notices_in(text) for edge in span]

    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)

"""Standing instructions, preferences and facts to remember in messages of users.

The labelled messages are in bench/instructions: held_out.toml was never used for training.
"""

from __future__ import annotations

import pytest

from bench.instructions.labelled import HELD_OUT, counts, messages
from remembrancer.memory.instructions import (
    Instruction,
    instructions_in,
    replaces_instruction,
)

PRECISION_MIN, RECALL_MIN = 0.95, 0.9

EVERYTHING = messages(HELD_OUT)


def one_in(message: str) -> Instruction:
    """Return the only instruction of a message."""
    (instruction,) = instructions_in(message)
    return instruction


# --- The labelled messages ------------------------------------------------------------------------


def test_wishes_in_messages_that_nobody_trained_on_are_recognised() -> None:
    result = counts(EVERYTHING)

    assert result.messages >= 100
    assert result.labels <= result.messages / 2
    assert result.precision >= PRECISION_MIN
    assert result.recall >= RECALL_MIN
    assert result.right_kind >= PRECISION_MIN * result.correct
    assert result.right_condition >= PRECISION_MIN * result.correct


# --- What is returned -----------------------------------------------------------------------------


def test_the_sentence_is_returned_verbatim_with_its_place_and_condition() -> None:
    message = "Hi!  Thanks.\nWhenever I ask about Python, use “f-strings” please! And now?"

    instruction = one_in(message)

    assert instruction.text == "Whenever I ask about Python, use “f-strings” please!"
    assert message[instruction.start :].startswith(instruction.text)
    assert instruction.condition == "Whenever I ask about Python"
    assert instruction.kind == "instruction"


@pytest.mark.parametrize(
    "message",
    [
        "I always get lost there",
        "Answer in French this time",
        "Should I always save?",
        "Use the blue one for this",
        "I prefer the second one.",
        "```\n# Always answer in German.\n```",
        "`never answer in German`",
        "> Never answer in German.",
        'The sign says "Always answer in German."',
        "ERROR: Never use the root account.",
        "Translate this:\nAlways answer politely. Never guess.",
        "My boss wants me to never use emojis.",
        "They help me and never complain.",
        "",
    ],
)
def test_quoted_text_code_questions_and_statements_state_nothing(message: str) -> None:
    assert instructions_in(message) == []


# --- Replacement ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("always answer in German", "from now on answer in English"),
        ("以后请一直用中文回答我", "从现在起用英文回答"),
        ("call me Bo", "stop calling me Bo"),
        ("Please keep your answers short in future", "From now on, write long answers"),
        ("Always use emojis", "never use emojis"),
        ("I prefer tabs over spaces", "I prefer spaces over tabs"),
    ],
)
def test_another_wish_about_the_same_matter_replaces(older: str, newer: str) -> None:
    assert replaces_instruction(one_in(older), one_in(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("always answer in German", "immer auf Deutsch antworten bitte"),
        ("always answer in German", "Always answer in English when I ask about taxes"),
        ("call me Bo", "stop calling me Robert"),
        ("Never push to main", "Never use emojis"),
        ("I prefer tabs over spaces", "I prefer tabs over spaces"),
        ("please keep your answers short in future", "I prefer bullet points to long paragraphs"),
        ("I prefer short answers", "i like short answers better, no need for an intro"),
        (
            "Always add versions when I ask about dependencies",
            "Never add versions when I ask about recipes",
        ),
    ],
)
def test_repetitions_and_other_matters_replace_nothing(older: str, newer: str) -> None:
    assert not replaces_instruction(one_in(older), one_in(newer))

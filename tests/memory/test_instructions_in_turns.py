"""Standing instructions, preferences and facts to remember in messages of users.

The labelled messages are in bench/instructions: held_out.toml was never used for training.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.instructions.labelled import HELD_OUT, counts, messages
from remembrancer.memory.instructions import (
    Instruction,
    applies,
    instructions_in,
    replaces_instruction,
    topic_words,
)
from remembrancer.memory.instructions.wishes import SENTENCES_MAX

PRECISION_MIN, RECALL_MIN = 0.95, 0.9
HOSTILE_CHARACTERS = 400_000

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


def test_facts_to_remember_are_told_from_wishes() -> None:
    result = counts(EVERYTHING, facts=True)

    assert result.right_kind == result.correct >= 6


# --- What is returned -----------------------------------------------------------------------------


def test_the_sentence_is_returned_verbatim_with_its_place_and_condition() -> None:
    message = "Hi!  Thanks.\nWhenever I ask about Python, use “f-strings” please! And now?"

    instruction = one_in(message)

    assert instruction.text == "Whenever I ask about Python, use “f-strings” please!"
    assert message[instruction.start :].startswith(instruction.text)
    assert instruction.condition == "Whenever I ask about Python"
    assert instruction.kind == "instruction"


def test_several_instructions_come_in_the_order_of_the_message() -> None:
    message = "I prefer short answers. The build fails. Never use emojis. Call me Bo."

    assert [(one.kind, one.text) for one in instructions_in(message)] == [
        ("preference", "I prefer short answers."),
        ("instruction", "Never use emojis."),
        ("instruction", "Call me Bo."),
    ]


def test_a_late_condition_is_recognised() -> None:
    instruction = one_in("Always include version numbers when I ask about dependencies.")

    assert instruction.condition == "when I ask about dependencies"


def test_traditional_chinese_is_recognised() -> None:
    instruction = one_in("謝謝！當我問到食譜的時候，請總是用克來寫分量。")

    assert instruction.text == "當我問到食譜的時候，請總是用克來寫分量。"
    assert instruction.condition == "當我問到食譜的時候"
    assert one_in("我更喜歡簡短的回答。").kind == "preference"


def test_a_preference_in_a_request_is_recognised() -> None:
    instruction = one_in("I prefer Android phones for their flexibility, can you recommend some?")

    assert (instruction.kind, instruction.condition) == ("preference", None)


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


@given(st.text(max_size=400))
def test_any_text_gives_sentences_that_are_in_it(text: str) -> None:
    for one in instructions_in(text):
        assert text[one.start : one.start + len(one.text)] == one.text
        assert one.condition is None or one.condition in one.text


@given(
    st.lists(
        st.sampled_from(
            [
                "always ",
                "use ",
                "İ",
                "when I ask about x",
                ", ",
                ". ",
                "\n",
                "\u2019",
                '"',
                "call me ",
            ]
        ),
        max_size=30,
    )
)
def test_text_made_of_triggers_keeps_places(parts: list[str]) -> None:
    text = "".join(parts)

    for one in instructions_in(text):
        assert text[one.start : one.start + len(one.text)] == one.text


# --- Long and hostile messages --------------------------------------------------------------------

HOSTILE = [
    "a", " ", "\n", ".", '"', "'", " '", "«", "“", "`", "``` ", "always ", "Always. ", "always\t",
    "from now on ", "when i ask about x, ", "i prefer ", "if i ", "bitte immer ", "всегда отвечай ",
    "以后", "call me ", "translate:\n", "ok, " * 60 + "always use x. ", "- - ",
    "i prefer " + "a " * 200 + ". ", "when i " + "a " * 200 + ". ", "for a b c " * 50 + "always\n",
    "I find " + "a b " * 100 + ". ",
]  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_time_is_linear_in_a_hostile_message(part: str) -> None:
    """Quadratic time would not end within hours; bench/instructions measures milliseconds."""
    message = part * (HOSTILE_CHARACTERS // len(part))

    assert len(instructions_in(message)) <= SENTENCES_MAX


def test_of_very_many_candidates_the_first_and_the_last_are_examined() -> None:
    message = "Always fails. " * 500 + "Always answer in German."

    assert [one.text for one in instructions_in("Call me Bo. " + message)] == [
        "Call me Bo.",
        "Always answer in German.",
    ]
    assert len(instructions_in("Always answer in German. " * 500)) == SENTENCES_MAX


def test_of_a_very_long_message_the_two_ends_are_read() -> None:
    """No sentence is made of a part of each end."""
    pasted = "It rained all day in the valley " * 30_000
    message = f"Call me Bo. Never {pasted} delete tables. Always answer in German."

    wishes = instructions_in(message)

    assert [one.text for one in wishes] == ["Call me Bo.", "Always answer in German."]
    assert [message.find(one.text) for one in wishes] == [one.start for one in wishes]


# --- Fit of a condition ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "query", "fit"),
    [
        ("Always answer in German.", "What is for dinner?", 1.0),
        ("Always add versions when I ask about dependencies.", "Which dependency is old?", 1.0),
        ("Always add versions when I ask about dependencies.", "What is for dinner?", 0.0),
        ("Always cite a page when I ask about budget reports.", "Where is the report?", 0.5),
        ("Wenn ich nach Terminen frage, gib immer den Tag an.", "Wann ist mein Termin?", 1.0),
        ("当我问到菜谱的时候，请总是用克来写分量。", "给我一个蛋糕菜谱", 1.0),
        ("Whenever I ask a question, use euros, not dollars", "How much is it?", 1.0),
    ],
)
def test_fit_is_the_share_of_topic_words_in_the_question(
    message: str, query: str, fit: float
) -> None:
    assert applies(one_in(message), query) == pytest.approx(fit)


def test_topic_words_leave_the_frame_of_a_condition_out() -> None:
    assert topic_words(one_in("Whenever I ask you about budget reports, use euros")) == (
        "budget",
        "reports",
    )
    assert topic_words(one_in("Always use euros")) == ()


# --- Replacement ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("always answer in German", "from now on answer in English"),
        ("immer auf Deutsch antworten bitte", "from now on answer in English"),
        ("以后请一直用中文回答我", "从现在起用英文回答"),
        ("call me Bo", "stop calling me Bo"),
        ("call me Bo", "Please call me Sam"),
        ("stop calling me Robert", "call me Robert"),
        ("Please keep your answers short in future", "From now on, write long answers"),
        ("Always use emojis", "never use emojis"),
        ("I prefer tabs over spaces", "I prefer spaces over tabs"),
        (
            "Always add versions when I ask about dependencies",
            "Never add versions when I ask about dependencies",
        ),
    ],
)
def test_another_wish_about_the_same_matter_replaces(older: str, newer: str) -> None:
    assert replaces_instruction(one_in(older), one_in(newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("always answer in German", "immer auf Deutsch antworten bitte"),
        ("always answer in German", "Always answer in English when I ask about taxes"),
        ("stop calling me Robert", "call me Bo"),
        ("call me Bo", "stop calling me Robert"),
        ("Never push to main", "Never use emojis"),
        ("Always use emojis", "Never push to main"),
        ("I prefer tabs over spaces", "I prefer tabs over spaces"),
        ("please keep your answers short in future", "I prefer bullet points to long paragraphs"),
        ("I prefer short answers", "i like short answers better, no need for an intro"),
        ("I prefer detailed reviews", "I prefer tables to avoid long texts"),
        (
            "Always add versions when I ask about dependencies",
            "Never add versions when I ask about recipes",
        ),
    ],
)
def test_repetitions_and_other_matters_replace_nothing(older: str, newer: str) -> None:
    assert not replaces_instruction(one_in(older), one_in(newer))

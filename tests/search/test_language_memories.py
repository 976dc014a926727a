"""One memory in seven languages, and one of mixed sessions (bench/languages)."""

from __future__ import annotations

import pytest

from bench.languages.memories import LANGUAGES, MIXED, memory


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_has_sixty_turns_in_twelve_sessions_and_thirty_questions(name: str) -> None:
    conversation = memory(name)

    assert len(conversation.events) == 60
    assert len({event.session for event in conversation.events}) == 12
    assert len(conversation.questions) == 30


def test_a_question_has_the_same_evidence_in_every_language() -> None:
    evidence = [[question.evidence for question in memory(name).questions] for name in LANGUAGES]

    assert all(one == evidence[0] for one in evidence)


def test_people_and_the_assistant_speak_in_their_own_names() -> None:
    texts = [event.query for event in memory("de").events]

    assert any(text.startswith("Lena: Meine Schwester") for text in texts)
    assert "Schlüsselübergabe" in texts[0]
    assert texts[0].removeprefix("user: ").startswith("Heute war")


def test_the_mixed_memory_asks_in_several_languages() -> None:
    questions = [question.text for question in memory(MIXED).questions]

    assert len(questions) == 20
    assert {"船身是什么颜色？", "How much does the replacement engine cost?"} <= set(questions)

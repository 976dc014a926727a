"""Memories of eight plain facts, and everyday questions about them (bench/everyday)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.everyday.__main__ import MemoryResult, results, rows, share_answerable
from bench.everyday.memories import Memory, memory_of
from bench.service import Service

SMALL = Memory(
    "small",
    "en",
    False,
    (("Our cat is called Pirate.", "A fine name."), ("I teach maths.", "Then good luck.")),
    ((0, "What is the cat called?"), (1, "Who teaches maths?"), (1, "Our cat?")),
    frozenset(),
)


def test_a_question_counts_as_right_only_if_its_turn_is_first(tmp_path: Path) -> None:
    service = Service(tmp_path)
    try:
        (result,) = results(service, [SMALL])
    finally:
        service.close()

    assert result.is_right == (True, True, False)
    assert result.is_right_fts == (True, True, False)


def test_answers_without_the_field_are_printed_as_not_available() -> None:
    assert share_answerable([None, 0.7]) == "n/a"
    assert share_answerable([0.5, 0.7, 0.2, 0.1]) == "0.500"
    result = MemoryResult(SMALL, (True, True, False), (True, True, False), (0.9,) * 3, (0.1,) * 3)

    assert rows([result])[0] == ["small", "2 of 3", "2", "0 of 1", "1.000", "0.000"]


@pytest.mark.parametrize(
    ("facts", "questions", "message"),
    [("no answer", "1 Who?", "a fact needs"), ("one >> two", "2 Who?", "begins with a turn")],
)
def test_a_line_of_another_form_is_an_error(facts: str, questions: str, message: str) -> None:
    raw = {"name": "x", "part": "development", "also": "", "facts": facts, "questions": questions}
    with pytest.raises(ValueError, match=message):
        memory_of("en", raw)

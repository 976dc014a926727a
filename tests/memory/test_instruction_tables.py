"""The table of words of standing instructions is complete, and its patterns can be read."""

from __future__ import annotations

import re

import pytest

from remembrancer.memory.instructions import instructions_in
from remembrancer.memory.instructions.words import CODES, TABLES, across

SPACED = {"frame", "manner"}  # Chinese has none


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("part", [None, "facts", "topics", "languages"])
def test_every_language_has_the_patterns_of_english(code: str, part: str | None) -> None:
    english, other = (TABLES[one] if part is None else TABLES[one][part] for one in ("en", code))

    assert set(english) - (SPACED if code == "zh" else set()) <= set(other)


@pytest.mark.parametrize("part", [None, "facts"])
def test_every_pattern_across_languages_compiles(part: str | None) -> None:
    table = TABLES["en"] if part is None else TABLES["en"][part]
    for name in (name for name, value in table.items() if isinstance(value, str)):
        re.compile(across(name, part))


@pytest.mark.parametrize(
    "message",
    [
        "Always answer in French.",
        "Antworte immer auf Deutsch.",
        "Réponds toujours en français.",
        "Responde siempre en español.",
        "Rispondi sempre in italiano.",
        "Отвечай всегда по-русски.",
        "以后一直用中文回答。",
    ],
)
def test_an_instruction_of_each_language_is_recognised(message: str) -> None:
    assert [one.text for one in instructions_in(message)] == [message]

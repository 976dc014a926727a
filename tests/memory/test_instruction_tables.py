"""The tables of words of standing instructions, one per language, are complete and can be read."""

from __future__ import annotations

import re
import tomllib
from importlib import resources

import pytest

from remembrancer.memory.instructions import instructions_in
from remembrancer.memory.instructions.grammar import CODES, GRAMMARS, Grammar, LatePattern, across

OPTIONAL = {"late_order", "domain_open"}
SPACED = {"conjunction", "request", "lasting", "frame", "manner"}  # Chinese has none


def table(code: str) -> dict[str, dict[str, object]]:
    """Return the table of a language."""
    folder = resources.files("remembrancer.memory.instructions")
    return tomllib.loads(folder.joinpath(f"{code}.toml").read_text("utf-8"))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("part", ["patterns", "messages", "facts", "topics", "languages"])
def test_every_language_has_the_patterns_of_english(code: str, part: str) -> None:
    expected = set(table("en")[part]) - OPTIONAL - (SPACED if code == "zh" else set())

    assert expected <= set(table(code)[part])


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda grammar: grammar.code)
def test_every_pattern_of_a_language_compiles(grammar: Grammar) -> None:
    for name in Grammar.__slots__:
        pattern = getattr(grammar, name)
        if isinstance(pattern, LatePattern):
            assert "{verbs}" not in pattern.source
            pattern.search("")


@pytest.mark.parametrize("part", ["messages", "facts"])
def test_every_pattern_across_languages_compiles(part: str) -> None:
    for name in set(table("en")[part]) - {"tags"}:
        re.compile(across(part, name))


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
def test_each_table_recognises_an_instruction_of_its_language(message: str) -> None:
    assert [one.text for one in instructions_in(message)] == [message]

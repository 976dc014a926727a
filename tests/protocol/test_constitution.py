"""The constitution: numbered, versioned, in one file; the short form agrees with it."""

from __future__ import annotations

import re

from architecture.tree import CODE

from remembrancer.protocol.constitution import RULES, compact_text, protocol_text
from remembrancer.protocol.seal import read_seal

FILE = (CODE / "protocol" / "constitution.md").read_text("utf-8")
LINES = [
    "L1: ",
    "L2: ",
    "CRITICAL: ",
    "CUBE: ",
    "CUBE_NOTHING: ",
    "RATE: ",
    "TASK_DONE",
    "PUBLISH",
    "memory: not used",
]


def numbered(text: str, after: str) -> dict[int, str]:
    """Return the lines that begin with a number, by that number."""
    return {
        int(number): rule
        for number, rule in re.findall(rf"^(\d+){re.escape(after)}(.+)$", text, re.MULTILINE)
    }


def test_rules_are_numbered_without_gaps() -> None:
    """The constitution is one numbered, versioned list (specification.md#prompt-constitution)."""
    rules = numbered(FILE, ". ")

    assert list(rules) == list(range(1, len(rules) + 1))
    assert tuple(rules.values()) == RULES
    assert len(RULES) >= 8


def test_both_forms_contain_the_mandatory_terms() -> None:
    """Citations, secrets, system files; the full form lists every service line.

    See specification.md#prompt-constitution, specification.md#lines-table.
    """
    marks = ["(ref: <event_id>)", "[general]", "[unverified]", "[assumption]"]
    for term in (*marks, "data", "grant", "key"):
        assert term in protocol_text("REM")
        assert term in compact_text("REM")
    for line in LINES:
        assert f"| `{line}" in protocol_text("REM")
    for text in (protocol_text("REM"), compact_text("REM")):
        assert "{" not in text  # no placeholder is left


def test_both_forms_follow_the_order_of_a_turn() -> None:
    """Both forms follow the protocol (specification.md#turn-order)."""
    steps = ["search memory", "draft", "remember", "second look", " rate "]

    for text in (" ".join(RULES).lower(), compact_text("REM").lower()):
        places = [*(text.index(step) for step in steps), text.rindex("clean answer")]
        assert places == sorted(places)


def test_example_seals_are_valid() -> None:
    """It shows the seal (specification.md#seal-format)."""
    for name in ("REM", "ARCHIVE"):
        for text in (protocol_text(name), compact_text(name)):
            seals = re.findall(r"\S+ \| #<step> \|[ A-Z|]+", text.replace("`", " "))
            assert [read_seal(seal.replace("<step>", "7")) for seal in seals] == [(name, 7)]

"""Service lines: shared test vectors, properties of any text, round trips."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing.lines import check
from hypothesis import example, given
from hypothesis import strategies as st

from remembrancer.protocol.line import CubeText, Rate
from remembrancer.protocol.lines import FAULTS, WARNINGS, Lines, Unwritable, parse, write
from remembrancer.protocol.seal import render

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "service-lines.json").read_text("utf-8")
)
SEAL = render(7)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_shared_test_vectors_are_satisfied(vector: dict[str, Any]) -> None:
    """The result has the fields of the shared test vectors (specification.md#lines-fields)."""
    parsed = parse(vector["input"], step=vector["step"], cubes_shown=vector.get("cubes_shown"))

    for name, expected in vector["expect"].items():
        if name.endswith("_include"):
            assert set(expected) <= set(getattr(parsed, name.removesuffix("_include")))
        elif name.endswith("_include_any"):
            assert set(expected) & set(getattr(parsed, name.removesuffix("_include_any")))
        else:
            assert _as_json(getattr(parsed, name)) == expected


def _as_json(value: Any) -> Any:
    if isinstance(value, CubeText):
        return value._asdict()
    return (
        [list(rate) if isinstance(rate, Rate) else rate for rate in value]
        if isinstance(value, tuple | list)
        else value
    )


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("A.\n~~~\nTASK_DONE\n~~~~", "task_done", True),
        ("A.\n````\n```\nTASK_DONE\n```\n````\nB.", "task_done", False),
        ("```not a fence``` \nTASK_DONE", "task_done", True),
        ("| CUBE: | fact |\n|---|---|", "cube", None),
        ("A.\nRATE: `c1` +1 fine", "rates", (Rate("c1", 1, "fine"),)),
        ("A.\nRATE: c1 \uff0b1: fine", "rates", (Rate("c1", 1, "fine"),)),
        ("A.\nRATE: c1 -0", "rates", (Rate("c1", 0, ""),)),
        ("A.\nRATE: my cube +1 an id has no blank", "rates", ()),
        ("A.\n\u0421UBE: fact | t | e | r", "cube", None),  # a Cyrillic letter that looks like a C
        ("A.\n    TASK_DONE", "task_done", False),
        ("A.\n\tTASK_DONE", "task_done", False),
        ("A.\n`TASK_DONE`", "task_done", True),
        ("A.\n**TASK_DONE**", "task_done", True),
        ("A.\n**TASK_DONE", "task_done", False),
        ("A.\n**CRITICAL: likes tea**", "critical", "likes tea"),
        ("A.\nCRITICAL: **likes** tea", "critical", "**likes** tea"),
        (
            "A.\nCRITICAL: likes tea\nCRITICAL: none\nCRITICAL: hates milk",
            "critical",
            "likes tea; hates milk",
        ),
        ("A.\nCRITICAL: tea | replaces f_0123456789abc", "critical", "tea"),
        ("A.\nCRITICAL: tea | replaces f_0123456789abc", "critical_replaces", "f_0123456789abc"),
        ("A.\nCRITICAL: tea | replaces coffee", "critical", "tea | replaces coffee"),
        ("A.\nL1:\n  - did X\n  - then Y", "l1", "- did X - then Y"),
        ("A.\nL1: did X\nTASK_DONE\n  - then Y", "l1", "did X - then Y"),
        (f"A.\nL1: did X\n{SEAL}\n  - then Y\n{SEAL}", "answer", "A."),
        (
            "A.\nL1: did X\nCRITICAL: a\n  - then Y",
            "answer",
            "A.\nL1: did X\nCRITICAL: a\n  - then Y",
        ),
        ("A.\nL1: none", "l1", None),
        ("A.\nMemory: Not Used.", "memory_used", False),
        ("A.\nCUBE: fact | a\uff5c b | c | d", "cube", CubeText("fact", "a", "b", "c | d")),
        ("A.\nCUBE: fact | a \\\uff5c b | c | d", "cube", CubeText("fact", "a \uff5c b", "c", "d")),
        ("A.\u2028TASK_DONE", "task_done", False),
        ("A.\nCUBE: fact | t | e | r\nPUBLISH", "publish", True),
        ("A.\nREM\uff5c#7\uff5cREAD\uff5cVERIFY\uff5cCORRECT\uff5cOUTPUT", "seal_step", 7),
        ("A.\nOTHER | #7 | READ | VERIFY | CORRECT | OUTPUT", "seal_step", None),
        ("**DRAFT**\n\nDear Bob,\nit is done.", "answer", "**DRAFT**\n\nDear Bob,\nit is done."),
        (
            "Here is my text:\n\nDRAFT\nx\nFINAL\ny",
            "answer",
            "Here is my text:\n\nDRAFT\nx\nFINAL\ny",
        ),
        ("DRAFT\nIt is 5.\nSECOND LOOK\nThat is wrong.", "answer", ""),
        ("DRAFT\nTASK_DONE\nSECOND LOOK\nb\nFINAL\nc", "task_done", False),
        (
            "DRAFT\na\nSECOND LOOK\nb\nFINAL\nc",
            "sections",
            {"DRAFT": "a", "SECOND LOOK": "b", "FINAL": "c"},
        ),
        ("A.\n\nTASK_DONE\n\nB.", "answer", "A.\n\nB."),
        ("\n\n    x = 1\n\n\n\n    y = 2\n", "answer", "    x = 1\n\n\n\n    y = 2"),
    ],
)
def test_cases_beyond_the_shared_vectors(text: str, part: str, expected: object) -> None:
    assert getattr(parse(text, step=7), part) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"A.\n{SEAL}\nHope this helps!", "seal_not_last"),
        ("A.\nOTHER | #7 | READ | VERIFY | CORRECT | OUTPUT", "seal_name"),
        ("A.\nCUBE: fact | t | e | r\nCUBE: fact | a | b | c", "cube_many"),
        ("A.\nCUBE_NOTHING:", "cube_nothing_reason"),
        (SEAL, "answer_empty"),
        ("CRITICAL: a\nmore text", "ignored"),
        ("A.\nCRITICAL: a\nCRITICAL: b", "repeated"),
        ("A.\nCUBE: fact | t | e | r\nCUBE_NOTHING: no", "cube_and_nothing"),
        ("A.\n```\nTASK_DONE\n```", "fenced_tail"),
    ],
)
def test_errors_and_warnings_have_codes(text: str, code: str) -> None:
    parsed = parse(text, step=7)

    assert code in (*parsed.errors, *parsed.warnings)


def test_clean_answer_has_no_service_lines() -> None:
    """The user sees only the clean answer (specification.md#lines-clean-answer)."""
    whole = Lines(
        answer="It leaves at 9:40 (ref: evt_1).",
        critical="likes tea",
        critical_replaces="f_0123456789abc",
        cube=CubeText("fact", "t", "e", "r"),
        rates=(Rate("c1", 1, "used"),),
        l1="did X",
        l2="X",
        task_done=True,
        publish=True,
        memory_used=False,
        seal_step=7,
    )

    assert parse(write(whole), step=7).answer == whole.answer


@given(st.text(alphabet=st.characters()))
@example("FINAL\nL1: y\nDRAFT\nz")
@example("A\n```\nCRITICAL: x")
@example("Write:\n```\nCRITICAL: x\n```\n" + SEAL)
@example("- ```\nTASK_DONE")
@example("```\nCUBE:\n```\nCUBE:")
@example(f"A.\nL1: did X\n{SEAL}\n  - then Y\nCRITICAL: none\n{SEAL}")
def test_any_text_is_parsed_and_what_was_parsed_round_trips(text: str) -> None:
    """Texts of the grammar are mutated in tests/fuzzing, with the same checks.

    See specification.md#lines-any-text, specification.md#lines-round-trip.
    """
    check(text.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (Lines(answer="TASK_DONE"), "answer"),
        (Lines(answer="A.", critical="two\nlines"), "answer"),
        (Lines(answer="A.", critical="none"), "critical"),
        (Lines(answer="A.", cube=CubeText("fact", "", "e", "r")), "cube"),
        (Lines(answer="A.", rates=(Rate("c1", -1, ""),)), "rates"),
        (Lines(answer="A.", publish=True), "publish"),
        (Lines(answer="A.", seal_step=-1), "answer"),
    ],
)
def test_unwritable_parts_are_refused(parts: Lines, named: str) -> None:
    with pytest.raises(Unwritable, match=f"`{named}`"):
        write(parts)


HOSTILE: dict[
    str, Callable[[int], str]
] = {  # texts of that size on which a careless regex would backtrack
    "one word": lambda size: "a" * size,
    "blanks": lambda size: "CRITICAL:" + " " * size,
    "blanks before a bar": lambda size: "CUBE: fact" + " " * size + "| t | e | r",
    "vertical bars": lambda size: "CUBE: fact " + "|" * size,
    "escaped bars": lambda size: "CUBE: fact " + "\\|" * (size // 2),
    "bullet and blanks": lambda size: "-" + " " * size + "x",
    "backticks": lambda size: "`" * size,
    "marks": lambda size: "**" * (size // 2) + "CRITICAL: x",
    "unterminated rating": lambda size: "RATE: c1" + " " * size + "+1" + " " * size + "x",
    "almost a seal": lambda size: "REM | #" + "7" * size,
    "almost a heading": lambda size: "DRAFT" + " " * size + "x",
    "summaries": lambda size: "L1: a\n  b\n" * (size // 10),
    "facts": lambda size: "CRITICAL: a\n" * (size // 12),
    "ratings": lambda size: "RATE: c1 +1\n" * (size // 12),
    "blank lines": lambda size: "\n" * size,
    "fences": lambda size: "```\n" * (size // 4),
    "open fences": lambda size: "~~~~\n~~~\n" * (size // 9),
    "headings": lambda size: "DRAFT\nFINAL\n" * (size // 12),
    "seals": lambda size: f"{SEAL}\n" * (size // 50),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_megabyte_is_parsed(text: Callable[[int], str]) -> None:
    """Quadratic time would not end in a day.

    See specification.md#lines-linear.
    """
    whole = text(1 << 20)

    parsed = parse(whole, step=7)

    assert len(parsed.answer) <= len(whole)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_parsing_takes_linear_time(text: Callable[[int], str]) -> None:
    """Counted in calls (specification.md#lines-linear)."""
    once, twice = _calls(text(1 << 12)), _calls(text(1 << 13))

    assert twice <= 2 * once + 100


def _calls(text: str) -> int:
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        parse(text, step=7)
    finally:
        sys.setprofile(before)
    return calls


def test_every_fault_is_in_the_reference_documentation() -> None:
    page = (
        (Path(__file__).parents[2] / "docs" / "reference" / "service-lines.md")
        .read_text("utf-8")
        .replace("\\|", "|")
    )

    assert [
        code
        for code, meaning in {**FAULTS, **WARNINGS}.items()
        if f"| `{code}` | {meaning} |" not in page
    ] == []

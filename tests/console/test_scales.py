"""One scale of space, one of type, and one set of colours, for light and dark."""

from __future__ import annotations

import re
from importlib import resources

import pytest

SHEETS = {
    "style.css": resources.files("remembrancer.http") / "templates" / "style.css",
    "console.css": resources.files("remembrancer.console") / "templates" / "console.css",
}
SPACE = re.compile(r"(?<![\w-])(?:margin|padding|gap|row-gap|column-gap)(?:-[a-z]+)*:\s*([^;}]+)")
TYPE = re.compile(r"(?<![\w-])font(?:-size)?:\s*([^;}]+)")
# Beside a step: nothing, a hairline, the rest of a line, and a share of the window.
NO_STEP = re.compile(r"\b(?:0|auto)\b|(?<![\d.])-?1px|[\d.]+(?:vw|vh|%)")
STEP = re.compile(r"calc\(-1 \* var\(--s\d\)\)|var\(--s\d\)|0\.1em")


def rules_of(name: str) -> str:
    """Return a sheet without its comments and its tokens."""
    text = re.sub(r"(?s)/\*.*?\*/", "", SHEETS[name].read_text("utf-8"))
    return re.sub(r"(?s)^\s*:root \{.*?\n\}", "", text)


@pytest.mark.parametrize("name", SHEETS)
def test_every_margin_padding_and_gap_is_a_step_of_the_scale(name: str) -> None:
    values = [value.strip() for value in SPACE.findall(rules_of(name))]
    other = [one for one in values if re.search(r"\d", NO_STEP.sub("", STEP.sub("", one)))]

    assert values
    assert other == []


@pytest.mark.parametrize("name", SHEETS)
def test_every_size_of_type_is_a_step_of_the_scale(name: str) -> None:
    """Code is a little smaller than the text around it; charts are drawn in units of their own."""
    sizes = {
        value for value in TYPE.findall(rules_of(name)) if re.search(r"\d(?:rem|px|em)", value)
    }

    assert {size for size in sizes if size not in ("0.875em", "11px var(--text)", "17px")} == set()


@pytest.mark.parametrize("name", SHEETS)
def test_colours_are_tokens_that_have_a_light_and_a_dark_value(name: str) -> None:
    colours = re.findall(r"oklch\([^)]*\)|rgba?\([^)]*\)|#[0-9a-f]{3,8}\b", rules_of(name))
    root = re.search(r"(?s):root \{.*?\n\}", SHEETS["style.css"].read_text("utf-8"))

    assert colours == []
    assert root
    assert [
        line.strip()
        for line in root[0].splitlines()
        if "oklch" in line and "light-dark" not in line and not line.strip().startswith("--sha")
    ] == []

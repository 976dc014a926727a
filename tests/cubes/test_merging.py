"""Which lessons are merged, whose wording stays, and which contradict each other: pure rules."""

from __future__ import annotations

import pytest

from remembrancer.cubes.fit import Wording
from remembrancer.cubes.merging import contradicts, says_same

KETTLE = Wording(
    "kettles",
    "Descaling a kettle takes vinegar and ten minutes, not scrubbing.",
    "- MUST boil one part vinegar with two parts water.\n- SHALL rinse twice before use.",
)


COUNT = "count the days between two dates"


def with_rules(rules: str) -> Wording:
    """Return the lesson with other rules."""
    return Wording(KETTLE.topic, KETTLE.essence, rules)


@pytest.mark.parametrize(
    "other",
    [
        KETTLE,
        Wording("Kettles", KETTLE.essence.upper(), KETTLE.rules),
        with_rules("\n".join(reversed(KETTLE.rules.replace("- ", "* ").splitlines()))),
        Wording("kettles", KETTLE.essence.replace("a kettle", "kettles"), KETTLE.rules),
    ],
)
def test_equal_and_nearly_equal_lessons_say_the_same(other: Wording) -> None:
    assert says_same(KETTLE, other)


@pytest.mark.parametrize(
    "rules",
    [
        "- MUST boil one part vinegar with two parts water.\n- SHALL NOT rinse before use.",
        "- MUST boil 3 parts vinegar with two parts water.\n- SHALL rinse twice before use.",
        "- MUST boil one part `acid` with two parts water.\n- SHALL rinse twice before use.",
        "- MUST scrub it with sand until the scale is gone.",
    ],
)
def test_another_number_negation_or_code_is_another_lesson(rules: str) -> None:
    assert not says_same(KETTLE, with_rules(rules))


@pytest.mark.parametrize(
    ("rules", "other", "expected"),
    [
        ("retry failed payments at once.", "NOT retry failed payments at once.", True),
        ("wait 5 seconds before each retry.", "wait 60 seconds before each retry.", True),
        (f"{COUNT} with `days_between(start, end)`.", f"{COUNT} with `span_of(start, end)`.", True),
        ("wait 5 seconds before each retry.", "wait 5 seconds before each retry.", False),
        ("retry failed payments at once.", "NOT log the card number.", False),
        ("rinse.", "NOT rinse.", False),  # too short to be certain
    ],
)
def test_rules_about_the_same_that_differ_contradict(
    rules: str, other: str, expected: bool
) -> None:
    one, two = with_rules(f"- MUST {rules}"), with_rules(f"- MUST {other}")

    assert contradicts(one, two) == contradicts(two, one) == expected

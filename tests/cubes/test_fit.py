"""The chance that a lesson fits a situation, and the features that it is computed from."""

from __future__ import annotations

import numpy as np
import pytest

from remembrancer.cubes.fit import (
    NO_VECTOR,
    CandidateLesson,
    LessonFit,
    Situation,
    candidate,
    chances,
    cohort_of,
)
from remembrancer.cubes.starter import load_starter

SITUATION = Situation(
    message="The program reads dates from a CSV file and fails with a ValueError.",
    error="ValueError: time data '2024-13-01' does not match format '%Y-%m-%d'",
    others=("execute_code", "dates.csv"),
)
STARTER = [candidate(one.topic, one.essence, one.rules) for one in load_starter()]
OWN = candidate("dates in CSV files", "Parse dates with a format.", "- MUST name the format.")


def levels(lessons: list[CandidateLesson]) -> list[float]:
    """Return the level of each lesson, the feature by which lessons are compared."""
    fit = LessonFit(SITUATION, cohort_of(None), NO_VECTOR)
    return [float(row[0]) for row in fit.features(lessons)]


@pytest.mark.parametrize("lessons", [[OWN], [OWN, *STARTER[:4]], [OWN, OWN]], ids=len)
def test_lead_is_measured_from_the_best_other_lessons(lessons: list[CandidateLesson]) -> None:
    features = LessonFit(SITUATION, cohort_of(None), NO_VECTOR).features(lessons)

    everyone = [*STARTER, *lessons]
    of_everyone = levels(everyone)
    for row, lesson in zip(features, lessons, strict=True):
        others = sorted(
            (
                level
                for level, one in zip(of_everyone, everyone, strict=True)
                if one.head != lesson.head
            ),
            reverse=True,
        )
        expected = [row[0] - np.mean(others[:most]) for most in (1, 5, 20)]
        assert row[-3:].tolist() == pytest.approx(expected)


def test_words_in_common_raise_the_chance() -> None:
    other = candidate("violin strings", "Loosen them before a flight.", "- SHALL loosen them.")

    fitting, strange = chances(SITUATION, None, NO_VECTOR, NO_VECTOR, [OWN, other])

    assert fitting > 3 * strange


def test_chance_does_not_depend_on_the_order_of_lessons() -> None:
    lessons = [OWN, *STARTER[:6]]

    forward = chances(SITUATION, None, NO_VECTOR, NO_VECTOR, lessons)
    backward = chances(SITUATION, None, NO_VECTOR, NO_VECTOR, lessons[::-1])

    assert forward == pytest.approx(backward[::-1])

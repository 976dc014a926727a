"""The labelled situations are complete: lessons exist, the counts suffice, files are split whole."""

from __future__ import annotations

from collections import Counter, defaultdict

from bench.situations import load_situations
from remembrancer.cubes.publishing import refusal

LESSONS, SITUATIONS = load_situations()
LESSONS_MIN, SITUATIONS_MIN, SILENT_MIN = 110, 210, 80
HELD_OUT_SHARE_MIN = 1 / 3


def test_counts_suffice_for_a_measurement() -> None:
    held_out = [one for one in SITUATIONS if one.split == "held out"]
    silent = [one for one in SITUATIONS if not one.fits]

    assert len(LESSONS) >= LESSONS_MIN
    assert len(SITUATIONS) >= SITUATIONS_MIN
    assert len(silent) >= SILENT_MIN
    assert len(held_out) >= HELD_OUT_SHARE_MIN * len(SITUATIONS)


def test_every_fitting_lesson_exists() -> None:
    names = {one.name for one in LESSONS}

    assert [(one.query, one.fits) for one in SITUATIONS if not set(one.fits) <= names] == []


def test_names_and_queries_are_unique() -> None:
    counts = Counter([one.name for one in LESSONS] + [one.query for one in SITUATIONS])

    assert [text for text, count in counts.items() if count > 1] == []


def test_situation_fits_at_most_three_lessons() -> None:
    assert [one.query for one in SITUATIONS if not one.query or len(one.fits) > 3] == []


def test_both_splits_contain_silent_and_other_situations() -> None:
    splits = defaultdict(set)
    for one in SITUATIONS:
        splits[one.split].add(bool(one.fits))

    assert splits == {"tuned": {True, False}, "held out": {True, False}}


def test_every_lesson_may_be_published() -> None:
    reasons = {
        one.name: refusal({"topic": one.topic, "essence": one.essence, "rules": one.rules})
        for one in LESSONS
    }

    assert {name: reason for name, reason in reasons.items() if reason} == {}

"""Lessons: made, published, shown to those they help, and voted on."""

from .lessons import (
    Lesson,
    MadeCube,
    Prepared,
    best_lessons,
    check_evidence,
    erase_all,
    keep_lesson,
    known_lesson,
    move_evidence,
    prepare,
)
from .rules import may_make
from .serving import close_ratings, note_shown, relevant, unrated

__all__ = [
    "Lesson",
    "MadeCube",
    "Prepared",
    "best_lessons",
    "check_evidence",
    "close_ratings",
    "erase_all",
    "keep_lesson",
    "known_lesson",
    "may_make",
    "move_evidence",
    "note_shown",
    "prepare",
    "relevant",
    "unrated",
]

"""Cubes (lessons): creation, publication, serving and votes.

Imported by `memory` and the packages after it.
"""

from .lessons import (
    Lesson,
    PreparedCube,
    StoredCube,
    anonymize_votes,
    best_cubes,
    check_evidence,
    erase_all,
    erase_cube,
    find_equal,
    move_evidence,
    prepare_cube,
    store_cube,
)
from .rules import may_propose
from .serving import close_ratings, record_exposure, relevant_cubes, unrated_cubes

__all__ = [
    "Lesson",
    "PreparedCube",
    "StoredCube",
    "anonymize_votes",
    "best_cubes",
    "check_evidence",
    "close_ratings",
    "erase_all",
    "erase_cube",
    "find_equal",
    "may_propose",
    "move_evidence",
    "prepare_cube",
    "record_exposure",
    "relevant_cubes",
    "store_cube",
    "unrated_cubes",
]

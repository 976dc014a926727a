"""Cubes (lessons): creation, publication, serving and votes.

Imported by `memory` and the packages after it.
"""

from .fit import Situation
from .lessons import (
    Lesson,
    PreparedCube,
    anonymize_votes,
    best_cubes,
    check_evidence,
    erase_all,
    erase_cube,
    erase_private,
    find_equal,
    prepare_cube,
)
from .outcomes import record_exposures, settle, settle_ended
from .proposals import propose
from .rules import may_propose
from .serving import (
    CubeQuery,
    NewestCubes,
    close_ratings,
    relevant_cubes,
    unrated_cubes,
    warm_cubes,
)

"""The cases that fuzzing made, and mutations of the seeds: no target finds anything.

`docs/contribute/fuzzing.md` says how to fuzz for longer, guided by coverage.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzzing.mutations import Mutator
from fuzzing.targets import TARGETS, checks_of
from rounds import rounds

CASES = sorted(Path(__file__).with_name("cases").glob("*/*"))
SLOWER = {"importers": 20}  # how many times fewer rounds a slow target gets
MUTATIONS = rounds(200, 4_000)


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the data with one byte more, less or changed."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(2)) + data[at + rng.randrange(2) :]


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_kept_case_finds_nothing(case: Path) -> None:
    """Each was a finding, and is the smallest input of its kind."""
    checks_of(case.parent.name).check(case.read_bytes())


@pytest.mark.long
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_seeds_find_nothing(name: str) -> None:
    """The same mutations as in a run that coverage guides, from the same seeds each time."""
    target, checks, rng = TARGETS[name], checks_of(name), random.Random(21)
    mutator = Mutator(
        lambda data, _: changed_bytes(data, rng), keeps_first_line=target.keeps_first_line
    )
    seeds = list(checks.seeds())

    for _round in range(MUTATIONS // SLOWER.get(name, 1)):
        case = rng.choice(seeds)
        for _ in range(rng.randrange(1, 4)):
            case = mutator.mutated(case, target.bytes_max, rng.getrandbits(32))
        checks.probe(case)

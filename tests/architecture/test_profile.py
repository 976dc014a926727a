"""The profile of a request times functions that exist (bench/profile_stages.py)."""

from __future__ import annotations

import pytest

from bench.profile_stages import STAGES, StageMeter, owner_of


@pytest.mark.parametrize("function", [name for stage in STAGES for name in stage.functions])
def test_timed_function_exists(function: str) -> None:
    owner, name = owner_of(function)

    assert callable(getattr(owner, name))


def test_time_within_a_stage_counts_for_the_inner_stage_alone() -> None:
    meter = StageMeter()
    inner = meter.timed("inner", lambda: sum(range(200_000)))
    outer = meter.timed("outer", inner)

    outer()

    times = meter.report()
    assert times["inner"][0] > 10 * times["outer"][0]
    assert all(row == [0, 0] for name, row in meter.report().items() if name in ("inner", "outer"))


def test_closed_stage_counts_for_the_stages_within_it() -> None:
    meter = StageMeter()
    scan = meter.timed("vector scan", lambda: sum(range(200_000)))
    cubes = meter.timed("cubes", scan)

    cubes()

    assert "vector scan" not in meter.report()

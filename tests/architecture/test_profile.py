"""The profile of a request times functions that exist (bench/profile_stages.py)."""

from __future__ import annotations

import pytest

from bench.profile_stages import STAGES, owner_of


@pytest.mark.parametrize("function", [name for stage in STAGES for name in stage.functions])
def test_timed_function_exists(function: str) -> None:
    owner, name = owner_of(function)

    assert callable(getattr(owner, name))

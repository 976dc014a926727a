"""The number of rounds of tests that repeat: few in `make test`, many in `make test-long`."""

from __future__ import annotations

import os
from typing import TypeVar

Value = TypeVar("Value")
LONG = os.environ.get("TEST_LONG") == "1"


def rounds(short: Value, long: Value) -> Value:
    """Return the first value in `make test` and the second in `make test-long`.

    A test that uses it has the marker `long`; tests of Hypothesis get the marker by themselves.
    """
    return long if LONG else short

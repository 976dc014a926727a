"""Rules for text and times."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter, ValidationError

from remembrancer.protocol.text import Moment, Text

TEXT = TypeAdapter(Text, config=ConfigDict(strict=True))
MOMENT = TypeAdapter(Moment, config=ConfigDict(strict=True))


@pytest.mark.parametrize("bad", ["a\x00b", "\x00", "\ud800", "a\udfff"])
def test_nul_and_lone_surrogates_are_invalid(bad: str) -> None:
    with pytest.raises(ValidationError):
        TEXT.validate_python(bad)


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),  # noqa: DTZ001
    st.integers(-14 * 60, 14 * 60),
)
def test_rfc_3339_times_are_read_and_convertible_to_utc(naive: datetime, minutes: int) -> None:
    """Times are RFC 3339 with a time zone (specification.md#api-times)."""
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    read = MOMENT.validate_json(json.dumps(moment.isoformat()))

    assert read == moment
    assert read.astimezone(UTC) == moment


def test_other_formats_and_out_of_range_times_are_refused() -> None:
    wrong: list[Any] = [
        *(1_700_000_000, 1.5, True, "1700000000", ""),
        *("2026-03-01T09:30Z", "2026-13-01T09:30:00Z", "2026-02-30", "2026-3-1", "20260301"),
        *("0001-01-01", "9999-12-31T23:59", "2026-03-01T09", "2026-03-01 24:30"),
        *("2026-03-01T09:30:00Z\n", "2026-03-01\n", "٢٠٢٦-03-01T09:30:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00Z"),
    ]

    for bad in wrong:
        with pytest.raises(ValidationError):
            MOMENT.validate_json(json.dumps(bad))

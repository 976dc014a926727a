"""Filtering the refs of an answer."""

from __future__ import annotations

import pytest

from remembrancer.claims.extract import keep_refs

GOOD, BAD = "e_0000000000001", "e_0000000000002"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"At 9 (ref: {GOOD}).", f"At 9 (ref: {GOOD})."),
        (f"At 9 (ref: {BAD}).", "At 9."),
        (f"At 9 (ref: {GOOD}, {BAD}, {GOOD}).", f"At 9 (ref: {GOOD})."),
        (f"At 9 [{GOOD}; {BAD}].", f"At 9 (ref: {GOOD})."),
        (f"At 9 ({BAD}).", "At 9."),
        ("At 9 (ref: event 5).", "At 9."),
        (f"Um 9【{GOOD}】。", f"Um 9(ref: {GOOD})。"),
        (f"九点（ref：{BAD}）。", "九点。"),
        (f"See {BAD} and {GOOD}.", f"See and {GOOD}."),
        (f"见{BAD}的话", "见的话"),
        ("A list [1] and a note (see above).", "A list [1] and a note (see above)."),
        ("[unverified]", "[unverified]"),
    ],
)
def test_only_allowed_ids_remain(text: str, expected: str) -> None:
    assert keep_refs(text, {GOOD}) == expected

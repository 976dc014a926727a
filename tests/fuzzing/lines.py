"""Fuzz target: any reply is parsed as service lines, and what was parsed can be written again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from remembrancer.protocol.fence import defused, fenced, quoted, unfenced
from remembrancer.protocol.lines import FAULTS, WARNINGS, parse, write
from remembrancer.protocol.memory_claims import MemoryClaims, turn_texts
from remembrancer.protocol.notices import is_notice, notices_in, without_notices
from remembrancer.protocol.pasted import pasted_keys, without_keys
from remembrancer.protocol.plain_values import plain_values
from remembrancer.protocol.recalled import imitated_line

_VECTORS = Path(__file__).parents[1] / "protocol" / "service-lines.json"
_DELIMITER = "0123456789abcdef"


def seeds() -> Iterator[bytes]:
    """Yield the replies of the shared test vectors."""
    for vector in json.loads(_VECTORS.read_text("utf-8")):
        yield vector["input"].encode()


def check(data: bytes) -> None:
    """Parse a reply, its values, its fences and its notices. Raises AssertionError."""
    text = data.decode("utf-8", "replace")
    _check_lines(text)
    _check_fences(text)
    _check_values(text)


def _check_lines(text: str) -> None:
    for step in (7, None):
        parsed = parse(text, step=step, cubes_shown=("c1",))
        assert set(parsed.errors) <= set(FAULTS)
        assert set(parsed.warnings) <= set(WARNINGS)
        assert len(parsed.errors) + len(parsed.warnings) == len(parsed.faults)
        assert {rate.cube_id for rate in parsed.rates} <= {"c1"}

    parsed = parse(text, step=7)
    written = write(parsed)
    again = parse(written, step=7)
    assert again == replace(parsed, sections={})
    assert write(again) == written


def _check_fences(text: str) -> None:
    """Stored text never ends its fence, and no quoted text looks like a line of ours."""
    block = fenced(text, _DELIMITER)
    assert unfenced(block)[0].strip() == ""
    assert unfenced(defused(text)) == (defused(text), 0)
    assert defused(defused(text)) == defused(text)
    for line in quoted(text).split("\n")[1:]:
        assert line.startswith("  ")
    imitated_line(text)


def _check_values(text: str) -> None:
    assert pasted_keys(without_keys(text)) == []
    end = 0
    for value in plain_values(text):
        assert end <= value.start < value.end <= len(text)
        end = value.end
    end = 0
    for start, stop in notices_in(text):
        assert end <= start < stop <= len(text)
        end = stop
    assert is_notice(text) == (bool(text.strip()) and not without_notices(text).strip())
    MemoryClaims(text, turn_texts([text], text, [text])).cites  # noqa: B018 - it may not raise

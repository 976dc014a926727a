"""Paths of memory files: which are accepted, and how sizes are formatted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.protocol import limits
from remembrancer.protocol.files import InvalidMemoryPath, memory_path


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "memories/a",
        "/memoriesx/a",
        "/memories/../etc",
        "/memories/a/../../etc",
        "/memories/./a",
        "/memories//a",
        "/memories/...",
        "/memories/%2e%2e/etc",
        "/memories/%252E%252e%252fetc",
        "/memories/a%2fb",
        "/memories/a%00",
        "/memories/..\\..\\etc",
        "/memories/a\x00b",
        "/memories/a\nb",
        "/memories/\u2024\u2024/etc",
        "/memories/\uff0e\uff0e/etc",
        "/memories/a\u2215b",
        "/memories/a\uff0fb",
        "/memories/a\uff3cb",
        "/memories/\u202eexe.a",
        "/memories/a\u200bb",
        "/memories/\ufeffa",
        "/memories/ a",
        "/memories/a ",
        "/memories/a\u00a0b",
        "/\uff4demories/a",
        "/memories/" + "/".join("a" * (limits.MEMORY_PATH_PARTS_MAX + 1)),
        "/memories/" + "a" * limits.MEMORY_PATH_CHARACTERS_MAX,
        "",
    ],
)
def test_deceptive_paths_are_refused(path: str) -> None:
    """Deceptive paths are refused (specification.md#memory-files-paths)."""
    with pytest.raises(InvalidMemoryPath):
        memory_path(path)


@given(st.text(st.sampled_from("/.%\\2eEfF5cC0a\u2024\u2025\uff0f \u200d"), max_size=12))
def test_accepted_paths_stay_within_the_root(tail: str) -> None:
    try:
        result = memory_path(f"/memories/{tail}")
    except InvalidMemoryPath:
        return

    assert Path(result).resolve() == Path(result)
    assert not {"..", ".", ""} & set(result.split("/")[1:])

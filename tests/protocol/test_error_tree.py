"""The hierarchy of errors."""

from __future__ import annotations

import re

from remembrancer.protocol import errors
from remembrancer.protocol.errors import PROBLEMS, Problem


def test_error_codes_are_unique() -> None:
    words = [kind.error for kind in PROBLEMS]

    assert len(set(words)) == len(words) == len(Problem.__subclasses__())
    assert all(re.fullmatch(r"[a-z_]+", word) for word in words)


def test_module_docstring_lists_every_error() -> None:
    drawn = re.findall(r"── (\w+) +(\d{3})", errors.__doc__ or "")

    assert {(name, int(status)) for name, status in drawn} == {
        (kind.__name__, kind.status) for kind in PROBLEMS
    }

"""The constitution (constitution.md), versioned, in its full and its compact form."""

from __future__ import annotations

import re
from importlib import resources

from .seal import render

_TEXT = resources.files(__package__).joinpath("constitution.md").read_text("utf-8")
_RULES, _IN_SHORT, _LINES = re.split(
    r"^## (?:In short|Service lines)\n\n", _TEXT, flags=re.MULTILINE
)
_STEP = 987_654_321  # placeholder for the step in examples of a seal

VERSION = int(re.findall(r"^Version: (\d+)$", _RULES, re.MULTILINE)[0])
RULES: tuple[str, ...] = tuple(re.findall(r"^\d+\. (.+)$", _RULES, re.MULTILINE))


def protocol_text(seal_name: str) -> str:
    """Return the full protocol for an agent's prompt: rules, service lines and seal."""
    return _sealed(f"{_RULES}## Service lines\n\n{_LINES}", seal_name)


def compact_text(seal_name: str) -> str:
    """Return the most important rules in at most 1,200 bytes; rules keep their numbers."""
    return _sealed(_IN_SHORT, seal_name)


def _sealed(text: str, seal_name: str) -> str:
    seal = render(_STEP, seal_name).replace(str(_STEP), "<step>")
    return text.replace("{seal}", seal).strip()

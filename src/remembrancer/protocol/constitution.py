"""The constitution (constitution.md), versioned, in its full and its compact form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Literal, TypeAlias

from .seal import render

_TEXT = resources.files(__package__).joinpath("constitution.md").read_text("utf-8")
_RULES, _IN_SHORT, _WITH_TOOLS, _WITH_HOOKS, _LINES = re.split(
    r"^## (?:In short(?:, with (?:tools|hooks))?|Service lines)\n\n", _TEXT, flags=re.MULTILINE
)
# How the reader reaches the service: requests of its own, the tools of MCP, or hooks that search,
# store and check for it, beside the tools.
ClientKind: TypeAlias = Literal["http", "mcp", "hooks"]
_SHORT: Mapping[ClientKind, str] = {"http": _IN_SHORT, "mcp": _WITH_TOOLS, "hooks": _WITH_HOOKS}
_STEP = 987_654_321  # placeholder for the step in examples of a seal

VERSION = int(re.findall(r"^Version: (\d+)$", _RULES, re.MULTILINE)[0])
RULES: tuple[str, ...] = tuple(re.findall(r"^\d+\. (.+)$", _RULES, re.MULTILINE))


def protocol_text(seal_name: str, client: ClientKind = "http") -> str:
    """Return the full protocol for an agent's prompt: rules, service lines and seal.

    Service lines and seal are for agents with requests of their own; the others get the rules as
    they apply to them.
    """
    if client != "http":
        return f"# Constitution\n\n{compact_text(seal_name, client)}"
    return _sealed(f"{_RULES}## Service lines\n\n{_LINES}", seal_name)


def compact_text(seal_name: str, client: ClientKind = "http") -> str:
    """Return the most important rules in at most 1,200 bytes; rules keep their numbers.

    They name what the client has: paths, tools, or tools beside hooks.
    """
    return _sealed(_SHORT[client], seal_name)


def _sealed(text: str, seal_name: str) -> str:
    seal = render(_STEP, seal_name).replace(str(_STEP), "<step>")
    return text.replace("{seal}", seal).strip()

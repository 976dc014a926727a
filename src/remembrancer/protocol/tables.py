"""Tables of words and patterns: TOML files beside the code that reads them."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def read_table(package: str, name: str) -> dict[str, Any]:
    """Return a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))

"""Build the client from the sources of the service: its packages `client` and `protocol`.

In a checkout they are in `src/remembrancer` of the repository. A source distribution has a copy of
them in `remembrancer/`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGES = ("client", "protocol")
COPY = "remembrancer"  # in a source distribution
TEXTS = ("LICENSE", "NOTICE")


def sources(root: Path) -> Path:
    """Return the folder with the sources."""
    copy = root / COPY
    return copy if copy.is_dir() else root.parents[1] / "src" / "remembrancer"


def text(root: Path, name: str) -> Path:
    """Return the path of a text about the licence."""
    own = root / COPY / name
    return own if own.is_file() else root.parents[1] / name


class VersionHook(MetadataHookInterface):
    """Take the version of the service."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the version. Raises ValueError if the sources have none."""
        code = (sources(Path(self.root)) / "__init__.py").read_text("utf-8")
        version = re.search(r'^__version__ = "([^"]+)"$', code, re.MULTILINE)
        if version is None:
            raise ValueError("src/remembrancer/__init__.py has no __version__")
        metadata["version"] = version[1]


class SourcesHook(BuildHookInterface[Any]):
    """Add the sources to a wheel or a source distribution."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files to include."""
        del version
        root = Path(self.root)
        target = "remembrancer_client" if self.target_name == "wheel" else COPY
        included = {
            str(path): f"{target}/{path.relative_to(sources(root)).as_posix()}"
            for package in PACKAGES
            for path in sorted((sources(root) / package).rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        if self.target_name == "sdist":
            included[str(sources(root) / "__init__.py")] = f"{COPY}/__init__.py"
        included |= {str(text(root, name)): f"{target}/{name}" for name in TEXTS}
        build_data["force_include"] |= included

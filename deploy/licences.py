"""Print the licences of the packages in a lock, as Markdown; exit with 1 if one needs a decision.

python deploy/licences.py [requirements.lock]
"""

from __future__ import annotations

import re
import sys
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, cast

# Licences that permit use, change and distribution with any other. The MPL covers its own files.
PERMITTED = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT"),
    *("any-OSI", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
}
_NAMES = {  # of the classifiers and free texts of packages without an SPDX expression
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "BSD License": "BSD",
    "BSD 3-Clause": "BSD-3-Clause",
    "Dual License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
_LINE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)


class Package(NamedTuple):
    """A package of the lock that is installed here."""

    name: str
    version: str
    licence: str
    home: str

    @property
    def is_permitted(self) -> bool:
        """Return True if each licence that applies is permitted."""
        return all(
            any(part.strip() in PERMITTED for part in choice.split(" OR "))
            for choice in re.split(r" AND |, ", self.licence.replace("(", "").replace(")", ""))
        )


def packages(lock: str) -> list[Package]:
    """Return the packages of a lock that are installed in this environment."""
    result = []
    for name, _ in _LINE.findall(lock):
        try:
            about = cast(Message, metadata.metadata(name))
        except metadata.PackageNotFoundError:  # for another system
            continue
        links = dict(link.partition(", ")[::2] for link in about.get_all("Project-URL") or [])
        home = about.get("Home-page") or next(iter(links.values()), "")
        result.append(Package(name, about["Version"], _licence(about), home))
    return result


def _licence(about: Message) -> str:
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    text = (about.get("License") or "").strip().partition("\n")[0]
    names = classifiers or [text]
    return " AND ".join(_NAMES.get(name, name) for name in names)


def main() -> int:
    """Print the table."""
    lock = Path(sys.argv[1] if len(sys.argv) > 1 else "requirements.lock")
    rows = packages(lock.read_text("utf-8"))
    print(f"# Licences of the packages in {lock.name}\n")
    print("| package | version | licence | source |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.name} | {row.version} | {row.licence} | {row.home} |")
    refused = [row.name for row in rows if not row.is_permitted]
    if refused:
        print(f"needs a decision: {', '.join(refused)}", file=sys.stderr)
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main())

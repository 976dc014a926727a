"""Files that a patch changes, in the formats of `apply_patch`, `diff` and git."""

from __future__ import annotations

import re

_HEADER = re.compile(
    r"^\s*\*{3}\s*(add|update|delete|create|move|rename)(?:\s+file|\s+to)?\s*:\s*(.+?)\s*$",
    re.MULTILINE | re.IGNORECASE,
)
_DIFF_NAME = re.compile(
    r"^(?:--- |\+\+\+ |\*\*\* |Index: |rename (?:from|to) |copy to |diff --git )(.+?)\s*$",
    re.MULTILINE,
)


def patch_paths(text: str) -> list[tuple[str, str]]:
    """Return the paths and actions of a patch in the format of `apply_patch`."""
    return [
        (path.strip("'\"`"), "delete" if verb.lower() == "delete" else "write")
        for verb, path in _HEADER.findall(text)
    ]


def diff_paths(text: str, strip: int | None) -> list[str]:
    """Return the paths that a diff changes, without `strip` leading components.

    With None, the number is unknown: every way to read an absolute name is returned.
    """
    paths: list[str] = []
    for line in _DIFF_NAME.findall(text):
        names = line.split(" b/") if line.startswith("a/") else [line]
        for written in names:
            name = written.split("\t")[0].strip('"')
            if name == "/dev/null" or re.fullmatch(r"\d+(,\d+)? [*-]{4}", name):
                continue
            if strip is None:
                paths += [name, re.sub(r"^/*[^/]+/+", "", name)]
            else:
                paths.append(re.sub(rf"^(?:/*[^/]*/+){{{strip}}}", "", name) if strip else name)
    return list(dict.fromkeys(paths))

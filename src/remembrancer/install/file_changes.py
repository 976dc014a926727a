"""Changes of other programs' files:

shown as a diff first, then written all or none. What cannot be read is left alone.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOWHERE = "/dev/null"  # as diffs call a file that is not there


class ConfigUnreadable(ValueError):
    """A file is not what it should be, so it was not touched; the message says which, where and
    what to do.
    """


class FileChanged(RuntimeError):
    """Somebody else wrote a file between the diff and the writing. Nothing was written; run the
    command again.
    """


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it is to be; None where there is none."""

    path: Path
    before: str | None
    after: str | None


def text_of(path: Path) -> str | None:
    """What a file holds; None when there is none. Raises NotUnderstood for what is no text."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, IsADirectoryError, NotADirectoryError) as error:
        raise ConfigUnreadable(f"{path} is no text file: {error}. Nothing was written.") from error


def diff(changes: Sequence[Change]) -> str:
    """The changes as a unified diff."""
    lines: list[str] = []
    for change in changes:
        before, after = ("" if text is None else text for text in (change.before, change.after))
        name, there, will = str(change.path), change.before is not None, change.after is not None
        diff = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            name if there else NOWHERE,
            name if will else NOWHERE,
        )
        lines += (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in diff
        )
    return "".join(lines)


def write(changes: Sequence[Change]) -> None:
    """Carry the changes out:

    all are written beside their places first. Raises Overtaken and OSError, having changed nothing.
    """
    for change in changes:
        if text_of(change.path) != change.before:
            raise FileChanged(
                f"{change.path} was changed by another program. Nothing was written; run the command again."
            )
    waiting: list[tuple[Path, Path]] = []
    try:
        for change in changes:
            if change.after is not None:
                real = change.path.resolve()
                waiting.append((real.with_name(f"{real.name}.{secrets.token_hex(4)}"), real))
                _fill(*waiting[-1], change.after)
    except BaseException:
        for beside, _ in waiting:
            beside.unlink(missing_ok=True)
        raise
    for beside, path in waiting:
        beside.replace(path)
    for change in changes:
        if change.after is None:
            change.path.unlink()
            with contextlib.suppress(OSError):  # the folder holds something else
                change.path.parent.rmdir()


def _fill(beside: Path, real: Path, text: str) -> None:
    """Write the text into a new file next to where it belongs, as readable to others as the old one
    was.
    """
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o644
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(text.encode("utf-8"))
    beside.chmod(mode)

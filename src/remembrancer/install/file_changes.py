"""Changes of other programs' files: shown as a diff, then written all together or not at all."""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NO_FILE = "/dev/null"  # a missing file in diffs


class ConfigUnreadable(ValueError):
    """A file cannot be parsed or edited safely. It was not changed."""


class ScopeUnsupported(ValueError):
    """The application cannot be configured for this scope."""


class FileChanged(RuntimeError):
    """Another program changed a file meanwhile. Nothing was written. Run the command again."""


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before and after. None means no file."""

    path: Path
    before: str | None
    after: str | None


def text_of(path: Path) -> str | None:
    """Return the content of a file, or None if it does not exist. Raises ConfigUnreadable."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, IsADirectoryError, NotADirectoryError) as error:
        raise ConfigUnreadable(
            f"{path} is not a text file: {error}. Nothing was written."
        ) from error


def diff(changes: Sequence[Change]) -> str:
    """Return the changes as a unified diff."""
    lines: list[str] = []
    for change in changes:
        before, after = ("" if text is None else text for text in (change.before, change.after))
        name = str(change.path)
        diff = difflib.unified_diff(
            before.splitlines(keepends=True),
            after.splitlines(keepends=True),
            NO_FILE if change.before is None else name,
            NO_FILE if change.after is None else name,
        )
        lines += (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in diff
        )
    return "".join(lines)


def write(changes: Sequence[Change]) -> None:
    """Write the changes. All new contents go to temporary files first.

    Raises FileChanged and OSError, having changed nothing.
    """
    for change in changes:
        if text_of(change.path) != change.before:
            raise FileChanged(
                f"{change.path} was changed by another program. Nothing was written. "
                "Run the command again."
            )
    pending: list[tuple[Path, Path]] = []
    try:
        for change in changes:
            if change.after is not None:
                real = change.path.resolve()
                pending.append((real.with_name(f"{real.name}.{secrets.token_hex(4)}"), real))
                _fill(*pending[-1], change.after)
    except BaseException:
        for temporary, _ in pending:
            temporary.unlink(missing_ok=True)
        raise
    for temporary, path in pending:
        temporary.replace(path)
    for change in changes:
        if change.after is None:
            change.path.unlink()
            _delete_empty_folders(change.path)


def _delete_empty_folders(path: Path) -> None:
    """Delete the folders above a deleted file that are empty, below the home and the project."""
    for folder in path.parents:
        if folder in (Path.home(), Path.cwd()):
            return
        try:
            folder.rmdir()
        except OSError:  # it is not empty
            return


def _fill(temporary: Path, real: Path, text: str) -> None:
    """Write a temporary file with the permissions of the file that it will replace."""
    real.parent.mkdir(parents=True, exist_ok=True)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o644
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(text.encode("utf-8"))
    temporary.chmod(mode)

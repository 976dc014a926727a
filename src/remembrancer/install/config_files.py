"""Our entries in JSON files, and our parts of TOML and Markdown files, put in and taken out; all
else stays as it was.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .file_changes import Change, ConfigUnreadable, text_of

Edit = Callable[[dict[str, Any]], None]
BEGIN, END = "remembrancer: begin", "remembrancer: end"


def json_change(path: Path, edit: Edit, empty: dict[str, Any] | None = None) -> Change:
    """A JSON file after `edit`; gone when it then holds nothing, or only what `empty` says.

    Raises NotUnderstood.
    """
    before = text_of(path)
    value = {} if before is None or not before.strip() else _read(path, before)
    edit(value)
    if value == ({} if before is None or not before.strip() else _read(path, before)):
        return Change(path, before, before)
    if value in ({}, empty or {}):
        return Change(path, before, None)
    after = _written(value, before or "")
    return Change(path, before, after)


def entry(value: dict[str, Any], path: Path, *names: str) -> dict[str, Any]:
    """The object at these names within `value`, made where there is none.

    Raises NotUnderstood for anything else there.
    """
    for name in names:
        value = value.setdefault(name, {})
        if not isinstance(value, dict):
            raise ConfigUnreadable(f"{path}: `{name}` is no object. Nothing was written.")
    return value


def part_change(path: Path, part: str | None, marks: tuple[str, str]) -> Change:
    """A text file with our part between lines of its own, or without it (None).

    `marks` open and close a comment. Raises NotUnderstood.
    """
    before = text_of(path)
    text = before or ""
    begin, end = (f"{marks[0]} {mark}{marks[1]}" for mark in (BEGIN, END))
    found = re.findall(rf"^{re.escape(begin)}$|^{re.escape(end)}$", text, re.MULTILINE)
    if found not in ([], [begin, end]):
        raise ConfigUnreadable(
            f"{path}: the lines `{begin}` and `{end}` do not stand there once each, in this order. Nothing was written."
        )
    block = "" if part is None else f"{begin}\n{part.strip()}\n{end}\n"
    if found:
        pattern = rf"(?P<above>\n?)^{re.escape(begin)}$.*?^{re.escape(end)}$\n?"
        after = re.sub(
            pattern,
            lambda match: f"{match['above']}{block}" if block else "",
            text,
            flags=re.MULTILINE | re.DOTALL,
        )
    else:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        after = f"{text}{gap}{block}" if block else text
    return Change(path, before, after or None)


def toml_change(path: Path, part: str | None, *names: str) -> Change:
    """The same for TOML, in which `names` must be ours alone.

    Raises NotUnderstood for what is no TOML, or has them already.
    """
    change = part_change(path, part, ("#", ""))
    _toml(path, change.before or "")
    without = part_change(path, None, ("#", "")).after
    value: Any = _toml(path, without or "")
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if part is not None and value is not None:
        raise ConfigUnreadable(
            f"{path} has `{'.'.join(names)}` already, not written by this command. Take it out first; nothing was written."
        )
    _toml(path, change.after or "")
    return change


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigUnreadable(f"{path} is no TOML: {error}. Nothing was written.") from error


def _read(path: Path, text: str) -> dict[str, Any]:
    """The object of a JSON file. Whatever would not be the same when written again is refused."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ConfigUnreadable(
                f"{path}: a name stands twice in an object. Nothing was written."
            )
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigUnreadable):
            raise
        raise ConfigUnreadable(
            f"{path} is no plain JSON ({error}); comments are not. Nothing was written."
        ) from error
    if not isinstance(value, dict):
        raise ConfigUnreadable(f"{path} holds no JSON object. Nothing was written.")
    if json.loads(text, parse_float=str, parse_int=str) != json.loads(
        json.dumps(value), parse_float=str, parse_int=str
    ):
        raise ConfigUnreadable(
            f"{path} holds a number that would not stay as it is written. Nothing was written."
        )
    return value


def _written(value: dict[str, Any], before: str) -> str:
    """JSON laid out as the file was:

    its indentation, line ends, and whether letters beyond ASCII are escaped.
    """
    found = re.match(r"\s*\{\s*?\n(?P<indent>[ \t]+)\S", before)
    indent: str | int = found["indent"] if found else 2
    text = json.dumps(value, indent=indent, ensure_ascii=bool(before) and before.isascii())
    text = f"{text}\n" if not before or before.endswith("\n") else text
    return text.replace("\n", "\r\n") if "\r\n" in before else text

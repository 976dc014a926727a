"""Add and remove our entries in JSON files and our sections of TOML and Markdown files.

Everything else in these files stays unchanged.
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
    """Return the change of a JSON file by `edit`. A result equal to `empty` deletes the file.

    Raises ConfigUnreadable.
    """
    before = text_of(path)
    value = {} if before is None or not before.strip() else _read(path, before)
    edit(value)
    if value == ({} if before is None or not before.strip() else _read(path, before)):
        return Change(path, before, before)
    if value in ({}, empty or {}):
        return Change(path, before, None)
    after = _format(value, before or "")
    return Change(path, before, after)


def nested_object(value: dict[str, Any], path: Path, *names: str) -> dict[str, Any]:
    """Return the object at these names in `value`. Create it if it is missing.

    Raises ConfigUnreadable if there is something else.
    """
    for name in names:
        value = value.setdefault(name, {})
        if not isinstance(value, dict):
            raise ConfigUnreadable(f"{path}: `{name}` must be an object. Nothing was written.")
    return value


def part_change(path: Path, part: str | None, marks: tuple[str, str]) -> Change:
    """Return the change of a text file that sets our section, or removes it if `part` is None.

    Marker lines enclose the section; `marks` open and close a comment. Raises ConfigUnreadable.
    """
    before = text_of(path)
    text = before or ""
    begin, end = (f"{marks[0]} {mark}{marks[1]}" for mark in (BEGIN, END))
    markers = re.findall(rf"^{re.escape(begin)}$|^{re.escape(end)}$", text, re.MULTILINE)
    if markers not in ([], [begin, end]):
        raise ConfigUnreadable(
            f"{path}: the lines `{begin}` and `{end}` must occur once each, in this order. "
            "Nothing was written."
        )
    block = "" if part is None else f"{begin}\n{part.strip()}\n{end}\n"
    if markers:
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
    """Return the same change of a TOML file.

    Raises ConfigUnreadable for invalid TOML, and if `names` exist outside our section.
    """
    change = part_change(path, part, ("#", ""))
    _toml(path, change.before or "")
    without = part_change(path, None, ("#", "")).after
    value: Any = _toml(path, without or "")
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    if part is not None and value is not None:
        raise ConfigUnreadable(
            f"{path} already has `{'.'.join(names)}`, not written by this command. Remove it "
            "first. Nothing was written."
        )
    _toml(path, change.after or "")
    return change


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigUnreadable(
            f"{path} is not valid TOML: {error}. Nothing was written."
        ) from error


def _read(path: Path, text: str) -> dict[str, Any]:
    """Parse a JSON file. Raises ConfigUnreadable if writing it again would change its content."""

    def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ConfigUnreadable(f"{path}: an object has a duplicate name. Nothing was written.")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=unique_names)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConfigUnreadable):
            raise
        raise ConfigUnreadable(
            f"{path} is not valid JSON ({error}). Comments are not supported. Nothing was written."
        ) from error
    if not isinstance(value, dict):
        raise ConfigUnreadable(f"{path} must contain a JSON object. Nothing was written.")
    if json.loads(text, parse_float=str, parse_int=str) != json.loads(
        json.dumps(value), parse_float=str, parse_int=str
    ):
        raise ConfigUnreadable(
            f"{path} contains a number that would change when written. Nothing was written."
        )
    return value


def _format(value: dict[str, Any], before: str) -> str:
    """Format JSON like the existing file: indentation, line breaks, and non-ASCII escapes."""
    markers = re.match(r"\s*\{\s*?\n(?P<indent>[ \t]+)\S", before)
    indent: str | int = markers["indent"] if markers else 2
    text = json.dumps(value, indent=indent, ensure_ascii=bool(before) and before.isascii())
    text = f"{text}\n" if not before or before.endswith("\n") else text
    return text.replace("\n", "\r\n") if "\r\n" in before else text

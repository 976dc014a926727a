"""Add and remove our entries in JSON files and our sections of Markdown files.

Everything else in these files keeps its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .file_changes import Change, ConfigUnreadable, text_of
from .json_text import EditableJson, JsonTextError

Edit = Callable[[EditableJson], None]
BEGIN, END = "remembrancer: begin", "remembrancer: end"


def json_change(path: Path, edit: Edit, *, allows_comments: bool = False) -> Change:
    """Return the change of a JSON file by `edit`, in place. A file without content is deleted.

    Raises ConfigUnreadable.
    """
    before = text_of(path)
    try:
        document = EditableJson(before, allows_comments=allows_comments)
    except JsonTextError as error:
        comments = "" if allows_comments else " Comments are not supported."
        raise ConfigUnreadable(
            f"{path} is not valid JSON ({error}).{comments} Nothing was written."
        ) from error
    require_object(document, path)
    edit(document)
    return Change(path, before, document.text)


def require_object(document: EditableJson, path: Path, *names: str) -> None:
    """Raise ConfigUnreadable if there is a value other than an object at these names."""
    value = document.value(*names)
    if value is not None and not isinstance(value, dict):
        what = f"`{names[-1]}` must be an object" if names else "it must contain a JSON object"
        raise ConfigUnreadable(f"{path}: {what}. Nothing was written.")


def member_change(
    path: Path, names: tuple[str, ...], value: Any, *, allows_comments: bool = False
) -> Change:
    """Return the change of a JSON file that sets a member, or removes it if `value` is None.

    Raises ConfigUnreadable.
    """

    return json_change(
        path,
        lambda document: put_member(document, path, names, value),
        allows_comments=allows_comments,
    )


def put_member(document: EditableJson, path: Path, names: tuple[str, ...], value: Any) -> None:
    """Set a member of a JSON file, or remove it if `value` is None. Raises ConfigUnreadable."""
    for depth in range(1, len(names)):
        require_object(document, path, *names[:depth])
    if value is None:
        document.remove(names)
    else:
        document.put(names, value)


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
        # One line break, also behind a last line without one: removal takes it away again.
        after = f"{text}{chr(10) if text else ''}{block}" if block else text
    return Change(path, before, after or None)

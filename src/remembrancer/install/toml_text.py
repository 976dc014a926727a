"""Add, replace and remove one table of a TOML file; all other text keeps its bytes.

Our table has a comment above it and no end mark: programs that edit the file (Codex does) put their
new tables between the last table and a comment at the end.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from .config_files import Change, ConfigUnreadable, text_of

BEGIN = "# remembrancer: begin"

Names = tuple[str, ...]


def toml_change(
    path: Path, names: Names, body: str | None, *, obsolete: Collection[Names] = ()
) -> Change:
    """Return the change of a TOML file that sets our table, or removes it if `body` is None.

    A removal also removes the tables `obsolete`, and a table above them that becomes empty. Raises
    ConfigUnreadable for invalid TOML, and for a table of this name without our comment.
    """
    before = text_of(path)
    text = before or ""
    newline = "\r\n" if "\r\n" in text else "\n"
    header = f"{BEGIN}{newline}[{'.'.join(names)}]"
    document = _parsed(path, text)
    table = _value_of(document, names)
    if table is not None and header not in text:
        if body is None:
            return Change(path, before, before)
        raise ConfigUnreadable(
            f"{path} already has `{'.'.join(names)}`, not written by this command. Remove it "
            "first. Nothing was written."
        )
    if body is None:
        after = _without(document, names, obsolete, newline)
    elif table is None:
        # One line break, also behind a last line without one: removal takes it away again.
        block = newline.join([header, *body.splitlines(), ""])
        after = text + newline + block if text else block
    else:
        _update(table, body)
        after = document.as_string()
    _parsed(path, after)
    if _others(text, names, obsolete) != _others(after, names, obsolete):
        raise ConfigUnreadable(f"{path} cannot be edited safely. Nothing was written.")
    return Change(path, before, after or None)


def _parsed(path: Path, text: str) -> tomlkit.TOMLDocument:
    try:
        tomllib.loads(text)
        return tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise ConfigUnreadable(
            f"{path} is not valid TOML: {error}. Nothing was written."
        ) from error


def _update(table: Any, body: str) -> None:
    """Set the values of our table; tables within it, such as permissions of Codex, stay."""
    values = tomllib.loads(body)
    for name in [name for name, value in table.items() if not isinstance(value, dict)]:
        if name not in values:
            del table[name]
    for name, value in values.items():
        if table.get(name) != value:
            table[name] = value


def _without(
    document: tomlkit.TOMLDocument, names: Names, obsolete: Collection[Names], newline: str
) -> str:
    """Return the text without our table and the obsolete ones."""
    _delete(document, names)
    removed = [_delete(document, other) for other in obsolete]
    for above in {other[:-1] for other in obsolete}:
        if _value_of(document, above) == {}:
            _delete(document, above)
    text = re.sub(rf"(\r?\n)?{re.escape(BEGIN)}\r?\n\Z", "", document.as_string())
    text = text.replace(BEGIN + newline, "", 1)
    if any(removed) and text.endswith(2 * newline):  # the empty line above the first of them
        text = text.removesuffix(newline)
    return text


def _value_of(value: Any, names: Names) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _delete(value: Any, names: Names) -> bool:
    """Remove a table; return True if it was there."""
    if _value_of(value, names) is None:
        return False
    del _value_of(value, names[:-1])[names[-1]]
    return True


def _others(text: str, names: Names, obsolete: Collection[Names]) -> Any:
    """Return the values of a file without these tables and without empty ones."""
    values = tomllib.loads(text)
    for table in (names, *obsolete):
        _delete(values, table)
    return _without_empty(values)


def _without_empty(value: Any) -> Any:
    """Return a value without empty tables: a table above another may exist or not."""
    if not isinstance(value, dict):
        return value
    items = {name: _without_empty(item) for name, item in value.items()}
    return {name: item for name, item in items.items() if item != {}}

"""Edit the text of a JSON file, and of JSON with comments, in place.

Only the bytes of our own items change. Adding an item and removing it again gives the same text:

- An item is appended on a new line, or on the same line if its container has only one.
- A container that the edit creates begins with a line break. It disappears with its last item.
- In a container that was empty before, an item directly follows the opening bracket. The container
  stays when the item is removed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

DEPTH_MAX = 100
_GAP = re.compile(r"[ \t\r\n]*")
_GAP_WITH_COMMENTS = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[^\s,:{}\[\]\"/]+")
_COMMENT_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")

Path = tuple[str | int, ...]


class JsonTextError(ValueError):
    """A text is not valid JSON. The message says where."""


@dataclass(slots=True)
class Item:
    """An element of an array, or a member of an object from its name on."""

    start: int
    node: Node
    comma: int | None = None  # position of the comma behind it


@dataclass(slots=True)
class Node:
    """A value with its position. `items` has the keys of `value`; it is empty for scalars."""

    start: int
    end: int
    value: Any
    items: dict[str | int, Item]


class EditableJson:
    """A JSON document that is edited as text. `text` is None when nothing of it is left.

    Raises JsonTextError for text that is not valid. Comments and trailing commas are valid with
    `allows_comments`.
    """

    def __init__(self, text: str | None, *, allows_comments: bool) -> None:
        self.allows_comments = allows_comments
        self.text = text
        self._is_ascii = bool(text) and str(text).isascii()
        self._newline = "\r\n" if "\r\n" in (text or "") else "\n"
        match = re.search(r"[{\[]\s*?\n([ \t]+)\S", text or "")
        self._indent = match[1] if match else "  "
        self.root = self._parse()

    def value(self, *path: str | int) -> Any:
        """Return the value at a path, or None."""
        node = self._node(path)
        return None if node is None else node.value

    def put(self, path: Path, value: Any) -> None:
        """Set the value at a path of names. Missing objects on the way are created."""
        if self.value(*path) == value:
            return
        node = self._node(path)
        if node is not None:
            before, after = self._text[: node.start], self._text[node.end :]
            self._set(before + self._rendered(value, self._indentation(node.start)) + after)
            return
        depth = len(path) - 1
        while self._node(path[:depth]) is None:
            value = {str(path[depth]): value}
            depth -= 1
        self._insert(path[:depth], path[depth], value)

    def append(self, path: Path, value: Any) -> None:
        """Append an element to the array at a path. A missing array is created."""
        if self._node(path) is None:
            self.put(path, [value])
        else:
            self._insert(path, None, value)

    def remove(self, path: Path) -> None:
        """Remove the item at a path, and the containers that were created for it."""
        item = self._item(path)
        if item is None:
            return
        parent = self._node(path[:-1])
        assert parent is not None
        if len(parent.items) == 1 and self._was_created(parent, item):
            if len(path) == 1:
                self.text, self.root = None, self._parse_text("{}")
            else:
                self.remove(path[:-1])
            return
        self._set(self._without(parent, item))

    @property
    def _text(self) -> str:
        return self.text or ""

    def _was_created(self, parent: Node, item: Item) -> bool:
        """Return True if an edit created this container for the item."""
        above = self._text[parent.start + 1 : item.start]
        below = self._text[(item.comma or item.node.end - 1) + 1 : parent.end - 1]
        return "\n" in above and not above.strip() and not below.strip()

    def _without(self, parent: Node, item: Item) -> str:
        line = self._text[: item.start].rstrip(" \t").removesuffix("\n").removesuffix("\r")
        start = max(len(line), parent.start + 1)
        if item.comma is not None:
            return self._text[:start] + self._text[item.comma + 1 :]
        previous = [other.comma for other in parent.items.values() if other.comma is not None]
        comma = max(previous, default=None)
        if comma is None:
            return self._text[: item.start] + self._text[item.node.end :]
        start = max(start, comma + 1)
        return self._text[:comma] + self._text[comma + 1 : start] + self._text[item.node.end :]

    def _insert(self, path: Path, name: str | int | None, value: Any) -> None:
        """Insert an item at the end of the container at `path`."""
        if self.text is None or not self.text.strip():
            text = json.dumps({str(name): value}, indent=self._indent)
            self._set(text + "\n")
            return
        parent = self._node(path)
        assert parent is not None
        prefix = "" if name is None else f"{json.dumps(name)}: "
        if not parent.items:
            rendered = prefix + self._rendered(value, self._indentation(parent.start))
            self._set(self._text[: parent.start + 1] + rendered + self._text[parent.start + 1 :])
            return
        last = max(parent.items.values(), key=lambda item: item.start)
        indentation = self._indentation(last.start)
        is_one_line = "\n" not in self._text[parent.start : last.start]
        space = " " if is_one_line else f"{self._newline}{indentation}"
        self._insert_behind(last, f"{space}{prefix}{self._rendered(value, indentation)}")

    def _insert_behind(self, last: Item, rendered: str) -> None:
        """Insert an item and the comma between both, behind a comment on the same line."""
        text = self._text
        if last.comma is not None:
            end = self._end_of_comment(last.comma + 1)
            self._set(f"{text[:end]}{rendered},{text[end:]}")
        else:
            value_end = last.node.end
            end = self._end_of_comment(value_end)
            self._set(f"{text[:value_end]},{text[value_end:end]}{rendered}{text[end:]}")

    def _end_of_comment(self, position: int) -> int:
        match = _COMMENT_OF_LINE.match(self._text, position) if self.allows_comments else None
        return match.end() if match else position

    def _rendered(self, value: Any, indentation: str) -> str:
        text = json.dumps(value, indent=self._indent, ensure_ascii=self._is_ascii)
        return text.replace("\n", self._newline + indentation)

    def _indentation(self, position: int) -> str:
        line = self._text[self._text.rfind("\n", 0, position) + 1 :]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def _set(self, text: str) -> None:
        self.text = text
        self.root = self._parse()

    def _item(self, path: Path) -> Item | None:
        parent = self._node(path[:-1])
        return parent.items.get(path[-1]) if parent else None

    def _node(self, path: Path) -> Node | None:
        node = self.root
        for name in path:
            item = node.items.get(name)
            if item is None:
                return None
            node = item.node
        return node

    def _parse(self) -> Node:
        return self._parse_text(self.text if self.text and self.text.strip() else "{}")

    def _parse_text(self, text: str) -> Node:
        return _Parser(text, allows_comments=self.allows_comments).document()


class _Parser:
    """A parser that records positions."""

    def __init__(self, text: str, *, allows_comments: bool) -> None:
        self.text, self.position, self.depth = text, 0, 0
        self.allows_comments = allows_comments
        self._gap = _GAP_WITH_COMMENTS if allows_comments else _GAP

    def document(self) -> Node:
        node = self._value()
        self._skip_gap()
        if self.position < len(self.text):
            self._fail("there is text behind the value")
        return node

    def _fail(self, reason: str) -> NoReturn:
        line = self.text.count("\n", 0, self.position) + 1
        raise JsonTextError(f"line {line}: {reason}")

    def _skip_gap(self) -> None:
        match = self._gap.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def _is_next(self, character: str) -> bool:
        self._skip_gap()
        return self.text.startswith(character, self.position)

    def _value(self) -> Node:
        for opening, closing in ("{}", "[]"):
            if self._is_next(opening):
                return self._container(closing)
        start = self.position
        match = _STRING.match(self.text, start) or _SCALAR.match(self.text, start)
        if match is None:
            self._fail("a value is missing, or a comment is not supported here")
        try:
            value = json.loads(
                match[0], parse_constant=lambda name: self._fail(f"{name} is invalid")
            )
        except ValueError as error:
            if isinstance(error, JsonTextError):
                raise
            self._fail(f"{match[0][:40]} is not a value")
        self.position = match.end()
        return Node(start, self.position, value, {})

    def _container(self, closing: str) -> Node:
        start, items, is_object = self.position, dict[str | int, Item](), closing == "}"
        self.position += 1
        self.depth += 1
        if self.depth > DEPTH_MAX:
            self._fail(f"more than {DEPTH_MAX} levels")
        last: Item | None = None
        while not self._is_next(closing):
            if last is not None and last.comma is None:
                self._fail("a comma is missing")
            item_start = self.position
            key: str | int = self._name(items) if is_object else len(items)
            last = items[key] = Item(item_start, self._value())
            if self._is_next(","):
                last.comma = self.position
                self.position += 1
        if last is not None and last.comma is not None and not self.allows_comments:
            self._fail("a comma before a closing bracket")
        self.position += 1
        self.depth -= 1
        values = {key: item.node.value for key, item in items.items()}
        value = values if is_object else list(values.values())
        return Node(start, self.position, value, items)

    def _name(self, items: dict[str | int, Item]) -> str:
        match = _STRING.match(self.text, self.position)
        if match is None:
            self._fail("a name in quotes is missing")
        name = str(json.loads(match[0]))
        if name in items:
            self._fail(f"the duplicate name {name!r}")
        self.position = match.end()
        if not self._is_next(":"):
            self._fail("a colon is missing")
        self.position += 1
        return name

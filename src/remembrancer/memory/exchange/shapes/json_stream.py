"""Read JSON of any size piece by piece: lists and objects by their elements, lines one by one.

A list of 10 GB needs the memory of its largest element. There is no dependency for it: the decoder
of the standard library is called again with more text when an element is incomplete.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from .records import ImportRefused, InvalidRecord, MaybeEntry, object_at

CHUNK = 1 << 16  # bytes of the first read; later reads double while an element is incomplete
ELEMENT_CHARACTERS_MAX = 128 << 20  # characters of one element of a list or object
LINE_BYTES_MAX = 64 << 20  # bytes of one line
_NEAR_END = 16  # characters: a token cut by the end of the buffer is shorter
_SPACE = re.compile(r"[ \t\r\n]*")
_BOM = b"\xef\xbb\xbf"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def parse(text: str) -> Any:
    """Return the value of one JSON text. Raises ValueError with a message for users."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"Invalid JSON: {error.msg}, at character {error.pos + 1}") from error
    except RecursionError as error:
        raise ValueError("Invalid JSON: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"Invalid JSON: {_reason(error)}") from error


def _reason(error: ValueError) -> str:
    return "a number has too many digits" if "digits" in str(error) else str(error)


class JsonText:
    """JSON text of a stream in UTF-8, with or without BOM. Its errors name the line."""

    def __init__(self, stream: BinaryIO, place: str) -> None:
        self._stream, self._place = stream, place
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer, self._at, self._line, self._ended = "", 0, 1, False
        self._bytes = 0

    def next(self) -> str:
        """Return the next character that is not white space, without taking it; "" at the end."""
        while True:
            self._at = _SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._ended:
                return ""
            self._fill()

    def take(self, *characters: str) -> str:
        """Take one of these characters after white space. Raises ImportRefused."""
        character = self.next()
        if character not in characters or not character:
            raise self._refused(f"Expecting {' or '.join(map(repr, characters))}", self._at)
        self._at += 1
        return character

    def end(self) -> None:
        """Raise ImportRefused unless the text ends here."""
        if self.next():
            self.take("the end of the file")

    def value(self) -> Any:
        """Take the next value. Raises ImportRefused."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not _is_cut(error, len(self._buffer)):
                    raise self._refused(error.msg, error.pos) from error
            except RecursionError as error:
                raise self._refused("it is nested too deeply", self._at) from error
            except ValueError as error:
                raise self._refused(_reason(error), self._at) from error
            else:
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return value
            self._fill()

    def _fill(self) -> None:
        self._line += self._buffer.count("\n", 0, self._at)
        self._buffer, self._at = self._buffer[self._at :], 0
        if len(self._buffer) > ELEMENT_CHARACTERS_MAX:
            raise self._refused(
                f"an element has more than {ELEMENT_CHARACTERS_MAX:,} characters", 0
            )
        raw = self._stream.read(max(CHUNK, len(self._buffer)))
        self._ended = not raw
        try:
            self._buffer += self._decoder.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            byte = self._bytes + error.start + 1
            raise ImportRefused(f"{self._place}: not UTF-8 (near byte {byte:,})") from error
        self._bytes += len(raw)

    def _refused(self, message: str, position: int) -> ImportRefused:
        line = self._line + self._buffer.count("\n", 0, position)
        is_open = message.startswith("Unterminated string")  # the position is its beginning
        cut = self._ended and (is_open or position >= len(self._buffer.rstrip()) - 1)
        end = " (the file ends in the middle of a record)" if cut else ""
        return ImportRefused(f"{self._place}, line {line}: {message}{end}")


def _is_cut(error: json.JSONDecodeError, end: int) -> bool:
    """Return True if more text may mend the error."""
    return error.msg.startswith("Unterminated string") or error.pos >= end - _NEAR_END


def elements(stream: BinaryIO, place: str) -> Iterator[tuple[str | None, int | None, Any]]:
    """Yield the elements of a JSON text: key, index and value.

    Of a list: None and the index. Of an object: the key, and the index if the member is a list,
    whose elements are yielded one by one; None and an empty list if it has none. Raises
    ImportRefused for invalid JSON and for text after its end.
    """
    text = JsonText(stream, place)
    opening = text.next()
    if opening == "[":
        yield from ((None, index, value) for index, value in _listed(text))
    elif opening == "{":
        yield from _members(text)
    else:
        yield None, None, text.value()
    text.end()


def whole_value(stream: BinaryIO, place: str) -> Any:
    """Return the value of a JSON text. Raises ImportRefused for invalid JSON, or one too large."""
    text = JsonText(stream, place)
    value = text.value()
    text.end()
    return value


def _listed(text: JsonText) -> Iterator[tuple[int, Any]]:
    text.take("[")
    if text.next() == "]":
        text.take("]")
        return
    index, separator = 0, ","
    while separator == ",":
        yield index, text.value()
        index, separator = index + 1, text.take(",", "]")


def _members(text: JsonText) -> Iterator[tuple[str, int | None, Any]]:
    text.take("{")
    if text.next() == "}":
        text.take("}")
        return
    separator = ","
    while separator == ",":
        if text.next() != '"':
            text.take('"')
        key = str(text.value())
        text.take(":")
        if text.next() != "[":
            yield key, None, text.value()
        else:
            index = -1
            for index, value in _listed(text):
                yield key, index, value
            if index < 0:
                yield key, None, []
        separator = text.take(",", "}")


def raw_lines(stream: BinaryIO, place: str) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of every line that is not blank, without the BOM and white space.

    Splits at line feeds only, because JSON strings may contain other line separators. Raises
    ImportRefused for a line that is too long.
    """
    rest, number = b"", 0
    while True:
        chunk = stream.read(max(CHUNK, len(rest)))
        *whole, rest = (rest + chunk).split(b"\n") if chunk else [rest, b""]
        for raw in whole:
            number += 1
            if line := raw.removeprefix(_BOM if number == 1 else b"").strip():
                yield number, line
        if not chunk:
            return
        if len(rest) > LINE_BYTES_MAX:
            raise ImportRefused(
                f"{place}, line {number + 1}: the line has more than {LINE_BYTES_MAX:,} bytes"
            )


def json_lines(stream: BinaryIO, place: str) -> Iterator[MaybeEntry]:
    """Yield the object of every line; an invalid record for a line without one."""
    for number, raw in raw_lines(stream, place):
        where = f"{place}, line {number}"
        try:
            value = parse(raw.decode())
        except UnicodeDecodeError as error:
            yield InvalidRecord(place=where, reason=f"not UTF-8 (at byte {error.start + 1:,})")
        except ValueError as error:
            yield InvalidRecord(place=where, reason=str(error))
        else:
            yield object_at(where, value)

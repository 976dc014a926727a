"""Filter a streamed answer and send it on word by word.

A word waits only while the filter may still remove or change it: the last word of the text, what
follows an open bracket, and a line that may be a service line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

LINE_CHARACTERS_MAX = 1_000  # of a line that is filtered again with each of its words
BRACKET_CHARACTERS_MAX = 200  # after an open bracket: longer ones are no refs
SECRET_CHARACTERS_MAX = 8_000  # of a private key, which has several lines
_SERVICE_WORDS = (
    "L1:",
    "L2:",
    "CRITICAL:",
    "CUBE_NOTHING:",
    "CUBE:",
    "RATE:",
    "TASK_DONE",
    "PUBLISH",
    "memory: not used",
)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_SECRET_START, _SECRET_END = "-----BEGIN", "-----END"
# A word, with the space before it, in which a bracket is open at the end.
_OPEN_BRACKET = re.compile(r"\s*[^\s(\[（【<]*(?:[(\[（【][^)\]）】\n]*|<[^>\n]*)\Z")
_LAST_WORD = re.compile(r"\s*[!-~]*\Z|\s+\Z")
_IN_CODE, _IN_LINE = "```\n", "- "  # put before a text so that the filter reads it as such


class WordStream:
    """Filters the pieces of one text. `filter_text` must change no text that it has changed."""

    def __init__(
        self, send: Callable[[str], None], filter_text: Callable[[str], str], seal_name: str
    ) -> None:
        """Create a stream that calls `send` with each filtered piece."""
        self._send_on, self._filter = send, filter_text
        self._service_words = (*_SERVICE_WORDS, f"{seal_name} |", f"{seal_name}|")
        self._line = ""  # what has come of the current line
        self._sent = ""  # what of its filtered text has been sent
        self._space = ""  # at the end of what may be sent
        self._in_code = self._continues_line = False

    def __call__(self, piece: str) -> None:
        """Take the next piece."""
        self._line += piece
        while end := self._line_end():
            line, self._line = self._line[:end], self._line[end:]
            self._finish(line)
        if _SECRET_START not in self._line:
            self._send_words()

    def end(self) -> None:
        """Send the rest, except space at its end."""
        self._finish(self._line)
        self._line = ""

    def _line_end(self) -> int:
        """Return the end of the first whole line, or 0; a private key counts as one line."""
        line_end = self._line.find("\n") + 1
        start = self._line.find(_SECRET_START, 0, line_end)
        if start < 0 or len(self._line) > SECRET_CHARACTERS_MAX:
            return line_end
        last_line = self._line.find(_SECRET_END, start)
        return self._line.find("\n", last_line) + 1 if last_line >= 0 else 0

    def _finish(self, line: str) -> None:
        """Send what is left of a whole line."""
        filtered = self._filtered(line)
        self._send(filtered[len(self._sent) :])
        self._sent, self._continues_line = "", False
        if _FENCE.match(line):
            self._in_code = not self._in_code

    def _send_words(self) -> None:
        """Send the complete words of the current line."""
        if self._may_be_service_line():
            return
        text = self._line
        if (last := _LAST_WORD.search(text)) is not None:
            text = text[: last.start()]
        if (bracket := _OPEN_BRACKET.search(text[-BRACKET_CHARACTERS_MAX:])) is not None:
            text = text[: len(text) - len(bracket[0])]
        filtered = self._filtered(text)
        if not filtered.startswith(self._sent):
            return  # the end of the line decides
        self._send(filtered[len(self._sent) :])
        self._sent = filtered
        if len(text) > LINE_CHARACTERS_MAX:
            self._line = self._line[len(text) :]
            self._sent, self._continues_line = "", True

    def _may_be_service_line(self) -> bool:
        if self._in_code or self._continues_line:
            return False
        start = self._line.lstrip(" \t")
        return any(word.startswith(start) or start.startswith(word) for word in self._service_words)

    def _filtered(self, text: str) -> str:
        head = _IN_CODE if self._in_code else _IN_LINE if self._continues_line else ""
        return self._filter(head + text).removeprefix(head)

    def _send(self, text: str) -> None:
        text = self._space + text
        stripped = text.rstrip()
        self._space = text[len(stripped) :]
        if stripped:
            self._send_on(stripped)

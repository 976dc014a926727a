"""Values of words of a shell command, as far as they can be known without running it.

Text that only a run would show is a sign of UNKNOWN. Active wildcards and braces are signs of
their own, so that quoted ones remain text.
"""

from __future__ import annotations

import fnmatch
import os
import re

from .word_parser import unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

VALUES_MAX = 64  # possible values of one variable, and words of one brace expansion
PATTERN_CHARACTERS_MAX = 4096  # of a value that is compared with patterns
TEXT_CHARACTERS_MAX = 1 << 20
_STAR, _QUESTION, _BRACKET, _OPEN, _COMMA, _CLOSE = "\ue000\ue001\ue002\ue003\ue004\ue005"
_MARKS = str.maketrans("*?[{,}", _STAR + _QUESTION + _BRACKET + _OPEN + _COMMA + _CLOSE)
_GLOBS = str.maketrans("*?[", _STAR + _QUESTION + _BRACKET)
_PLAIN = str.maketrans(_STAR + _QUESTION + _BRACKET + _OPEN + _COMMA + _CLOSE, "*?[{,}")
UNKNOWN = "\ue010"
# The sign of a text that is unknown and may contain a path is one of these, by the path's number.
_HINTED_FIRST, _HINTED_LAST = 0xE011, 0xE7FF
UNKNOWNS = re.compile("[\ue010-\ue7ff]")
_PRIVATE = re.compile("[\ue000-\ue7ff]")


class State:
    """Variables, folders and definitions at one moment; each subshell has a copy."""

    def __init__(self, cwd: str, home: str) -> None:
        self.cwds = [cwd]
        self.previous_cwds = [cwd]
        self.folders: list[list[str]] = []  # of pushd
        self.variables: dict[str, list[str]] = {"HOME": [home]}
        self.arrays: dict[str, list[str]] = {}
        self.positional: list[str] | None = None  # None: unknown
        self.functions: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        self.references: dict[str, str] = {}  # of `declare -n`

    def copy(self) -> State:
        """Return a copy for a subshell."""
        other = State("", "")
        other.__dict__.update(self.__dict__)
        for name in ("cwds", "previous_cwds", "folders", "positional"):
            value = getattr(self, name)
            setattr(other, name, list(value) if value is not None else None)
        for name in ("variables", "arrays", "functions", "aliases", "references"):
            setattr(other, name, dict(getattr(self, name)))
        return other

    def enter(self, folder: str) -> None:
        """Change the folder; a relative one begins in the present ones."""
        is_absolute = folder.startswith("/")
        self.cwds = (
            [folder] if is_absolute else [f"{cwd.rstrip('/')}/{folder}" for cwd in self.cwds]
        )

    def merge(self, other: State) -> None:
        """Add the folders and values of another branch to the possible ones."""
        self.cwds = list(dict.fromkeys([*self.cwds, *other.cwds]))[:VALUES_MAX]
        for name, values in other.variables.items():
            own = self.variables.get(name, [""] if name not in os.environ else [])
            self.variables[name] = list(dict.fromkeys([*own, *values]))[:VALUES_MAX]
        for name, items in other.arrays.items():
            self.arrays.setdefault(name, items)
        self.functions.update(other.functions)
        self.aliases.update(other.aliases)


def cleaned(command: str) -> str:
    """Return a command without the signs that stand for something here."""
    return _PRIVATE.sub("?", command.replace("\0", ""))


def plain(value: str) -> str:
    """Return a value for display: wildcards and unknown text as `*` and the like."""
    return UNKNOWNS.sub("*", value.translate(_PLAIN))


def script_text(value: str) -> str:
    """Return a value as the text of a script: wildcards as text, unknown parts unchanged."""
    return value.translate(_PLAIN)


class Words:
    """Expands words. `run` returns the output of commands in a copy of the state."""

    def __init__(self, run: Callable[[Any, State], str]) -> None:
        self.run = run
        self.width = 1  # possible values of the words expanded since it was set to 1
        self.hints: list[str] = []
        self.processes: dict[str, tuple[Any, State]] = {}  # of `>(...)`, by file name
        self.files: dict[str, str] = {}  # text of files that the command writes

    def unknown(self, hints: Iterable[str] = ()) -> str:
        """Return a sign for unknown text that may contain one of these paths."""
        signs = []
        for hint in list(dict.fromkeys(hints))[:4]:
            if hint not in self.hints and len(self.hints) <= _HINTED_LAST - _HINTED_FIRST:
                self.hints.append(hint)
            if hint in self.hints:
                signs.append(chr(_HINTED_FIRST + self.hints.index(hint)))
        return "".join(signs) or UNKNOWN

    def hints_of(self, value: str) -> list[str]:
        """Return the paths that the unknown parts of a value may contain."""
        return [
            self.hints[ord(sign) - _HINTED_FIRST]
            for sign in UNKNOWNS.findall(value)
            if sign != UNKNOWN and ord(sign) - _HINTED_FIRST < len(self.hints)
        ]

    def text(self, word: list[Any], state: State, choice: int, *, is_pattern: bool = False) -> str:
        """Return the value of a word that is not split: of an assignment or a document."""
        pieces = []
        for number, part in enumerate(word):
            if part[0] == "text":
                text = part[1]
                if not part[2] and number == 0 and text.startswith("~"):
                    text = self.tilde(text, state)
                pieces.append(text.translate(_GLOBS) if is_pattern and not part[2] else text)
            else:
                pieces.append(" ".join(self.values(part, state, choice)))
        return "".join(pieces)[:TEXT_CHARACTERS_MAX]

    def fields(self, word: list[Any], state: State, choice: int) -> list[str]:
        """Return the words that a word expands to, wildcards still active."""
        fields: list[str] = []
        current: str | None = None
        for number, part in enumerate(word):
            if part[0] == "text":
                text = part[1]
                if not part[2]:
                    if text.startswith("~") and number == 0:
                        text = self.tilde(text, state)
                    text = text.translate(_MARKS)
                current = (current or "") + text
                continue
            values = self.values(part, state, choice)
            if part[-1] is True:  # quoted
                for position, value in enumerate(values):
                    if position:
                        fields.append(current or "")
                        current = ""
                    current = (current or "") + value
                continue
            separators = re.escape((state.variables.get("IFS") or [" \t\n"])[choice % 1] or "\0")
            for position, value in enumerate(values):
                pieces = re.split(f"[{separators}]+", value.translate(_GLOBS))
                if position and current is not None:
                    fields.append(current)
                    current = None
                for index, piece in enumerate(pieces):
                    if index and current is not None:
                        fields.append(current)
                        current = None
                    if piece:
                        current = (current or "") + piece
        if current is not None:
            fields.append(current)
        return [one for field in fields for one in _braces(field)][: VALUES_MAX * 16]

    def tilde(self, text: str, state: State) -> str:
        """Replace `~`, `~+`, `~-` and `~root`."""
        name, slash, rest = text.partition("/")
        if name == "~":
            return self.variable("HOME", state, 0) + slash + rest
        if name == "~+":
            return state.cwds[0] + slash + rest
        if name == "~-":
            return state.previous_cwds[0] + slash + rest
        if name == "~root":
            return os.path.expanduser(name).replace("~root", "/root") + slash + rest
        return os.path.expanduser(name) + slash + rest

    def values(self, part: Any, state: State, choice: int) -> list[str]:
        """Return the values of an expansion: several for arrays."""
        kind = part[0]
        if kind == "variable":
            _, name, operator, argument, _ = part
            return self.parameter(name, operator, argument, state, choice)
        if kind == "output":
            return [self.run(part[1], state).rstrip("\n")]
        if kind == "number":
            self.text(part[1], state, choice)
            return [UNKNOWN]
        if kind == "array":
            return [one for word in part[1] for one in self.fields(word, state, choice)]
        sign, commands = part[1:]
        name = f"/dev/fd/{100 + len(self.files) + len(self.processes)}"
        if sign == "<":
            self.files[name] = self.run(commands, state)
        else:
            self.processes[name] = (commands, state.copy())
            self.run(commands, state)
        return [name]

    def variable(self, name: str, state: State, choice: int) -> str:
        """Return one of the possible values of a variable."""
        name = state.references.get(name, name)
        values = state.variables.get(name)
        if values is None:
            if name in ("PWD", "OLDPWD"):
                values = state.cwds if name == "PWD" else state.previous_cwds
            elif name in os.environ:
                values = [os.environ[name]]
            else:
                return UNKNOWN
        self.width = max(self.width, len(values))
        return values[choice % len(values)] if values else ""

    def parameter(
        self, name: str, operator: str, argument: list[Any] | None, state: State, choice: int
    ) -> list[str]:
        """Return the values of `${name...}`."""
        base, _, index = name.partition("[")
        positional = state.positional
        if name in ("@", "*"):
            values = positional if positional is not None else [UNKNOWN]
        elif name in ("$", "?", "#", "!", "-", ""):
            values = ["self" if name == "$" else self.unknown()]
        elif name.isdigit():
            values = [self._positional(int(name), state)]
        elif index and f"{base}[{_key(index)}" in state.variables:
            values = [self.variable(f"{base}[{_key(index)}", state, choice)]
        elif base in state.arrays:
            values = _item(state.arrays[base], index.rstrip("]"))
        else:
            values = [self.variable(base, state, choice)]
        if not operator:
            self.text(argument or [], state, choice)  # a command in an index
            return values
        if operator == "#" and name[0] not in "@*#?$!-" and argument == []:
            return [str(len(values[0]))] if len(values) == 1 else [UNKNOWN]
        if operator == "!":
            return [self.variable(values[0], state, choice)] if values else []
        word = argument or []
        is_pattern = operator[0] in "#%/"
        text = self.text(word, state, choice, is_pattern=is_pattern)
        if operator in (":", "") and name in ("@", "*"):
            return _slice_of_list(values, text)
        is_empty = not any(values)
        results = [self.changed(value, operator, text, state, base) for value in values]
        return results if not is_empty or results else [self.changed("", operator, text, state, "")]

    def _positional(self, number: int, state: State) -> str:
        if state.positional is None:
            return UNKNOWN
        if not number:
            return state.variables.get("0", ["sh"])[0]
        return state.positional[number - 1] if number <= len(state.positional) else ""

    def changed(self, value: str, operator: str, text: str, state: State, name: str) -> str:
        """Return a value after an operator of `${name...}`; unknown values stay unknown."""
        is_missing = not value or value == UNKNOWN
        if operator in (":-", "-", ":=", "="):
            if is_missing and operator in (":=", "=") and name:
                state.variables[name] = [text]
            return text if is_missing else value
        if operator in (":+", "+"):
            return text
        if operator in (":?", "?"):
            return value
        if operator in ("#", "##", "%", "%%"):
            return _trimmed(value, operator, text)
        if operator[0] == "/":
            pattern, _, replacement = text.partition("/")
            return _replaced(value, operator, pattern, replacement)
        if operator[0] in "^,":
            change = str.upper if operator[0] == "^" else str.lower
            return change(value) if len(operator) == 2 else change(value[:1]) + value[1:]
        if operator == ":":
            return _sliced(value, text)
        if operator == "@":
            return unescaped(value) if text.startswith("E") else value
        return value


def _key(index: str) -> str:
    """Return the key of an associative array with its bracket, without quotes."""
    return re.sub(r"[\\\"']", "", index)


def _item(items: list[str], index: str) -> list[str]:
    """Return the items of an array that an index names; all for `@`."""
    if index in ("@", "*"):
        return items
    if not index:
        return items[:1]
    if re.fullmatch(r"-?[0-9]+", index) and -len(items) <= int(index) < len(items):
        return [items[int(index)]]
    return [items[0]] if len(items) == 1 else [UNKNOWN]


def _slice_of_list(values: list[str], text: str) -> list[str]:
    match = re.fullmatch(r"\s*([0-9]+)\s*(?::\s*([0-9]+)\s*)?", text)
    if not match:
        return values
    start = max(0, int(match[1]) - 1)
    return values[start : start + int(match[2])] if match[2] else values[start:]


def _sliced(value: str, text: str) -> str:
    """Return the substring of `${name:offset:length}`."""
    match = re.fullmatch(r"\s*\(?\s*(-?[0-9]+)\s*\)?\s*(?::\s*(-?[0-9]+)\s*)?", text)
    if not match:
        return UNKNOWN if value else ""
    start, length = int(match[1]), match[2]
    start = start + len(value) if start < 0 else start
    if not 0 <= start <= len(value):
        return ""
    if length is None:
        return value[start:]
    return value[start : start + int(length)] if int(length) >= 0 else value[start : int(length)]


def _regex(pattern: str, *, is_greedy: bool = True) -> str:
    translated = fnmatch.translate(plain(pattern))
    body = translated[len("(?s:") : -len(r")\Z")]
    return body if is_greedy else body.replace(".*", ".*?")


def _trimmed(value: str, operator: str, pattern: str) -> str:
    """Return a value without the prefix or suffix that matches."""
    if len(value) > PATTERN_CHARACTERS_MAX:
        return UNKNOWN
    lengths = range(len(value) + 1)
    is_long = len(operator) == 2
    test = re.compile(f"(?s:{_regex(pattern)})\\Z")
    for length in reversed(lengths) if is_long else lengths:
        part = value[:length] if operator[0] == "#" else value[len(value) - length :]
        if test.match(part):
            return value[length:] if operator[0] == "#" else value[: len(value) - length]
    return value


def _replaced(value: str, operator: str, pattern: str, replacement: str) -> str:
    if not pattern:
        return value
    if len(value) > PATTERN_CHARACTERS_MAX:
        return UNKNOWN
    body = f"(?s:{_regex(pattern)})"
    if operator == "/#":
        body = rf"\A{body}"
    elif operator == "/%":
        body = rf"{body}\Z"
    return re.sub(body, lambda _: replacement, value, count=0 if operator == "//" else 1)


def _braces(field: str) -> list[str]:
    """Expand the active braces of a word."""
    if _OPEN not in field:
        return [field.replace(_COMMA, ",").replace(_CLOSE, "}")]
    results: list[str] = []
    pending = [field]
    innermost = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
    while pending:
        candidate = pending.pop()
        if len(results) + len(pending) > VALUES_MAX:
            candidate = re.sub(f"{_OPEN}.*{_CLOSE}", UNKNOWN, candidate)
        match = innermost.search(candidate)
        if not match:
            results.append(candidate)
            continue
        parts = _alternatives(match[1])
        if not parts:
            parts = [f"{{{match[1].replace(_COMMA, ',')}}}"]
        head, tail = candidate[: match.start()], candidate[match.end() :]
        pending += [head + part + tail for part in reversed(parts)]
    signs = str.maketrans(_OPEN + _COMMA + _CLOSE, "{,}")
    return [one.translate(signs) for one in results]


def _alternatives(text: str) -> list[str]:
    """Return the alternatives of `{a,b}` or `{1..3}`; none if it is neither."""
    if _COMMA in text:
        return text.split(_COMMA)
    match = re.fullmatch(r"(-?[0-9]+|[A-Za-z])\.\.(-?[0-9]+|[A-Za-z])(?:\.\.-?[0-9]+)?", text)
    if not match:
        return []
    first, last = match[1], match[2]
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high = sorted((int(first), int(last)))
        return [str(number) for number in range(low, min(high, low + VALUES_MAX) + 1)]
    low, high = sorted((ord(first), ord(last)))
    return [chr(code) for code in range(low, high + 1)]

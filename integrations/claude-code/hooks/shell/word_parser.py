"""Parser of the words of shell commands: quotes, expansions and here-documents."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = re.compile(r"[^\s'\"\\;|&()<>`$]+")
_QUOTED_PLAIN = re.compile(r"[^\"\\`$}]+")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!-]", re.ASCII)
_OPERATOR = re.compile(r":-|:=|:\+|:\?|##|%%|//|/#|/%|\^\^|,,|[-=+?#%/^,@:]")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b"}


class ShellSyntaxError(Exception):
    """The command is not in the grammar of the shell, or too deeply nested."""


class TooComplexError(ShellSyntaxError):
    """The command is nested too deeply, or takes too many steps to interpret."""


def unescaped(text: str) -> str:
    """Return a text with the escapes of `$'...'` and `printf` replaced."""

    def replacement(match: re.Match[str]) -> str:
        short, unicode, long, octal, control, other = match.groups()
        if control:
            return chr(ord(control) & 0x1F)
        if other:
            return _ESCAPES.get(other, other if other in "\\'\"?" else f"\\{other}")
        digits, base = (octal, 8) if octal else (short or unicode or long, 16)
        code = int(digits, base)
        return chr(code & 0xFF if octal else code) if code < 0x110000 else ""

    return _ESCAPE.sub(replacement, text)


class WordParser:
    """Position in a text, and the parser of words at it.

    A word is a list of parts: ("text", text, is_quoted), ("variable", name, operator, argument,
    is_quoted), ("output", commands, is_quoted), ("process", sign, commands), ("array", words),
    ("number", parts).
    """

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.documents: list[tuple[str, bool, bool, list[Any]]] = []  # not read yet

    def commands(self, *, ends_case: bool = False) -> list[Any]:
        """Parse the commands of `$(...)`."""
        raise NotImplementedError

    def another(self, text: str) -> WordParser:
        """Return a parser of a part of the text."""
        return type(self)(text, self.depth)

    def expect_parenthesis(self) -> None:
        """Consume the `)` after commands."""
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        if not self.text.startswith(")", self.at):
            raise ShellSyntaxError(") is missing")
        self.at += 1

    def read_documents(self) -> None:
        for delimiter, is_quoted, has_tabs, parts in self.documents:
            start = self.at
            tabs = r"\t*" if has_tabs else ""
            end = re.compile(rf"^{tabs}{re.escape(delimiter)}$", re.MULTILINE)
            match = end.search(self.text, start)
            if not match and self.depth > 1:  # `$(cat <<EOF ... EOF)`
                match = re.compile(rf"^{tabs}{re.escape(delimiter)}(?=[)`])", re.MULTILINE).search(
                    self.text, start
                )
            body = self.text[start : match.start() if match else len(self.text)]
            self.at = match.end() if match else len(self.text)
            if has_tabs:
                body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
            if is_quoted:
                parts.append(("text", body, True))
            else:
                inner = self.another(body)
                parts.extend(inner.quoted_parts(""))
        self.documents = []

    def end_of_arithmetic(self, start: int) -> int:
        """Return the position of the `))` that closes; -1 if there is none."""
        level = 0
        for match in re.compile(r"[()]").finditer(self.text, start):
            if match[0] == "(":
                level += 1
            elif level:
                level -= 1
            else:
                return match.start() if self.text.startswith("))", match.start()) else -1
        return -1

    def word(self) -> list[Any] | None:
        """Parse one word; None if there is none here."""
        parts: list[Any] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            if match := _PLAIN.match(self.text, self.at):
                parts.append(("text", match[0], False))
                self.at = match.end()
            elif sign in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(("process", sign, self.commands()))
                self.expect_parenthesis()
            elif sign == "(" and parts and self.is_pattern(parts[-1]):
                text = parts[-1][1]
                parts[-1] = ("text", text[:-1] + self.pattern(text[-1]), False)
            elif sign.isspace() or sign in ";|&()<>":
                break
            elif sign == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise ShellSyntaxError("a quote is not closed")
                parts.append(("text", self.text[self.at + 1 : end], True))
                self.at = end + 1
            elif sign == '"':
                self.at += 1
                parts.append(("text", "", True))
                parts += self.quoted_parts('"')
            elif sign == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                if escaped != "\n":
                    parts.append(("text", escaped, True))
                self.at += 2
            else:
                parts.append(self.expansion(is_quoted=False))
        return parts or None

    @staticmethod
    def is_pattern(part: Any) -> bool:
        """Return True if `(` after this part opens a pattern of extglob."""
        return bool(part[0] == "text" and not part[2] and part[1][-1] in "@+?*!")

    def pattern(self, sign: str) -> str:
        """Consume a pattern such as `@(a|b)`; return it with braces, or `*`."""
        level = 0
        start = self.at
        for match in re.compile(r"[()\n]").finditer(self.text, start):
            level += {"(": 1, ")": -1, "\n": 0}[match[0]]
            if not level:
                self.at = match.end()
                text = self.text[start + 1 : match.start()]
                if sign == "!" or not re.fullmatch(r"[\w.|-]*", text):
                    return "*"
                options = [*text.split("|"), *([""] if sign in "?*" else [])]
                return "{" + ",".join(options) + "}" if len(options) > 1 else text
        raise ShellSyntaxError("a pattern is not closed")

    def quoted_parts(self, closer: str) -> list[Any]:
        """Parse up to the closing sign, which is consumed; "" is the end of the text.

        With `}` as closer, quotes count: it is the argument of `${name:-argument}`.
        """
        parts: list[Any] = []
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == closer:
                self.at += 1
                return parts
            if match := _QUOTED_PLAIN.match(self.text, self.at):
                text = match[0]
                if closer == "}" and "'" in text:
                    text = text[: text.index("'")]
                    end = self.text.find("'", self.at + len(text) + 1)
                    if end >= 0:
                        parts.append(("text", text, False))
                        parts.append(("text", self.text[self.at + len(text) + 1 : end], True))
                        self.at = end + 1
                        continue
                    text = match[0]
                parts.append(("text", text, closer != "}"))
                self.at += len(text)
            elif sign == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                is_kept = closer != "}" and escaped not in tuple('$`"\\\n')
                is_kept = is_kept or (escaped == '"' and not closer)
                if escaped != "\n":
                    parts.append(("text", f"\\{escaped}" if is_kept else escaped, True))
                self.at += 2
            elif sign in "$`":
                parts.append(self.expansion(is_quoted=True))
            elif sign == '"' and closer == "}":
                self.at += 1
                parts += self.quoted_parts('"')
            else:
                parts.append(("text", sign, True))
                self.at += 1
        if closer:
            raise ShellSyntaxError(f"{closer} is missing")
        return parts

    def expansion(self, *, is_quoted: bool) -> Any:
        """Parse an expansion that begins with `$` or a backtick."""
        text = self.text
        if text[self.at] == "`":
            return self.backticks(is_quoted=is_quoted)
        following = text[self.at + 1 : self.at + 2]
        if text.startswith("$((", self.at):
            end = self.end_of_arithmetic(self.at + 3)
            if end >= 0:
                inner = self.another(text[self.at + 3 : end])
                self.at = end + 2
                return ("number", inner.quoted_parts(""))
        if following == "(":
            self.at += 2
            commands = self.commands()
            self.expect_parenthesis()
            return ("output", commands, is_quoted)
        if following == "{":
            return self.parameter(is_quoted=is_quoted)
        if following == "'" and not is_quoted:
            match = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(text, self.at + 2)
            if not match:
                raise ShellSyntaxError("a quote is not closed")
            self.at = match.end()
            return ("text", unescaped(match[0][:-1]), True)
        if following == '"' and not is_quoted:
            self.at += 1
            return ("text", "", True)
        if match := _PARAMETER.match(text, self.at + 1):
            name = match[0][0] if match[0].isdigit() else match[0]
            self.at += 1 + len(name)
            return ("variable", name, "", None, is_quoted)
        self.at += 1
        return ("text", "$", True)

    def backticks(self, *, is_quoted: bool) -> Any:
        match = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.at)
        if not match:
            raise ShellSyntaxError("a backtick is not closed")
        self.at = match.end()
        signs = r"\\([`\\$\"])" if is_quoted else r"\\([`\\$])"
        inner = self.another(re.sub(signs, r"\1", match[1]))
        commands = inner.commands()
        if inner.at < len(inner.text):
            raise ShellSyntaxError(f"unexpected {inner.text[inner.at]!r}")
        return ("output", commands, is_quoted)

    def parameter(self, *, is_quoted: bool) -> Any:
        """Parse `${...}`. A form that only zsh knows has the name ""."""
        self.at += 2
        prefix = ""
        match = re.compile(r"([!#])(?=[A-Za-z_0-9@*])").match(self.text, self.at)
        if match:
            prefix = match[1]
            self.at += 1
        name = _PARAMETER.match(self.text, self.at)
        self.at = name.end() if name else self.at
        index = re.compile(r"\[[^]]*\]").match(self.text, self.at) if name else None
        self.at = index.end() if index else self.at
        operator = _OPERATOR.match(self.text, self.at)
        self.at = operator.end() if operator else self.at
        argument = self.quoted_parts("}")
        if not name:
            return ("variable", "", "", argument, is_quoted)
        sign = prefix or (operator[0] if operator else "")
        if index and not sign and re.search(r"[$`]", index[0]):
            argument = self.another(index[0]).quoted_parts("")
        return ("variable", name[0] + (index[0] if index else ""), sign, argument, is_quoted)

"""Parser of shell commands: the grammar of bash, also read by sh and zsh. It runs nothing."""

from __future__ import annotations

import re

from .word_parser import ShellSyntaxError, TooComplexError, WordParser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH_MAX = 40  # nested commands
_BLANK = re.compile(r"(?:[ \t]|\\\r?\n)+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]\n]*\])?(\+?)=", re.ASCII)
_REDIRECTION = re.compile(
    r"([0-9]+|\{[A-Za-z_]\w*\})?(&>>|&>|>>|>\||>&|<<<|<<-|<<|<&|<>|>|<)(?!\()"
)
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|for|foreach|select|while|until|do|done|case|esac|function|time|coproc"
    r"|\{|\}|!|\[\[)(?=[\s;|&()<>]|$)"
)
_CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


class Node:
    """One command of a pipeline.

    `kind` is simple, group, subshell, if, loop, for, case, function, test or coproc; the other
    attributes depend on it. Commands are lists of (connector, pipeline), a pipeline is a list of
    nodes, the connector is the sign before it.
    """

    def __init__(self, kind: str, **attributes: Any) -> None:
        self.kind = kind
        self.redirections: list[tuple[str, str, list[Any], Any]] = []
        self.words: list[list[Any]] = []
        self.assignments: list[tuple[str, str, bool, Any]] = []
        self.indexes: list[list[Any]] = []  # of assigned items of arrays
        self.name = ""
        self.body: list[Any] = []
        self.branches: list[tuple[Any, list[Any]]] = []
        self.__dict__.update(attributes)


def parse(command: str, depth: int = 0) -> list[Any]:
    """Return the commands of a command line. Raises ShellSyntaxError."""
    parser = _Parser(command, depth)
    commands = parser.commands()
    if parser.at < len(parser.text):
        raise ShellSyntaxError(f"unexpected {parser.text[parser.at]!r}")
    return commands


class _Parser(WordParser):
    """Recursive descent over one text."""

    def commands(self, *, ends_case: bool = False) -> list[Any]:
        """Parse pipelines up to a closing word or sign, which is not consumed."""
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise TooComplexError("nested too deeply")
        commands: list[Any] = []
        connector = ";"
        while True:
            self.skip_lines()
            if self.at >= len(self.text) or self.text[self.at] == ")":
                break
            if ends_case and self.text.startswith((";;", ";&"), self.at):
                break
            word = self.reserved()
            if word in _CLOSERS:
                break
            commands.append((connector, self.pipeline()))
            connector = self.connector()
        self.depth -= 1
        return commands

    def connector(self) -> str:
        """Consume the sign after a pipeline."""
        self.skip_blanks()
        for sign in ("&&", "||"):
            if self.text.startswith(sign, self.at):
                self.at += 2
                return sign
        if self.text.startswith((";;", ";&"), self.at):
            return ";"
        if self.at < len(self.text) and self.text[self.at] in ";&":
            self.at += 1
            return self.text[self.at - 1]
        if self.at < len(self.text) and self.text[self.at] not in "\n)" and not self.reserved():
            raise ShellSyntaxError(f"unexpected {self.text[self.at]!r}")
        return ";"

    def skip_blanks(self) -> None:
        """Skip blanks and a comment."""
        while True:
            if match := _BLANK.match(self.text, self.at):
                self.at = match.end()
            if self.at < len(self.text) and self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            return

    def skip_lines(self) -> None:
        """Skip blanks, comments and line ends; read the here-documents after a line end."""
        while True:
            self.skip_blanks()
            if self.at >= len(self.text):
                return
            if self.text[self.at] in "\r\f\v":
                self.at += 1
            elif self.text[self.at] == "\n":
                self.at += 1
                self.read_documents()
            else:
                return

    def reserved(self) -> str:
        """Return the reserved word at this position, not consumed; "" if there is none."""
        match = _RESERVED.match(self.text, self.at)
        return match[1] if match else ""

    def expect(self, *words: str) -> str:
        """Consume one of these reserved words or signs."""
        self.skip_lines()
        for word in words:
            is_word = word.isalpha() or word == "}"
            if self.reserved() == word if is_word else self.text.startswith(word, self.at):
                self.at += len(word)
                return word
        raise ShellSyntaxError(f"{' or '.join(words)} is missing")

    def pipeline(self) -> list[Node]:
        nodes: list[Node] = []
        while True:
            self.skip_lines() if nodes else self.skip_blanks()
            while self.reserved() in ("!", "time"):
                self.at += len(self.reserved())
                self.skip_blanks()
                if self.text.startswith("-p ", self.at):
                    self.at += 3
                    self.skip_blanks()
            nodes.append(self.command())
            self.skip_blanks()
            if self.text.startswith("||", self.at) or not self.text.startswith("|", self.at):
                return nodes
            self.at += 2 if self.text.startswith("|&", self.at) else 1

    def command(self) -> Node:
        word = self.reserved()
        compound = {
            "if": self.if_command,
            "while": self.loop,
            "until": self.loop,
            "for": self.for_loop,
            "foreach": self.for_loop,
            "select": self.for_loop,
            "case": self.case,
            "function": self.function,
            "[[": self.test,
            "{": self.group,
            "coproc": self.coprocess,
        }.get(word)
        if compound:
            self.at += len(word)
            node = compound()
        elif self.text.startswith("((", self.at) and (node_or_none := self.arithmetic()):
            node = node_or_none
        elif self.text.startswith("(", self.at):
            self.at += 1
            node = Node("subshell", body=self.commands())
            self.expect(")")
        else:
            return self.simple()
        while self.redirection(node):
            pass
        return node

    def group(self) -> Node:
        node = Node("group", body=self.commands())
        self.expect("}")
        return node

    def if_command(self) -> Node:
        branches: list[tuple[Any, list[Any]]] = []
        closer = "if"
        while closer in ("if", "elif"):
            condition = self.commands()
            self.expect("then")
            branches.append((condition, self.commands()))
            closer = self.expect("elif", "else", "fi")
        if closer == "else":
            branches.append((None, self.commands()))
            self.expect("fi")
        return Node("if", branches=branches)

    def loop(self) -> Node:
        condition = self.commands()
        return Node("loop", branches=[(condition, self.block())])

    def block(self) -> list[Any]:
        """Parse `do ... done`, or `{ ... }`."""
        if self.expect("do", "{") == "do":
            body = self.commands()
            self.expect("done")
        else:
            body = self.commands()
            self.expect("}")
        return body

    def for_loop(self) -> Node:
        self.skip_blanks()
        if self.text.startswith("((", self.at):
            node = self.arithmetic() or Node("test")
            self.skip_separator()
            return Node("for", name="", words=node.words, body=self.block())
        match = _NAME.match(self.text, self.at)
        if not match:
            raise ShellSyntaxError("the name of a loop is missing")
        self.at = match.end()
        words = None
        self.skip_lines()
        if re.compile(r"in(?=[\s;])").match(self.text, self.at):
            self.at += 2
            words = self.words_of_line()
        self.skip_separator()
        if words is None:
            words = [[("variable", "@", "", None, True)]]
        return Node("for", name=match[0], words=words, body=self.block())

    def skip_separator(self) -> None:
        self.skip_lines()
        if self.text.startswith(";", self.at):
            self.at += 1

    def words_of_line(self) -> list[list[Any]]:
        words: list[list[Any]] = []
        while True:
            self.skip_blanks()
            word = self.word()
            if word is None:
                return words
            words.append(word)

    def case(self) -> Node:
        self.skip_blanks()
        subject = self.word() or []
        self.skip_lines()
        if not re.compile(r"in(?=\s)").match(self.text, self.at):
            raise ShellSyntaxError("in is missing")
        self.at += 2
        branches: list[tuple[Any, list[Any]]] = []
        while True:
            self.skip_lines()
            if self.reserved() == "esac":
                self.at += 4
                return Node("case", words=[subject], branches=branches)
            if self.text.startswith("(", self.at):
                self.at += 1
            patterns = []
            while True:
                self.skip_blanks()
                patterns.append(self.word() or [])
                self.skip_blanks()
                if not self.text.startswith("|", self.at):
                    break
                self.at += 1
            self.expect(")")
            branches.append((patterns, self.commands(ends_case=True)))
            self.skip_lines()
            for sign in (";;&", ";;", ";&"):
                if self.text.startswith(sign, self.at):
                    self.at += len(sign)
                    break

    def function(self) -> Node:
        self.skip_blanks()
        match = re.compile(r"[^\s(){};|&<>]+").match(self.text, self.at)
        if not match:
            raise ShellSyntaxError("the name of a function is missing")
        self.at = match.end()
        return self.function_body(match[0])

    def function_body(self, name: str) -> Node:
        self.skip_blanks()
        if match := re.compile(r"\([ \t]*\)").match(self.text, self.at):
            self.at = match.end()
        self.skip_lines()
        return Node("function", name=name, body=[(";", [self.command()])])

    def coprocess(self) -> Node:
        self.skip_blanks()
        if match := re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(])").match(self.text, self.at):
            self.at = match.end()
        return Node("coproc", body=[(";", [self.command()])])

    def test(self) -> Node:
        """Parse `[[ ... ]]`: its words, since `<` and `>` compare there."""
        words: list[list[Any]] = []
        while True:
            self.skip_lines()
            if self.at >= len(self.text):
                raise ShellSyntaxError("]] is missing")
            if re.compile(r"\]\](?=[\s;|&)]|$)").match(self.text, self.at):
                self.at += 2
                return Node("test", words=words)
            word = self.word()
            if word is None:
                self.at += 1
            else:
                words.append(word)

    def arithmetic(self) -> Node | None:
        """Parse `(( ... ))`; None if it is two subshells."""
        end = self.end_of_arithmetic(self.at + 2)
        if end < 0:
            return None
        inner = self.another(self.text[self.at + 2 : end])
        self.at = end + 2
        return Node("test", words=[inner.quoted_parts("")])

    def simple(self) -> Node:
        node = Node("simple")
        start = self.at
        while True:
            self.skip_blanks()
            if self.redirection(node):
                continue
            match = _ASSIGNMENT.match(self.text, self.at)
            if match and (not node.words or self.text.startswith("(", match.end())):
                self.at = match.end()
                if re.search(r"[$`]", match[2] or ""):
                    node.indexes.append(self.another(match[2]).quoted_parts(""))
                value = self.value()
                if node.words:
                    node.words.append([("text", match[0], False), value])
                else:
                    node.assignments.append((match[1], match[2] or "", bool(match[3]), value))
                continue
            position = self.at
            word = self.word()
            if word is None:
                break
            node.words.append(word)
            is_name = len(node.words) == 1 and not node.assignments
            if is_name and re.compile(r"[ \t]*\([ \t]*\)").match(self.text, self.at):
                return self.function_body(self.text[position : self.at])
        if self.at == start:
            sign = self.text[self.at : self.at + 1] or "the end"
            raise ShellSyntaxError(f"unexpected {sign!r}")
        return node

    def value(self) -> Any:
        """Parse the value of an assignment: a word, or ("array", words)."""
        if not self.text.startswith("(", self.at):
            return self.word() or []
        self.at += 1
        words: list[list[Any]] = []
        while True:
            self.skip_lines()
            if self.text.startswith(")", self.at):
                self.at += 1
                return ("array", words)
            word = self.word()
            if word is None:
                raise ShellSyntaxError("an array is not closed")
            words.append(word)

    def redirection(self, node: Node) -> bool:
        """Parse one redirection if there is one here."""
        self.skip_blanks()
        match = _REDIRECTION.match(self.text, self.at)
        if not match:
            return False
        self.at = match.end()
        self.skip_blanks()
        descriptor, sign = match[1] or "", match[2]
        if sign == ">" and self.text.startswith("!", self.at):  # of zsh
            self.at += 1
            self.skip_blanks()
        start = self.at
        word = self.word()
        if word is None:
            raise ShellSyntaxError(f"the file after {sign} is missing")
        document: list[Any] | None = None
        if sign in ("<<", "<<-"):
            raw = self.text[start : self.at]
            delimiter = "".join(part[1] for part in word if part[0] == "text")
            document = []
            is_quoted = any(quote in raw for quote in "'\"\\")
            self.documents.append((delimiter, is_quoted, sign == "<<-", document))
        node.redirections.append((descriptor, sign, word, document))
        return True

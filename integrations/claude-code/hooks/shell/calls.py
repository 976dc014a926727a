"""One call of a program, as the interpreter sees it."""

from __future__ import annotations

import re

from .locations import PATH_CHARACTERS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .values import State


class Call:
    """One call of a program, with the means to report what it does."""

    def __init__(
        self, interpreter: Interpreter, words: list[str], state: State, stdin: str, name: str
    ) -> None:
        self.interpreter = interpreter
        self.arguments = words[1:]
        self.state = state
        self.stdin = stdin
        self.name = name

    def write(self, path: str, *, follows: bool = True) -> None:
        """Report that the call writes a path."""
        self._access(path, "write", follows=follows)

    def read(self, path: str) -> None:
        """Report that the call reads a path."""
        self._access(path, "read")

    def look(self, path: str) -> None:
        """Report that the call reads the names and sizes of files, not what is in them."""
        self._access(path, "list")

    def delete(self, path: str) -> None:
        """Report that the call deletes a path; a link itself, not its target."""
        self._access(path, "delete", follows=path.endswith("/"))

    def _access(self, path: str, action: str, *, follows: bool = True) -> None:
        if path and path != "-" and len(path) <= PATH_CHARACTERS_MAX:
            self.interpreter.access(path, action, self.state, follows=follows)

    def script(self, text: str, positional: list[str] | None = None, stdin: str = "") -> str:
        """Interpret a shell script in a subshell."""
        return self.interpreter.script(text, self.state, stdin or self.stdin, positional)

    def command(self, text: str) -> None:
        """Interpret a text that may be a command; ignore it if it is none."""
        from .parser import parse
        from .word_parser import ShellSyntaxError

        try:
            parse(text)
        except ShellSyntaxError:
            return
        self.script(text)

    def run(self, words: list[str], stdin: str | None = None) -> str:
        """Interpret another command that this one runs."""
        if not words:
            return ""
        return self.interpreter.call(words, self.state, self.stdin if stdin is None else stdin)

    def text_of(self, path: str) -> str:
        """Return the text of a file, as far as it is known; that of the input for its names."""
        if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
            return self.stdin
        return self.interpreter.known_text(path, self.state)

    def unreadable_script(self, text: str) -> None:
        """Report a script that is decoded from something unknown: running it needs a grant."""
        for hint in self.interpreter.words.hints_of(text):
            if hint == "\0decoded":
                self.interpreter.add_unreadable()

    def options(
        self, letters: str = "", names: str = "", *, stops: bool = False
    ) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the options with their values, and the other arguments.

        `letters` and `names` take a value; with `stops`, everything after the first other argument
        is another argument.
        """
        values = names.split()
        options: list[tuple[str, str]] = []
        others: list[str] = []
        words = list(self.arguments)
        while words:
            word = words.pop(0)
            if word == "--":
                return options, [*others, *words]
            if word.startswith("--"):
                name, sign, value = word[2:].partition("=")
                if not sign and name in values and words:
                    value = words.pop(0)
                options.append((name, value))
            elif word.startswith("-") and len(word) > 1:
                if word[1:] in values:
                    options.append((word[1:], words.pop(0) if words else ""))
                    continue
                for position, letter in enumerate(word[1:], 2):
                    if letter in letters:
                        value = word[position:] or (words.pop(0) if words else "")
                        options.append((letter, value))
                        break
                    options.append((letter, ""))
            else:
                others.append(word)
                if stops:
                    return options, [*others, *words]
        return options, others


def is_remote(path: str) -> bool:
    """Return True for HOST:PATH of another machine, and for a URL."""
    match = re.match(r"(?:[\w.-]+@)?([\w.-]+):(?!/{2}\w*:)", path)
    return bool("://" in path or (match and "/" not in match[1]))

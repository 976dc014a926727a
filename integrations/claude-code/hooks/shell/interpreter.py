"""Abstract interpreter of shell commands: follows folders, variables, functions and known output.

It runs nothing. Branches are both taken, loops run twice, and what a program prints is known for a
few programs only.
"""

from __future__ import annotations

import os
import posixpath
import re
from time import monotonic

from .locations import Location
from .parser import Node, parse
from .values import UNKNOWN, UNKNOWNS, VALUES_MAX, State, Words, plain, script_text
from .word_parser import ShellSyntaxError, TooComplexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    RunProgram = Callable[["Interpreter", list[str], State, str], str]

STEPS_MAX = 20_000  # simple commands of one call
UNREADABLE = ("/bin/sh", "exec")  # the target of a script whose effects cannot be known
UNKNOWN_NAME = "(unknown)"  # in a path; a check accepts no `*`
PATCH_BYTES_MAX = 1 << 20
SECONDS_MAX = 5.0  # for one call; an agent waits for it
SCRIPTS_MAX = 12  # scripts within scripts
_WRITES = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))


class Interpreter:
    """Collects the system paths that commands access.

    `run_program` interprets a call of a builtin or program, and returns its output.
    """

    def __init__(self, location: Location, run_program: RunProgram) -> None:
        self.location = location
        self.run_program = run_program
        self.targets: dict[tuple[str, str], None] = {}
        self.words = Words(self.output_of)
        self.links: dict[str, str] = {}  # made by the command itself
        self.folders: set[str] = set()  # made by the command itself
        self.copies: dict[str, str] = {}  # files that are copies of other files
        self.variable_commands: set[tuple[str, str]] = set()  # interpreted already
        self.steps = 0
        self.deadline = monotonic() + SECONDS_MAX
        self.script_depth = 0
        self.call_depth = 0

    # Paths

    def access(self, value: str, action: str, state: State, *, follows: bool = True) -> None:
        """Add the targets of an action on a path."""
        is_change = action in ("write", "delete")
        if is_change:
            for hint in self.words.hints_of(value) if UNKNOWNS.match(value) else ():
                self.access(hint, action, state)
        if UNKNOWNS.match(value):
            value = UNKNOWNS.sub("", value[:1]) + value[1:]
            value = value.lstrip(UNKNOWN)
            if not value.startswith("/") or not is_change:
                return
        if re.match(r"(?i)file:/+", value):
            value = "/" + value[5:].lstrip("/")
        path = plain(value)
        if not path:
            return
        for cwd in state.cwds if not path.startswith(("/", "~")) else state.cwds[:1]:
            if UNKNOWNS.match(cwd):
                for hint in self.words.hints_of(cwd) if is_change else ():
                    self.access(hint, action, state)
                continue
            here = self.location.moved(plain(cwd))
            name = _pattern(value)
            if action in ("read", "list"):  # what an unknown part is does not matter
                name = name.split("[*]")[0] if UNKNOWNS.search(value) else name
            target = here.target(name, action, links=self.links, follows=follows)
            if target:
                self.targets[(_displayed(target[0]), target[1])] = None

    def key(self, value: str, state: State) -> str:
        """Return the name under which a file's known text is stored."""
        return posixpath.normpath(posixpath.join(state.cwds[0], value))

    def is_folder(self, path: str) -> bool:
        """Return True for an existing folder, or one that the command makes."""
        return path in self.folders or os.path.isdir(path)

    def known_text(self, path: str, state: State) -> str:
        """Return the text of a file that the command itself writes, else unknown text."""
        key = self.key(path, state)
        return self.words.files.get(self.copies.get(key, key), self.words.unknown())

    def patch_text(self, path: str, state: State) -> str:
        """Return the text of a file; of files that the command does not write, only patches."""
        text = self.known_text(path, state)
        if not UNKNOWNS.search(text) or not re.search(r"\.(?:diff|patch)$", path):
            return text
        try:
            with open(self.key(plain(path), state), "rb") as file:
                return file.read(PATCH_BYTES_MAX).decode("utf-8", "replace")
        except (OSError, ValueError):
            return text

    def write_text(self, path: str, text: str, state: State) -> None:
        """Store the text that a command writes to a file, or give it to `>(...)`."""
        key = self.key(path, state)
        if key in self.words.processes and self.call_depth < SCRIPTS_MAX:
            commands, inner = self.words.processes[key]
            self.call_depth += 1
            self.commands(commands, inner.copy(), text)
            self.call_depth -= 1
        self.words.files[key] = text

    # Scripts and lists of commands

    def script(
        self, text: str, state: State, stdin: str = UNKNOWN, positional: list[str] | None = None
    ) -> str:
        """Interpret a script in a copy of the state; return its output."""
        inner = state.copy()
        if positional is not None:
            inner.positional = positional
        return self.script_here(text, inner, stdin)

    def script_here(self, text: str, state: State, stdin: str = UNKNOWN) -> str:
        """Interpret a script in this state, like `eval`."""
        if self.script_depth >= SCRIPTS_MAX:
            raise TooComplexError("nested too deeply")
        self.script_depth += 1
        try:
            return self.commands(parse(script_text(text), self.script_depth), state, stdin)
        except TooComplexError:
            raise
        except ShellSyntaxError:
            self.unreadable(text, state)
            return self.words.unknown()
        finally:
            self.script_depth -= 1

    def unreadable(self, text: str, state: State) -> None:
        """Add every system path in a text that cannot be parsed, as if it were written."""
        for path in mentioned_paths(plain(text)):
            self.access(path, "write", state)

    def add_unreadable(self) -> None:
        """Add the target of a script whose effects cannot be known."""
        self.targets[UNREADABLE] = None

    def output_of(self, commands: Any, state: State) -> str:
        """Return the output of `$(...)`."""
        return self.commands(commands, state.copy(), UNKNOWN)

    def commands(self, commands: list[Any], state: State, stdin: str) -> str:
        """Interpret a list of commands; return its output."""
        outputs = []
        for position, (connector, pipeline) in enumerate(commands):
            following = commands[position + 1][0] if position + 1 < len(commands) else ""
            if connector == "||":
                branch = state.copy()
                outputs.append(self.pipeline(pipeline, branch, stdin))
                state.merge(branch)
            elif following == "&":
                outputs.append(self.pipeline(pipeline, state.copy(), stdin))
            else:
                outputs.append(self.pipeline(pipeline, state, stdin))
        return "".join(outputs)

    def pipeline(self, nodes: list[Node], state: State, stdin: str) -> str:
        if len(nodes) == 1:
            return self.node(nodes[0], state, stdin)
        for number, node in enumerate(nodes):
            # The last command of a pipeline runs in the shell itself in zsh.
            stdin = self.node(node, state.copy() if number < len(nodes) - 1 else state, stdin)
        return stdin

    def node(self, node: Node, state: State, stdin: str) -> str:
        """Interpret one command; return its output."""
        self.count_step()
        if node.kind == "simple":
            return self.simple(node, state, stdin)
        if node.kind == "function":
            state.functions[node.name] = node.body
            return ""
        outputs: list[str] = []
        for choice in self.choices(state, node.redirections):
            inner, files = self.redirected(node, state, stdin, choice)
            output = self.compound(node, state, inner)
            for path in files:
                self.write_text(path, output, state)
            outputs.append("" if files else output)
        return "".join(dict.fromkeys(outputs))

    def count_step(self) -> None:
        """Count one command. Raises TooComplexError after too many or too long."""
        self.steps += 1
        if self.steps > STEPS_MAX or monotonic() > self.deadline:
            raise TooComplexError("too long")

    def choices(self, state: State, redirections: Any) -> range:
        """Return the numbers of the possible values of redirected files."""
        self.words.width = 1
        for _, _, word, _ in redirections:
            if any(part[0] == "variable" for part in word):
                self.words.text(word, state, 0)
        return range(min(self.words.width, VALUES_MAX))

    def compound(self, node: Node, state: State, stdin: str) -> str:
        if node.kind in ("subshell", "coproc"):
            return self.commands(node.body, state.copy(), stdin)
        if node.kind == "group":
            return self.commands(node.body, state, stdin)
        if node.kind == "test":
            for word in node.words:
                self.words.fields(word, state, 0)
            return ""
        if node.kind in ("if", "case"):
            return self.branches(node, state, stdin)
        if node.kind == "for":
            values = [one for word in node.words for one in self.words.fields(word, state, 0)]
            if node.name:
                state.variables[node.name] = self.ranked(values) or [""]
            outputs = [self.commands(node.body, state, stdin) for _ in range(2)]
            return outputs[0]
        condition, body = node.branches[0]
        outputs = []
        for _ in range(2):
            stdin_after = self.loop_input(condition, state, stdin)
            outputs.append(self.commands(body, state, stdin_after))
        return outputs[0]

    def ranked(self, values: list[str]) -> list[str]:
        """Return the distinct values, those that may be system paths first."""
        distinct = list(dict.fromkeys(values))
        if len(distinct) > VALUES_MAX:
            distinct.sort(key=lambda one: not (one.startswith(("/", "~")) or ".." in one))
        return distinct[:VALUES_MAX]

    def loop_input(self, condition: list[Any], state: State, stdin: str) -> str:
        """Interpret the condition of a loop: `read` gets the lines of the input one by one."""
        self.commands(condition, state, stdin)
        return stdin

    def branches(self, node: Node, state: State, stdin: str) -> str:
        """Interpret every branch from the same state, and merge the states."""
        if node.kind == "case":
            patterns = [word for words, _ in node.branches for word in words]
            for word in (node.words[0], *patterns):
                self.words.fields(word, state, 0)
        outputs = []
        base = state.copy()
        ends = []
        for condition, body in node.branches:
            branch = base.copy()
            if node.kind == "if" and condition is not None:
                self.commands(condition, base, stdin)
                branch = base.copy()
            outputs.append(self.commands(body, branch, stdin))
            ends.append(branch)
        state.__dict__.update(base.__dict__)
        for end in ends:
            state.merge(end)
        return "\n".join(dict.fromkeys(outputs))

    # Simple commands

    def simple(self, node: Node, state: State, stdin: str) -> str:
        """Interpret a simple command once for each possible value of its variables."""
        outputs = []
        choice = width = 0
        while choice <= width and choice < VALUES_MAX:
            self.words.width = 1
            outputs.append(self.simple_once(node, state, stdin, choice))
            width = max(width, self.words.width - 1)
            choice += 1
        return "\n".join(dict.fromkeys(outputs)) if len(outputs) > 1 else outputs[0]

    def simple_once(self, node: Node, state: State, stdin: str, choice: int) -> str:
        for parts in node.indexes:
            self.words.text(parts, state, choice)
        words = [one for word in node.words for one in self.words.fields(word, state, choice)]
        width = self.words.width
        environment = state
        if node.assignments:
            environment = state.copy() if words else state
            for name, index, is_added, value in node.assignments:
                self.assign(name, index, value, environment, choice, is_added=is_added)
        width = max(width, self.words.width)
        stdin, files = self.redirected(node, state, stdin, choice)
        width = max(width, self.words.width)
        output = ""
        if words:
            before = dict(environment.variables)
            output = self.call(words, environment, stdin)
            if environment is not state:
                _keep_changes(state, environment, before)
        elif files:
            output = stdin if any(sign == "<" for _, sign, _, _ in node.redirections) else ""
        self.words.width = width
        for path in files:
            self.write_text(path, output, state)
        return "" if files else output

    def assign(
        self, name: str, index: str, value: Any, state: State, choice: int, *, is_added: bool
    ) -> None:
        """Interpret `name=value`."""
        if isinstance(value, tuple):
            items = [one for word in value[1] for one in self.words.fields(word, state, choice)]
            for item in items:
                if match := re.match(r"(\[[^]]*\])=(.*)", plain(item), re.DOTALL):
                    state.variables[name + re.sub(r"[\\\"']", "", match[1])] = [match[2]]
            items = [re.sub(r"^\[[^]]*\]=", "", plain(item)) for item in items]
            state.arrays[name] = (state.arrays.get(name, []) if is_added else []) + items
            state.variables.pop(name, None)
            return
        text = self.words.text(value, state, choice)
        if index:
            state.variables[name + re.sub(r"[\\\"']", "", index)] = [text]
            state.arrays[name] = [*state.arrays.get(name, []), text]
            return
        self.set_variable(name, text, state, choice, is_added=is_added)

    def set_variable(
        self, name: str, text: str, state: State, choice: int = 0, *, is_added: bool = False
    ) -> None:
        """Set a variable; the values of a loop's further passes are added."""
        previous = state.variables.get(name)
        if is_added:
            old = previous or [os.environ.get(name, "")]
            text = old[choice % len(old)] + text
        if choice and previous:
            state.variables[name] = self.ranked([*previous, text])
        else:
            state.variables[name] = [text]
        state.arrays.pop(name, None)

    def redirected(
        self, node: Node, state: State, stdin: str, choice: int
    ) -> tuple[str, list[str]]:
        """Interpret redirections; return the input and the files that get the output."""
        files = []
        for descriptor, sign, word, document in node.redirections:
            if sign in ("<<", "<<-"):
                stdin = self.words.text(document or [], state, choice)
                continue
            if sign == "<<<":
                stdin = self.words.text(word, state, choice) + "\n"
                continue
            for path in self.words.fields(word, state, choice):
                if sign in (">&", "<&") and re.fullmatch(r"[0-9-]+|[0-9]+-", plain(path)):
                    continue
                self.access(path, "write" if sign in _WRITES else "read", state)
                if sign in ("<", "<&"):
                    stdin = self.patch_text(path, state)
                elif descriptor in ("", "1") and sign != "<>":
                    files.append(path)
        return stdin, files

    def call(self, words: list[str], state: State, stdin: str) -> str:
        """Interpret a command: a function, alias, builtin or program. Return its output."""
        self.count_step()
        if self.call_depth > SCRIPTS_MAX:
            raise TooComplexError("nested too deeply")
        name = words[0]
        self.call_depth += 1
        try:
            if name in state.functions and self.call_depth < SCRIPTS_MAX:
                outer = state.positional
                state.positional = words[1:]
                output = self.commands(state.functions[name], state, stdin)
                state.positional = outer
                return output
            if name in state.aliases and not re.match(
                rf"\s*{re.escape(name)}\b", state.aliases[name]
            ):
                rest = " ".join(_quoted(word) for word in words[1:])
                return self.script_here(f"{state.aliases[name]} {rest}", state, stdin)
            if UNKNOWNS.fullmatch(name) and len(words) > 1:
                # Empty: then the next word is the program.
                self.call(words[1:], state.copy(), stdin)
            return self.run_program(self, words, state, stdin)
        finally:
            self.call_depth -= 1


_SYSTEM_PATH = re.compile(
    r"(?<![\w./~-])(?:~root(?![\w.-])[^\s'\"`;|&()<>]*"
    r"|(?:/|(?:\.\.?/)+)[^\s'\"`;|&()<>]*)"
)


def _keep_changes(state: State, environment: State, before: dict[str, list[str]]) -> None:
    """Keep what a builtin changed beside the variables of `NAME=value builtin`."""
    variables = state.variables
    state.__dict__.update({**environment.__dict__, "variables": variables})
    for name, values in environment.variables.items():
        if before.get(name) is not values:
            variables[name] = values


def mentioned_paths(text: str) -> list[str]:
    """Return the texts in a script that look like absolute paths or paths through `..`."""
    unquoted = re.sub(r"\\\n|[\\'\"]", "", text)
    paths = [*_SYSTEM_PATH.findall(text), *_SYSTEM_PATH.findall(unquoted)]
    return [path for path in dict.fromkeys(paths) if path.strip("/")][:200]  # `/` divides, too


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _pattern(value: str) -> str:
    """Return a path whose active wildcards are plain, quoted ones and unknown parts protected."""
    return plain(re.sub(r"[*?\[]", r"[\g<0>]", UNKNOWNS.sub("*", value)))


def _displayed(path: str) -> str:
    """Return a path without protected wildcards; `*` is a part that only a run would show."""
    return re.sub(r"\[([*?\[])\]", r"\1", path).replace("*", UNKNOWN_NAME)

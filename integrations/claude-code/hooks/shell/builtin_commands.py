"""Commands of the shell itself: folders, variables, input, and scripts within the script."""

from __future__ import annotations

import re

from .values import UNKNOWN, UNKNOWNS, VALUES_MAX, plain, script_text
from .word_parser import unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .calls import Call

# Values of these are commands.
_COMMAND_VARIABLES = frozenset(
    "PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND "
    "BROWSER GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE PROMPT_COMMAND "
    "RESTIC_PASSWORD_COMMAND".split()
)


def variable_command(call: Call, name: str, value: str) -> None:
    """Interpret the value of a variable that a program will run, once."""
    if (name, value) in call.interpreter.variable_commands:
        return
    if name in _COMMAND_VARIABLES or name in ("BASH_ENV", "ENV"):
        call.interpreter.variable_commands.add((name, value))
    if name in _COMMAND_VARIABLES and re.search(r"\s", value):
        call.script(re.sub(r"^\|?-?", "", script_text(value)))
    if name in ("BASH_ENV", "ENV"):
        call.script(f". '{plain(value)}'")


def _cd(call: Call) -> str:
    names = [word for word in call.arguments if not re.fullmatch(r"-[LPe@q]*|--", plain(word))]
    state = call.state
    if "-" in call.arguments:
        state.cwds, state.previous_cwds = state.previous_cwds, state.cwds
        return ""
    if call.name == "pushd":
        state.folders.append(list(state.cwds))
    if not names and call.name == "pushd":
        return ""
    target = names[-1] if names else call.interpreter.words.variable("HOME", state, 0)
    state.previous_cwds = state.cwds
    if UNKNOWNS.match(target):
        rest = target.lstrip(target[0])
        state.cwds = [target[0], *([rest] if rest.startswith("/") else [])]
    else:
        state.enter(call.interpreter.location.expand_home(plain(target)))
    return ""


def _popd(call: Call) -> str:
    if call.state.folders:
        call.state.cwds = call.state.folders.pop()
    return ""


def _declare(call: Call) -> str:
    """Interpret `export NAME=value`, `declare -a NAME=(values)` and the like."""
    name, items = "", []
    state = call.state
    for word in [*call.arguments, "_="]:
        match = re.match(r"([A-Za-z_]\w*)(\+?)=(.*)", word, re.DOTALL)
        if not match:
            items.append(word)
            if keyed := re.match(r"(\[[^]]*\])=(.*)", plain(word), re.DOTALL):
                state.variables[name + re.sub(r"[\\\"']", "", keyed[1])] = [keyed[2]]
            continue
        if name and len(items) > 1:
            state.arrays[name] = items
        name, items = match[1], [match[3]]
        if word != "_=":
            old = call.interpreter.words.variable(name, state, 0) if match[2] else ""
            state.variables[name] = [old + match[3]]
            if keyed := re.match(r"(\[[^]]*\])=(.*)", plain(match[3]), re.DOTALL):
                state.variables[name + re.sub(r"[\\\"']", "", keyed[1])] = [keyed[2]]
            variable_command(call, name, match[3])
            if "-n" in call.arguments:
                state.references[name] = match[3]
    return ""


def _read(call: Call) -> str:
    options, names = call.options("adinNptu" if call.name == "read" else "dnOsuCc")
    array = next((value for name, value in options if name == "a"), "")
    lines = [line for line in call.stdin.split("\n") if line] or [""]
    if array or call.name in ("mapfile", "readarray"):
        for option, value in options:
            if option == "C" and call.name != "read":
                call.script(value)
        name = array or (names[-1] if names else "MAPFILE")
        items = lines if not array else lines[0].split()
        call.state.arrays[plain(name)] = [unescaped(item) for item in items]
        return ""
    for number, name in enumerate(names or ["REPLY"]):
        is_last = number == len(names) - 1 or not names
        values = []
        for line in lines:
            fields = line.split(None, number) if is_last else line.split()
            values.append(fields[number] if number < len(fields) else "")
        if UNKNOWNS.search(call.stdin):
            hints = call.interpreter.words.hints_of(call.stdin)
            certain = [value for value in values if value and not UNKNOWNS.search(value)]
            values = [*certain, *(v for v in values if UNKNOWNS.search(v))]
            values.append(call.interpreter.words.unknown(hints))
        call.state.variables[plain(name)] = list(dict.fromkeys(values))[:VALUES_MAX]
    return ""


def _set(call: Call) -> str:
    words = call.arguments
    if "--" in words:
        call.state.positional = words[words.index("--") + 1 :]
    elif words and not words[0].startswith(("-", "+")):
        call.state.positional = list(words)
    return ""


def _shift(call: Call) -> str:
    if call.state.positional:
        count = plain(call.arguments[0]) if call.arguments else "1"
        del call.state.positional[: int(count) if count.isdigit() else 1]
    return ""


def _unset(call: Call) -> str:
    for name in call.arguments:
        call.state.variables[plain(name)] = [""]
        call.state.arrays.pop(plain(name), None)
        call.state.functions.pop(plain(name), None)
    return ""


def _eval(call: Call) -> str:
    text = " ".join(call.arguments)
    if UNKNOWNS.fullmatch(text):
        call.unreadable_script(text)
    return call.interpreter.script_here(text, call.state, call.stdin)


def _source(call: Call) -> str:
    if not call.arguments:
        return ""
    path = call.arguments[0]
    call.read(path)
    text = call.text_of(path)
    if UNKNOWNS.search(text):
        call.unreadable_script(text)
        return UNKNOWN
    outer = call.state.positional
    call.state.positional = call.arguments[1:] or outer
    output = call.interpreter.script_here(text, call.state, call.stdin)
    call.state.positional = outer
    return output


def _command(call: Call) -> str:
    """Interpret `command`, `builtin`, `exec`, `noglob` and the like."""
    options, words = call.options("a" if call.name == "exec" else "", stops=True)
    if any(name in ("v", "V") for name, _ in options):
        return call.interpreter.words.unknown()
    return call.run(words) if words else ""


def _trap(call: Call) -> str:
    for word in call.arguments[:1]:
        call.script(word)
    return ""


def _alias(call: Call) -> str:
    for word in call.arguments:
        name, sign, value = script_text(word).partition("=")
        if sign:
            call.state.aliases[name] = value
    return ""


def _echo(call: Call) -> str:
    words = list(call.arguments)
    is_escaped = False
    while words and re.fullmatch(r"-[neE]+", plain(words[0])):
        is_escaped = is_escaped or "e" in words[0]
        words.pop(0)
    text = script_text(" ".join(words))
    if is_escaped:
        return unescaped(text) + "\n"
    # zsh and dash replace escapes, bash does not.
    other = f"{unescaped(text)}\n" if re.search(r"\\[0x]", text) else ""
    return f"{text}\n{other}"


def _printf(call: Call) -> str:
    words = list(call.arguments)
    name = ""
    if len(words) > 1 and words[0] == "-v":
        name, words = plain(words[1]), words[2:]
    if words and words[0] == "--":
        words.pop(0)
    if not words:
        return ""
    template, values = unescaped(script_text(words[0])), [script_text(word) for word in words[1:]]
    output, rest = "", values
    for _ in range(VALUES_MAX):
        text, rest = _formatted(template, rest)
        output += text
        if not rest or "%" not in template:
            break
    if name:
        call.interpreter.set_variable(name, output, call.state)
        return ""
    return output


def _formatted(template: str, values: list[str]) -> tuple[str, list[str]]:
    """Return one pass of printf's format, and the values that are left."""
    rest = list(values)

    def replacement(match: re.Match[str]) -> str:
        sign = match[1]
        if sign == "%":
            return "%"
        value = rest.pop(0) if rest else ""
        if sign == "c":
            return value[:1]
        return unescaped(value) if sign == "b" else value

    return re.sub(r"%[-+ 0#]*[0-9*]*(?:\.[0-9*]+)?([a-zA-Z%])", replacement, template), rest


def _history(call: Call) -> str:
    for name, path in zip(call.arguments, call.arguments[1:], strict=False):
        if name in ("-w", "-a"):
            call.write(path)
        elif name in ("-r", "-n"):
            call.read(path)
    return UNKNOWN


def _nothing(_call: Call) -> str:
    return ""


HANDLERS: dict[str, Callable[[Call], str]] = {
    **dict.fromkeys(("cd", "pushd", "chdir"), _cd),
    **dict.fromkeys(("export", "declare", "local", "typeset", "readonly"), _declare),
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    **dict.fromkeys(("command", "builtin", "exec", "noglob", "nocorrect", "-"), _command),
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(
        ": true false test [ type which hash kill wait jobs sleep umask ulimit shopt setopt exit "
        "return break continue let getopts fg bg times date uname whoami id hostname "
        "caller logout disown complete compgen bind enable help".split(),
        _nothing,
    ),
    "popd": _popd,
    "history": _history,
    "fc": _history,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "echo": _echo,
    "print": _echo,
    "printf": _printf,
}

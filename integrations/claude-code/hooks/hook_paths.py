"""System files that a tool call accesses: these need a grant of the owner.

The project, the user's own home and temporary folders contain no system files, and programs in the
usual folders need no grant to be run. A command line is parsed, not executed: accesses through
variables, scripts, a program's own settings or a service are not detected.
"""

from __future__ import annotations

import itertools
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TARGETS_MAX = 20  # checks for one call
SHELL_DEPTH_MAX = 5  # nested `sh -c` commands
PATH_CHARACTERS_MAX = 4096

# Folders of the system, its services and other people. The longest match decides: folders in FREE
# need no grant even if they are below one in WRITE or READ.
WRITE = (
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin "
    "/srv /sys /usr /var /Applications /Library /System /Users /Volumes /cores /nix /snap"
).split()
READ = (
    "/boot /etc /home /root /srv /sys/firmware /var/backups /var/lib /var/log /var/mail /var/spool "
    "/Users /proc/kcore"
).split()
FREE = (
    "/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin "
    "/dev/stdout /dev/tty /dev/urandom /dev/zero /proc/self /tmp /var/tmp /var/folders "
    "/Users/Shared"
).split()
# Folders of agents, in a home that is /root.
AGENT_FOLDERS = (
    ".claude",
    ".codex",
    ".cursor",
    ".agents",
    ".cache",
    ".local/state",
    ".local/share",
)
SECRET_FOLDERS = (".ssh", ".gnupg")  # in the user's own home: keys of other machines
PROGRAM_FOLDERS = (
    "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/lib /usr/libexec /opt /nix "
    "/snap /Applications"
).split()


class Location:
    """Location of a tool call: its working folder, the projects, and the user's home."""

    def __init__(self, cwd: str, projects: list[str], home: str) -> None:
        self.cwd = cwd or "/"
        self.home = os.path.realpath(home)
        real_paths = [os.path.realpath(project) for project in projects]
        self.projects = [path for path in real_paths if path != "/"]

    def target(self, path: str, action: str) -> tuple[str, str] | None:
        """Return the resolved path and the action; None if no grant is needed."""
        if "\0" in path or not path:
            return None
        path = os.path.join(self.cwd, self.expand_home(path))
        real_path = _without_private(os.path.realpath(path))
        return None if self._is_free(real_path, action) else (real_path, action)

    def expand_home(self, path: str) -> str:
        """Replace a leading ~ or $HOME."""
        if path in ("~", "$HOME", "${HOME}") or path.startswith(("~/", "$HOME/", "${HOME}/")):
            return self.home + path[path.find("/") :] if "/" in path else self.home
        return os.path.expanduser(path) if path.startswith("~") else path

    def _is_free(self, path: str, action: str) -> bool:
        """Return True if the action on this path needs no grant."""
        if any(_is_below(path, os.path.join(self.home, name)) for name in SECRET_FOLDERS):
            return False
        names = AGENT_FOLDERS if self.home == "/root" else ("",)
        homes = [os.path.join(self.home, name) for name in names]
        folders = (*self.projects, *FREE, *homes, *self._temporary_folders())
        if any(_is_below(path, folder.rstrip("/")) for folder in folders):
            return True
        if action == "exec":
            return (
                _is_below(path, self.home)
                or not any(_is_below(path, folder) for folder in WRITE)
                or any(_is_below(path, folder) for folder in PROGRAM_FOLDERS)
            )
        if action == "read":
            return not any(_is_below(path, folder) for folder in READ)
        return path != "/" and not any(_is_below(path, folder) for folder in WRITE)

    def _temporary_folders(self) -> list[str]:
        folder = os.environ.get("TMPDIR") or ""
        path = _without_private(os.path.realpath(folder)) if folder.startswith("/") else ""
        return [path] if path.count("/") > 1 else []


def accessed_paths(
    tool: str, arguments: dict[str, Any], location: Location
) -> list[tuple[str, str]]:
    """Return the distinct paths and actions of a tool call that need a grant."""
    targets: list[tuple[str, str] | None] = []
    name = tool.lower()
    if name in ("bash", "shell", "local_shell", "exec_command", "powershell"):
        targets = _command_targets(_command_text(arguments), location)
    elif name == "apply_patch":
        header = r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$"
        for verb, path in re.findall(header, _command_text(arguments), re.MULTILINE):
            action = "delete" if verb == "Delete File" else "write"
            targets.append(location.target(path, action))
    else:
        if name in ("read", "read_file"):
            action = "read"
        else:
            action = "delete" if name in ("delete", "delete_file") else "write"
        for argument in ("file_path", "notebook_path", "path", "target_file"):
            if isinstance(arguments.get(argument), str):
                targets.append(location.target(arguments[argument], action))
    return list(dict.fromkeys(target for target in targets if target))


def _command_text(arguments: dict[str, Any]) -> str:
    command = arguments.get("command") or arguments.get("cmd") or arguments.get("input") or ""
    if isinstance(command, list):
        return " ".join(str(word) for word in command)
    return str(command)


_WRITERS = set(
    "tee touch mkdir mkfifo mknod truncate chmod chown chgrp chattr setfacl patch ed crontab "
    "useradd visudo mkswap mount umount".split()
)
_DELETERS = set("rm rmdir unlink shred wipefs".split())
# These write their last argument and read the others; mv deletes them.
_MOVERS = set("cp mv install ln rsync scp".split())
_READERS = set(
    "cat head tail less more grep egrep fgrep rg zcat strings xxd od hexdump wc sort diff cmp cut "
    "awk base64 sha256sum md5sum".split()
)
# Relative arguments of these are paths.
_PATH_COMMANDS = _WRITERS | _DELETERS | _MOVERS | _READERS | {"sed", "perl", "find", "dd"}
# Relative arguments of these are text, not paths.
_TEXT_COMMANDS = set(
    "echo printf true false export set alias test [ [[ cd pushd ls stat file which type command "
    "git".split()
)
# Words that may precede the program of a command.
_PREFIXES = set(
    "sudo doas env nohup time timeout nice ionice exec command builtin stdbuf setsid xargs then do "
    "else if while until ! {".split()
)
_OUTPUT_OPTIONS = {
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "curl": ("-o", "--output"),
    "wget": ("-O", "-P", "--output-document", "--directory-prefix"),
    **dict.fromkeys(_MOVERS, ("-t", "--target-directory")),
}
# Options of prefixes that take a value.
_VALUE_OPTIONS = set("-u -g -n -C -h -p -T -U -I -P -d --user --group --chdir".split())
_SHELLS = set("sh bash zsh dash ksh ash eval su".split())
_SEPARATORS = {";", "&", "&&", "|", "||", "|&", "\n", "(", ")", ";;"}
_REDIRECTION = re.compile(
    r"(?:[0-9]+|&)?(?P<sign>>>|>\||>&|<>|>|<<<|<<-?|<)(?P<rest>.*)", re.DOTALL
)


def _command_targets(
    command: str, location: Location, depth: int = 0
) -> list[tuple[str, str] | None]:
    targets: list[tuple[str, str] | None] = []
    here = Location(location.cwd, location.projects, location.home)
    for words in _simple_commands(command):
        program, arguments, redirections = _split_command(words)
        targets += [here.target(path, action) for path, action in redirections]
        if program in ("cd", "pushd") and arguments:
            here.cwd = os.path.join(here.cwd, here.expand_home(arguments[0]))
            continue
        if "/" in program:
            targets.append(here.target(program, "exec"))
            program = program.rpartition("/")[2]
        if program in _SHELLS and depth < SHELL_DEPTH_MAX:
            targets += _command_targets(_shell_script(program, arguments), here, depth + 1)
        targets += [here.target(path, action) for path, action in _arguments(program, arguments)]
    return targets


def _shell_script(program: str, arguments: list[str]) -> str:
    """Return the script of `sh -c SCRIPT` or `eval SCRIPT`; empty if there is none."""
    options = ["-c" if program == "eval" else "", *arguments]
    return next(
        (script for option, script in itertools.pairwise(options) if re.match(r"-\w*c$", option)),
        "",
    )


def _split_command(words: list[str]) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Return the program, the arguments and the redirected files of a simple command."""
    others: list[str] = []
    redirections: list[tuple[str, str]] = []
    pending_sign = ""
    for word in words:
        match = None if pending_sign else _REDIRECTION.fullmatch(word)
        if pending_sign:
            redirections += _redirection(pending_sign, word)
            pending_sign = ""
        elif match and match["rest"]:
            redirections += _redirection(match["sign"], match["rest"])
        elif match:
            pending_sign = match["sign"]
        else:
            others.append(word)
    while others and _is_prefix(others[0]):
        del others[: 2 if others[0] in _VALUE_OPTIONS else 1]
    return (others[0] if others else ""), others[1:], redirections


def _redirection(sign: str, word: str) -> list[tuple[str, str]]:
    is_document = sign in ("<<", "<<-", "<<<")
    if is_document or re.fullmatch(r"&?[0-9-]+", word):
        return []
    action = "read" if sign == "<" else "write"
    return [(path, action) for path in _expand(word)]


def _is_prefix(word: str) -> bool:
    """Return True for a word before the program: a prefix, its option, number or variable."""
    return word in _PREFIXES or bool(re.match(r"[A-Za-z_]\w*=|-|[0-9.]+[smhd]?$", word))


def _arguments(program: str, arguments: list[str]) -> list[tuple[str, str]]:
    """Return the paths among the arguments, with the action of the program.

    Relative paths count only for known programs.
    """
    is_known = program in _PATH_COMMANDS
    paths = []  # with the word that decides the action
    for previous, word in zip(["", *arguments], arguments, strict=False):
        path = re.sub(r"^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=/))", "", word)
        is_absolute = path.startswith(("/", "~", "$HOME/", "${HOME}/"))
        if is_absolute or (is_known and not path.startswith("-") and "://" not in path):
            is_output = previous in _OUTPUT_OPTIONS.get(program, ())
            context = f"{previous} {word}" if is_output else word
            paths += [(expanded, context) for expanded in _expand(path)]
    options = [word for word in arguments if word.startswith("-")]
    last = len(paths) - 1
    return [
        (path, _action(program, options, context, is_last=i == last))
        for i, (path, context) in enumerate(paths)
        if _may_be_path(path, program)
    ]


def _may_be_path(path: str, program: str) -> bool:
    is_text = program in _TEXT_COMMANDS and not path.startswith(("/", "~", "$"))
    return not is_text and len(path) <= PATH_CHARACTERS_MAX


def _action(program: str, options: list[str], word: str, *, is_last: bool) -> str:
    if program in _DELETERS or (program == "find" and "-delete" in options):
        return "delete"
    is_in_place = program in ("sed", "perl") and any(
        re.match(r"-[a-zA-Z]*i|--in-place", option) for option in options
    )
    if (
        program in _WRITERS
        or is_in_place
        or word.startswith(_OUTPUT_OPTIONS.get(program, ("\0",)))
        or (program in _MOVERS and is_last)
        or (program == "dd" and word.startswith("of="))
    ):
        return "write"
    return "delete" if program == "mv" else "read"


def _expand(word: str) -> list[str]:
    """Expand braces and wildcards like a shell.

    A word without matches is returned as it is. Of very many results, a few more than TARGETS_MAX
    are returned.
    """
    expanded: list[str] = []
    pending = [word]
    while pending and len(expanded) + len(pending) <= TARGETS_MAX:
        candidate = pending.pop()
        brace = re.search(r"\{([^{}]*,[^{}]*)\}", candidate)
        if brace:
            pending += [
                candidate[: brace.start()] + part + candidate[brace.end() :]
                for part in reversed(brace[1].split(","))
            ]
        else:
            expanded.append(candidate)
    expanded += pending
    if not word.startswith("/"):
        return expanded
    return [path for candidate in expanded for path in _glob(candidate)]


def _glob(word: str) -> list[str]:
    if not any(sign in word for sign in "*?["):
        return [word]
    import glob

    matches = itertools.islice(glob.iglob(word), TARGETS_MAX + 1)
    return list(matches) or [word]


def _simple_commands(command: str) -> list[list[str]]:
    """Return the unquoted words of each simple command, also inside `$(...)` and backticks."""
    commands: list[list[str]] = [[]]
    for word in _words(_without_documents(command)):
        if word in _SEPARATORS:
            commands.append([])
        else:
            commands[-1].append(word)
    return [words for words in commands if words]


def _without_documents(command: str) -> str:
    """Return the command without its here-documents. An unterminated one stays in."""
    if "<<" not in command:
        return command
    lines = command.split("\n")
    positions: dict[str, list[int]] = {}  # of each line, last one first
    for number in range(len(lines) - 1, -1, -1):
        positions.setdefault(lines[number].strip(), []).append(number)
    remaining, number = [], 0
    while number < len(lines):
        remaining.append(lines[number])
        opening = re.search(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", lines[number])
        number += 1
        ends = positions.get(opening[2], []) if opening else []
        while ends and ends[-1] < number:
            ends.pop()
        if ends:
            number = ends[-1] + 1
    return "\n".join(remaining)


_WORD = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n|(?:(?<=\s)|^)#[^\n]*)"
    r"|(?P<separator>\|\||&&|;;|\|&|[;|()\n`]|\$\(|&(?![>0-9]))"
    r"|(?P<redirection>(?:[0-9]+(?=[<>])|&(?=>))?(?:>>|>\||>&|<<<|<<-?|<>|>|<))"
    r"|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)"
    r"|(?P<plain>[^\s'\"\\;|&()<>`$#]+|.)",
    re.DOTALL,
)


def _words(command: str) -> list[str]:
    """Split a command line into words, separators and redirection signs."""
    words: list[str] = []
    substitutions: list[str] = []  # words of `"$(...)"`
    current: str | None = None
    for match in _WORD.finditer(command):
        kind = match.lastgroup
        if kind in ("blank", "separator", "redirection"):
            if current is not None:
                words.append(current)
                current = None
            if kind == "separator":
                sign = match["separator"]
                words.append(";" if sign in ("`", "$(", "(", ")") else sign)
            elif kind == "redirection":
                words.append(match["redirection"])
        elif kind == "double":
            text = match["double"]
            current = (current or "") + re.sub(r"\\([\\\"$`])", r"\1", text)
            if "$(" in text or "`" in text:
                script = text.replace("$(", ";").replace("`", ";").replace(")", ";")
                substitutions += [";", *_words(script)]
        else:
            current = (current or "") + (match[kind] if kind else "")
    return [*words, *([] if current is None else [current]), *substitutions]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _without_private(path: str) -> str:
    """Remove macOS's prefix `/private`, which paths in commands and grants omit."""
    is_private = path.startswith(("/private/etc", "/private/var", "/private/tmp"))
    return path.removeprefix("/private") if is_private else path

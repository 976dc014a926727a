"""Find the system files that a tool call touches, which need an owner's grant.

The project, the user's own home and temporary folders contain no system files, and running
programs from the usual folders needs no grant. Command lines are parsed, not run: files reached
through variables, scripts, a program's own settings or services are not found.
"""

from __future__ import annotations

import itertools
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TARGETS_MAX = 20  # checks for one call
SHELLS_MAX = 5  # nesting depth
# Folders of the system, its services and other users. FREE folders below them need no grant.
WRITE = (
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run "
    "/sbin /srv /sys /usr /var /Applications /Library /System /Users /Volumes /cores /nix "
    "/snap"
).split()
READ = ("/boot /etc /home /root /srv /sys/firmware /var/backups /var/lib /var/log /var/mail /var/spool /Users /proc/kcore").split()
FREE = (
    "/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr "
    "/dev/stdin /dev/stdout /dev/tty /dev/urandom /dev/zero /proc/self /tmp /var/tmp "
    "/var/folders /Users/Shared"
).split()
OWN_OF_AGENTS = (".claude", ".codex", ".cursor", ".agents", ".cache", ".local/state", ".local/share")  # in root's home
SECRET = (".ssh", ".gnupg")  # in the user's own home: keys for other machines
PROGRAMS = ("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/lib /usr/libexec /opt /nix /snap /Applications").split()


class Place:
    """The context of a tool call: working folder, project folders, the user's home."""

    def __init__(self, cwd: str, projects: list[str], home: str) -> None:
        self.cwd = cwd or "/"
        self.home = os.path.realpath(home)
        self.projects = [real for project in projects if (real := os.path.realpath(project)) != "/"]

    def target(self, path: str, action: str) -> tuple[str, str] | None:
        """Return the resolved path with the action, or None if no grant is needed."""
        if "\0" in path or not path:
            return None
        path = os.path.join(self.cwd, self._at_home(path))
        real = _plain(os.path.realpath(path))
        if self._is_free(real, action):
            return None
        return (real, action)

    def _at_home(self, path: str) -> str:
        if path in ("~", "$HOME", "${HOME}") or path.startswith(("~/", "$HOME/", "${HOME}/")):
            return self.home + path[path.find("/") :] if "/" in path else self.home
        return os.path.expanduser(path) if path.startswith("~") else path

    def _is_free(self, real: str, action: str) -> bool:
        homes = [os.path.join(self.home, name) for name in (OWN_OF_AGENTS if self.home == "/root" else ("",))]
        if any(_is_below(real, os.path.join(self.home, name)) for name in SECRET):
            return False
        if any(_is_below(real, folder.rstrip("/")) for folder in (*self.projects, *FREE, *homes, *self._temporary())):
            return True
        if action == "exec" and _is_below(real, self.home):
            return True
        if action == "exec":
            return not any(_is_below(real, folder) for folder in WRITE) or any(_is_below(real, folder) for folder in PROGRAMS)
        return not any(_is_below(real, folder) for folder in (READ if action == "read" else WRITE)) and (action == "read" or real != "/")

    def _temporary(self) -> list[str]:
        named = os.environ.get("TMPDIR") or ""
        real = _plain(os.path.realpath(named)) if named.startswith("/") else ""
        return [real] if real.count("/") > 1 else []


def system_targets(tool: str, arguments: dict[str, Any], place: Place) -> list[tuple[str, str]]:
    """Return the paths and actions of one tool call that need a grant, without duplicates."""
    targets: list[tuple[str, str] | None] = []
    name = tool.lower()
    if name in ("bash", "shell", "local_shell", "exec_command", "powershell"):
        targets = _command_targets(_command(arguments), place)
    elif name == "apply_patch":
        patch = _command(arguments)
        for verb, path in re.findall(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", patch, re.MULTILINE):
            targets.append(place.target(path, "delete" if verb == "Delete File" else "write"))
    else:
        action = "read" if name in ("read", "read_file") else "delete" if name in ("delete", "delete_file") else "write"
        for member in ("file_path", "notebook_path", "path", "target_file"):
            if isinstance(arguments.get(member), str):
                targets.append(place.target(arguments[member], action))
    return list(dict.fromkeys(target for target in targets if target))


def _command(arguments: dict[str, Any]) -> str:
    command = arguments.get("command") or arguments.get("cmd") or arguments.get("input") or ""
    return " ".join(str(word) for word in command) if isinstance(command, list) else str(command)


_WRITERS = set(
    ("tee touch mkdir mkfifo mknod truncate chmod chown chgrp chattr setfacl patch ed crontab useradd visudo mkswap mount umount").split()
)
_DELETERS = set("rm rmdir unlink shred wipefs".split())
_MOVERS = set("cp mv install ln rsync scp".split())  # write the last argument, read the others (mv: delete)
_READERS = set(
    ("cat head tail less more grep egrep fgrep rg zcat strings xxd od hexdump wc sort diff cmp cut awk base64 sha256sum md5sum").split()
)
_NEUTRAL = set("echo printf true false export set alias test [ [[ cd pushd ls stat file which type command git".split())
_PREFIXES = set(
    ("sudo doas env nohup time timeout nice ionice exec command builtin stdbuf setsid xargs then do else if while until ! {").split()
)
_OUTPUTS = {  # options that name an output
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "curl": ("-o", "--output"),
    "wget": ("-O", "-P", "--output-document", "--directory-prefix"),
    **dict.fromkeys(_MOVERS, ("-t", "--target-directory")),
}
_WITH_VALUE = set("-u -g -n -C -h -p -T -U -I -P -d --user --group --chdir".split())  # options of prefix commands with a value
_SHELLS = set("sh bash zsh dash ksh ash eval su".split())
_SEPARATORS = {";", "&", "&&", "|", "||", "|&", "\n", "(", ")", ";;"}
_REDIRECT = re.compile(r"(?:[0-9]+|&)?(?P<sign>>>|>\||>&|<>|>|<<<|<<-?|<)(?P<rest>.*)", re.DOTALL)


def _command_targets(command: str, place: Place, depth: int = 0) -> list[tuple[str, str] | None]:
    targets: list[tuple[str, str] | None] = []
    here = Place(place.cwd, place.projects, place.home)
    for words in _simple_commands(command):
        verb, rest, redirections = _split(words)
        targets += [here.target(path, action) for path, action in redirections]
        if verb in ("cd", "pushd") and rest:
            here.cwd = os.path.join(here.cwd, here._at_home(rest[0]))  # noqa: SLF001 - the same module
            continue
        if "/" in verb:
            targets.append(here.target(verb, "exec"))
            verb = verb.rpartition("/")[2]
        if verb in _SHELLS and depth < SHELLS_MAX:
            script = next(
                (after for flag, after in itertools.pairwise(["-c" if verb == "eval" else "", *rest]) if re.match(r"-\w*c$", flag)), ""
            )
            targets += _command_targets(script, here, depth + 1)
        targets += [here.target(path, action) for path, action in _arguments(verb, rest)]
    return targets


def _split(words: list[str]) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Return the program, the arguments and the redirected files of a simple command."""
    command: list[str] = []
    targets: list[tuple[str, str]] = []
    waiting = ""
    for word in words:
        match = None if waiting else _REDIRECT.fullmatch(word)
        if waiting or (match and match["rest"]):
            sign, path = (waiting, word) if waiting else (match["sign"], match["rest"]) if match else ("", "")
            if sign not in ("<<", "<<-", "<<<") and not re.fullmatch(r"&?[0-9-]+", path):
                targets += [(target, "read" if sign == "<" else "write") for target in _expand(path)]
            waiting = ""
        elif match:
            waiting = match["sign"]
        else:
            command.append(word)
    while command and (command[0] in _PREFIXES or re.match(r"[A-Za-z_]\w*=|-|[0-9.]+[smhd]?$", command[0])):
        del command[: 2 if command[0] in _WITH_VALUE else 1]
    return (command[0] if command else ""), command[1:], targets


def _arguments(verb: str, rest: list[str]) -> list[tuple[str, str]]:
    """Return the paths among the arguments with the program's actions.

    Relative paths count only for known programs.
    """
    is_known = verb in _WRITERS or verb in _DELETERS or verb in _MOVERS or verb in _READERS or verb in ("sed", "perl", "find", "dd")
    paths = []
    for before, word in zip(["", *rest], rest, strict=False):
        bare = re.sub(r"^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=/))", "", word)
        if bare.startswith(("/", "~", "$HOME/", "${HOME}/")) or (is_known and not bare.startswith("-") and "://" not in bare):
            paths += [(path, f"{before} {word}" if before in _OUTPUTS.get(verb, ()) else word) for path in _expand(bare)]
    flags = [word for word in rest if word.startswith("-")]
    last = len(paths) - 1
    return [(path, _action(verb, flags, word, is_last=place == last)) for place, (path, word) in enumerate(paths) if _may_be(path, verb)]


def _may_be(path: str, verb: str) -> bool:
    return not (verb in _NEUTRAL and not path.startswith(("/", "~", "$"))) and len(path) <= 4096


def _action(verb: str, flags: list[str], word: str, *, is_last: bool) -> str:
    if verb in _DELETERS or (verb == "find" and "-delete" in flags):
        return "delete"
    if verb in _WRITERS or (verb in ("sed", "perl") and any(re.match(r"-[a-zA-Z]*i|--in-place", flag) for flag in flags)):
        return "write"
    if word.startswith(_OUTPUTS.get(verb, ("\0",))):
        return "write"
    if verb in _MOVERS:
        return "write" if is_last else "delete" if verb == "mv" else "read"
    if verb == "dd":
        return "write" if word.startswith("of=") else "read"
    return "read"


def _expand(word: str) -> list[str]:
    """Expand braces and wildcards like a shell.

    Return the word itself without matches, and at most a few paths more than allowed.
    """
    words: list[str] = []
    pending = [word]
    while pending and len(words) + len(pending) <= TARGETS_MAX:
        item = pending.pop()
        brace = re.search(r"\{([^{}]*,[^{}]*)\}", item)
        if brace:
            pending += [item[: brace.start()] + part + item[brace.end() :] for part in reversed(brace[1].split(","))]
        else:
            words.append(item)
    words += pending
    return [path for item in words for path in _glob(item)] if word.startswith("/") else words


def _glob(word: str) -> list[str]:
    if not any(sign in word for sign in "*?["):
        return [word]
    import glob

    matches = [path for path, _ in zip(glob.iglob(word), range(TARGETS_MAX + 1), strict=False)]
    return matches or [word]


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
    """Return the command without the content of its here-documents, except unterminated ones."""
    if "<<" not in command:
        return command
    lines = command.split("\n")
    ends: dict[str, list[int]] = {}
    for index in range(len(lines) - 1, -1, -1):
        ends.setdefault(lines[index].strip(), []).append(index)
    remaining, index = [], 0
    while index < len(lines):
        remaining.append(lines[index])
        opening = re.search(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", lines[index])
        index += 1
        after = ends.get(opening[2], []) if opening else []
        while after and after[-1] < index:
            after.pop()
        if after:
            index = after[-1] + 1
    return "\n".join(remaining)


_WORD = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n|(?:(?<=\s)|^)#[^\n]*)"
    r"|(?P<joint>\|\||&&|;;|\|&|[;|()\n`]|\$\(|&(?![>0-9]))"
    r"|(?P<redirect>(?:[0-9]+(?=[<>])|&(?=>))?(?:>>|>\||>&|<<<|<<-?|<>|>|<))"
    r"|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)|(?P<plain>[^\s'\"\\;|&()<>`$#]+|.)",
    re.DOTALL,
)


def _words(command: str) -> list[str]:
    words: list[str] = []
    inner: list[str] = []  # the content of `"$(...)"`
    now: str | None = None
    for match in _WORD.finditer(command):
        kind = match.lastgroup
        if kind in ("blank", "joint", "redirect"):
            if now is not None:
                words.append(now)
                now = None
            if kind == "joint":
                words.append(";" if match["joint"] in ("`", "$(", "(", ")") else match["joint"])
            elif kind == "redirect":
                words.append(match["redirect"])
        elif kind == "double":
            now = (now or "") + re.sub(r"\\([\\\"$`])", r"\1", match["double"])
            if "$(" in match["double"] or "`" in match["double"]:
                inner += [";", *_words(match["double"].replace("$(", ";").replace("`", ";").replace(")", ";"))]
        else:
            now = (now or "") + (match[kind] if kind else "")
    return [*words, *([] if now is None else [now]), *inner]


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _plain(path: str) -> str:
    """Remove macOS's prefix `/private`."""
    return path.removeprefix("/private") if path.startswith(("/private/etc", "/private/var", "/private/tmp")) else path

"""Which system files a tool call touches, and how: what needs an owner's grant before it is done.

The project, the user's own home and the folders for temporary files hold no system files; nor do programs need a
grant that a command starts from the usual folders. A command line is read, not run: what a variable, a script, a program's own settings or
a service reaches is not seen.
"""

from __future__ import annotations

import itertools
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TARGETS_MAX = 20  # checks for one call
SHELLS_MAX = 5  # one in another
# Folders whose files belong to the system, to its services or to other people. Longer ones win: what is `free` under one needs no grant.
WRITE = (
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr /var "
    "/Applications /Library /System /Users /Volumes /cores /nix /snap"
).split()
READ = "/boot /etc /home /root /srv /sys/firmware /var/backups /var/lib /var/log /var/mail /var/spool /Users /proc/kcore".split()
FREE = (
    "/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm /dev/stderr /dev/stdin /dev/stdout /dev/tty /dev/urandom "
    "/dev/zero /proc/self /tmp /var/tmp /var/folders /Users/Shared"
).split()
OWN_OF_AGENTS = (".claude", ".codex", ".cursor", ".agents", ".cache", ".local/state", ".local/share")  # in a home that is /root
SECRET = (".ssh", ".gnupg")  # in the user's own home: keys of other machines
PROGRAMS = "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /usr/lib /usr/libexec /opt /nix /snap /Applications".split()


class Place:
    """Where a tool is called: the folder it starts in, the project, the user's home."""

    def __init__(self, cwd: str, projects: list[str], home: str) -> None:
        self.cwd = cwd or "/"
        self.home = os.path.realpath(home)
        self.projects = [real for project in projects if (real := os.path.realpath(project)) != "/"]

    def target(self, path: str, action: str) -> tuple[str, str] | None:
        """The path as the service knows it, with the action; None where no grant is needed."""
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


def touched(tool: str, given: dict[str, Any], place: Place) -> list[tuple[str, str]]:
    """Paths and actions of one tool call that need a grant, each once."""
    found: list[tuple[str, str] | None] = []
    name = tool.lower()
    if name in ("bash", "shell", "local_shell", "exec_command", "powershell"):
        found = _of_command(_command(given), place)
    elif name == "apply_patch":
        patch = _command(given)
        for verb, path in re.findall(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", patch, re.MULTILINE):
            found.append(place.target(path, "delete" if verb == "Delete File" else "write"))
    else:
        action = "read" if name in ("read", "read_file") else "delete" if name in ("delete", "delete_file") else "write"
        for member in ("file_path", "notebook_path", "path", "target_file"):
            if isinstance(given.get(member), str):
                found.append(place.target(given[member], action))
    return list(dict.fromkeys(one for one in found if one))


def _command(given: dict[str, Any]) -> str:
    said = given.get("command") or given.get("cmd") or given.get("input") or ""
    return " ".join(str(word) for word in said) if isinstance(said, list) else str(said)


_WRITERS = set(
    "tee touch mkdir mkfifo mknod truncate chmod chown chgrp chattr setfacl patch ed crontab useradd visudo mkswap mount umount".split()
)
_DELETERS = set("rm rmdir unlink shred wipefs".split())
_MOVERS = set("cp mv install ln rsync scp".split())  # the last word is written, the others read (of mv: deleted)
_READERS = set(
    "cat head tail less more grep egrep fgrep rg zcat strings xxd od hexdump wc sort diff cmp cut awk base64 sha256sum md5sum".split()
)
_SPEAKERS = set("echo printf true false export set alias test [ [[ cd pushd ls stat file which type command git".split())
_BEFORE = set(
    "sudo doas env nohup time timeout nice ionice exec command builtin stdbuf setsid xargs then do else if while until ! {".split()
)
_OUTPUTS = {  # options that name what is written
    "tar": ("-C", "--directory"),
    "unzip": ("-d",),
    "curl": ("-o", "--output"),
    "wget": ("-O", "-P", "--output-document", "--directory-prefix"),
    **dict.fromkeys(_MOVERS, ("-t", "--target-directory")),
}
_WITH_VALUE = set("-u -g -n -C -h -p -T -U -I -P -d --user --group --chdir".split())  # options of those that stand before a command
_SHELLS = set("sh bash zsh dash ksh ash eval su".split())
_JOINTS = {";", "&", "&&", "|", "||", "|&", "\n", "(", ")", ";;"}
_REDIRECT = re.compile(r"(?:[0-9]+|&)?(?P<sign>>>|>\||>&|<>|>|<<<|<<-?|<)(?P<rest>.*)", re.DOTALL)


def _of_command(command: str, place: Place, depth: int = 0) -> list[tuple[str, str] | None]:
    found: list[tuple[str, str] | None] = []
    here = Place(place.cwd, place.projects, place.home)
    for words in _simple_commands(command):
        verb, rest, targets = _taken_apart(words)
        found += [here.target(path, action) for path, action in targets]
        if verb in ("cd", "pushd") and rest:
            here.cwd = os.path.join(here.cwd, here._at_home(rest[0]))  # noqa: SLF001 - the same module
            continue
        if "/" in verb:
            found.append(here.target(verb, "exec"))
            verb = verb.rpartition("/")[2]
        if verb in _SHELLS and depth < SHELLS_MAX:
            script = next(
                (after for flag, after in itertools.pairwise(["-c" if verb == "eval" else "", *rest]) if re.match(r"-\w*c$", flag)), ""
            )
            found += _of_command(script, here, depth + 1)
        found += [here.target(path, action) for path, action in _arguments(verb, rest)]
    return found


def _taken_apart(words: list[str]) -> tuple[str, list[str], list[tuple[str, str]]]:
    """Of a simple command: its program, its arguments, the files it is redirected to and from."""
    kept: list[str] = []
    targets: list[tuple[str, str]] = []
    waiting = ""
    for word in words:
        match = None if waiting else _REDIRECT.fullmatch(word)
        if waiting or (match and match["rest"]):
            sign, path = (waiting, word) if waiting else (match["sign"], match["rest"]) if match else ("", "")
            if sign not in ("<<", "<<-", "<<<") and not re.fullmatch(r"&?[0-9-]+", path):
                targets += [(one, "read" if sign == "<" else "write") for one in _spelled_out(path)]
            waiting = ""
        elif match:
            waiting = match["sign"]
        else:
            kept.append(word)
    while kept and (kept[0] in _BEFORE or re.match(r"[A-Za-z_]\w*=|-|[0-9.]+[smhd]?$", kept[0])):
        del kept[: 2 if kept[0] in _WITH_VALUE else 1]
    return (kept[0] if kept else ""), kept[1:], targets


def _arguments(verb: str, rest: list[str]) -> list[tuple[str, str]]:
    """Paths among the arguments, each with what the program does to it. Relative ones count only for programs that are known here."""
    known = verb in _WRITERS or verb in _DELETERS or verb in _MOVERS or verb in _READERS or verb in ("sed", "perl", "find", "dd")
    paths = []
    for before, word in zip(["", *rest], rest, strict=False):
        bare = re.sub(r"^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=/))", "", word)
        if bare.startswith(("/", "~", "$HOME/", "${HOME}/")) or (known and not bare.startswith("-") and "://" not in bare):
            paths += [(one, f"{before} {word}" if before in _OUTPUTS.get(verb, ()) else word) for one in _spelled_out(bare)]
    flags = [word for word in rest if word.startswith("-")]
    last = len(paths) - 1
    return [(path, _action(verb, flags, word, is_last=place == last)) for place, (path, word) in enumerate(paths) if _may_be(path, verb)]


def _may_be(path: str, verb: str) -> bool:
    return not (verb in _SPEAKERS and not path.startswith(("/", "~", "$"))) and len(path) <= 4096


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


def _spelled_out(word: str) -> list[str]:
    """What the shell makes of a word with braces and wild cards; itself where nothing fits. Of very many, more than may be asked for."""
    made: list[str] = []
    waiting = [word]
    while waiting and len(made) + len(waiting) <= TARGETS_MAX:
        one = waiting.pop()
        brace = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if brace:
            waiting += [one[: brace.start()] + part + one[brace.end() :] for part in reversed(brace[1].split(","))]
        else:
            made.append(one)
    made += waiting
    return [path for one in made for path in _fitting(one)] if word.startswith("/") else made


def _fitting(word: str) -> list[str]:
    if not any(sign in word for sign in "*?["):
        return [word]
    import glob

    fits = [path for path, _ in zip(glob.iglob(word), range(TARGETS_MAX + 1), strict=False)]
    return fits or [word]


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each simple command, without quotes; inside `$(...)` and backticks too."""
    commands: list[list[str]] = [[]]
    for word in _words(_without_documents(command)):
        if word in _JOINTS:
            commands.append([])
        else:
            commands[-1].append(word)
    return [words for words in commands if words]


def _without_documents(command: str) -> str:
    """The command without what stands in its here-documents. One that nothing ends is left in."""
    if "<<" not in command:
        return command
    lines = command.split("\n")
    ends: dict[str, list[int]] = {}
    for place in range(len(lines) - 1, -1, -1):
        ends.setdefault(lines[place].strip(), []).append(place)
    kept, place = [], 0
    while place < len(lines):
        kept.append(lines[place])
        opened = re.search(r"(?<!<)<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", lines[place])
        place += 1
        after = ends.get(opened[2], []) if opened else []
        while after and after[-1] < place:
            after.pop()
        if after:
            place = after[-1] + 1
    return "\n".join(kept)


_WORD = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n|(?:(?<=\s)|^)#[^\n]*)"
    r"|(?P<joint>\|\||&&|;;|\|&|[;|()\n`]|\$\(|&(?![>0-9]))"
    r"|(?P<redirect>(?:[0-9]+(?=[<>])|&(?=>))?(?:>>|>\||>&|<<<|<<-?|<>|>|<))"
    r"|'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|\\(?P<escaped>.)|(?P<plain>[^\s'\"\\;|&()<>`$#]+|.)",
    re.DOTALL,
)


def _words(command: str) -> list[str]:
    words: list[str] = []
    inner: list[str] = []  # what stands in `"$(...)"`
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
    """Without macOS's `/private`, which nobody writes."""
    return path.removeprefix("/private") if path.startswith(("/private/etc", "/private/var", "/private/tmp")) else path

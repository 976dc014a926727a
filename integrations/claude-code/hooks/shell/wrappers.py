"""Programs that run other commands, and programs with many subcommands or folders of their own."""

from __future__ import annotations

import os
import re

from .calls import Call, is_remote
from .git import git_command, patch_command
from .outputs import check_outputs
from .remote import container_command, kubectl_command, ssh_command
from .values import UNKNOWN, UNKNOWNS, plain, script_text
from .word_parser import unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

XARGS_WORDS_MAX = 200

# Programs that run the command in their arguments: options with a value (letters, then names), and
# the number of arguments before the command.
_PREFIXES = {
    "sudo": ("ugpCThrtRDU user group chdir host prompt role type", 0),
    "doas": ("uC", 0),
    "nohup": ("", 0),
    "time": ("fo format output", 0),
    "timeout": ("sk signal kill-after", 1),
    "gtimeout": ("sk signal kill-after", 1),
    "nice": ("n adjustment", 0),
    "ionice": ("cnpPu class classdata", 0),
    "stdbuf": ("ioe input output error", 0),
    "unbuffer": ("", 0),
    "setsid": ("", 0),
    "chrt": ("TPD", 1),
    "taskset": ("", 1),
    "numactl": ("NmCi", 0),
    "prlimit": ("", 0),
    "strace": ("oeEpsuaPSIObX", 0),
    "ltrace": ("oeunaADlxps", 0),
    "valgrind": ("", 0),
    "catchsegv": ("", 0),
    "fakeroot": ("lsifb", 0),
    "pkexec": ("u user", 0),
    "gosu": ("", 1),
    "su-exec": ("", 1),
    "setpriv": (" reuid regid groups inh-caps ambient-caps bounding-set", 0),
    "setarch": ("", 1),
    "linux64": ("", 0),
    "linux32": ("", 0),
    "arch": ("e", 0),
    "caffeinate": ("tw", 0),
    "rlwrap": ("", 0),
    "xvfb-run": ("sne", 0),
    "dbus-run-session": ("", 0),
    "ssh-agent": ("at", 0),
    "systemd-run": ("pMHEu unit property description slice uid gid setenv", 0),
    "systemd-inhibit": (" what who why mode", 0),
    "start-stop-daemon": ("pnugkKRNPcr exec pidfile", 0),
    "daemonize": ("caepolu", 0),
    "cgexec": ("g", 0),
    "firejail": ("", 0),
    "proot": ("rbqwv", 0),
    "unshare": ("GSRwl root wd map-user map-group setuid setgid", 0),
    "nsenter": ("tSGF target setuid setgid", 0),
    "aa-exec": ("p", 0),
    "runcon": ("turl", 1),
    "capsh": ("", 0),
    "torsocks": ("", 0),
    "proxychains": ("f", 0),
    "proxychains4": ("f", 0),
    "entr": ("", 0),
    "ifne": ("", 0),
    "chronic": ("", 0),
    "errno": ("", 0),
    "busybox": ("", 0),
    "toybox": ("", 0),
    "then": ("", 0),
    "winpty": ("", 0),
    "direnv": ("", 2),
}
# Programs whose arguments are scripts, or words of one.
_SCRIPT_PROGRAMS = {
    "watch": "nd interval",
    "tmux": "LSfsntcF",
    "screen": "STchesp",
    "concurrently": "nck names",
    "hyperfine": "wrmMp warmup runs prepare",
    "parallel": "jNnLPS jobs",
    "script": "c",
    "flock": "cwE",
    "sg": "c",
    "su": "gGs",
    "runuser": "gGsu",
    "login": "",
    "xterm": "",
    "at": "fqt",
    "batch": "",
}


def _prefix(call: Call) -> str:
    values, count = _PREFIXES[call.name]
    letters, _, names = values.partition(" ")
    options, words = call.options(letters, names, stops=True)
    state = call.state
    inner = Call(call.interpreter, [call.name], state.copy(), call.stdin, call.name)
    for name, value in options:
        if name in ("D", "chdir", "wd", "w") and value and call.name != "strace":
            inner.state.enter(plain(value))
        if name in ("e", "edit") and call.name == "sudo":
            for path in words:
                call.write(path)
            return ""
        if name in ("o", "output") and call.name in ("strace", "ltrace", "time"):
            call.write(value)
        if name in ("exec", "x", "a", "startas") and call.name == "start-stop-daemon" and value:
            words = [value, *words]
        if name in ("R", "root", "r") and call.name in ("unshare", "proot") and value:
            inner.state.enter(plain(value))
        if name == "c" and call.name == "capsh":
            call.script(value or " ".join(words))
    words = words[count:]
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        inner.state.variables[name] = [value]
    while words and re.fullmatch(r"--|[0-9.]+[smhd]?|0x[0-9a-f]+", plain(words[0])):
        words = words[1:]
    if not words and call.name in ("sudo", "nsenter", "unshare", "pkexec"):
        return call.script(call.stdin) if not UNKNOWNS.fullmatch(call.stdin) else UNKNOWN
    return inner.run(words)


def _env(call: Call) -> str:
    options, words = call.options("uCSP", "unset chdir split-string", stops=True)
    state = call.state.copy()
    for name, value in options:
        if name in ("C", "chdir"):
            state.enter(plain(value))
        if name in ("S", "split-string"):
            rest = " ".join(script_text(word) for word in words)
            return call.interpreter.script(f"{script_text(value)} {rest}", state, call.stdin)
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        state.variables[name] = [value]
    return call.interpreter.call(words, state, call.stdin) if words else UNKNOWN


def _chroot(call: Call) -> str:
    _, words = call.options("", "userspec groups", stops=True)
    if not words:
        return ""
    folder = plain(words[0]).rstrip("/")
    if not folder:
        return call.run(words[1:]) if len(words) > 1 else call.script(call.stdin)
    call.write(words[0])  # absolute paths begin there
    return UNKNOWN


def _scripts(call: Call) -> str:
    """Check programs whose arguments are scripts, such as watch, tmux, su and flock."""
    letters, _, names = _SCRIPT_PROGRAMS[call.name].partition(" ")
    options, words = call.options(letters, names)
    for name, value in options:
        if name in ("c", "command", "p", "prepare") and value:
            call.script(value)
    if call.name in ("at", "batch"):
        for name, value in options:
            if name == "f":
                call.script(call.text_of(value))
        return call.script(call.stdin)
    if call.name == "parallel" and words:
        at = words.index(":::") if ":::" in words else None
        command = " ".join(words[:at])
        for value in (call.stdin.split("\n") if at is None else words[at + 1 :])[:50]:
            call.script(command.replace("{}", value) if "{}" in command else f"{command} {value}")
        return UNKNOWN
    if call.name == "flock" and words:
        call.write(words[0])
        return call.run(words[1:]) if len(words) > 1 else ""
    if call.name in ("su", "runuser") and not options:
        return call.script(call.stdin)
    if call.name == "script" and words:
        call.write(words[-1])
        return ""
    if call.name == "screen":
        check_outputs(call)
    if call.name == "tmux":
        for word in words:
            if re.search(r"\s", word):
                call.script(word)
        return UNKNOWN
    for word in words:
        if re.search(r"\s", word):
            call.script(word)
    call.script(" ".join(script_text(word) for word in words))
    return UNKNOWN


def _xargs(call: Call) -> str:
    options, words = call.options(
        "IndPLsEa", "replace arg-file delimiter max-args max-procs max-lines", stops=True
    )
    text, place, delimiter = call.stdin, "", ""
    for name, value in options:
        if name in ("a", "arg-file"):
            call.read(value)
            text = call.text_of(value)
        elif name in ("I", "replace", "i"):
            place = value or "{}"
        elif name in ("0", "null"):
            delimiter = "\0"
        elif name in ("d", "delimiter"):
            delimiter = plain(value)
    if delimiter == "\0":
        # The known output of `find -print0` has a line for each file.
        items = text.split("\0") if "\0" in text else [text, *text.split("\n")[:-1]]
    elif delimiter:
        items = text.split(delimiter)
    elif place:
        items = text.split("\n")
    else:
        items = [re.sub(r"[\\'\"]", "", item) for item in text.split()]
    items = [item.strip("\n") for item in items if item.strip("\n")][:XARGS_WORDS_MAX]
    words = words or ["echo"]
    if not items:
        return call.run(words, stdin="")
    if place:
        return "".join(
            call.run([word.replace(place, item) for word in words], stdin="") for item in items
        )
    return call.run([*words, *items], stdin="")


def _find(call: Call) -> str:
    roots: list[str] = []
    words = list(call.arguments)
    while (words and not re.match(r"-[a-zD]|[(!]", plain(words[0]))) or (
        words and re.fullmatch(r"-[HLPD]|-O\d?", plain(words[0]))
    ):
        word = words.pop(0)
        if not word.startswith("-"):
            roots.append(word)
    roots = roots or ["."]
    unknown = call.interpreter.words.unknown()
    inside = [f"{root.rstrip('/')}/{unknown}" for root in roots]
    places = [plain(call.interpreter.key(root, call.state)) for root in roots]
    files = [root for root, place in zip(roots, places, strict=True) if not os.path.isdir(place)]
    if "-delete" not in words:
        for root in roots:
            call.look(root)
    for position, word in enumerate(words):
        if word == "-delete":
            for root in roots:
                call.delete(root)
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            command = []
            for one in words[position + 1 :]:
                if one in (";", "+"):
                    break
                command.append(one)
            for path in [*files, *inside] if command else ():
                call.run([one.replace("{}", path) for one in command], stdin="")
        elif word in ("-fprint", "-fprint0", "-fls", "-fprintf") and position + 1 < len(words):
            call.write(words[position + 1])
    formats = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-printf"]
    printed = "".join(unescaped(script_text(re.sub(r"%\w", unknown, one))) for one in formats)
    return printed or "\n".join(inside) + "\n"


def _fd(call: Call) -> str:
    """Check fd: `-x` and `-X` run a command."""
    for position, word in enumerate(call.arguments):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            words = call.arguments[position + 1 :]
            if not any("{" in one for one in words):
                words.append("{}")
            call.run([re.sub(r"\{[./]*\}", UNKNOWN, one) for one in words], stdin="")
            break
    return UNKNOWN


def _tar(call: Call) -> str:
    words = list(call.arguments)
    if words and not words[0].startswith("-") and re.fullmatch(r"[A-Za-z]+", plain(words[0])):
        words[0] = f"-{words[0]}"
        if re.fullmatch(r"-[A-Za-z]*f[A-Za-z]+", words[0]):  # old style: `tar fx a.tar`
            words[0] = words[0].replace("f", "") + "f"
    inner = Call(call.interpreter, ["tar", *words], call.state.copy(), call.stdin, "tar")
    options, others = inner.options(
        "fCTXbgIHVLKNF",
        "file directory files-from exclude to-command checkpoint-action use-compress-program "
        "info-script new-volume-script rsh-command one-top-level listed-incremental index-file",
    )
    names = {name for name, _ in options}
    for name, value in options:
        if name in ("C", "directory", "one-top-level") and value:
            inner.state.enter(plain(value))
        elif name in ("to-command", "use-compress-program", "I", "info-script", "F", "rsh-command"):
            call.script(value)
        elif name == "checkpoint-action" and "exec=" in value:
            call.script(value.partition("exec=")[2])
        elif name in ("index-file", "g", "listed-incremental"):
            call.write(value)
    archive = next((value for name, value in options if name in ("f", "file")), "")
    if names & {"x", "extract", "get"}:
        if not names & {"O", "to-stdout"}:
            inner.write(".")
        if names & {"P", "absolute-names"}:
            call.write("/")
        if not is_remote(archive):
            call.read(archive)
    elif names & {"c", "r", "u", "A", "create", "append", "update", "delete"}:
        if not is_remote(archive):
            call.write(archive)
        for path in others:
            (inner.delete if "remove-files" in names else inner.read)(path)
        for name, value in options:
            if name in ("T", "files-from"):
                call.read(value)
                for line in call.text_of(value).splitlines():
                    inner.read(line)
    return UNKNOWN


def _unzip(call: Call) -> str:
    options, others = call.options("dx" if call.name == "unzip" else "o")
    folder = next((value for name, value in options if name in ("d", "o") and value), ".")
    names = {name for name, _ in options}
    is_extraction = call.name == "unzip" and not names & set("lptzv")
    if is_extraction or others[:1] in (["x"], ["e"]):
        call.write(folder)
    elif others[:1] == ["a"] and len(others) > 1:
        call.write(others[1])
    for path in others[:1] if call.name == "unzip" else others[1:2]:
        call.read(path)
    return UNKNOWN


def _make(call: Call) -> str:
    options, words = call.options("CfIoWj", "directory file eval makefile")
    inner = Call(call.interpreter, ["make"], call.state.copy(), call.stdin, "make")
    for name, value in options:
        if name in ("C", "directory"):
            inner.state.enter(plain(value))
    if not any(name in ("f", "file", "makefile") for name, _ in options):
        names = ("GNUmakefile", "makefile", "Makefile")
        options += [("f", one) for one in names]
    for name, value in options:
        text = ""
        if name in ("f", "file", "makefile"):
            text = call.text_of(value)
        elif name == "eval":
            text = value
        for place in re.findall(r"\$\(file\s*>>?\s*([^,)]+)", text):
            inner.write(place.strip())
        for line in re.findall(r"\$\(shell\s+([^()]*)\)", text):
            inner.command(line)
        for line in re.findall(r"(?:^\t|;)[@+-]*(.*)$", text, re.MULTILINE):
            inner.script(line.replace("$$", "$"))
    if not any(name in ("n", "dry-run", "q", "p") for name, _ in options):
        inner.write(".")
        installs = any(word.startswith("install") for word in words)
    else:
        installs = False
    if installs:
        for word in words:
            match = re.match(r"(?:DESTDIR|prefix|PREFIX|bindir|sysconfdir)=(.*)", word)
            if match:
                call.write(match[1])
    return UNKNOWN


def _systemctl(call: Call) -> str:
    words = [plain(word) for word in call.arguments if not word.startswith("-")]
    is_of_user = "--user" in call.arguments
    changes = "enable disable mask unmask link edit preset set-default reenable revert set-property"
    if words and words[0] in changes.split() and not is_of_user:
        call.write("/etc/systemd/system")
    return UNKNOWN


def _crontab(call: Call) -> str:
    options, _ = call.options("us")
    if not any(name == "l" for name, _ in options):
        call.write("/var/spool/cron")
    return UNKNOWN


def _sysctl(call: Call) -> str:
    if any("=" in word or word in ("-w", "-p", "--load", "--system") for word in call.arguments):
        call.write("/proc/sys")
    return UNKNOWN


def _mount_program(call: Call) -> str:
    options, words = call.options("toLUO", "types options bind rbind move source target")
    for _, value in options:
        words += [value] if value.startswith(("/", ".")) else []
    for path in words:
        call.write(path)
    return UNKNOWN


HANDLERS: dict[str, Callable[[Call], str]] = {
    **dict.fromkeys(_PREFIXES, _prefix),
    **dict.fromkeys(_SCRIPT_PROGRAMS, _scripts),
    **dict.fromkeys(("docker", "podman", "nerdctl"), container_command),
    **dict.fromkeys(("kubectl", "oc"), kubectl_command),
    **dict.fromkeys(("xargs", "gxargs"), _xargs),
    **dict.fromkeys(("find", "gfind"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    **dict.fromkeys(("unzip", "7z", "7za", "7zr"), _unzip),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("patch", "gpatch"), patch_command),
    "env": _env,
    "chroot": _chroot,
    "ssh": ssh_command,
    "git": git_command,
    "systemctl": _systemctl,
    "crontab": _crontab,
    "sysctl": _sysctl,
    "mount": _mount_program,
}

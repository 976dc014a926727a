"""Programs and what they do with the paths in their arguments."""

from __future__ import annotations

import os
import posixpath
import re

from .calls import Call, is_remote
from .interpreter import Interpreter
from .language_names import NAMES as LANGUAGE_NAMES
from .locations import Location, resolved
from .outputs import CLOUD, REMOTE, check_outputs
from .values import UNKNOWN, UNKNOWNS, State, cleaned, plain, script_text
from .word_parser import ShellSyntaxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_WRITERS = frozenset(
    "touch mkdir mkfifo mknod truncate chattr setfacl fallocate sponge mkswap swapon umount "
    "nano pico emacs joe micro vipw sudoedit dos2unix unix2dos strip losetup zip tune2fs "
    "mkdosfs debugfs shred-file losetup".split()
)
_MODES = frozenset(("chmod", "chown", "chgrp"))  # the first argument is no path
_DELETERS = frozenset("rm rmdir unlink shred wipefs srm trash".split())
# These write their last argument and read the others; mv deletes them.
_MOVERS = frozenset("cp mv install rsync scp ginstall gcp gmv objcopy ditto rcp".split())
_COPIERS_OF_LAST = frozenset("convert magick ffmpeg pdftotext cwebp".split())
_READERS = frozenset(
    "cat head tail less more zcat strings xxd od hexdump wc sort diff cmp cut base64 sha256sum tac "
    "md5sum sha1sum nl bat uniq column comm join paste fold fmt expand rev tr batcat "
    "readlink realpath basename dirname cksum sum view most zless".split()
)
# These show names and sizes, not what is in files.
_LOOKERS = frozenset(
    "ls stat tree file du df lsblk blkid findmnt smartctl lsof exa eza lsd namei getfacl lsattr "
    "systemd-analyze ncdu dust duf".split()
)
# These read what they are given and write what `check_outputs` knows. Any other program without a
# rule may write it.
_ONLY_READ = frozenset(
    "cc gcc g++ c++ cpp clang clang++ ld lld rustc tsc cmake meson ./configure configure nginx "
    "apachectl named-checkconf sshd promtool yamllint shellcheck hadolint eslint ruff mypy pylint "
    "journalctl ldd nm readelf objdump ps pmap fuser dpkg rpm apt-cache mdls otool "
    "sqlite3_analyzer xmllint tidy curl wget ssh-add open xdg-open code subl espeak play "
    "mpv vlc feh pdfinfo exiftool identify mediainfo ffprobe keytool certtool ssh-copy-id".split()
)
_PATTERN_READERS = frozenset("grep egrep fgrep rg ag ack zgrep ugrep pgrep jq yq".split())
# Output of these is their input or the files they read, more or less.
_FILTERS = frozenset(
    "cat head tail sort uniq tac less more grep egrep fgrep rg sponge pv nl fold column bat tee "
    "unbuffer stdbuf".split()
)
_COMPRESSORS = frozenset(
    "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma compress uncompress".split()
)
# These write to their working folder.
_FOLDER_WRITERS = frozenset(
    "make ninja npm yarn pnpm bun cargo composer bundle mvn gradle ./configure cmake patch split "
    "cpio csplit unzip 7z wget".split()
)
_SYSTEM_STATE = {
    "useradd": "/etc/passwd", "adduser": "/etc/passwd", "usermod": "/etc/passwd",
    "userdel": "/etc/passwd", "deluser": "/etc/passwd", "passwd": "/etc/shadow",
    "chpasswd": "/etc/shadow", "newusers": "/etc/passwd", "chsh": "/etc/passwd",
    "chfn": "/etc/passwd", "groupadd": "/etc/group", "groupdel": "/etc/group",
    "groupmod": "/etc/group", "addgroup": "/etc/group", "gpasswd": "/etc/group",
    "visudo": "/etc/sudoers", "vipw": "/etc/passwd", "vigr": "/etc/group",
    "hostnamectl": "/etc/hostname", "timedatectl": "/etc/localtime",
    "localectl": "/etc/locale.conf", "update-alternatives": "/etc/alternatives",
    "update-rc.d": "/etc/init.d", "chkconfig": "/etc/init.d", "a2ensite": "/etc/apache2",
    "a2dissite": "/etc/apache2", "a2enmod": "/etc/apache2", "ldconfig": "/etc/ld.so.cache",
    "insmod": "/lib/modules", "modprobe": "/lib/modules", "dpkg-divert": "/var/lib/dpkg",
    "update-initramfs": "/boot", "update-grub": "/boot", "grub-install": "/boot",
    "locale-gen": "/etc/locale.gen", "pivot_root": "/", "kexec": "/boot",
}  # fmt: skip
_STATE_QUERIES = frozenset(
    "-S --status status show list list-timezones --display --query -p --list --help --version "
    "-h".split()
)

# Options whose value is a command, or a program in a language.
_SCRIPT_OPTIONS = re.compile(
    r"-[cexCEH]|--?(?:eval|exec|execute|command|cmd|code|pipe|filter|run|up|down|rsh|shell|expr"
    r"|editor|pager|script)|--[a-z-]*(?:-command|-cmd|-hook|-script|-exec|-program|-shell)"
    r"|--(?:ssh|on|pre|post|password)-[a-z-]+"
)


def interpret(command: str, location: Location) -> list[tuple[str, str]]:
    """Return the system paths and actions of a command line."""
    interpreter = Interpreter(location, run_program)
    variants = [command]
    if "\r" in command:  # shells differ in what they make of it
        variants.append(command.replace("\r\n", "\n").replace("\r", "\n"))
    for variant in variants:
        state = State(location.cwd, location.home)
        state.positional = []
        try:
            interpreter.script_here(cleaned(variant), state)
        except (ShellSyntaxError, RecursionError):
            interpreter.unreadable(variant, State(location.cwd, location.home))
            interpreter.add_unreadable()
    return list(interpreter.targets)


def run_program(interpreter: Interpreter, words: list[str], state: State, stdin: str) -> str:
    """Interpret a call of a builtin or program; return its output as far as it is known."""
    from . import builtin_commands

    name = program_name(interpreter, words[0], state)
    call = Call(interpreter, words, state, stdin, name)
    if handler := builtin_commands.HANDLERS.get(name):
        return handler(call)
    for variable, value in list(state.variables.items()):
        if variable.isupper() and value and value[0]:
            builtin_commands.variable_command(call, variable, value[0])
    program = words[0]
    if "/" in program and not UNKNOWNS.match(program):
        interpreter.access(program, "exec", state)
    script = interpreter.known_text(program, state) if "/" in program else UNKNOWN
    if not UNKNOWNS.search(script):
        return _run_script(call, script)
    _check_patch(call)
    if path := _SYSTEM_STATE.get(name):
        is_query = bool(_STATE_QUERIES & set(call.arguments))
        if not is_query and (call.arguments or not name.endswith("ctl")):
            call.write(path)
            for word in call.arguments:
                if word.startswith("/"):
                    call.write(word)
        return UNKNOWN
    handler = _handler(name)
    return handler(call) if handler else _unknown_program(call)


def program_name(interpreter: Interpreter, word: str, state: State) -> str:
    """Return the name of a program without folder and version, with links and copies resolved."""
    path = plain(word)
    if re.search(r"[*?\[]", path) and not UNKNOWNS.search(word):
        here = state.cwds[0]
        path = next(resolved(posixpath.join(here, path), interpreter.links, here), path)
    key = interpreter.key(path, state)
    for _ in range(3):
        source = interpreter.links.get(key) or interpreter.copies.get(key)
        if not source:
            break
        key = path = source
    name = path.rpartition("/")[2]
    if _handler(name):
        return name
    shorter = re.sub(r"[-.]?[0-9][0-9.]*$", "", name)
    for other in (shorter, name.lower()):
        if other and _handler(other):
            return other
    return name


def _run_script(call: Call, script: str) -> str:
    """Interpret a script that the same command has written."""
    from .language_names import LANGUAGES
    from .languages import run_code

    line = script.partition("\n")[0]
    match = re.match(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([A-Za-z]+)", line)
    if match and match[1] in LANGUAGES:
        run_code(call, match[1], script, call.arguments)
        return UNKNOWN
    return call.script(script, positional=call.arguments)


def _handler(name: str) -> Callable[[Call], str] | None:
    from . import builtin_commands, wrappers

    if handler := builtin_commands.HANDLERS.get(name) or wrappers.HANDLERS.get(name):
        return handler
    if name in LANGUAGE_NAMES:
        from . import languages

        return languages.HANDLERS[name]
    if name in _MODES:
        return _mode
    if name in _WRITERS or name.startswith("mkfs"):
        return _writer
    if name in _DELETERS:
        return _deleter
    if name in _MOVERS or name in _COPIERS_OF_LAST:
        return _mover
    if name in _READERS or name in _LOOKERS:
        return _reader
    if name in _PATTERN_READERS:
        return _pattern_reader
    if name in _COMPRESSORS:
        return _compressor
    return _SPECIAL.get(name)


_QUOTERS = REMOTE - {"codex"} | {"cat", "tee", "git"}  # a patch in their arguments is text


def _check_patch(call: Call) -> None:
    """Check the files of a patch in an argument or the input."""
    from .patches import patch_paths

    for text in [*call.arguments, call.stdin]:
        if "***" in text and call.name not in _QUOTERS:
            for path, action in patch_paths(script_text(text)):
                call._access(path, action)  # noqa: SLF001 - the action is in the patch


def _mode(call: Call) -> str:
    options, others = call.options("", "reference")
    is_like = any(name == "reference" for name, _ in options)
    for path in others if is_like else others[1:]:
        call.write(path)
    return ""


def _writer(call: Call) -> str:
    if call.name == "mkdir":
        call.interpreter.folders |= {
            call.interpreter.key(plain(word), call.state) for word in call.arguments
        }
    for path in call.options("dtrmsl" if call.name in ("touch", "truncate", "mkdir") else "")[1]:
        call.write(path)
    return UNKNOWN


def _deleter(call: Call) -> str:
    for path in call.options()[1]:
        call.delete(path)
    return ""


def _mover(call: Call) -> str:
    """Check cp, mv, install, rsync and scp."""
    letters = {"rsync": "efT", "scp": "PiFocJlS", "install": "mogSt"}.get(call.name, "tS")
    names = "target-directory suffix mode owner group rsh backup-dir temp-dir log-file exclude"
    options, others = call.options(letters, names)
    folder = next((v for n, v in options if n == "target-directory" or n.startswith("targ")), "")
    if call.name not in ("rsync", "scp"):
        folder = folder or next((value for name, value in options if name == "t"), "")
    for name, value in options:
        if name in ("e", "rsh", "S") and call.name in ("rsync", "scp") and value:
            call.script(value)
        if name == "o" and call.name == "scp" and "command=" in value.lower():
            call.script(value.partition("=")[2])
        if name in ("backup-dir", "temp-dir", "log-file", "T"):
            call.write(value)
        if name in ("i", "F") and call.name == "scp":
            call.read(value)
    if call.name == "install" and any(name in ("d", "directory") for name, _ in options):
        for path in others:
            call.write(path)
        return ""
    sources, last = (others, folder) if folder else (others[:-1], others[-1] if others else "")
    removes = call.name == "mv" or any(name == "remove-source-files" for name, _ in options)
    for path in sources:
        if not is_remote(path):
            (call.delete if removes else call.read)(path)
    if not is_remote(last):
        call.write(last)
    _note_copies(call, options, sources, last)
    return ""


def _note_copies(call: Call, options: list[tuple[str, str]], sources: list[str], last: str) -> None:
    """Remember links and copies, since a later command may use them."""
    interpreter, state = call.interpreter, call.state
    is_link = any(name in ("s", "l", "symbolic-link", "link") for name, _ in options)
    for source in sources:
        target = interpreter.key(plain(source), state)
        for place in (plain(last), posixpath.join(plain(last), posixpath.basename(plain(source)))):
            key = interpreter.key(place, state)
            if is_link and call.name == "cp":
                interpreter.links[key] = target
            else:
                interpreter.copies[key] = interpreter.links.get(target, target)
                if target in interpreter.links:
                    interpreter.links[key] = interpreter.links[target]


def _link(call: Call) -> str:
    """Check ln: the new name is written, and stands for the target from now on."""
    interpreter, state = call.interpreter, call.state
    options, others = call.options("tS", "target-directory suffix")
    folder = next((value for name, value in options if name in ("t", "target-directory")), "")
    is_symbolic = any(name in ("s", "symbolic") for name, _ in options)
    keeps = any(name in ("n", "T", "no-dereference", "no-target-directory") for name, _ in options)
    if folder or len(others) < 2:
        sources, last = others, folder or "."
    else:
        sources, last = others[:-1], others[-1]
    for source in sources:
        name = posixpath.basename(plain(source).rstrip("/"))
        call.read(source)
        place = interpreter.key(plain(last), state)
        if not keeps and (len(sources) > 1 or interpreter.is_folder(place)):
            place = posixpath.join(place, name)
        start = posixpath.dirname(place) if is_symbolic else state.cwds[0]
        interpreter.links[place] = posixpath.normpath(posixpath.join(start, plain(source)))
    saved = dict(interpreter.links)
    interpreter.links.clear()
    call.write(last, follows=not keeps)
    interpreter.links.update(saved)
    return ""


def _reader(call: Call) -> str:
    letters = {"head": "nc", "tail": "nc", "sort": "kotSTo", "cut": "dfcb"}.get(call.name, "")
    options, others = call.options(letters, "output lines bytes key")
    check_outputs(call)
    if call.name in ("uniq", "xxd") and len(others) > 1:
        call.write(others.pop())
    if call.name in ("basename", "dirname"):
        function = posixpath.basename if call.name == "basename" else posixpath.dirname
        return "\n".join(function(word.rstrip("/")) for word in others[:1]) + "\n"
    if call.name in ("readlink", "realpath"):
        return others[-1] + "\n" if others else UNKNOWN
    if call.name == "tr":
        return _translated(call.stdin, [plain(one) for one in others], options)
    texts = []
    for path in others:
        (call.look if call.name in _LOOKERS else call.read)(path)
        texts.append(call.text_of(path))
    text = "".join(texts) if others else call.stdin
    words = call.interpreter.words
    if call.name == "ls":
        return "\n".join(f"{path}/{words.unknown()}" for path in others) or UNKNOWN
    if call.name in _FILTERS:
        return text
    if call.name == "cut" and (columns := _cut(options, text)):
        return columns
    if call.name in ("rev", "base64", "xxd", "od"):
        return _decoded(call, options, text)
    return words.unknown(words.hints_of(text) + _path_lines(text))


def _cut(options: list[tuple[str, str]], text: str) -> str:
    """Return the output of cut for one field of a known text; "" if it is not that simple."""
    values = dict(options)
    field = plain(values.get("f", ""))
    if not field.isdigit() or UNKNOWNS.search(text):
        return ""
    rows = [line.split(plain(values.get("d", "\t")) or "\t") for line in text.split("\n")]
    return "\n".join(row[int(field) - 1] if len(row) >= int(field) > 0 else "" for row in rows)


def _openssl(call: Call) -> str:
    """Check openssl: its output files, and text that it decodes."""
    check_outputs(call)
    words = [plain(word) for word in call.arguments]
    if "-in" in words[:-1]:
        call.read(call.arguments[words.index("-in") + 1])
    if "-d" not in words or not {"base64", "-base64", "-a"} & set(words):
        return call.interpreter.words.unknown(["\0decoded"] if "-d" in words else ())
    inner = Call(call.interpreter, ["base64", "-d"], call.state, call.stdin, "base64")
    return _decoded(inner, [("d", "")], call.stdin)


def _path_lines(text: str) -> list[str]:
    """Return the absolute paths in a text, one at most for each word."""
    return [plain(one) for one in text.split()[:20] if one.startswith(("/", "~"))]


def _translated(text: str, sets: list[str], options: list[tuple[str, str]]) -> str:
    """Return the output of tr for simple sets."""
    if UNKNOWNS.fullmatch(text) or not sets:
        return text
    expanded = [
        re.sub(
            r"(.)-(.)",
            lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), ord(m[1]) + 128) + 1))),
            one,
        )
        for one in sets
    ]
    if any(name == "d" for name, _ in options):
        return text.translate(dict.fromkeys(map(ord, expanded[0])))
    if len(expanded) < 2 or not expanded[1]:
        return text
    source, target = expanded[0], expanded[1]
    return text.translate(
        str.maketrans(source, target.ljust(len(source), target[-1])[: len(source)])
    )


def _decoded(call: Call, options: list[tuple[str, str]], text: str) -> str:
    """Return decoded text; unknown text is marked as decoded."""
    import binascii

    names = {name for name, _ in options}
    if call.name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    words = call.interpreter.words
    is_decoding = names & {"d", "D", "decode", "r"}
    if not is_decoding:
        return UNKNOWN
    if not UNKNOWNS.search(text):
        try:
            if call.name == "base64":
                return binascii.a2b_base64(text.encode()).decode("utf-8", "replace")
            digits = re.sub(r"(?m)^[0-9a-f]+: | {2,}.*$|\s", "", text)
            return bytes.fromhex(digits).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            pass
    return words.unknown(["\0decoded"])


def _pattern_reader(call: Call) -> str:
    """Check grep and its like: the first argument is a pattern."""
    options, others = call.options("efABCmgdDtTjM", "regexp file include exclude glob type context")
    is_search = call.name not in ("jq", "yq")
    if not is_search and any(name in ("i", "inplace", "in-place") for name, _ in options):
        for path in others:
            call.write(path)
        return ""
    pattern_options = ("e", "regexp", "f", "file", "files") if is_search else ("f", "from-file")
    has_pattern = any(name in pattern_options for name, _ in options)
    for path in others if has_pattern else others[1:]:
        call.read(path)
    for name, value in options:
        if name in ("f", "file"):
            call.read(value)
        if name == "pre" and value:
            call.run([value])
    return call.stdin if len(others) <= 1 else UNKNOWN


def _compressor(call: Call) -> str:
    options, others = call.options("So")
    names = {name for name, _ in options}
    for path in others:
        if names & {"c", "stdout", "to-stdout", "l", "list", "t", "test"}:
            call.read(path)
        else:
            call.write(path)
    check_outputs(call)
    words = call.interpreter.words
    return words.unknown(["\0decoded"])


def _dd(call: Call) -> str:
    for word in call.arguments:
        name, _, value = word.partition("=")
        if name == "of":
            call.write(value)
            call.interpreter.write_text(value, call.stdin, call.state)
        elif name == "if":
            call.read(value)
    return call.stdin


def _tee(call: Call) -> str:
    for path in call.options("", "output-error")[1]:
        call.write(path)
        call.interpreter.write_text(path, call.stdin, call.state)
    return call.stdin


def _unknown_program(call: Call) -> str:
    """Check the absolute paths among the arguments of any program: it may write them."""
    words = call.interpreter.words
    if call.name in REMOTE:
        _check_cloud_copy(call)
        return words.unknown()
    positions = check_outputs(call)
    _check_scripts(call)
    if call.name == "socat":
        for path in re.findall(
            r"(?i)(?:open|create|creat|gopen|file):([^,]+)", " ".join(call.arguments)
        ):
            call.write(path)
    is_unknown = bool(UNKNOWNS.search(call.name))
    for position, word in enumerate(call.arguments):
        path = re.sub(r"^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=/))?@?", "", word)
        is_path = (
            path.startswith(("/", "~", "../", "file:"))
            or "/../" in path
            or bool(UNKNOWNS.match(path))
        )
        if position in positions or not is_path:
            continue
        is_read = call.name in _ONLY_READ and "--install" not in call.arguments
        if is_read and not (is_unknown and path == word):
            call.read(path)
        else:
            call.write(path)
    if call.name in _FOLDER_WRITERS or (
        call.name == "curl" and any(re.match(r"-\w*O|--remote-name", w) for w in call.arguments)
    ):
        call.write(".")
    for position, word in enumerate(call.arguments):
        is_before = word in ("run", "exec", "--", "x", "shell")
        is_shell = os.path.basename(plain(word)) in ("sh", "bash", "zsh", "dash", "ksh")
        if (is_before or is_shell) and position + is_before < len(call.arguments):
            rest = call.arguments[position + is_before :]
            while is_before and len(rest) > 1 and rest[0].startswith("-"):
                del rest[0]
            call.run(rest)
            break
    return words.unknown(words.hints_of(call.stdin) + _path_lines(call.stdin))


_FETCHES = frozenset(("download", "extract", "fetch", "get", "pull", "restore"))


def _check_cloud_copy(call: Call) -> None:
    """Check the files of this machine that a program for others reads, or writes to last."""
    positions = check_outputs(call)
    has_remote = bool(_FETCHES & set(call.arguments))
    for position, word in enumerate(call.arguments):
        path = re.sub(r"^--?[A-Za-z][\w-]*=@?", "", word)
        if position in positions:
            continue
        if path.startswith("file:"):
            call.read(path)
        elif call.name in CLOUD and path.startswith(("/", "~", "../")):
            (call.write if has_remote else call.read)(path)
        has_remote = has_remote or is_remote(path)


def _check_scripts(call: Call) -> None:
    """Check the options of any program whose value is a command or a program."""
    is_value = False
    for word in call.arguments:
        name, sign, value = word.partition("=")
        is_inline = bool(sign and _SCRIPT_OPTIONS.fullmatch(name))
        text = value if is_inline else word
        if re.search(r"[\s(!|]", text) and "/" in text:
            if is_value or is_inline or text.startswith("!"):
                call.command(text.lstrip("!"))
            if is_value or is_inline or re.search(r"\\write18|[%$]\(|\bsystem\(|execute\(", text):
                from .languages import run_code

                run_code(call, "", text, [])
                for script in re.findall(
                    r"(?:write18\{|[%$]\((?:shell )?|execute\()([^{}()]*)", text
                ):
                    call.command(script)
        is_value = bool(_SCRIPT_OPTIONS.fullmatch(word))


def _split(call: Call) -> str:
    """Check split: the second argument is the prefix of its files."""
    options, others = call.options("abClnt", "filter lines bytes number suffix-length")
    for name, value in options:
        if name == "filter":
            call.command(value)
    for path in others[:1]:
        call.read(path)
    call.write(others[1] if len(others) > 1 else ".")
    return UNKNOWN


_SPECIAL: dict[str, Callable[[Call], str]] = {
    "dd": _dd,
    "tee": _tee,
    "ln": _link,
    "split": _split,
    "openssl": _openssl,
    "link": _link,
}

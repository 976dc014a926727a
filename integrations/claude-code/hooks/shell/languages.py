"""Programs in other languages within a command line: shells, sed, awk, editors, perl, node, ..."""

from __future__ import annotations

import re

from .calls import Call
from .language_names import AWKS, EDITORS, LANGUAGES, SEDS, SHELLS
from .outputs import check_outputs
from .values import UNKNOWN, UNKNOWNS, plain, script_text
from .word_parser import unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DATABASES = frozenset("psql mysql mariadb sqlite sqlite3".split())
_WRITING = re.compile(
    r"""writeFile|appendFile|createWriteStream|openSync|copyFile|rename|unlink|\brm(?:Sync|dir)?\b"""
    r"""|mkdir|symlink|truncate|chmod|chown|cpSync|File\.(?:write|open|new|delete|rename|symlink)"""
    r"""|IO\.(?:write|binwrite|copy)|FileUtils|\bopen\b|>>?\s*['"]|file_put_contents|fopen|fwrite"""
    r"""|touch\b|io\.open|io\.output|os\.(?:remove|rename|execute)|\bcopy\b|\bmove\b|write_text"""
    r"""|write-region|save-buffer|append-to-file|delete-file|writeLines|sink\(|file\.(?:create|remove)"""
    r"""|Bun\.write|Deno\.(?:write|remove|rename|mkdir|copy|create|open|symlink)|writeTextFile"""
    r"""|\bsysopen\b|\bpwrite\b|file-write|spew|\bput-file|Files\.(?:write|copy|move|delete)"""
)
_RUNNING = re.compile(
    r"""\bsystem\b|\bexec|\bspawn|popen|`|%x|\bqx\b|shell_exec|passthru|proc_open|child_process"""
    r"""|os\.execute|do shell script|shell-command|call-process|\bcmd\b|Process|\bshell\b|Open3"""
    r"""|pcntl_exec|\bsyscall|\$\(|system2|\\!|\brun\(""",
    re.IGNORECASE,
)
_LITERAL = re.compile(
    r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`"""
    r"""|(?:\bq[qwx]?|%[qQwWxi]?)\s*(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|([/|!~#])(.*?)\7)""",
    re.DOTALL,
)
# A literal after one of these is text: `s.replace('/etc/a', '/etc/b')`.
_TEXT_CALL = re.compile(
    r"(?:\.(?:replace(?:All)?|split|includes|indexOf|startsWith|endsWith|match|test|g?sub!?|get|post"
    r"|put|join|push|log|equal|start_with\?|include\?)|console\.\w+|\b(?:print|puts|echo|say|warn|die"
    r"|assert\w*|fetch|expect|str_replace|preg_replace|strpos|require|import|from))"
    r"\s*\(?\s*(?:(?:'[^']*'|\"[^\"]*\"|/[^/\n]*/\w*)\s*,\s*)?$"
)


def run_code(call: Call, language: str, code: str, arguments: list[str]) -> None:
    """Check a program in a language."""
    code = script_text(code)
    if language in ("python", "pypy"):
        from .python import check_python

        check_python(call, code, arguments)
        return
    _check_code(call, code, language, arguments)


def _check_code(call: Call, code: str, language: str, arguments: list[str]) -> None:
    """Check the literals of a program: paths if it writes, commands if it runs any."""
    code = _with_computed_text(code)
    if language in ("expect", "tclsh"):
        for script in re.findall(r"\b(?:spawn|exec)\s+([^;\n\]]+)", code):
            call.command(script)
    if language in ("gdb", "lldb"):
        for path in re.findall(r"(?m)^\s*(?:dump|append)\s+\w+\s+(?:\w+\s+)?(/\S+)", code):
            call.write(path)
        for script in re.findall(r"(?m)^\s*(?:!|shell\s|platform shell\s|pipe\s.*\|)(.*)$", code):
            call.script(script)
    if language == "pwsh":
        call.interpreter.unreadable(code, call.state)
    if language in _DATABASES:
        _check_statements(call, code)
        return
    writes, runs = bool(_WRITING.search(code)), bool(_RUNNING.search(code))
    for match in _LITERAL.finditer(code):
        call.interpreter.count_step()
        text = next((group for group in match.groups() if group is not None), "")
        text = unescaped(text) if match[1] is None else text.replace("\\'", "'")
        if not text or _TEXT_CALL.search(code[max(0, match.start() - 80) : match.start()]):
            continue
        path = re.sub(r"^[+<>|\s]+", "", text)
        if path.startswith(("/", "~", "../", "file:")) and not re.search(r"[\n<]", path):
            (call.write if writes or text.startswith(">") else call.read)(path)
        if runs and re.search(r"[\s/]", text):
            call.script(text)
        elif runs and re.match(r"\s*(?:bash|sh|zsh)\b", text):
            call.run([text, *_literals_after(code, match.end())])
    if writes:
        is_indirect = re.search(r"ARGV|argv|\$_\b|\$1|process\.env|\barg\b|ENV", code)
        for word in arguments if is_indirect else ():
            call.write(word)
    if runs:
        for word in arguments:
            if re.search(r"\s", word):
                call.command(script_text(word))
        if any(re.search(r"\s", word) for word in arguments[1:]):
            call.run(arguments)
        for match in re.finditer(r"\[([^\[\]]*)\]|\(([^()]*)\)", code):
            words = _literals_after(match[1] or match[2] or "", 0)
            if len(words) > 1:
                call.run(words)


def _literals_after(code: str, position: int) -> list[str]:
    """Return the literals in a part of a program, as the words of a command."""
    return [
        unescaped(next((group for group in match.groups() if group is not None), ""))
        for match in _LITERAL.finditer(code, position, position + 4000)
    ]


def _with_computed_text(code: str) -> str:
    """Return a program with simple computed texts as literals: joined, encoded, by number."""
    import binascii

    def characters(match: re.Match[str]) -> str:
        codes = [int(one, 0) for one in re.findall(r"0x[0-9a-fA-F]+|\d+", match[1])]
        return '"' + "".join(chr(one) for one in codes if 31 < one < 0x110000) + '"'

    def decoded(match: re.Match[str]) -> str:
        text = match[1] or match[2] or ""
        is_hex = "hex" in match[0] or "H*" in match[0]
        try:
            raw = bytes.fromhex(text) if is_hex else binascii.a2b_base64(text)
            return '"' + raw.decode("utf-8").replace('"', '\\"') + '"'
        except (ValueError, binascii.Error):
            return match[0]

    code = re.sub(
        r"(?:String\.fromCharCode|\bchr|string\.char)\s*\(?\s*([\dxa-fA-F,\s]+)\)?",
        characters,
        code,
    )
    quoted = r"""\(?\s*(?:'([^']*)'|"([^"]*)")"""
    code = re.sub(
        r"""(?:atob|Buffer\.from|base64_decode|decode_base64|Base64\.decode64|hex2bin|MIME::Base64::decode"""
        r"""|pack\s*\(?\s*["']H\*["']\s*,)\s*"""
        + quoted
        + r"""\s*(?:,\s*["'](?:base64|hex)["'])?\s*\)?(?:\.toString\(\))?""",
        decoded,
        code,
    )
    code = re.sub(
        r"""\[((?:[\s,]|'[^']*'|"[^"]*")+)\]\s*\.join\(\s*(?:''|"")\s*\)""",
        lambda m: '"' + "".join(_literals_after(m[1], 0)) + '"',
        code,
    )
    for _ in range(20):
        joined = re.sub(
            r"""(['"])((?:[^'"\\]|\\.)*)\1\s*(?:\+|\.\.?|~)\s*(['"])((?:[^'"\\]|\\.)*)\3""",
            r'"\2\4"',
            code,
        )
        if joined == code:
            break
        code = joined
    return code


def _check_statements(call: Call, code: str) -> None:
    """Check the commands of a database client that access files or run programs."""
    pattern = (
        r"(?im)^\s*\\?[.\\]?(output|once|save|backup|log|open|clone|excel|import|read|shell|system"
        r"|tee|o|out|w|g|s|copy|i|!|\\!)\s*(.*)$|^\s*\\(!)(.*)$"
    )
    for match in re.finditer(pattern, code):
        name, rest = (match[1] or match[3]).lower(), (match[2] or match[4] or "").strip()
        if not re.match(r"\s*[.\\]|\s*(?:tee|system)\b", match[0]):
            continue
        if name in ("shell", "system", "!", "\\!"):
            call.script(rest)
        elif name in ("copy", "import", "read", "i"):
            for path in re.findall(r"to\s+program\s+'([^']*)'", rest, re.IGNORECASE):
                call.script(path)
            for path in re.findall(r"(?:to\s+)?'?([/~][^\s']*)", rest):
                (call.write if name == "copy" and " to " in rest.lower() else call.read)(path)
        elif rest.startswith("|"):
            call.script(rest[1:])
        elif rest:
            call.write(rest.split()[-1].strip("'\"") if name != "output" else rest.strip("'\""))
    for path in re.findall(
        r"(?i)(?:outfile|dumpfile|vacuum\s+into|attach(?:\s+database)?|to)\s+'([/~.][^']*)'", code
    ):
        call.write(path)
    for path in re.findall(
        r"(?i)(?:writefile|pg_file_write|lo_export)\s*\(\s*(?:\d+\s*,\s*)?'([^']*)'", code
    ):
        call.write(path)
    for script in re.findall(r"(?i)program\s+'([^']*)'", code):
        call.script(script)


def _interpreter(call: Call) -> str:
    """Check an interpreter with its code in an option, in its input or in a file."""
    code_letters, letters, names = LANGUAGES[call.name]
    words = list(call.arguments)
    if call.name in ("deno", "bun") and words[:1] == ["eval"]:
        words = ["-e", *words[1:]]
        code_letters = "e"
    inner = Call(call.interpreter, [call.name, *words], call.state, call.stdin, call.name)
    options, others = inner.options(code_letters + letters, names, stops=True)
    name_options = set(names.split()) - {"require", "import", "file", "output", "dbname", "host"}
    codes = [v for n, v in options if n in name_options or (len(n) == 1 and n in code_letters)]
    flags = {name for name, _ in options}
    check_outputs(call)
    for name, value in options:
        if name in ("L", "o", "output", "tee") and call.name in _DATABASES and value:
            call.write(value)
    if call.name in ("perl", "ruby") and "i" in flags:
        for path in others:
            call.write(path)
    elif call.name in ("perl", "ruby") and codes:
        for path in others if flags & {"n", "p"} else ():
            call.read(path)
    elif call.name == "emacs":
        for path in others:
            call.write(path)
        codes += [word for word in others if word.startswith("(")]
    elif call.name in _DATABASES and others:
        if call.name.startswith("sqlite"):
            call.write(others[0])
            codes += others[1:]
    elif call.name in ("python", "pypy") and "m" in flags:
        module = next(value for name, value in options if name == "m")
        _module(call, plain(module), others)
    elif call.name in ("expect", "tclsh") and not codes:
        codes += [call.stdin]
    for code in codes:
        run_code(call, call.name, code, others)
    is_stdin = not codes and (not others or others[0] in ("-", "/dev/stdin", "/dev/fd/0"))
    if (is_stdin or call.name in _DATABASES) and not UNKNOWNS.fullmatch(call.stdin):
        run_code(call, call.name, call.stdin, others[1:] if others[:1] == ["-"] else others)
    elif is_stdin:
        call.unreadable_script(call.stdin)
    if not codes and others and not is_stdin and call.name not in _DATABASES:
        _program_file(call, others)
    return call.interpreter.words.unknown(call.interpreter.words.hints_of(call.stdin))


def _program_file(call: Call, words: list[str]) -> None:
    """Check a program in a file, with its arguments."""
    text = call.interpreter.known_text(words[0], call.state)
    if not UNKNOWNS.search(text):
        run_code(call, call.name, text, words[1:])
    for path in words:
        if path.startswith(("/", "~", "../")) or "/../" in path:
            call.read(path)


def _module(call: Call, module: str, words: list[str]) -> None:
    """Check `python -m module` for modules that write files."""
    if module in ("zipfile", "tarfile"):
        if words[:1] in (["-e"], ["--extract"]) and len(words) > 2:
            call.write(words[2])
        elif words[:1] in (["-c"], ["--create"]) and len(words) > 1:
            call.write(words[1])
    elif module in ("venv", "virtualenv", "compileall", "py_compile", "gzip"):
        for path in words:
            if not path.startswith("-"):
                call.write(path)
    elif module == "json.tool" and len(words) > 1:
        call.write(words[-1])
    elif module in ("pip", "pytest", "http.server"):
        call.run([module, *words])
    else:
        for path in words:
            if path.startswith(("/", "~", "../")):
                call.read(path)


def _shell(call: Call) -> str:
    """Check sh, bash and the like: a script in an argument, the input, or a file."""
    words = list(call.arguments)
    is_command = reads_input = False
    while words and re.match(r"[-+]\S", plain(words[0])):
        word = words.pop(0)
        if word == "--":
            break
        if word in ("--rcfile", "--init-file", "-O", "+O", "-o", "+o") and words:
            value = words.pop(0)
            if word.startswith("--"):
                call.run(["source", value])
        elif not word.startswith("--"):
            is_command = is_command or "c" in word
            reads_input = reads_input or "s" in word
            if word.endswith("o") and words:
                words.pop(0)
    if is_command:
        script = words[0] if words else ""
        if UNKNOWNS.fullmatch(script):
            call.unreadable_script(script)
        outer = call.state
        call.state = outer.copy()
        call.state.variables["0"] = words[1:2] or ["sh"]
        output = call.script(script, positional=words[2:])
        call.state = outer
        return output
    if (
        words
        and not reads_input
        and words[0] not in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    ):
        path = words[0]
        call.read(path)
        text = call.interpreter.known_text(path, call.state)
        if UNKNOWNS.fullmatch(text):
            call.unreadable_script(text)
            for word in words[1:]:
                if word.startswith(("/", "~", "../")):
                    call.read(word)
            return UNKNOWN
        return call.script(text, positional=words[1:])
    if UNKNOWNS.fullmatch(call.stdin):
        call.unreadable_script(call.stdin)
        return UNKNOWN
    return call.script(call.stdin, positional=words)


def _sed(call: Call) -> str:
    options, others = call.options("efl", "expression file line-length")
    # `-i` takes the rest of its word, so that later letters are a suffix.
    in_place = any(re.match(r"-[nErsuz]*i|--in-place", word) for word in call.arguments)
    scripts = [value for name, value in options if name in ("e", "expression")]
    has_script = bool(scripts) or any(name in ("f", "file") for name, _ in options)
    if not has_script and others:
        scripts.append(others.pop(0))
    if in_place and call.arguments[:1] == ["-i"] and others[:1] == [""]:
        others.pop(0)
    for script in scripts:
        _check_sed_script(call, script_text(script))
    for path in others:
        (call.write if in_place else call.read)(path)
    return _filtered(call, scripts)


def _filtered(call: Call, scripts: list[str]) -> str:
    """Return unknown text that may contain the paths of the input and of the scripts."""
    words = call.interpreter.words
    paths = re.findall(r"(?<![\w.*\]\\])/[a-zA-Z][\w./-]+", "\n".join(scripts))
    paths += [text for text in call.stdin.split()[:20] if text.startswith("/")]
    return words.unknown(words.hints_of(call.stdin) + paths)


def _check_sed_script(call: Call, script: str) -> None:
    """Check the commands `w`, `W`, `r` and `e` of sed, and the flags `w` and `e` of `s`."""
    for path in re.findall(r"(?:^|[;{}\n\s\d$/|#,@!~+%_:gpIiMme])[wW][ \t]*([^\s;}]+)", script):
        if path.startswith(("/", "~", "..")):
            call.write(path)
    for command in re.findall(r"(?:^|[;{}\n\d$])\s*e[ \t]+([^\n}]+)", script):
        call.script(command)
    for _, replacement, flags in re.findall(
        r"s([/|#,@!~%_:+])(?:\\.|(?!\1).)*\1((?:\\.|(?!\1).)*)\1([a-zA-Z\d]*)", script, re.DOTALL
    ):
        if "e" in flags:
            call.script(re.sub(r"\\(.)", r"\1", replacement))


def _awk(call: Call) -> str:
    options, others = call.options("fvFiEl", "file assign field-separator include")
    programs = [value for name, value in options if name in ("e", "source")]
    if not any(name in ("f", "file", "E") for name, _ in options) and others:
        programs.append(others.pop(0))
    values = [value.partition("=")[2] for name, value in options if name in ("v", "assign")]
    in_place = any(name in ("i", "include") and value == "inplace" for name, value in options)
    for program in programs:
        code = re.sub(r'"((?:[^"\\]|\\.)*)"\s+"((?:[^"\\]|\\.)*)"', r'"\1\2"', script_text(program))
        redirects = re.search(r"(?:print|printf|getline)[^;{}\n]*(?:>|\|)", code)
        for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', code):
            text = unescaped(match[1])
            call.interpreter.count_step()
            before = code[max(0, match.start() - 200) : match.start()].rstrip(" (")
            after = code[match.end() : match.end() + 20]
            if before.endswith(">") or (redirects and text.startswith("/")):
                call.write(text)
            if re.search(r"\bsystem$|\|$", before) or re.match(r"\s*\)?\s*\|", after):
                call.script(text)
        if redirects or "system" in code:
            for value in [*values, *others]:
                if value.startswith(("/", "~", "..")):
                    call.write(value)
    for path in others:
        if not re.match(r"[A-Za-z_]\w*=", path):
            (call.write if in_place else call.read)(path)
    return _filtered(call, programs)


def _editor(call: Call) -> str:
    """Check ed, ex and vi: the files that they edit, and their commands."""
    options, others = call.options("p" if call.name in ("ed", "red") else "cTuUiSwW", "cmd")
    commands = [value for name, value in options if name in ("c", "cmd", "S")]
    for word in others:
        if word.startswith("+"):
            commands.append(word[1:])
        elif call.name != "view":
            call.write(word)
        else:
            call.read(word)
    if not UNKNOWNS.fullmatch(call.stdin):
        commands += call.stdin.split("\n")
    for name, value in options:
        if name in ("w", "W") and call.name not in ("ed", "ex"):
            call.write(value)
    for command in commands:
        text = script_text(command)
        for match in re.finditer(
            r"(?:^|[|:\s%,$\d])(?:w(?:rite)?|wq|sav(?:eas)?|up(?:date)?|x(?:it)?|e(?:dit)?|r|W|f)"
            r"!?\s*(?:>>)?\s*((?:[/~]|\.\./)[^\s|]*)",
            text,
        ):
            call.write(match[1])
        for match in re.finditer(r"(?:!|\bset\s+shell=|\bsh(?:ell)?prg=)\s*([^\n]+)", text):
            call.script(match[1])
        for match in re.finditer(r"['\"]([/~][^'\"]*)['\"]", text):
            call.write(match[1])
    return UNKNOWN


HANDLERS: dict[str, Callable[[Call], str]] = {
    **dict.fromkeys(LANGUAGES, _interpreter),
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(SEDS, _sed),
    **dict.fromkeys(AWKS, _awk),
    **dict.fromkeys(EDITORS, _editor),
}

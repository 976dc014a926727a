"""Paths in a Python program that a command line contains: constants are followed, nothing runs."""

from __future__ import annotations

import _ast
import re

from .calls import Call
from .values import UNKNOWN, UNKNOWNS
from .word_parser import TooComplexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES_MAX = 20_000
EVALUATIONS_MAX = 20_000
TEXT_CHARACTERS_MAX = 1 << 16
VALUES_MAX = 40
DEPTH_MAX = 30
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; importing ast takes longer than a hook may run

# The last part of a function's name, and the positions of paths that it writes or deletes.
_WRITERS = {
    **dict.fromkeys(
        "mkdir makedirs mknod mkfifo chmod chown lchmod truncate utime copyfileobj touch "
        "write_text write_bytes mkstemp setxattr savefig to_csv to_json to_parquet to_excel "
        "extractall unpack_archive urlretrieve FileHandler RotatingFileHandler connect imwrite "
        "NamedTemporaryFile WatchedFileHandler save savetxt symlink_to hardlink_to link_to "
        "make_archive mkdtemp".split(),
        "write",
    ),
    **dict.fromkeys("remove unlink rmdir removedirs rmtree".split(), "delete"),
    **dict.fromkeys(
        "rename renames replace copy copy2 copyfile copytree move copymode copystat symlink link "
        "urlretrieve".split(),
        "both",
    ),
}
_READERS = frozenset("read_text read_bytes listdir scandir iterdir walk glob rglob loadtxt".split())
_SCRIPTS = frozenset(
    "system popen getoutput getstatusoutput run call check_call check_output Popen spawn "
    "create_subprocess_shell create_subprocess_exec execv execvp execve execvpe execl execlp "
    "execle spawnlp spawnvp spawnl spawnv posix_spawn sh local sudo shell pty".split()
)
_PURE_METHODS = frozenset("lower upper strip lstrip rstrip title swapcase".split())


class Program:
    """Values of the expressions of a program, regardless of the order of statements."""

    def __init__(self, call: Call, arguments: list[str]) -> None:
        self.call = call
        self.arguments = arguments
        self.names: dict[str, list[_ast.AST]] = {}
        self.functions: dict[str, _ast.FunctionDef] = {}
        self.depth = 0
        self.evaluations = 0
        self.nodes: list[_ast.AST] = []

    def check(self, tree: _ast.AST) -> None:
        """Report the paths that the program accesses."""
        self.nodes = list(_walk(tree))
        for node in self.nodes:
            self._bind(node)
        for node in self.nodes:
            if isinstance(node, _ast.Call):
                self._bind_parameters(node)
        for node in self.nodes:
            if isinstance(node, _ast.Call) and _last_name(node.func) == "chdir":
                folders = [value for one in node.args for value in self.values(one)]
                self.call.state.cwds = [*self.call.state.cwds, *folders]
        for node in self.nodes:
            if isinstance(node, _ast.Call):
                self._check_call(node)

    def _bind(self, node: _ast.AST) -> None:
        """Note the expressions that a name can stand for."""
        pairs: list[tuple[_ast.AST, _ast.AST]] = []
        if isinstance(node, _ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, _ast.AnnAssign | _ast.AugAssign | _ast.NamedExpr) and node.value:
            pairs = [(node.target, node.value)]
            if isinstance(node, _ast.AugAssign):
                pairs = [(node.target, _binary(node))]
        elif isinstance(node, _ast.For | _ast.comprehension):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, _ast.withitem) and node.optional_vars:
            pairs = [(node.optional_vars, node.context_expr)]
        elif isinstance(node, _ast.FunctionDef):
            self.functions[node.name] = node
        elif isinstance(node, _ast.ClassDef):
            for member in node.body:
                if isinstance(member, _ast.FunctionDef) and member.name == "__init__":
                    self.functions[node.name] = member
        for target, value in pairs:
            targets = target.elts if isinstance(target, _ast.Tuple | _ast.List) else [target]
            values = value.elts if isinstance(value, _ast.Tuple | _ast.List) else []
            for number, one in enumerate(targets):
                if name := _bound_name(one):
                    is_unpacked = len(targets) > 1 and len(values) == len(targets)
                    source = values[number] if is_unpacked else value
                    self.names.setdefault(name, []).append(source)
        if isinstance(node, _ast.ImportFrom | _ast.Import):
            for alias in node.names:
                if alias.asname:
                    self.names.setdefault(alias.asname, []).append(_name(alias.name))

    def _bind_parameters(self, node: _ast.Call) -> None:
        called: list[_ast.AST | None] = [self.functions.get(_last_name(node.func)), node.func]
        called += self.names.get(_last_name(node.func), [])
        for function in called:
            if isinstance(function, _ast.FunctionDef | _ast.Lambda):
                parameters = [one.arg for one in function.args.args]
                if parameters[:1] in (["self"], ["cls"]):
                    del parameters[0]
                for parameter, value in zip(parameters, node.args, strict=False):
                    self.names.setdefault(parameter, []).append(value)
                for keyword in node.keywords:
                    if keyword.arg in parameters:
                        self.names.setdefault(str(keyword.arg), []).append(keyword.value)

    def _check_call(self, node: _ast.Call) -> None:
        name = self._function_name(node.func)
        is_method = isinstance(node.func, _ast.Attribute)
        owner = node.func.value if isinstance(node.func, _ast.Attribute) else None
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if name == "open":
            self._check_open(node, owner)
            return
        if name in ("exec", "eval", "compile") and arguments and not is_method:
            for code in self.values(arguments[0]):
                if "/" in code:
                    check_python(self.call, code, self.arguments)
            return
        if name in _SCRIPTS:
            self._check_script(arguments)
            return
        action = _WRITERS.get(name)
        if name == "replace" and (
            len(arguments) > 1 and owner is not None and not self._is_module(owner)
        ):
            return  # of a string
        if not action and name not in _READERS:
            return
        is_text = name in ("write_text", "write_bytes")
        paths = [value for one in arguments[:2] for value in self.values(one) if not is_text]
        if owner is not None and not self._is_module(owner):
            paths += self.values(owner)
        for path in paths:
            self._report(path, "write" if action == "both" else action or "read")

    def _check_open(self, node: _ast.Call, owner: _ast.AST | None) -> None:
        """Check open(path, mode), io.open, os.open and Path.open."""
        values: list[_ast.AST] = list(node.args)
        is_path = owner is not None and not self._is_module(owner)
        if is_path and owner is not None:
            values.insert(0, owner)
        mode = [keyword.value for keyword in node.keywords if keyword.arg == "mode"] + values[1:2]
        modes = [text for one in mode for text in self.values(one)]
        is_os = not is_path and _last_name(owner) == "os" if owner is not None else False
        writes = is_os or any(set("wax+") & set(text) or UNKNOWNS.search(text) for text in modes)
        paths = values[:1] + [one.value for one in node.keywords if one.arg == "file"]
        for one in paths:
            for path in self.values(one):
                self._report(path, "write" if writes else "read")

    def _check_script(self, arguments: list[_ast.expr]) -> None:
        """Check a shell command, or a program with its arguments."""
        texts = [self.values(one) for one in arguments]
        for text in texts[0] if texts else []:
            if re.search(r"\s", text):
                self.call.script(text)
        first = arguments[0] if arguments else None
        items = first.elts if isinstance(first, _ast.List | _ast.Tuple) else arguments
        words = [(self.values(one) or [UNKNOWN])[0] for one in items]
        if words and not re.search(r"\s", words[0]):
            self.call.run(words)

    def _is_module(self, node: _ast.AST) -> bool:
        text = _last_name(node)
        return text in ("os", "shutil", "io", "codecs", "subprocess", "path", "sqlite3", "logging")

    def _function_name(self, node: _ast.AST) -> str:
        """Return the last part of a function's name; aliases and getattr are followed."""
        name = _last_name(node)
        for value in self.names.get(name, [])[:3] if isinstance(node, _ast.Name) else []:
            if isinstance(value, _ast.Name | _ast.Attribute):
                return _last_name(value)
        if (
            isinstance(node, _ast.Call)
            and _last_name(node.func) == "getattr"
            and len(node.args) > 1
        ):
            return (self.values(node.args[1]) or [""])[0]
        return name

    def _report(self, path: str, action: str) -> None:
        if action == "read":
            self.call.read(path)
        elif action == "delete":
            self.call.delete(path)
        else:
            self.call.write(path)

    def values(self, node: _ast.AST | None) -> list[str]:
        """Return the texts that an expression can have; unknown parts are UNKNOWN."""
        self.depth += 1
        self.evaluations += 1
        if self.evaluations > EVALUATIONS_MAX:
            raise TooComplexError("too long")
        try:
            if self.depth > DEPTH_MAX or node is None:
                return [UNKNOWN]
            values = [value[:TEXT_CHARACTERS_MAX] for value in self._values(node)]
            return list(dict.fromkeys(values))[:VALUES_MAX]
        finally:
            self.depth -= 1

    def _values(self, node: _ast.AST) -> list[str]:
        if isinstance(node, _ast.Constant):
            value = node.value
            if isinstance(value, bytes):
                return [value.decode("utf-8", "replace")]
            return [value] if isinstance(value, str) else [str(value)]
        if isinstance(node, _ast.Name):
            sources = self.names.get(node.id, [])
            return [one for source in sources for one in self.values(source)] or [UNKNOWN]
        if isinstance(node, _ast.List | _ast.Tuple | _ast.Set):
            return [one for item in node.elts for one in self.values(item)]
        if isinstance(node, _ast.BinOp):
            return self._operation(node)
        if isinstance(node, _ast.JoinedStr):
            return self._joined([self.values(part) for part in node.values])
        if isinstance(node, _ast.FormattedValue):
            return self.values(node.value)
        if isinstance(node, _ast.IfExp):
            return self.values(node.body) + self.values(node.orelse)
        if isinstance(node, _ast.BoolOp):
            return [one for value in node.values for one in self.values(value)]
        if isinstance(node, _ast.Subscript):
            return self._item(node)
        if isinstance(node, _ast.Attribute):
            if node.attr == "sep":
                return ["/"]
            if node.attr == "argv":
                return ["-c", *self.arguments]
            sources = self.names.get(f".{node.attr}", [])
            if sources:
                return [one for source in sources for one in self.values(source)]
            return self.values(node.value) if node.attr == "name" else [UNKNOWN]
        if isinstance(node, _ast.Dict):
            return [one for value in node.values for one in self.values(value)]
        if isinstance(node, _ast.Call):
            return self._result(node)
        if isinstance(node, _ast.GeneratorExp | _ast.ListComp):
            return self.values(node.elt)
        return [UNKNOWN]

    def _operation(self, node: _ast.BinOp) -> list[str]:
        left, right = self.values(node.left), self.values(node.right)
        if isinstance(node.op, _ast.Div):
            return [_path_join(a, b) for a in left for b in right]
        if isinstance(node.op, _ast.Add):
            return [a + b for a in left for b in right]
        if isinstance(node.op, _ast.Mult):
            return [a * min(int(b), 99) for a in left for b in right if b.isdigit()]
        if isinstance(node.op, _ast.Mod):
            values = iter(right)
            return [
                re.sub(r"%[sdr]", lambda _: next(values, UNKNOWN), template)
                for template in left[:1]
            ]
        return [UNKNOWN]

    def _joined(self, parts: list[list[str]]) -> list[str]:
        results = [""]
        for part in parts:
            results = [a + b for a in results for b in part][:VALUES_MAX]
        return results

    def _item(self, node: _ast.Subscript) -> list[str]:
        index = node.slice
        if isinstance(index, _ast.Slice):
            bounds = [
                (self.values(one) or [""])[0] if one else "" for one in (index.lower, index.upper)
            ]
            step = index.step
            is_reversed = isinstance(step, _ast.UnaryOp)
            texts = self.values(node.value)
            if is_reversed:
                return [text[::-1] for text in texts]
            if all(re.fullmatch(r"\d*", bound) for bound in bounds):
                low, high = (int(bound) if bound else None for bound in bounds)
                return [text[low:high] for text in texts]
            return [UNKNOWN]
        values = self.values(node.value)
        position = self.values(index)[0]
        if isinstance(node.value, _ast.Attribute) and node.value.attr == "argv":
            at = int(position) if position.isdigit() else 0
            return values[at : at + 1] or [UNKNOWN]
        if isinstance(node.value, _ast.Attribute) and node.value.attr == "environ":
            return [self.call.interpreter.words.variable(position, self.call.state, 0)]
        return values  # any item

    def _result(self, node: _ast.Call) -> list[str]:
        """Return the result of a function that only builds text."""
        name = self._function_name(node.func)
        arguments = [self.values(one) for one in node.args]
        owner = node.func.value if isinstance(node.func, _ast.Attribute) else None
        if name in ("Path", "PosixPath", "PurePath", "join", "joinpath") and (
            name != "join" or self._is_module(owner or node)
        ):
            parts = [self.values(owner)] if name == "joinpath" else []
            parts += arguments
            results = parts[0] if parts else ["."]
            for part in parts[1:]:
                results = [_path_join(a, b) for a in results for b in part][:VALUES_MAX]
            return results
        if name == "join" and owner is not None:
            return [text.join(self._sequence(node.args)) for text in self.values(owner)]
        if name == "chr" and arguments:
            return [_character(one) for one in arguments[0]]
        if name in ("bytes", "bytearray") and node.args and isinstance(node.args[0], _ast.List):
            return ["".join(_character((self.values(one) or [""])[0]) for one in node.args[0].elts)]
        if name in ("map", "reversed", "list", "tuple", "sorted", "set", "iter"):
            return arguments[-1] if arguments else [UNKNOWN]
        if name in ("getenv", "get") and arguments and arguments[0]:
            words = self.call.interpreter.words
            return [words.variable(arguments[0][0], self.call.state, 0), *arguments[-1][:1]]
        if name in ("str", "fspath", "abspath", "realpath", "resolve", "expanduser", "normpath",
                    "as_posix", "bytes", "open", "absolute", "fsencode", "repr", "encode", "decode",
                    "format", "replace", "fromhex", "b64decode", "unhexlify", "b16decode",
                    "with_name", "with_suffix", "glob", "rglob", "iterdir", "listdir", "walk",
                    "home", "cwd", "getcwd", "iglob", "scandir", "parent", "reverse",
                    *_PURE_METHODS):  # fmt: skip
            return self._converted(name, owner, arguments)
        function = self.functions.get(name)
        if function:
            returns = [one for one in _walk(function) if isinstance(one, _ast.Return)]
            return [value for one in returns for value in self.values(one.value)] or [UNKNOWN]
        return [UNKNOWN]

    def _sequence(self, arguments: list[_ast.expr]) -> list[str]:
        """Return the items that `join` joins, in order."""
        first = arguments[0] if arguments else None
        if isinstance(first, _ast.Call) and _last_name(first.func) == "reversed":
            return self._sequence(first.args)[::-1]
        items = first
        is_code = False
        if isinstance(first, _ast.Call) and _last_name(first.func) == "map" and len(first.args) > 1:
            is_code, items = _last_name(first.args[0]) == "chr", first.args[1]
        elif isinstance(first, _ast.GeneratorExp | _ast.ListComp):
            element = first.elt
            is_code = isinstance(element, _ast.Call) and _last_name(element.func) == "chr"
            items = first.generators[0].iter if is_code else first
        if isinstance(items, _ast.List | _ast.Tuple):
            texts = [(self.values(one) or [UNKNOWN])[0] for one in items.elts]
            return [_character(text) for text in texts] if is_code else texts
        if isinstance(items, _ast.Constant) and isinstance(items.value, bytes) and is_code:
            return [items.value.decode("utf-8", "replace")]
        return self.values(items)

    def _converted(
        self, name: str, owner: _ast.AST | None, arguments: list[list[str]]
    ) -> list[str]:
        is_own = owner is not None and not self._is_module(owner)
        texts = self.values(owner) if is_own else (arguments[0] if arguments else [])
        first = arguments[0] if arguments else []
        if name in ("home", "cwd", "getcwd"):
            location = self.call.interpreter.location
            return [location.home if name == "home" else self.call.state.cwds[0]]
        if name in ("fromhex", "b64decode", "unhexlify", "b16decode"):
            return [_unpacked(name, text) for text in first]
        if name == "decode" and owner is not None and _last_name(owner) == "codecs":
            return [_rotated(text) for text in first]
        if name == "replace" and is_own and len(arguments) > 1:
            old, new = arguments[0][:1] or [""], arguments[1][:1] or [""]
            return [text.replace(old[0], new[0]) if old[0] else text for text in texts]
        if name == "format":
            values = iter([one for argument in arguments for one in argument[:1]])
            return [re.sub(r"\{[^{}]*\}", lambda _: next(values, UNKNOWN), text) for text in texts]
        if name in ("glob", "rglob", "iglob") and not is_own:
            return [re.sub(r"[*?\[].*", UNKNOWN, text) for text in first]
        if name in ("glob", "rglob", "iterdir", "listdir", "walk", "scandir"):
            return [f"{text}/{UNKNOWN}" for text in texts]
        if name in ("with_name", "with_suffix"):
            return [f"{text.rpartition('/')[0]}/{UNKNOWN}" for text in texts]
        if name in _PURE_METHODS and is_own:
            return [str(getattr(text, name)()) for text in texts]
        return texts or [UNKNOWN]


def check_python(call: Call, code: str, arguments: list[str]) -> None:
    """Report the paths in a Python program; if it cannot be parsed, all that it mentions."""
    call.interpreter.script_depth += 1
    try:
        if call.interpreter.script_depth > 12:
            raise SyntaxError  # noqa: TRY301 - treated like a program that cannot be parsed
        tree = compile(code.strip("\n") + "\n", "program", "exec", _ONLY_AST, dont_inherit=True)
        inner = Call(call.interpreter, [call.name], call.state.copy(), call.stdin, call.name)
        Program(inner, arguments).check(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call.interpreter.unreadable(code, call.state)
    finally:
        call.interpreter.script_depth -= 1


def _walk(tree: _ast.AST) -> Iterator[_ast.AST]:
    pending = [tree]
    for _ in range(NODES_MAX):
        if not pending:
            return
        node = pending.pop()
        yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, _ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                pending += [one for one in value if isinstance(one, _ast.AST)]
    raise ValueError("the program is too long")


def _last_name(node: _ast.AST | None) -> str:
    if isinstance(node, _ast.Attribute):
        return node.attr
    if isinstance(node, _ast.Name):
        return node.id
    if isinstance(node, _ast.Call) and _last_name(node.func) in ("__import__", "import_module"):
        first = node.args[0] if node.args else None
        return str(first.value) if isinstance(first, _ast.Constant) else ""
    return ""


def _bound_name(node: _ast.AST) -> str:
    """Return the name that an assignment binds, `.name` for an attribute."""
    if isinstance(node, _ast.Subscript):
        node = node.value
    if isinstance(node, _ast.Attribute):
        return f".{node.attr}"
    return node.id if isinstance(node, _ast.Name) else ""


def _name(text: str) -> _ast.Name:
    return _ast.Name(id=text, ctx=_ast.Load())


def _binary(node: _ast.AugAssign) -> _ast.BinOp:
    return _ast.BinOp(left=node.target, op=node.op, right=node.value)


def _path_join(left: str, right: str) -> str:
    if right.startswith("/"):
        return right
    return f"{left.rstrip('/')}/{right}" if left else right


def _character(text: str) -> str:
    return chr(int(text)) if text.isdigit() and int(text) < 0x110000 else UNKNOWN


def _unpacked(name: str, text: str) -> str:
    import binascii

    try:
        function: Callable[[str], bytes] = (
            binascii.a2b_base64 if name == "b64decode" else binascii.unhexlify
        )
        return function(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return UNKNOWN


def _rotated(text: str) -> str:
    lower = "abcdefghijklmnopqrstuvwxyz"
    turned = lower[13:] + lower[:13]
    return text.translate(str.maketrans(lower + lower.upper(), turned + turned.upper()))

"""Run one program in this process, which is confined and single-use, and report how it ended."""

from __future__ import annotations

import ast
import atexit
import functools
import io
import json
import linecache
import os
import random
import sys
import threading
import traceback
import types
import warnings
import weakref
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

from .plan import MESSAGE_CHARACTERS_MAX, RESULT_CHARACTERS_MAX, TRACEBACK_CHARACTERS_MAX

NAME = "main.py"
_FIGURE_DPI = 100
_PACKAGE = __name__.partition(".")[0]


def run(code: str, report: int) -> None:
    """Run `code` as `__main__`, write a JSON report and exit with the program's exit status.

    The report, written to the descriptor `report`, has `result` (repr of the last expression) and
    `error`. The program can forge both, so readers must not trust them.
    """
    outcome: dict[str, Any] = {}
    _prepare()
    main = types.ModuleType("__main__")
    main.__file__ = NAME
    sys.modules["__main__"] = main
    save_figures = _figure_saver()
    status = 0
    try:
        _execute(code, main.__dict__, outcome)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as the interpreter does before it ends
        save_figures()
        atexit._run_exitfuncs()  # noqa: SLF001 - the same
    except SystemExit as end:
        status = _exit_status(end)
    except BaseException as error:  # noqa: BLE001 - a program may raise anything
        status = 1
        outcome["error"] = _describe_error(error)
    _flush()
    os.write(report, json.dumps(outcome).encode())
    os._exit(status)


def _execute(code: str, names: dict[str, Any], outcome: dict[str, Any]) -> None:
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec", dont_inherit=True), names)  # noqa: S102 - this is what the sandbox is for
    if not isinstance(last, ast.Expr):
        return
    value = eval(compile(ast.Expression(last.value), NAME, "eval", dont_inherit=True), names)  # noqa: S307 - the same
    if value is not None:
        result = repr(value)
        outcome["result"] = result[:RESULT_CHARACTERS_MAX]
        outcome["result_truncated"] = len(result) > RESULT_CHARACTERS_MAX


def _prepare() -> None:
    """Reset the state inherited from the zygote: random seeds, modules, arguments and streams."""
    random.seed()
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    warnings.formatwarning = _format_warning
    threading.excepthook = _report_thread
    sys.argv = [NAME]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - sys.path holds strings
    sys.stdin = io.TextIOWrapper(open(0, "rb", buffering=0, closefd=False), "utf-8")  # noqa: SIM115 - open for the life of the process
    sys.stdout, sys.stderr = _stream(1), _stream(2)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _stream(descriptor: int) -> io.TextIOWrapper:
    # Line-buffered, so that the output before a kill is not lost.
    raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=True)


def _without_server_paths(text: str) -> str:
    """Return a text in which the files of packages have no path of this machine."""
    for folder in sorted({path for path in sys.path if path}, key=len, reverse=True):
        text = text.replace(f"{folder}/", "")
    return text


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Format a warning like Python, without paths of this machine and lines of packages."""
    text = f"{category.__name__}: {message}\n"
    if filename == __file__:  # it is about a figure that was saved after the program
        return text
    text = f"{_without_server_paths(filename)}:{lineno}: {text}"
    source = (line or linecache.getline(filename, lineno)).strip() if filename == NAME else ""
    return f"{text}  {source}\n" if source else text


def _report_thread(ended: threading.ExceptHookArgs) -> None:
    """Write the error of a thread like Python, without paths of this machine."""
    if ended.exc_type is SystemExit or ended.exc_value is None:
        return
    name = ended.thread.name if ended.thread else ""
    text = _format_traceback(ended.exc_value, ended.exc_traceback, str(ended.exc_value))
    sys.stderr.write(f"Exception in thread {name}:\n{text}")


def _figure_saver() -> Callable[..., None]:
    """Return a function that saves the open figures as figure-1.png, figure-2.png and so on.

    Those that the program has saved to a file, and not changed since, are left out. It also
    replaces `plt.show()`.
    """
    count, saved = 0, _saved_figures()

    def save(*_: object, **__: object) -> None:
        nonlocal count
        plt: Any = sys.modules.get("matplotlib.pyplot")
        if plt is None:
            return
        for number in plt.get_fignums():
            figure = plt.figure(number)
            if figure in saved and not figure.stale:
                continue
            count += 1
            figure.savefig(f"figure-{count}.png", dpi=_FIGURE_DPI, bbox_inches="tight")
        plt.close("all")

    plotting: Any = sys.modules.get("matplotlib.pyplot")
    if plotting is not None:
        plotting.show = save
    return save


def _saved_figures() -> weakref.WeakSet[Any]:
    """Return the figures that the program saves to files, from now on."""
    saved: weakref.WeakSet[Any] = weakref.WeakSet()

    def watch(module: Any) -> None:
        save = module.Figure.savefig

        @functools.wraps(save)
        def save_and_note(self: Any, fname: Any, *arguments: Any, **options: Any) -> Any:
            result = save(self, fname, *arguments, **options)
            if isinstance(fname, str | os.PathLike):
                saved.add(self)
            return result

        module.Figure.savefig = save_and_note

    if loaded := sys.modules.get("matplotlib.figure"):
        watch(loaded)
    else:
        sys.meta_path.insert(0, _FigureFinder(watch))
    return saved


class _FigureFinder(MetaPathFinder):
    """Calls a function with the module of figures once the program has imported it."""

    def __init__(self, watch: Callable[[Any], None]) -> None:
        self._watch = watch

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != "matplotlib.figure":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_watch(module: types.ModuleType) -> None:
                execute(module)
                self._watch(module)

            spec.loader.exec_module = execute_and_watch  # type: ignore[method-assign]
        return spec


def _exit_status(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def _describe_error(error: BaseException) -> dict[str, Any]:
    """Return the error as data. Its `__str__` may raise, or return a huge text."""
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 - an error whose text raises another
        message = "(the error cannot be shown)"
    program_traceback = error.__traceback__
    while program_traceback and program_traceback.tb_frame.f_code.co_filename != NAME:
        program_traceback = program_traceback.tb_next  # skip the frames of this module
    lines = [
        line
        for frame, line in traceback.walk_tb(program_traceback)
        if frame.f_code.co_filename == NAME
    ]
    if isinstance(error, SyntaxError) and error.filename == NAME and error.lineno:
        lines = [error.lineno]
    return {
        "type": type(error).__name__[:200],
        "message": message[:MESSAGE_CHARACTERS_MAX],
        "line": lines[-1] if lines else None,
        "traceback": _format_traceback(error, program_traceback, message)[
            -TRACEBACK_CHARACTERS_MAX:
        ],
    }


def _format_traceback(
    error: BaseException, program_traceback: types.TracebackType | None, message: str
) -> str:
    if len(message) <= MESSAGE_CHARACTERS_MAX:
        try:
            lines = traceback.format_exception(type(error), error, program_traceback)
            return _without_server_paths("".join(lines))
        except BaseException:  # noqa: BLE001 - a chained error may raise while it is formatted
            message = "(the error cannot be shown)"
    frames = "".join(traceback.format_tb(program_traceback, limit=-50))
    last_line = f"{type(error).__name__}: {message[:MESSAGE_CHARACTERS_MAX]}"
    frames = _without_server_paths(frames)
    return f"Traceback (most recent call last):\n{frames}{last_line}\n"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001, S112 - the program may have closed or replaced it
            continue

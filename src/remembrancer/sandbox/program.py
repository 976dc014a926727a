"""Run one program in this process, which is confined and has nothing to lose, and report how it
ended.
"""

from __future__ import annotations

import ast
import atexit
import io
import json
import linecache
import os
import random
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any

from .plan import MESSAGE_CHARACTERS_MAX, RESULT_CHARACTERS_MAX, TRACEBACK_CHARACTERS_MAX

NAME = "main.py"
_FIGURE_DPI = 100
_OURS = __name__.partition(".")[0]


def run(code: str, report: int) -> None:
    """Run `code` as `__main__`, write what it came to (JSON) to the descriptor `report`, and end
    the process with its exit status.

    The report has `result` (repr of the last expression) and `error`; both are the program's word,
    not to be trusted.
    """
    said: dict[str, Any] = {}
    _prepare()
    main = types.ModuleType("__main__")
    main.__file__ = NAME
    sys.modules["__main__"] = main
    keep_figures = _figure_keeper()
    status = 0
    try:
        _execute(code, main.__dict__, said)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - as the interpreter does before it ends
        keep_figures()
        atexit._run_exitfuncs()  # noqa: SLF001 - the same
    except SystemExit as end:
        status = _exit_status(end)
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is its answer
        status = 1
        said["error"] = _told(error)
    _flush()
    os.write(report, json.dumps(said).encode())
    os._exit(status)


def _execute(code: str, names: dict[str, Any], said: dict[str, Any]) -> None:
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec", dont_inherit=True), names)  # noqa: S102 - this is what the sandbox is for
    if not isinstance(last, ast.Expr):
        return
    value = eval(compile(ast.Expression(last.value), NAME, "eval", dont_inherit=True), names)  # noqa: S307 - the same
    if value is not None:
        shown = repr(value)
        said["result"] = shown[:RESULT_CHARACTERS_MAX]
        said["result_truncated"] = len(shown) > RESULT_CHARACTERS_MAX


def _prepare() -> None:
    """What a process that began as a copy must do to be one of its own."""
    random.seed()
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    for name in [name for name in sys.modules if name.partition(".")[0] == _OURS]:
        del sys.modules[name]
    sys.argv = [NAME]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - a text, as everything in sys.path
    sys.stdin = io.TextIOWrapper(open(0, "rb", buffering=0, closefd=False), "utf-8")  # noqa: SIM115 - open as long as the program runs
    sys.stdout, sys.stderr = _stream(1), _stream(2)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]


def _stream(descriptor: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
    return io.TextIOWrapper(
        raw, "utf-8", "backslashreplace", line_buffering=True
    )  # what was printed before a kill is seen


def _figure_keeper() -> Callable[..., None]:
    """What saves the open figures as figure-1.png, figure-2.png and so on; `plt.show()` does it at
    once.
    """
    kept = 0

    def keep(*_: object, **__: object) -> None:
        nonlocal kept
        plt: Any = sys.modules.get("matplotlib.pyplot")
        if plt is None:
            return
        for number in plt.get_fignums():
            kept += 1
            plt.figure(number).savefig(f"figure-{kept}.png", dpi=_FIGURE_DPI, bbox_inches="tight")
        plt.close("all")

    plotting: Any = sys.modules.get("matplotlib.pyplot")
    if plotting is not None:
        plotting.show = keep
    return keep


def _exit_status(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    sys.stderr.write(f"{end.code}\n")
    return 1


def _told(error: BaseException) -> dict[str, Any]:
    """The error as data. Its own words may fail, or be huge."""
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 - an error whose text raises another
        message = "(the error cannot be shown)"
    shown = error.__traceback__
    while shown and shown.tb_frame.f_code.co_filename != NAME:
        shown = shown.tb_next  # our own frames are of no interest
    lines = [line for frame, line in traceback.walk_tb(shown) if frame.f_code.co_filename == NAME]
    if isinstance(error, SyntaxError) and error.filename == NAME and error.lineno:
        lines = [error.lineno]
    return {
        "type": type(error).__name__[:200],
        "message": message[:MESSAGE_CHARACTERS_MAX],
        "line": lines[-1] if lines else None,
        "traceback": _traceback(error, shown, message)[-TRACEBACK_CHARACTERS_MAX:],
    }


def _traceback(error: BaseException, shown: types.TracebackType | None, message: str) -> str:
    if len(message) <= MESSAGE_CHARACTERS_MAX:
        try:
            return "".join(traceback.format_exception(type(error), error, shown))
        except BaseException:  # noqa: BLE001 - the errors it came from may be as odd as any
            message = "(the error cannot be shown)"
    frames = "".join(traceback.format_tb(shown, limit=-50))
    return f"Traceback (most recent call last):\n{frames}{type(error).__name__}: {message[:MESSAGE_CHARACTERS_MAX]}\n"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001, S112 - the program may have closed or replaced it
            continue

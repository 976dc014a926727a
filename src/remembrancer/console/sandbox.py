"""The sandbox page: run programs as `POST /api/execute/code` does, within the same limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from starlette.responses import Response

from ..files.files import FileUnknown, find_file, picture_size
from ..http.admission import RateExceeded
from ..http.dispatch import ThreadPool
from ..memory.write.runs import execute
from ..protocol import limits
from ..protocol.errors import Problem
from ..protocol.execution import Executed, Execution, ProgramFile
from ..sandbox.port import SandboxBusy
from .browser_session import BrowserRequest, Page
from .files import PREVIEW_BYTES_MAX
from .layout import parse_form

PATH = "/console/sandbox"
_AS_IS = "run"  # this page's own mode: no repair, no optimization
MODES = {
    _AS_IS: "Run",
    "fix": "Run and repair",
    "optimize": "Run and optimize",
    "all": "Run, repair, optimize and tidy",
}
_CONTEXT_LINES = 3  # before and after the line that failed

_PRINT = """\
from datetime import date

for day in (1, 15, 28):
    print(date(2026, 2, day).strftime("%A, %d %B"))

28 * 24
"""
_PLOT = """\
import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 4 * np.pi, 400)
plt.plot(x, np.sin(x) * np.exp(-x / 6))
plt.title("A damped wave")
plt.xlabel("seconds")
plt.grid()
"""
_BROKEN = """\
def mean(values)
    return sum(values) / len(values)

print(mean([2, 3, 5, 7]))
"""
_FILE = """\
from pathlib import Path

rows = [f"{n},{n * n}" for n in range(10)]
Path("squares.csv").write_text("n,square\\n" + "\\n".join(rows))
"""
EXAMPLES = {
    "print": ("Print", _PRINT),
    "plot": ("Plot", _PLOT),
    "broken": ("Repair a broken program", _BROKEN),
    "file": ("Create a file", _FILE),
}


def show(browser: BrowserRequest) -> Response:
    """Show the form, filled with `?example`."""
    _, code = EXAMPLES.get(browser.request.query_params.get("example", "print"), EXAMPLES["print"])
    return _page(browser, {"code": code, "mode": "fix"})


def run(browser: BrowserRequest) -> Response:
    """Run the program and show its result."""
    browser.form_session()
    form = {name: browser.form.get(name, "") for name in ("code", "mode", "session_id")}
    form["code"] = form["code"].replace("\r\n", "\n")  # browsers send line breaks as CRLF
    as_is = form["mode"] == _AS_IS
    request = parse_form(
        Execution,
        {
            "code": form["code"],
            "mode": "fix" if as_is else form["mode"],
            "session_id": form["session_id"].strip() or None,
        },
    )
    if isinstance(request, dict):
        return _page(browser, form, status=422, errors=request)
    caller = browser.caller()
    try:
        browser.dispatcher.rate_limiters["sandbox"].take(("account", caller.account_id))
        sandbox = browser.dispatcher.sandbox.for_client(browser.cancellation, caller.account_id)
        result = execute(browser.context, sandbox, caller, request, as_is=as_is)
    except Problem as error:  # shown next to the program, so that the user does not lose it
        return _page(browser, form, problem=error)
    browser.dispatcher.usage_counter.count("run", account_id=caller.account_id)
    return _page(browser, form, result=result)


def _page(
    browser: BrowserRequest,
    form: dict[str, str],
    *,
    status: int = 200,
    errors: dict[str, str] | None = None,
    problem: Problem | None = None,
    result: Executed | None = None,
) -> Response:
    values: dict[str, Any] = {
        "status": status,
        "problem": problem,
        "errors": errors or {},
        "error_message": _message(problem) if problem else "",
        "result": result,
        "error_lines": _error_lines(result) if result else [],
        "changes": _changes(result.diff or "") if result else [],
        "pictures": list(_pictures(browser, result)) if result else [],
        "is_fragment": browser.wants_fragment,
    }
    if browser.wants_fragment:
        return browser.fragment("_outcome.html", **values)
    return browser.page(
        "sandbox.html",
        form=form,
        modes=MODES,
        examples=EXAMPLES,
        code_max=limits.CODE_CHARACTERS_MAX,
        seconds=browser.context.settings.sandbox_seconds,
        **values,
    )


def _message(error: Problem) -> str:
    """Return the error with its waiting time, which programs read from the headers."""
    wait_s = error.extra.get("retry_after")
    if isinstance(error, SandboxBusy):
        return f"The sandbox is busy and its queue is full. Try again in {wait_s} seconds."
    if isinstance(error, RateExceeded):
        return f"Too many runs in the last minute. Try again in {wait_s} seconds."
    return error.detail


def _error_lines(result: Executed) -> list[tuple[int, str, bool]]:
    """Return the failing line and those around it: number, text, True for the failing line."""
    failing = result.error.line if result.error else None
    lines = result.code.split("\n")
    if failing is None or not 1 <= failing <= len(lines):
        return []
    first = max(failing - _CONTEXT_LINES, 1)
    last = min(failing + _CONTEXT_LINES, len(lines))
    return [(number, lines[number - 1], number == failing) for number in range(first, last + 1)]


def _changes(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a diff without its file names, each with its CSS class."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = [line for line in diff.splitlines() if not re.match(r"(---|\+\+\+) ", line)]
    return [(kinds.get(line[:1], "kept"), line) for line in lines]


def _pictures(
    browser: BrowserRequest, result: Executed
) -> Iterator[tuple[ProgramFile, tuple[int, int]]]:
    """Yield the plots and their sizes, so that the layout does not shift when they load."""
    for file in result.files:
        if not file.filename.endswith(".png") or file.size_bytes > PREVIEW_BYTES_MAX:
            continue
        try:
            row = find_file(browser.context, file.filename, browser.caller())
        except FileUnknown:  # erased in the meantime
            continue
        if size := picture_size(browser.context, row):
            yield file, size


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/run": Page(post=run, pool=ThreadPool.RUN, form_bytes_max=limits.BODY_BYTES_MAX),
}

"""A playground for programs:

what `POST /api/execute/code` does, by the same functions and within the same limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ..files.files import FileUnknown, find_file
from ..files.listing import picture_size
from ..http.endpoint import ThreadPool
from ..http.rate_limiter import RateExceeded
from ..memory.write.runs import execute
from ..protocol import limits
from ..protocol.errors import Problem
from ..protocol.execution import Executed, Execution
from ..sandbox.sandbox import SandboxBusy
from .browser_session import BrowserRequest, Page
from .files import SHOWN_BYTES_MAX
from .forms import parse_form

PATH = "/console/sandbox"
_AS_IS = "run"  # this page's own mode: neither mended nor improved
MODES = {
    _AS_IS: "Run",
    "fix": "Run, and mend what fails",
    "optimize": "Run, and make it faster",
    "all": "All of it",
}
_LINES_AROUND = 3  # of the one where it failed

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
plt.title("A wave that fades")
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
    "broken": ("Mend a broken one", _BROKEN),
    "file": ("Leave a file", _FILE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A plot as the page shows it: with its size, so that nothing moves when it arrives."""

    name: str
    filename: str
    width: int
    height: int


def show(visit: BrowserRequest) -> Response:
    """The playground, with an example in it when one is asked for."""
    _, code = EXAMPLES.get(visit.request.query_params.get("example", "print"), EXAMPLES["print"])
    return _page(visit, {"code": code, "mode": "fix"})


def run(visit: BrowserRequest) -> Response:
    """Run what was typed, and show how it went."""
    visit.session()
    form = {name: visit.form.get(name, "") for name in ("code", "mode", "session_id")}
    form["code"] = form["code"].replace("\r\n", "\n")  # as browsers send what was typed
    as_is = form["mode"] == _AS_IS
    asked = parse_form(
        Execution,
        {
            "code": form["code"],
            "mode": "fix" if as_is else form["mode"],
            "session_id": form["session_id"].strip() or None,
        },
    )
    if isinstance(asked, dict):
        return _page(visit, form, status=422, wrong=asked)
    caller = visit.caller()
    try:
        visit.dispatcher.take("sandbox", ("account", caller.account_id))
        done = execute(visit.context, visit.dispatcher.sandbox, caller, asked, as_is=as_is)
    except (
        Problem
    ) as error:  # no place, no room, no confinement: said beside the program, which is not lost
        answer = _page(visit, form, status=error.status, refused=_said(error))
        if "retry_after" in error.extra:
            answer.headers["Retry-After"] = str(error.extra["retry_after"])
        return answer
    visit.dispatcher.usage_counter.count("run", account_id=caller.account_id)
    return _page(visit, form, done=done)


def _page(
    visit: BrowserRequest,
    form: dict[str, str],
    *,
    status: int = 200,
    wrong: dict[str, str] | None = None,
    refused: str = "",
    done: Executed | None = None,
) -> Response:
    values: dict[str, Any] = {
        "wrong": wrong or {},
        "refused": refused,
        "done": done,
        "marked": [],
        "changes": [],
        "pictures": [],
        "is_part": visit.is_swap,
    }
    if done is not None:
        values |= {
            "marked": _marked(done),
            "changes": _changes(done.diff or ""),
            "pictures": _pictures(visit, done),
        }
    if visit.is_swap:
        return visit.fragment("_outcome.html", status=status, **values)
    fixed = {
        "modes": MODES,
        "examples": EXAMPLES,
        "code_max": limits.CODE_CHARACTERS_MAX,
        "seconds": visit.context.settings.sandbox_seconds,
    }
    return visit.page("sandbox.html", status=status, form=form, **fixed, **values)


def _said(error: Problem) -> str:
    """Why it was not run, for who reads no headers."""
    wait_s = error.extra.get("retry_after")
    if isinstance(error, SandboxBusy):
        return f"All places of the sandbox are taken, and its queue is full. Try again in {wait_s} seconds."
    if isinstance(error, RateExceeded):
        return (
            f"These were as many runs as an account has in a minute. Try again in {wait_s} seconds."
        )
    return error.detail


def _marked(done: Executed) -> list[tuple[int, str, bool]]:
    """The lines around the one where it failed: number, text, whether it is the one."""
    at = done.error.line if done.error else None
    lines = done.code.split("\n")
    if at is None or not 1 <= at <= len(lines):
        return []
    around = range(max(at - _LINES_AROUND, 1), min(at + _LINES_AROUND, len(lines)) + 1)
    return [(number, lines[number - 1], number == at) for number in around]


def _changes(diff: str) -> list[tuple[str, str]]:
    """The lines of a diff, each with what it is:

    added, removed, place or kept; the names of the files are left out.
    """
    kinds = {"+": "added", "-": "removed", "@": "place"}
    lines = [line for line in diff.splitlines() if not re.match(r"(---|\+\+\+) ", line)]
    return [(kinds.get(line[:1], "kept"), line) for line in lines]


def _pictures(visit: BrowserRequest, done: Executed) -> list[Picture]:
    found = []
    for file in done.files:
        if not file.filename.endswith(".png") or file.size_bytes > SHOWN_BYTES_MAX:
            continue
        try:
            size = picture_size(
                visit.context, find_file(visit.context, file.filename, visit.caller())
            )
        except FileUnknown:  # erased by another of the account meanwhile
            continue
        if size is not None:
            found.append(
                Picture(name=file.name, filename=file.filename, width=size[0], height=size[1])
            )
    return found


PAGES = {
    PATH: Page(get=show),
    f"{PATH}/run": Page(post=run, where=ThreadPool.RUN, form_bytes_max=limits.BODY_BYTES_MAX),
}

"""Export of every table as CSV and JSON, with the filters of its page.

One address, `/console/export?table=NAME&format=csv`: the other parameters are those of the page.
A table is a function that yields rows (export_tables.py, export_account.py). An export has all
pages of a list, up to ROWS_MAX rows, and complete texts.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from starlette.responses import Response

from ..http.dispatch import ThreadPool
from ..protocol.errors import InvalidRequest
from . import parameters
from .browser_session import BrowserRequest, Page
from .export_account import ACCOUNT_TABLES, OWNER_TABLES
from .export_tables import MEMORY_TABLES

PATH = "/console/export"
ROWS_MAX = 10_000
_FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
# A spreadsheet reads a text that begins like this as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def export(browser: BrowserRequest) -> Response:
    """Send the rows of a table as a file.

    Raises InvalidRequest for an unknown table or format, NotOwner, StoreUnavailable.
    """
    params = browser.request.query_params
    name = parameters.text(params, "table", 40)
    file_format = parameters.text(params, "format", 40) or "csv"
    tables = MEMORY_TABLES | ACCOUNT_TABLES | (OWNER_TABLES if browser.caller().is_owner else {})
    if name not in tables:
        raise InvalidRequest(f"table must be one of {', '.join(tables)}.")
    if file_format not in _FORMATS:
        raise InvalidRequest(f"format must be one of {', '.join(_FORMATS)}.")
    rows = list(islice(tables[name](browser), ROWS_MAX + 1))
    is_cut, rows = len(rows) > ROWS_MAX, rows[:ROWS_MAX]
    content = (
        as_csv(rows)
        if file_format == "csv"
        else json.dumps({"table": name, "is_cut": is_cut, "rows": rows}, ensure_ascii=False)
    )
    label = f"{name}-first-{ROWS_MAX}" if is_cut else name
    return Response(
        content.encode("utf-8", "replace"),
        media_type=_FORMATS[file_format],
        headers={
            "Content-Disposition": f'attachment; filename="{label}.{file_format}"',
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV (RFC 4180) with a line of names, those of all rows.

    A text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.writer(out)
    if names:
        writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else value


PAGES = {PATH: Page(get=export, pool=ThreadPool.SEARCH, is_download=True)}

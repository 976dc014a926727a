"""The import page: preview what a file holds, then store it.

Nothing is kept between preview and import: each reads the file that its own form brought. A
browser keeps the chosen file in the form while a script shows the preview below it; without
scripts the file is chosen again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.responses import Response

from ..http.dispatch import ThreadPool
from ..memory.exchange import importer
from ..memory.exchange.archive import Archive
from ..memory.exchange.restore import restore
from ..memory.exchange.shapes.documents import Source
from ..memory.exchange.shapes.records import ImportRefused, one_line
from ..memory.exchange.shapes.table import SHAPE_HINT, SHAPES, is_native_archive
from ..memory.exchange.survey import Survey
from ..protocol import limits
from ..protocol.errors import Problem
from ..protocol.imports import ImportTurn
from ..protocol.text import beginning
from . import layout
from .browser_session import BrowserRequest, Page, Upload
from .layout import link_to

PATH = "/console/import"
UPLOAD_BYTES_MAX = 16 << 20
RECORDS_MAX = 5_000  # turns and facts of one import; embedding them takes about 15 seconds
_OTHER_FIELDS_BYTES = 16_384
_PREVIEW_CHARACTERS_MAX = 300
_UNSAFE = re.compile(r"[^\w.\- ]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPreview:
    """The content of a file: rows of names and counts, the first records, and invalid ones."""

    name: str
    title: str
    counts: list[tuple[str, int]]
    users: list[str] = field(default_factory=list)
    first: list[tuple[str, str, str]] = field(default_factory=list)  # time, message, reply
    invalid: list[str] = field(default_factory=list)
    reasons: list[tuple[str, int]] = field(default_factory=list)  # of those left out
    left_out: list[str] = field(default_factory=list)  # the first of them


def show(browser: BrowserRequest) -> Response:
    """Show the form."""
    return _page(browser)


def preview(browser: BrowserRequest) -> Response:
    """Read the file from end to end, store nothing, and show what an import would store."""
    browser.form_session()
    try:
        with _stored(browser.upload) as path:
            result = _preview(browser, path)
    except (ImportRefused, Problem) as error:
        return _page(browser, error=_message(error), status=422)
    return _page(browser, result=result)


def store(browser: BrowserRequest) -> Response:
    """Import the file and show where it went."""
    caller = browser.caller()
    user_id = layout.identifier(browser.form, "user_id") or None
    try:
        with _stored(browser.upload) as path:
            if _is_export(path):
                _check_owner(browser)
                restored = restore(browser.context, caller, path, user_id=user_id)
                notice = (
                    f"Imported: {_many(restored.stored, 'record')}; "
                    f"already there: {restored.present:,}."
                )
            else:
                source = importer.read(
                    caller, path, user_id=user_id, skip_invalid=True, progress=_check_size
                )
                result = importer.store(browser.context, caller, source)
                turns = _many(result.stored - result.facts, "turn")
                notice = (
                    f"Imported: {turns} and {_many(result.facts, 'fact')}; "
                    f"already there: {result.duplicates:,}."
                )
                if source.survey.invalid:
                    notice += f" Left out: {_many(source.survey.invalid, 'invalid record')}."
    except (ImportRefused, Problem) as error:
        return _page(browser, error=_message(error), status=422)
    return browser.redirect(link_to("/console/memory", user_id=user_id), notice=notice)


def _page(
    browser: BrowserRequest,
    *,
    result: ImportPreview | None = None,
    error: str | None = None,
    status: int = 200,
) -> Response:
    values: dict[str, Any] = {"result": result, "error": error, "records_max": RECORDS_MAX}
    if browser.wants_fragment:  # htmx shows a fragment whatever its status says
        return browser.fragment("_import_preview.html", **values)
    return browser.page(
        "import.html",
        status=status,
        **values,
        user_id=browser.form.get("user_id", ""),
        shapes=sorted((shape.title for shape in SHAPES), key=str.lower),
        bytes_max=UPLOAD_BYTES_MAX,
    )


def _preview(browser: BrowserRequest, path: Path) -> ImportPreview:
    caller = browser.caller()
    user_id = layout.identifier(browser.form, "user_id") or None
    if _is_export(path):
        _check_owner(browser)
        with Archive(path) as archive:
            members = archive.manifest.members.items()
            return ImportPreview(
                name=path.name,
                title=f"An export of this service, of the account {archive.manifest.account}",
                counts=[
                    (name.removesuffix(".jsonl").replace("_", " "), entry.records)
                    for name, entry in members
                    if entry.records
                ],
            )
    survey = importer.read(
        caller, path, user_id=user_id, skip_invalid=True, progress=_check_size
    ).survey
    return ImportPreview(
        name=path.name,
        title=survey.title,
        counts=[
            ("turn" if survey.turns == 1 else "turns", survey.turns),
            ("fact" if survey.facts == 1 else "facts", survey.facts),
            ("session" if len(survey.sessions) == 1 else "sessions", len(survey.sessions)),
        ],
        users=[name or caller.account_name for name in survey.users],
        first=[_row(record) for record in survey.first],
        invalid=[_without_folder(str(one), path) for one in survey.errors],
        reasons=survey.reasons.most_common(),
        left_out=[_without_folder(one_line(one), path) for one in survey.left_out],
    )


def _row(record: Any) -> tuple[str, str, str]:
    """Return time, message and reply of a record; the reply of a fact is empty."""
    if isinstance(record, ImportTurn):
        moment = record.occurred_at
        time = f"{moment:%Y-%m-%d %H:%M}" if moment else "no time"
        texts = (record.query, record.response)
    else:
        time, texts = "fact", (record.text, "")
    message, reply = (beginning(text, _PREVIEW_CHARACTERS_MAX) for text in texts)
    return time, message, reply


def _is_export(path: Path) -> bool:
    source = Source.at(path)
    with source.documents() as documents:
        if source.unpacked_bytes > limits.ZIP_UNPACKED_BYTES_MAX:
            raise ImportRefused(
                f"The archive unpacks to {source.unpacked_bytes:,} bytes, and a page takes at most "
                f"{limits.ZIP_UNPACKED_BYTES_MAX:,}. Use `remembrancer import FILE` on the machine "
                "of the service."
            )
        return source.kind == "archive" and is_native_archive(documents)


def _check_owner(browser: BrowserRequest) -> None:
    # An export restores lessons with their status, which others vote on.
    if not browser.caller().is_owner:
        raise ImportRefused("Only an owner of this service can restore an export of it.")


def _check_size(survey: Survey, _source: Source) -> None:
    """Refuse a file at its first record too many: the rest of it may be long."""
    if survey.turns + survey.facts > RECORDS_MAX or survey.invalid > RECORDS_MAX:
        raise ImportRefused(
            f"It holds more than {RECORDS_MAX:,} turns and facts, or invalid records, and a page "
            f"imports at most {RECORDS_MAX:,}. Use `remembrancer import FILE` on the machine of "
            "the service."
        )


@contextmanager
def _stored(upload: Upload | None) -> Iterator[Path]:
    """Write an uploaded file to a folder of its own for the time of the block."""
    if upload is None or not upload.content:
        raise ImportRefused("Choose a file that is not empty.")
    if len(upload.content) > UPLOAD_BYTES_MAX:
        raise ImportRefused(
            f"The file has {len(upload.content):,} bytes, and a page takes at most "
            f"{UPLOAD_BYTES_MAX:,}. Use `remembrancer import FILE` on the machine of the service."
        )
    name = _UNSAFE.sub("_", upload.name.replace("\\", "/").rpartition("/")[2])[-100:].strip(". ")
    with TemporaryDirectory(prefix="remembrancer-import-") as folder:
        path = Path(folder) / (name or "upload")
        path.write_bytes(upload.content)
        try:
            yield path
        except ImportRefused as error:
            raise ImportRefused(_without_folder(str(error), path)) from error


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _without_folder(text: str, path: Path) -> str:
    return text.replace(f"{path.parent}/", "")


def _message(error: Exception) -> str:
    text = error.detail if isinstance(error, Problem) else str(error)
    text = text.removesuffix(SHAPE_HINT).rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


PAGES = {
    PATH: Page(get=show),
    **{
        f"{PATH}/{name}": Page(
            post=handle,
            pool=ThreadPool.LARGE,
            takes_file=True,
            form_bytes_max=UPLOAD_BYTES_MAX + _OTHER_FIELDS_BYTES,
        )
        for name, handle in (("preview", preview), ("store", store))
    },
}

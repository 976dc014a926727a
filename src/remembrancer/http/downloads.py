"""Handler of `GET /download/{filename}`: stream a created file or a byte range of it."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ..context import Records
from ..files.blobs import open_blobs
from ..files.files import FileUnknown, file_by_link, find_file
from ..files.types import media_type
from ..protocol import limits
from ..protocol.errors import RangeNotSatisfiable
from ..protocol.files import DownloadQuery
from ..store import Row
from .dispatch import Call

# Created files are untrusted: they must not run scripts, load anything or access this origin.
_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_RANGE = re.compile(r"bytes\s*=\s*([0-9]{1,18})?\s*-\s*([0-9]{1,18})?\s*", re.IGNORECASE)


def download(call: Call[DownloadQuery]) -> Response:
    """Send a created file as an attachment.

    Needs a key of its account, or the `exp` and `sig` of a signed link that has not expired.
    """
    return file_response(call.context, call.request, _file(call), call.headers)


def file_response(
    records: Records,
    request: Request,
    row: Row,
    error_headers: dict[str, str] | None = None,
    *,
    is_inline: bool = False,
) -> Response:
    """Send a file that the caller may read: the whole file, or the range of the request.

    `error_headers` receives the headers of an error response. `is_inline` is only for types that
    no browser executes. Raises RangeNotSatisfiable, BlobsUnavailable.
    """
    etag = f'"{row.blob}"'
    headers = {
        **_HEADERS,
        "ETag": etag,
        "Content-Disposition": "inline" if is_inline else _attachment(row.filename),
        "Content-Type": media_type(row.filename.rpartition(".")[2]),
    }
    if _matches(request.headers.get("if-none-match", ""), etag):
        unchanged = {name: headers[name] for name in ("Cache-Control", "ETag")}
        return Response(status_code=304, headers=unchanged)
    size, byte_range = row.size_bytes, None
    if request.headers.get("if-range", etag) == etag:
        byte_range = _byte_range(", ".join(request.headers.getlist("range")), size)
    if byte_range == (0, 0):
        if error_headers is not None:
            error_headers["Content-Range"] = f"bytes */{size}"
        raise RangeNotSatisfiable
    start, end = byte_range or (0, size)
    if byte_range is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    headers["Content-Length"] = str(end - start)
    status = 200 if byte_range is None else 206
    # also for HEAD, which must fail if the content is missing
    chunks = open_blobs(records.settings).read(row.blob, start, end)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(chunks, status, headers)


def _file(call: Call[DownloadQuery]) -> Row:
    filename, link = call.request.path_params["filename"], call.input
    if len(filename) > limits.ID_CHARACTERS_MAX or not filename.isprintable():
        filename = ""  # which no file has
    if link.exp is not None and link.sig is not None:
        try:
            return file_by_link(call.context, filename, exp=link.exp, sig=link.sig)
        except FileUnknown:
            if "authorization" not in call.request.headers:
                raise
    caller = call.dispatcher.caller(call.request.headers)
    return find_file(call.context, filename, caller)


def _attachment(filename: str) -> str:
    """Return the header with an ASCII fallback and the real name (RFC 6266, RFC 5987).

    File names contain no quotes and no control characters.
    """
    fallback = "".join(character if character.isascii() else "_" for character in filename)
    return f"attachment; filename=\"{fallback}\"; filename*=UTF-8''{quote(filename, safe='')}"


def _matches(if_none_match: str, etag: str) -> bool:
    return any(one.strip().removeprefix("W/") in (etag, "*") for one in if_none_match.split(","))


def _byte_range(header: str, size: int) -> tuple[int, int] | None:
    """Return start and end (exclusive) of the range, or (0, 0) if the file has no such bytes.

    Returns None for the whole file, also if the header is not a single valid range (RFC 9110,
    14.2).
    """
    match = _RANGE.fullmatch(header)
    if match is None or match.groups() == (None, None):
        return None
    first, last = (None if number is None else int(number) for number in match.groups())
    if first is None:
        return (max(size - (last or 0), 0), size) if last and size else (0, 0)
    if last is not None and last < first:
        return None
    return (first, min(last + 1, size) if last is not None else size) if first < size else (0, 0)
